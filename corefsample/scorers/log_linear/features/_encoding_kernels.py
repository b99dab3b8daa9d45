"""Compiled loops that turn mentions into atoms (what templates combine) and facts (what pairs are compared by).

Legend
    t : token; s, e, h : first token, end and head of a mention; g : governor of the head
    i, k : mention, earlier mention                n : mentions
    words[t, column] : a word table, columns of `Column`
    atoms[i, atom], facts[i, fact] : uint32, columns of `Atom` and `Fact`; 0 where there is nothing to say
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Ints32, Words32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.scorers.log_linear.features import _feature_codes as codes
from corefsample.scorers.log_linear.features._feature_codes import Atom, Fact
from corefsample.syntax import _codes as syntax_codes
from corefsample.syntax._codes import Column, Kind, Number, Role, Upos

U32, U64 = np.uint32, np.uint64
LOW = U64(0xFFFFFFFF)
FACTOR = 2  # column of a template's factor


class Hashed(NamedTuple):
    """A document's mentions hashed by the templates of both groups, (n, templates of the group), and those of NEW."""

    mention_0: Words32
    candidate_0: Words32
    pair_0: Ints32  # (templates, 3): pair atoms, factor (those above 1 come first)
    mention_1: Words32
    candidate_1: Words32
    pair_1: Ints32
    new: Words32
    new_best: Ints32  # (templates,): 0 nothing, 1 the best match, 2 the best match and how far it is


@inner_kernel
def mix(code: np.uint32, value: np.uint32) -> np.uint32:
    """Hash of a code extended by a value: a product, a sum, and the avalanche of XXH32 on 64 bits."""
    z = U64(code) * U64(codes.XXH32_PRIMES[0]) + U64(value)
    z ^= z >> U64(codes.XXH32_SHIFTS[0])
    z *= U64(codes.XXH32_PRIMES[1])
    z ^= z >> U64(codes.XXH32_SHIFTS[1])
    z *= U64(codes.XXH32_PRIMES[2])
    return U32((z ^ (z >> U64(codes.XXH32_SHIFTS[2]))) & LOW)


@kernel_in_place
def hash_mentions(atoms: Words32, template_atoms: Ints32, seeds: Words32, hashes: Words32) -> None:
    """Hash the atoms of each template by mention; template_atoms (templates, most), -1 for none."""
    for i in range(atoms.shape[0]):
        for t in range(template_atoms.shape[0]):
            code = seeds[t]
            for a in template_atoms[t]:
                if a >= 0:
                    code = mix(code, atoms[i, a])
            hashes[i, t] = code


@inner_kernel
def fill_buckets(
    hashed: Hashed, pronoun: bool, i: int, k: int, pair: Words32, mask: np.uint32, buckets: Words32
) -> None:
    """Fill the bucket of each template for one pair."""
    mention = hashed.mention_0[i] if pronoun else hashed.mention_1[i]
    candidate = hashed.candidate_0[k] if pronoun else hashed.candidate_1[k]
    atoms = hashed.pair_0 if pronoun else hashed.pair_1
    for t in range(mention.shape[0]):
        z = U64(mention[t]) + U64(candidate[t]) * U64(codes.XXH32_PRIMES[0])
        z += U64(pair[atoms[t, 0]]) * U64(codes.MURMUR3_FACTORS[0])
        z += U64(pair[atoms[t, 1]]) * U64(codes.MURMUR3_FACTORS[1])
        z ^= z >> U64(codes.LOWBIAS32_SHIFTS[0])
        z *= U64(codes.LOWBIAS32_FACTORS[0])
        z ^= z >> U64(codes.LOWBIAS32_SHIFTS[1])
        z *= U64(codes.LOWBIAS32_FACTORS[1])
        buckets[t] = U32((z ^ (z >> U64(codes.LOWBIAS32_SHIFTS[2]))) & U64(mask))


@inner_kernel
def new_bucket(code: np.uint32, kind: int, best: int, near: int, mask: np.uint32) -> np.uint32:
    """Bucket of a template of NEW, extended by the best match before the mention if the template has it."""
    if kind == codes.BEST_MATCH:
        code = mix(code, U32(best))
    elif kind == codes.BEST_NEAR:
        code = mix(code, U32(codes.BEST_FACTOR * best + near))
    return code & mask


