"""Compiled features of predicates: CRC-32 of their names, which are a prefix and strings of the parse with signs.

Legend of names
    code   : CRC-32 of the bytes so far, before its final inversion
    string : number of a lemma, form, label or part of speech among the strings of a document
"""

from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from corefsample._arrays import Bytes, Floats32, Ints, Ints32, Words32
from corefsample._jit import inner_kernel, kernel_in_place

_ALL = 0xFFFFFFFF
# For each byte, the code after it where the code before was 0.
OF_BYTES: Final = np.array([crc32(bytes([byte]), _ALL) ^ _ALL for byte in range(256)], np.uint32)
_NAMES = ("bias", "l=", "lu=", "w=", "lh=", "lc=", "ll=", "d=", "u=", "h=", "dh=", "du=", "c=", "cl=", "cu=", "g=")
PREFIXES: Final = np.array([crc32(name.encode()) ^ _ALL for name in (*_NAMES, "gg=", "a=", "am=", "s=")], np.uint32)
BIAS, L, LU, W, LH, LC, LL, D, U, H, DH, DU, C, CL, CU, G, GG, A, AM, S = range(len(PREFIXES))
SLASH, LESS, GREATER, COLON = (np.uint32(ord(sign)) for sign in "/<>:")
BITS, BYTE, EIGHT = np.uint32(_ALL), np.uint32(0xFF), np.uint32(8)
BUCKETS = 16  # bits of a hash that choose its bucket
SHIFT = np.uint32(32 - BUCKETS)
# Parts of speech of words with content, names before others; labels of modifiers. They are the first strings.
_CONTENT = ("PROPN", "NOUN", "VERB", "ADJ", "ADV", "ADP", "NUM")
_MODIFIERS = ("aux", "aux:pass", "auxpass", "neg", "mark", "advmod", "prep", "case")
FIRST_STRINGS: Final = _CONTENT + _MODIFIERS
NAME, N_CONTENT, N_FIRST = 0, len(_CONTENT), len(FIRST_STRINGS)
_GOVERNORS = 4  # number of heads above the predicate whose words are features


class ParsedWords(NamedTuple):
    """Strings and parse of a document."""

    letters: Bytes  # UTF-8 of the strings, FIRST_STRINGS before those of the document, one after the other
    starts: Ints  # (n_strings + 1,)
    lemmas: Ints32  # (n_tokens,): strings of the tokens
    forms: Ints32
    upos: Ints32
    labels: Ints32
    heads: Ints32  # -1: a root
    sentences: Ints32  # in increasing order
    dependents: Ints  # tokens by their heads
    first_dependents: Ints  # (n_tokens + 1,): bounds of those of each token
    hashes: Words32  # room for the features of any predicate


class FeatureTable(NamedTuple):
    """Rows of the weights of features."""

    hashes: Words32  # (n_features,): in increasing order
    rows: Ints32  # (n_features,)
    buckets: Ints32  # (2**BUCKETS + 1,): bounds of the hashes with the same first bits


@inner_kernel
def after(code: np.uint32, string: int, words: ParsedWords) -> np.uint32:
    """The code after a string."""
    for i in range(words.starts[string], words.starts[string + 1]):
        code = OF_BYTES[(code ^ words.letters[i]) & BYTE] ^ (code >> EIGHT)
    return code


@inner_kernel
def between(code: np.uint32, string: int, sign: np.uint32, words: ParsedWords) -> np.uint32:
    """The code after a string and a sign."""
    code = after(code, string, words)
    return np.uint32(OF_BYTES[(code ^ sign) & BYTE] ^ (code >> EIGHT))


@inner_kernel
def add(code: np.uint32, n: int, words: ParsedWords) -> int:
    """Write a code as a feature after n others, and return their number."""
    words.hashes[n] = code ^ BITS
    return n + 1


