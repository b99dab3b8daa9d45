"""Compiled loops that turn mentions into atoms (what templates combine) and facts (what pairs are compared by).

Legend
    t : token; s, e, h : first token, end and head of a mention; g : governor of the head
    i, k : mention, earlier mention                n : mentions
    words[t, column] : a word table, columns as in `corefsample.mention_ranking.features.Column`
    atoms[i, atom], facts[i, fact] : uint32, places as named below; 0 where there is nothing to say
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample._jit import kernel

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

U32, U64 = np.uint32, np.uint64
LOW = U64(0xFFFFFFFF)
C_FORM, C_LEMMA, C_ENDING, C_STEM, C_ACRONYM, C_INITIAL, C_UPOS, C_KIND = range(8)
C_PERSON, C_NUMBER, C_GENDER, C_MEANING, C_QUOTE, C_QUESTION = range(8, 14)
ADJ, ADV, AUX, DET, INTJ, NOUN, NUM, PART, PRON, PROPN, PUNCT, SYM, VERB, X = (
    1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17,
)  # fmt: skip
PERSONAL, POSSESSIVE, REFLEXIVE, DEMONSTRATIVE, RELATIVE, DEFINITE_ARTICLE, INDEFINITE_ARTICLE, EXISTENTIAL = (
    1, 2, 3, 4, 5, 7, 8, 9,
)  # fmt: skip
NOUN_MODIFIER, POSSESSOR, APPOSITION, CONJUNCT, FLAT, DETERMINER, CLAUSE, RELATIVE_CLAUSE, NOUN_CLAUSE = (
    6, 7, 9, 10, 14, 15, 18, 25, 26,
)  # fmt: skip
PLURAL, MALE, FEMALE = 2, 1, 2

# Kinds of mentions. Those up to EXISTENTIAL_PRONOUN are pronouns.
FIRST, SECOND, THIRD, POSSESSIVE_PRONOUN, REFLEXIVE_PRONOUN, DEMONSTRATIVE_PRONOUN = 1, 2, 3, 4, 5, 6
RELATIVE_PRONOUN, OTHER_PRONOUN, EXISTENTIAL_PRONOUN, NAME, NAME_WITH_DETERMINER = 7, 8, 9, 10, 11
DEFINITE, INDEFINITE, DEMONSTRATIVE_NOUN, PRONOUN_POSSESSED, NOUN_POSSESSED, NUMBER, QUANTIFIED = (
    12, 13, 14, 15, 16, 17, 18,
)  # fmt: skip
BARE_SINGULAR, BARE_PLURAL, VERBAL, ADJECTIVAL, ADVERBIAL = 19, 20, 21, 22, 23
# Classes of kinds. Those up to CLASS_OTHER_PRONOUN are pronouns.
CLASS_SPEAKER, CLASS_THIRD, CLASS_DEMONSTRATIVE, CLASS_OTHER_PRONOUN, CLASS_NAME, CLASS_DEFINITE = 1, 2, 3, 4, 5, 6
CLASS_POSSESSED, CLASS_INDEFINITE, CLASS_BARE, CLASS_CLAUSE = 7, 8, 9, 10

ATOMS = (
    "any", "kind", "class", "pronoun", "head", "lemma", "ending", "meaning", "upos", "first", "last", "previous",
    "before_previous", "next", "after_next", "before_head", "after_head", "role", "link", "governor", "governor_role",
    "adposition", "length", "modifiers", "after", "number", "gender", "person", "agreement", "nesting", "outer",
    "inner", "place", "position", "quoted", "same_before", "head_before", "frequency", "rank", "share", "style",
    "dialogue", "sentence",
)  # fmt: skip
(
    A_ANY, A_KIND, A_CLASS, A_PRONOUN, A_HEAD, A_LEMMA, A_ENDING, A_MEANING, A_UPOS, A_FIRST, A_LAST, A_PREVIOUS,
    A_BEFORE_PREVIOUS, A_NEXT, A_AFTER_NEXT, A_BEFORE_HEAD, A_AFTER_HEAD, A_ROLE, A_LINK, A_GOVERNOR, A_GOVERNOR_ROLE,
    A_ADPOSITION, A_LENGTH, A_MODIFIERS, A_AFTER, A_NUMBER, A_GENDER, A_PERSON, A_AGREEMENT, A_NESTING, A_OUTER,
    A_INNER, A_PLACE, A_POSITION, A_QUOTED, A_SAME_BEFORE, A_HEAD_BEFORE, A_FREQUENCY, A_RANK, A_SHARE, A_STYLE,
    A_DIALOGUE, A_SENTENCE,
) = range(43)  # fmt: skip
(
    F_CORE, F_FULL, F_LEMMA, F_FORM, F_STEM, F_SENT, F_NUMBER, F_GENDER, F_PERSON, F_CLASS, F_NUMERALS, F_INITIALS,
    F_ACRONYM, F_FIRST_PERSONS, F_SECOND_PERSONS, F_AGREEMENT,
) = range(16)  # fmt: skip
N_FACTS = 16
NOTHING = U32(1)  # a word that is not there


class Text(NamedTuple):
    """A document as the kernels read it; arrays by token, and `mentions` (n, 3)."""

    words: Words
    known_forms: Words  # form, or its ending if the vocabulary has not the form
    known_lemmas: Words
    head: Ints
    link: Ints
    role: Ints
    governor: Ints
    marker: Ints
    sent: Ints
    mentions: Ints


@kernel
def mix(code: np.uint32, value: np.uint32) -> np.uint32:
    """Hash of a code extended by a value: the finaliser of MurmurHash3 with other multipliers, on 64 bits."""
    z = U64(code) * U64(0x9E3779B1) + U64(value)
    z ^= z >> U64(15)
    z *= U64(0x85EBCA77)
    z ^= z >> U64(13)
    z *= U64(0xC2B2AE3D)
    return U32((z ^ (z >> U64(16))) & LOW)


@kernel
def bucket(count: int) -> int:
    """Count in steps that widen: 0 to 4, 5-6, 7-9, 10-14, 15-22, 23-40, 41-70, 71-120, more."""
    if count <= 4:
        return count
    step = 5
    for end in (6, 9, 14, 22, 40, 70, 120):
        if count <= end:
            return step
        step += 1
    return step


@kernel
def fill_quoted(words: Words, sent: Ints, quoted: Bools) -> None:
    """Mark tokens between quotation marks; a quotation that does not end within six sentences is none."""
    inside = False
    since = 0
    for t in range(sent.shape[0]):
        if words[t, C_QUOTE] != 0:
            inside = not inside
            since = sent[t]
        if inside and sent[t] - since > 6:
            inside = False
        quoted[t] = inside


@kernel
def text_style(words: Words, n_sentences: int) -> tuple[int, int]:
    """Codes of a text's style: length of sentences with interjections; first and second persons with length."""
    n_tokens = words.shape[0]
    n_first, n_second, n_speaker, n_interjections = 0, 0, 0, 0
    for t in range(n_tokens):
        kind = words[t, C_KIND]
        if kind in (PERSONAL, POSSESSIVE):
            if words[t, C_PERSON] == 1 and words[t, C_NUMBER] != PLURAL:
                n_first += 1
            if words[t, C_PERSON] == 2:
                n_second += 1
            if kind == PERSONAL and (words[t, C_PERSON] == 1 or words[t, C_PERSON] == 2):
                n_speaker += 1
        if words[t, C_UPOS] == INTJ:
            n_interjections += 1
    length = n_tokens / float(max(n_sentences, 1))  # comparisons of plain numbers add up without a compiler too
    interjections, speakers = n_interjections / max(n_tokens, 1), n_speaker / max(n_tokens, 1)
    second = n_second / max(n_first + n_second, 1)
    by_length = (length > 11) + (length > 15) + (length > 19)
    by_interjections = (interjections >= 0.005) + (interjections >= 0.02) + (interjections >= 0.04)
    by_speakers = (speakers >= 0.005) + (speakers >= 0.02) + (speakers >= 0.04)
    by_second = (second >= 0.15) + (second >= 0.35) + (second >= 0.7)
    style = 1 + by_length + 4 * by_interjections + 16 * (by_speakers >= 2)
    return style, 1 + by_speakers + 4 * by_second + 16 * (by_length == 0)