class Text(NamedTuple):
    """A document as the kernels read it; arrays by token, and `mentions` (n, 3)."""

    words: Words32
    known_forms: Words32  # form, or its ending if the form is not in the vocabulary
    known_lemmas: Words32
    head: Ints32
    link: Ints32
    role: Ints32
    governor: Ints32
    marker: Ints32
    sent: Ints32
    speaker: Ints32  # from 1; 0 where no speaker is named
    turn: Ints32  # number of changes of the speaker before the token
    mentions: Ints32


@inner_kernel
def bucket(count: int) -> int:
    """Count in steps that widen: 0 to 4, 5-6, 7-9, 10-14, 15-22, 23-40, 41-70, 71-120, more."""
    if count <= codes.LAST_SINGLE:
        return count
    step = codes.LAST_SINGLE + 1
    for end in codes.BUCKET_ENDS:
        if count <= end:
            return step
        step += 1
    return step


@inner_kernel
def fill_quoted(words: Words32, sent: Ints32, quoted: Bools) -> None:
    """Mark tokens between quotation marks; one that does not end within six sentences does not count."""
    inside = False
    since = 0
    for t in range(sent.shape[0]):
        if words[t, Column.QUOTE] != 0:
            inside = not inside
            since = sent[t]
        if inside and sent[t] - since > codes.QUOTATION_SENTENCES:
            inside = False
        quoted[t] = inside


@inner_kernel
def n_reached(value: float, limits: tuple[float, float, float]) -> int:
    """Count the limits that a value reaches."""
    count = 0
    for limit in limits:
        count += value >= limit
    return count


@inner_kernel
def text_style(words: Words32, n_sentences: int) -> tuple[int, int]:
    """Codes of a text's style: length of sentences with interjections; first and second persons with length."""
    n_tokens = words.shape[0]
    n_first, n_second, n_speaker, n_interjections = 0, 0, 0, 0
    for t in range(n_tokens):
        kind = words[t, Column.KIND]
        if kind == Kind.PERSONAL or kind == Kind.POSSESSIVE:
            if words[t, Column.PERSON] == 1 and words[t, Column.NUMBER] != Number.PLURAL:
                n_first += 1
            if words[t, Column.PERSON] == 2:
                n_second += 1
            if kind == Kind.PERSONAL and (words[t, Column.PERSON] == 1 or words[t, Column.PERSON] == 2):
                n_speaker += 1
        if words[t, Column.UPOS] == Upos.INTJ:
            n_interjections += 1
    # Comparisons of plain numbers add up without a compiler too.
    length = n_tokens / float(n_sentences if n_sentences > 0 else 1)
    n_words = n_tokens if n_tokens > 0 else 1
    interjections, speakers = n_interjections / n_words, n_speaker / n_words
    second = n_second / (n_first + n_second) if n_second > 0 else 0.0
    by_length = 0
    for limit in codes.SENTENCE_LENGTHS:
        by_length += length > limit
    by_interjections = n_reached(interjections, codes.INTERJECTION_SHARES)
    by_speakers = n_reached(speakers, codes.SPEAKER_SHARES)
    by_second = n_reached(second, codes.SECOND_PERSON_SHARES)
    many = by_speakers >= codes.MANY_SPEAKERS
    middle, high = codes.STYLE_FACTORS
    return 1 + by_length + middle * by_interjections + high * many, (
        1 + by_speakers + middle * by_second + high * (by_length == 0)
    )


@inner_kernel
def fill_sentence_flags(words: Words32, sent: Ints32, flags: Ints32) -> None:
    """Fill the flags of each sentence: begins with an interjection, ends in a question mark, is short."""
    n_tokens = sent.shape[0]
    t = 0
    while t < n_tokens:
        end = t
        while end < n_tokens and sent[end] == sent[t]:
            end += 1
        flags[sent[t]] = (
            codes.SENTENCE_INTERJECTION * (words[t, Column.UPOS] == Upos.INTJ)
            + codes.SENTENCE_QUESTION * (words[end - 1, Column.QUESTION] != 0)
            + codes.SENTENCE_SHORT * (end - t <= codes.SHORT_SENTENCE)
        )
        t = end