@inner_kernel
def write_relations(token: int, words: ParsedWords, with_lemma: bool) -> int:
    """Write the features of a predicate but those of its sentence to the hashes, and return their number."""
    lemmas, labels, upos = words.lemmas, words.labels, words.upos
    lemma, label, head = lemmas[token], labels[token], words.heads[token]
    n = add(PREFIXES[BIAS], 0, words)
    n = add(after(PREFIXES[D], label, words), n, words)
    n = add(after(PREFIXES[U], upos[token], words), n, words)
    if with_lemma:
        n = add(after(PREFIXES[L], lemma, words), n, words)
        n = add(after(between(PREFIXES[LU], lemma, SLASH, words), upos[token], words), n, words)
        n = add(after(PREFIXES[W], words.forms[token], words), n, words)
    if head >= 0:
        n = add(after(PREFIXES[H], lemmas[head], words), n, words)
        n = add(after(between(PREFIXES[DH], label, GREATER, words), lemmas[head], words), n, words)
        n = add(after(between(PREFIXES[DU], label, GREATER, words), upos[head], words), n, words)
        if with_lemma:
            n = add(after(between(PREFIXES[LH], lemma, LESS, words), lemmas[head], words), n, words)
    for i in range(words.first_dependents[token], words.first_dependents[token + 1]):
        child = words.dependents[i]
        word, below = lemmas[child], labels[child]
        n = add(after(PREFIXES[C], below, words), n, words)
        n = add(after(between(PREFIXES[CL], below, COLON, words), word, words), n, words)
        n = add(after(between(PREFIXES[CU], below, COLON, words), upos[child], words), n, words)
        if with_lemma:
            # Most names are not in any text with answers.
            kind = upos[child] if upos[child] == NAME else word
            n = add(after(between(PREFIXES[LC], lemma, GREATER, words), below, words), n, words)
            n = add(after(between(PREFIXES[LL], lemma, GREATER, words), kind, words), n, words)
        for k in range(words.first_dependents[child], words.first_dependents[child + 1]):
            grandchild = words.dependents[k]
            path = between(between(PREFIXES[G], below, GREATER, words), labels[grandchild], COLON, words)
            n = add(after(path, lemmas[grandchild], words), n, words)
            n = add(after(between(PREFIXES[GG], word, COLON, words), lemmas[grandchild], words), n, words)
    lower = token
    for _ in range(_GOVERNORS):
        if head < 0:
            break
        n = add(after(PREFIXES[A], lemmas[head], words), n, words)
        for i in range(words.first_dependents[head], words.first_dependents[head + 1]):
            child = words.dependents[i]
            if N_CONTENT <= labels[child] < N_FIRST and child != lower:
                n = add(after(between(PREFIXES[AM], labels[child], COLON, words), lemmas[child], words), n, words)
        lower, head = head, words.heads[head]
    return n


@inner_kernel
def write_sentence(token: int, n: int, words: ParsedWords) -> int:
    """Write the features of the sentence of a token after n others, and return their number."""
    first = last = token
    while first > 0 and words.sentences[first - 1] == words.sentences[token]:
        first -= 1
    while last + 1 < len(words.sentences) and words.sentences[last + 1] == words.sentences[token]:
        last += 1
    for other in range(first, last + 1):
        if words.upos[other] < N_CONTENT:
            n = add(after(PREFIXES[S], words.lemmas[other], words), n, words)
    return n


@kernel_in_place
def write_features(token: int, words: ParsedWords, with_lemma: bool) -> int:
    """Write the features of a predicate to the hashes, some twice, and return their number."""
    return write_sentence(token, write_relations(token, words, with_lemma), words)


@inner_kernel
def add_weights(n: int, words: ParsedWords, table: FeatureTable, weights: Floats32, scores: Floats32) -> None:
    """Add the weights of the first n features in the hashes, each once, to the scores of types."""
    hashes = words.hashes
    rows = hashes.view(np.int32)  # a row is written where the hash has been read
    n_rows = 0
    for k in range(n):
        bucket = hashes[k] >> SHIFT
        for j in range(table.buckets[bucket], table.buckets[bucket + 1]):
            if table.hashes[j] == hashes[k] and table.rows[j] not in rows[:n_rows]:
                rows[n_rows] = table.rows[j]
                n_rows += 1
                for t in range(weights.shape[1]):
                    scores[t] += weights[table.rows[j], t]


@kernel_in_place
def sum_weights(
    tokens: Ints, words: ParsedWords, table: FeatureTable, weights: Floats32, of_sentence: Floats32, scores: Floats32
) -> None:
    """Add the weights of the features of predicates to the scores of their tokens; each feature counts once.

    `of_sentence` is room for the weights of the sentence's features, summed once for adjacent tokens of a sentence.
    """
    sentence = -1
    for token in tokens:
        if words.sentences[token] != sentence:
            sentence = words.sentences[token]
            for t in range(len(of_sentence)):
                of_sentence[t] = 0.0
            add_weights(write_sentence(token, 0, words), words, table, weights, of_sentence)
        add_weights(write_relations(token, words, True), words, table, weights, scores[token])
        for t in range(len(of_sentence)):
            scores[token, t] += of_sentence[t]
