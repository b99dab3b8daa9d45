"""Compiled loops that compare a mention with an earlier one.

Legend
    i, k : mention, earlier mention        pair[atom] : uint32, places as named below
Other names as in `corefsample.mention_ranking.features._encoding_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corefsample._jit import kernel
from corefsample.mention_ranking.features import _encoding_kernels as enc
from corefsample.mention_ranking.features._encoding_kernels import U32, Bools, Ints, Words, bucket

PAIR_ATOMS = (
    "nothing", "sentences", "mentions", "match", "overlap", "syntax", "agree", "agreeing_between", "names_between",
    "pronouns_between", "quotes", "others_between",
)  # fmt: skip
(
    P_NOTHING, P_SENTENCES, P_MENTIONS, P_MATCH, P_OVERLAP, P_SYNTAX, P_AGREE, P_AGREEING, P_NAMES, P_PRONOUNS,
    P_QUOTES, P_OTHERS,
) = range(12)  # fmt: skip
N_PAIR_ATOMS = 12

# How two phrases match; each is told apart by their numerals too (none, the same, others).
(
    M_NONE, M_FULL, M_CORE_BARE, M_CORE_NESTED, M_CORE, M_HEAD_BARE, M_HEAD_SAME, M_HEAD_LESS, M_HEAD_MORE,
    M_HEAD_SOME, M_HEAD_OTHER, M_BOTH_WITHIN, M_WITHIN_BARE, M_WITHIN, M_HOLDS_BARE, M_HOLDS, M_ONE_WORD, M_WORDS,
    M_ACRONYM, M_STEM,
) = range(20)  # fmt: skip
M_SAME_PRONOUN, M_LIKE_PRONOUN, M_OTHER_PRONOUN, M_PRONOUN_AND_PHRASE = 60, 61, 62, 63
# How good a match is, for the best one that a mention has among those before it.
LEVELS = np.array([0, 9, 8, 7, 6, 9, 8, 5, 6, 4, 3, 2, 2, 1, 2, 1, 1, 1, 7, 3], np.int64)
OTHER_NUMERALS = 2  # the level of a match with other numerals is no higher


class Encoded(NamedTuple):
    """An encoded document: arrays by mention, by token, and modifiers as compressed rows."""

    atoms: Words
    facts: Words
    mentions: Ints
    head: Ints
    link: Ints
    role: Ints
    governor: Ints
    modifier_indptr: Ints
    modifiers: Words
    modifier_before: Bools
    blooms: Words


@kernel
def shared_words(doc: Encoded, i: int, k: int) -> tuple[int, int, bool, bool]:
    """Count the words of i that k has too, those before both heads; whether each one's words hold the other's head."""
    shared, shared_before, k_head, i_head = 0, 0, False, False
    for x in range(doc.modifier_indptr[i], doc.modifier_indptr[i + 1]):
        if doc.modifiers[x] == doc.facts[k, enc.F_LEMMA]:
            k_head = True
        for y in range(doc.modifier_indptr[k], doc.modifier_indptr[k + 1]):
            if doc.modifiers[x] == doc.modifiers[y]:
                shared += 1
                shared_before += doc.modifier_before[x] and doc.modifier_before[y]
                break
    for y in range(doc.modifier_indptr[k], doc.modifier_indptr[k + 1]):
        if doc.modifiers[y] == doc.facts[i, enc.F_LEMMA]:
            i_head = True
    return shared, shared_before, i_head, k_head


@kernel
def words_before(doc: Encoded, i: int) -> int:
    """Count the content words before a mention's head."""
    count = 0
    for x in range(doc.modifier_indptr[i], doc.modifier_indptr[i + 1]):
        count += doc.modifier_before[x]
    return count


@kernel
def head_match(before_i: int, before_k: int, shared: int) -> int:
    """How the words before two equal heads match."""
    if before_i == 0 and before_k == 0:
        return M_HEAD_BARE
    if shared == before_i:
        return M_HEAD_SAME if shared == before_k else M_HEAD_LESS
    return M_HEAD_MORE if shared == before_k else M_HEAD_SOME if shared > 0 else M_HEAD_OTHER