@inner_kernel
def effective_head(text: Text, i: int) -> int:
    """Last word of a flat name ("Barack Obama" in UD hangs on its first), else the head."""
    e, h = text.mentions[i, 1], text.mentions[i, 2]
    last: int = h
    if text.words[h, Column.UPOS] == Upos.PROPN:
        t = h + 1
        while t < e and text.link[t] == Role.FLAT and text.head[t] == h and text.words[t, Column.UPOS] == Upos.PROPN:
            last = t
            t += 1
    return last


@inner_kernel
def is_content(upos: int) -> bool:
    """Whether a part of speech is that of a content word."""
    return upos == Upos.NOUN or upos == Upos.PROPN or upos == Upos.ADJ or upos == Upos.NUM or upos == Upos.VERB


@inner_kernel
def fill_phrase(text: Text, i: int, last: int, atoms: Words32, facts: Words32) -> tuple[int, int, int]:
    """Fill what the words of a phrase say together; return its determiner, pronoun possessor, noun possessor."""
    s, e, h = text.mentions[i, 0], text.mentions[i, 1], text.mentions[i, 2]
    determiner, by_pronoun, by_noun = -1, -1, -1
    core, full, numerals = U32(codes.PHRASE_START), U32(codes.PHRASE_START), U32(0)
    initials = U32(syntax_codes.DJB2_START)
    n_core, n_modifiers, n_initials, after = 0, 0, 0, 0
    for t in range(s, e):
        upos, kind, link = text.words[t, Column.UPOS], text.words[t, Column.KIND], text.link[t]
        if text.head[t] == h:
            if link == Role.DETERMINER and determiner < 0 and t < h:
                determiner = t
            if link == Role.POSSESSOR and kind != 0:
                by_pronoun = t
            elif link == Role.POSSESSOR:
                by_noun = t
            if t > h:
                after |= codes.AFTER_RELATIVE * (link == Role.RELATIVE_CLAUSE)
                after |= codes.AFTER_CLAUSE * (link == Role.CLAUSE or link == Role.NOUN_CLAUSE)
                after |= codes.AFTER_NOUN * (link == Role.NOUN_MODIFIER)
                after |= codes.AFTER_APPOSITION * (link == Role.APPOSITION)
                after |= codes.AFTER_CONJUNCT * (link == Role.CONJUNCT)
        elif t > h and (link == Role.DETERMINER or link == Role.POSSESSOR):
            g = text.head[t]
            after |= codes.AFTER_DETERMINED * (text.head[g] == h and text.link[g] == Role.CONJUNCT)
        if text.words[t, Column.INITIAL] != 0 and upos != Upos.DET and t < last + codes.INITIALS_AFTER_HEAD:
            initials = initials * U32(syntax_codes.DJB2_FACTOR) + text.words[t, Column.INITIAL]
            n_initials += 1
        if (
            upos == Upos.PUNCT
            or (upos == Upos.PART and t == e - 1)
            or (t == s and t != h and (upos == Upos.DET or (kind == Kind.POSSESSIVE and e - s > 1)))
        ):
            continue
        full = mix(full, text.words[t, Column.FORM])
        if t <= last:
            core = mix(core, text.words[t, Column.FORM])
            n_core += 1
            if upos == Upos.NUM:
                numerals = mix(numerals, text.words[t, Column.FORM])
            if t < last and is_content(upos):
                n_modifiers += 1
    atoms[i, Atom.AFTER] = after
    atoms[i, Atom.MODIFIERS] = n_modifiers if n_modifiers < codes.MOST_MODIFIERS else codes.MOST_MODIFIERS
    facts[i, Fact.CORE], facts[i, Fact.FULL], facts[i, Fact.NUMERALS] = core, full, numerals
    facts[i, Fact.INITIALS] = initials if n_initials >= codes.FEWEST_INITIALS else U32(0)
    facts[i, Fact.ACRONYM] = text.words[last, Column.ACRONYM] if n_core == 1 else U32(0)
    return determiner, by_pronoun, by_noun