@kernel
def fill_sentence_flags(words: Words, sent: Ints, flags: Ints) -> None:
    """Of each sentence: 1 if it begins with an interjection, 2 if it ends in a question mark, 4 if it is short."""
    n_tokens = sent.shape[0]
    t = 0
    while t < n_tokens:
        end = t
        while end < n_tokens and sent[end] == sent[t]:
            end += 1
        flags[sent[t]] = (words[t, C_UPOS] == INTJ) + 2 * (words[end - 1, C_QUESTION] != 0) + 4 * (end - t <= 4)
        t = end


@kernel
def effective_head(text: Text, i: int) -> int:
    """Last word of a flat name ("Barack Obama" in UD hangs on its first), else the head."""
    e, h = text.mentions[i, 1], text.mentions[i, 2]
    last = h
    if text.words[h, C_UPOS] == PROPN:
        t = h + 1
        while t < e and text.link[t] == FLAT and text.head[t] == h and text.words[t, C_UPOS] == PROPN:
            last = t
            t += 1
    return int(last)


@kernel
def fill_phrase(text: Text, i: int, last: int, atoms: Words, facts: Words) -> tuple[int, int, int]:
    """Fill what the words of a phrase say together; return its determiner, pronoun possessor, noun possessor."""
    s, e, h = text.mentions[i]
    determiner, by_pronoun, by_noun = -1, -1, -1
    core, full, numerals, initials = U32(7), U32(7), U32(0), U32(5381)
    n_core, n_modifiers, n_initials, after = 0, 0, 0, 0
    for t in range(s, e):
        upos, kind, link = text.words[t, C_UPOS], text.words[t, C_KIND], text.link[t]
        if text.head[t] == h:
            if link == DETERMINER and determiner < 0 and t < h:
                determiner = t
            if link == POSSESSOR and kind != 0:
                by_pronoun = t
            elif link == POSSESSOR:
                by_noun = t
            if t > h:
                after |= (link == RELATIVE_CLAUSE) + 2 * (link in (CLAUSE, NOUN_CLAUSE))
                after |= 4 * (link == NOUN_MODIFIER) + 8 * (link == APPOSITION) + 16 * (link == CONJUNCT)
        if text.words[t, C_INITIAL] != 0 and upos != DET and t < last + 4:
            initials = initials * U32(33) + text.words[t, C_INITIAL]
            n_initials += 1
        if (
            upos == PUNCT
            or (upos == PART and t == e - 1)
            or (t == s and t != h and (upos == DET or (kind == POSSESSIVE and e - s > 1)))
        ):
            continue
        full = mix(full, text.words[t, C_FORM])
        if t <= last:
            core = mix(core, text.words[t, C_FORM])
            n_core += 1
            if upos == NUM:
                numerals = mix(numerals, text.words[t, C_FORM])
            if t < last and (upos in (NOUN, PROPN, ADJ, NUM, VERB)):
                n_modifiers += 1
    atoms[i, A_AFTER] = after
    atoms[i, A_MODIFIERS] = min(n_modifiers, 2)
    facts[i, F_CORE], facts[i, F_FULL], facts[i, F_NUMERALS] = core, full, numerals
    facts[i, F_INITIALS] = initials if n_initials >= 2 else U32(0)
    facts[i, F_ACRONYM] = text.words[last, C_ACRONYM] if n_core == 1 else U32(0)
    return determiner, by_pronoun, by_noun