@kernel
def phrase_match(doc: Encoded, i: int, k: int) -> int:
    """How two phrases that are no pronouns match."""
    facts = doc.facts
    n_i = doc.modifier_indptr[i + 1] - doc.modifier_indptr[i]
    n_k = doc.modifier_indptr[k + 1] - doc.modifier_indptr[k]
    shared, shared_before, i_head, k_head = 0, 0, False, False
    if doc.blooms[i] & doc.blooms[k]:
        shared, shared_before, i_head, k_head = shared_words(doc, i, k)
    if facts[i, enc.F_FULL] == facts[k, enc.F_FULL]:
        return M_FULL
    if facts[i, enc.F_CORE] == facts[k, enc.F_CORE]:
        return M_CORE_BARE if n_i == 0 or n_k == 0 else M_CORE_NESTED if shared == min(n_i, n_k) else M_CORE
    if facts[i, enc.F_LEMMA] == facts[k, enc.F_LEMMA] or facts[i, enc.F_FORM] == facts[k, enc.F_FORM]:
        return head_match(words_before(doc, i), words_before(doc, k), shared_before)
    if i_head and k_head:
        return M_BOTH_WITHIN
    if i_head:
        return M_WITHIN_BARE if n_i == 0 else M_WITHIN
    if k_head:
        return M_HOLDS_BARE if n_k == 0 else M_HOLDS
    acronym_i, acronym_k = facts[i, enc.F_ACRONYM], facts[k, enc.F_ACRONYM]
    if (acronym_i != 0 and acronym_i == facts[k, enc.F_INITIALS]) or (
        acronym_k != 0 and acronym_k == facts[i, enc.F_INITIALS]
    ):
        return M_ACRONYM
    if facts[i, enc.F_STEM] == facts[k, enc.F_STEM]:
        return M_STEM
    return M_NONE if shared == 0 else M_ONE_WORD if shared == 1 else M_WORDS