@inner_kernel
def pronoun_kind(kind: int, person: int) -> int:
    """Kind of a mention that is one pronoun."""
    if kind == Kind.PERSONAL:
        return codes.FIRST if person == 1 else codes.SECOND if person == 2 else codes.THIRD
    if kind == Kind.POSSESSIVE:
        return codes.POSSESSIVE_PRONOUN
    if kind == Kind.REFLEXIVE:
        return codes.REFLEXIVE_PRONOUN
    if kind == Kind.DEMONSTRATIVE:
        return codes.DEMONSTRATIVE_PRONOUN
    if kind == Kind.RELATIVE:
        return codes.RELATIVE_PRONOUN
    return codes.EXISTENTIAL_PRONOUN if kind == Kind.EXISTENTIAL else codes.OTHER_PRONOUN


@inner_kernel
def mention_kind(text: Text, i: int, determiner: int, by_pronoun: int, by_noun: int) -> int:
    """Kind of a mention: what pronoun it is, or what determines its noun."""
    s, e, h = text.mentions[i, 0], text.mentions[i, 1], text.mentions[i, 2]
    upos, kind = text.words[h, Column.UPOS], text.words[h, Column.KIND]
    if upos == Upos.PRON or (kind != 0 and kind < Kind.DEFINITE_ARTICLE and e - s == 1):
        return pronoun_kind(kind, text.words[h, Column.PERSON])
    if upos == Upos.PROPN:
        return codes.NAME if determiner < 0 else codes.NAME_WITH_DETERMINER
    if upos == Upos.VERB or upos == Upos.AUX:
        return codes.VERBAL
    if upos == Upos.ADV:
        return codes.ADVERBIAL
    if upos != Upos.NOUN and upos != Upos.NUM and upos != Upos.SYM and upos != Upos.X:
        return codes.ADJECTIVAL
    if determiner >= 0:
        by = text.words[determiner, Column.KIND]
        if by == Kind.DEFINITE_ARTICLE:
            return codes.DEFINITE
        if by == Kind.INDEFINITE_ARTICLE:
            return codes.INDEFINITE
        if by == Kind.DEMONSTRATIVE:
            return codes.DEMONSTRATIVE_NOUN
    if by_pronoun >= 0:
        return codes.PRONOUN_POSSESSED
    if by_noun >= 0:
        return codes.NOUN_POSSESSED
    if determiner >= 0:
        return codes.QUANTIFIED
    if upos == Upos.NUM:
        return codes.NUMBER
    return codes.BARE_PLURAL if text.words[h, Column.NUMBER] == Number.PLURAL else codes.BARE_SINGULAR


@inner_kernel
def kind_class(kind: int, person: int) -> int:
    """Class of a kind of mention; possessive and reflexive pronouns of the speaker count as the speaker."""
    of_speaker = codes.POSSESSIVE_PRONOUN <= kind <= codes.REFLEXIVE_PRONOUN and (person == 1 or person == 2)
    if kind <= codes.SECOND or of_speaker:
        return codes.CLASS_SPEAKER
    if kind <= codes.REFLEXIVE_PRONOUN:
        return codes.CLASS_THIRD
    if kind == codes.DEMONSTRATIVE_PRONOUN:
        return codes.CLASS_DEMONSTRATIVE
    if kind <= codes.EXISTENTIAL_PRONOUN:
        return codes.CLASS_OTHER_PRONOUN
    if kind <= codes.NAME_WITH_DETERMINER:
        return codes.CLASS_NAME
    if kind == codes.DEFINITE or kind == codes.DEMONSTRATIVE_NOUN:
        return codes.CLASS_DEFINITE
    if kind == codes.PRONOUN_POSSESSED or kind == codes.NOUN_POSSESSED:
        return codes.CLASS_POSSESSED
    if kind == codes.INDEFINITE or kind == codes.QUANTIFIED:
        return codes.CLASS_INDEFINITE
    return codes.CLASS_BARE if kind <= codes.BARE_PLURAL else codes.CLASS_CLAUSE