@kernel
def pronoun_kind(kind: int, person: int) -> int:
    """Kind of a mention that is one pronoun."""
    if kind == PERSONAL:
        return THIRD if person == 0 or person == 3 else FIRST if person == 1 else SECOND
    if kind == POSSESSIVE:
        return POSSESSIVE_PRONOUN
    if kind == REFLEXIVE:
        return REFLEXIVE_PRONOUN
    if kind == DEMONSTRATIVE:
        return DEMONSTRATIVE_PRONOUN
    if kind == RELATIVE:
        return RELATIVE_PRONOUN
    return EXISTENTIAL_PRONOUN if kind == EXISTENTIAL else OTHER_PRONOUN


@kernel
def mention_kind(text: Text, i: int, determiner: int, by_pronoun: int, by_noun: int) -> int:
    """Kind of a mention: what pronoun it is, or what determines its noun."""
    s, e, h = text.mentions[i]
    upos, kind = text.words[h, C_UPOS], text.words[h, C_KIND]
    if upos == PRON or (kind != 0 and kind < DEFINITE_ARTICLE and e - s == 1):
        return pronoun_kind(kind, text.words[h, C_PERSON])
    if upos == PROPN:
        return NAME if determiner < 0 else NAME_WITH_DETERMINER
    if upos in (VERB, AUX):
        return VERBAL
    if upos == ADV:
        return ADVERBIAL
    if upos not in (NOUN, NUM, SYM, X):
        return ADJECTIVAL
    if determiner >= 0:
        by = text.words[determiner, C_KIND]
        if by in (DEFINITE_ARTICLE, INDEFINITE_ARTICLE, DEMONSTRATIVE):
            return DEFINITE if by == DEFINITE_ARTICLE else DEMONSTRATIVE_NOUN if by == DEMONSTRATIVE else INDEFINITE
    if by_pronoun >= 0:
        return PRONOUN_POSSESSED
    if by_noun >= 0:
        return NOUN_POSSESSED
    if determiner >= 0:
        return QUANTIFIED
    return NUMBER if upos == NUM else BARE_PLURAL if text.words[h, C_NUMBER] == PLURAL else BARE_SINGULAR


@kernel
def kind_class(kind: int, person: int) -> int:
    """Class of a kind of mention; possessive and reflexive pronouns of the speaker count as the speaker."""
    if kind <= SECOND or (POSSESSIVE_PRONOUN <= kind <= REFLEXIVE_PRONOUN and (person == 1 or person == 2)):
        return CLASS_SPEAKER
    if kind <= REFLEXIVE_PRONOUN:
        return CLASS_THIRD
    if kind == DEMONSTRATIVE_PRONOUN:
        return CLASS_DEMONSTRATIVE
    if kind <= EXISTENTIAL_PRONOUN:
        return CLASS_OTHER_PRONOUN
    if kind <= NAME_WITH_DETERMINER:
        return CLASS_NAME
    if kind in (DEFINITE, DEMONSTRATIVE_NOUN):
        return CLASS_DEFINITE
    if kind in (PRONOUN_POSSESSED, NOUN_POSSESSED):
        return CLASS_POSSESSED
    if kind in (INDEFINITE, QUANTIFIED):
        return CLASS_INDEFINITE
    return CLASS_BARE if kind <= BARE_PLURAL else CLASS_CLAUSE