@kernel
def match(doc: Encoded, i: int, k: int) -> tuple[int, int]:
    """Code of how two mentions match, and how good that is (0 to 9, for phrases)."""
    facts = doc.facts
    pronoun_i = facts[i, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN
    pronoun_k = facts[k, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN
    if pronoun_i and pronoun_k:
        if facts[i, enc.F_FORM] == facts[k, enc.F_FORM]:
            return M_SAME_PRONOUN, 0
        return (M_LIKE_PRONOUN if facts[i, enc.F_AGREEMENT] == facts[k, enc.F_AGREEMENT] else M_OTHER_PRONOUN), 0
    if pronoun_i or pronoun_k:
        return M_PRONOUN_AND_PHRASE, 0
    how = phrase_match(doc, i, k)
    level = LEVELS[how]
    numerals = 0
    if facts[i, enc.F_NUMERALS] != 0 and facts[k, enc.F_NUMERALS] != 0:
        numerals = 1 if facts[i, enc.F_NUMERALS] == facts[k, enc.F_NUMERALS] else 2
    if numerals == 2:
        level = min(level, OTHER_NUMERALS)
    return 1 + 3 * how + numerals, level


@kernel
def overlap(doc: Encoded, i: int, k: int) -> int:
    """1 i within k, 2 k within i, 3 the same span, 4 crossing, 5 next to each other, 6 one token between, else 0."""
    s, e, s_k, e_k = doc.mentions[i, 0], doc.mentions[i, 1], doc.mentions[k, 0], doc.mentions[k, 1]
    if s_k <= s and e_k >= e:
        return 3 if s_k == s and e_k == e else 1
    if s_k >= s and e_k <= e:
        return 2
    if e_k > s:
        return 4
    return 5 if s == e_k else 6 if s == e_k + 1 else 0


@kernel
def syntax(doc: Encoded, i: int, k: int) -> int:
    """Code of how the heads of two mentions of one sentence hang together in the parse."""
    h, h_k = doc.mentions[i, 2], doc.mentions[k, 2]
    g, g_k = doc.governor[h], doc.governor[h_k]
    if g == h_k:
        return int(1 + doc.role[h])
    if g_k == h:
        return int(32 + doc.role[h_k])
    if doc.head[h] == h_k:
        return int(64 + doc.link[h])
    if g == g_k and g >= 0:
        return int(1024 + 32 * doc.role[h] + doc.role[h_k])
    if g >= 0:
        if doc.head[g] == h_k:
            return int(96 + doc.link[g])
        if g_k >= 0 and doc.governor[g] == g_k:
            return int(128 + doc.link[g])
    if g_k >= 0:
        if doc.governor[g_k] == h:
            return int(160 + doc.link[g_k])
        if g >= 0 and doc.governor[g_k] == g:
            return int(192 + doc.link[g_k])
    return 224


@kernel
def agreement(doc: Encoded, i: int, k: int) -> tuple[int, bool]:
    """Code of agreement in number, gender and person, and whether nothing disagrees."""
    number_i, number_k = doc.facts[i, enc.F_NUMBER], doc.facts[k, enc.F_NUMBER]
    gender_i, gender_k = doc.facts[i, enc.F_GENDER], doc.facts[k, enc.F_GENDER]
    number = 0 if number_i == 0 or number_k == 0 else 1 if number_i == number_k else 2
    if gender_i == 0 or gender_k == 0:
        gender = 0
    elif gender_i == gender_k:
        gender = 1
    else:  # a person of either gender agrees with both
        animate = (gender_i == 4 and gender_k <= 2) or (gender_k == 4 and gender_i <= 2)
        gender = 2 if animate else 3
    person = 1 if doc.facts[i, enc.F_PERSON] == doc.facts[k, enc.F_PERSON] else 2
    return 1 + number + 3 * gender + 12 * person, number != 2 and gender != 3 and person == 1


@kernel
def fill_pair(doc: Encoded, i: int, k: int, between: Ints, pair: Words) -> int:
    """Fill the atoms of a pair; return how well the phrases match.

    between (3,) : agreeing mentions, agreeing names and like pronouns between k and i; k is counted in, for the next
    pair, which is that of i and k - 1.
    """
    facts = doc.facts
    apart = int(abs(np.int64(facts[i, enc.F_SENT]) - np.int64(facts[k, enc.F_SENT])))
    code, level = match(doc, i, k)
    agreeing, agrees = agreement(doc, i, k)
    pair[P_SENTENCES] = 1 + bucket(apart)
    pair[P_MENTIONS] = bucket(i - k)
    pair[P_MATCH] = code
    pair[P_OVERLAP] = overlap(doc, i, k)
    pair[P_SYNTAX] = syntax(doc, i, k) if apart == 0 else 0
    pair[P_AGREE] = agreeing
    pair[P_AGREEING] = bucket(between[0])
    pair[P_NAMES] = min(bucket(between[1]), 8)
    pair[P_PRONOUNS] = bucket(between[2])
    quoted_i, quoted_k = doc.atoms[i, enc.A_QUOTED], doc.atoms[k, enc.A_QUOTED]
    pair[P_QUOTES] = U32(1) + quoted_i if quoted_i != quoted_k else U32(0 if quoted_i == 0 else 3 if apart == 0 else 4)
    others = 0
    if facts[i, enc.F_CLASS] == enc.CLASS_SPEAKER:
        of = enc.F_SECOND_PERSONS if facts[i, enc.F_PERSON] == 1 else enc.F_FIRST_PERSONS
        others = facts[i, of] - facts[k, of]
    pair[P_OTHERS] = min(bucket(others), 7)
    between[0] += agrees
    between[1] += agrees and facts[k, enc.F_CLASS] == enc.CLASS_NAME
    between[2] += (
        facts[k, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN and facts[k, enc.F_AGREEMENT] == facts[i, enc.F_AGREEMENT]
    )
    return level
