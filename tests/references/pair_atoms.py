"""Pairs of mentions as the antecedent model sees them, slow and obvious: words compared as words."""

from __future__ import annotations

from collections.abc import Sequence

from references.mention_atoms import Mention, Word, bucket, contains

from corefsample.scorers.log_linear.features import _codes as codes
from corefsample.syntax._codes import Gender, Number

# How good each match is; those with other numerals are at most 2.
LEVELS = {
    "M_FULL": 9, "M_CORE_BARE": 8, "M_CORE_NESTED": 7, "M_CORE": 6, "M_HEAD_BARE": 9, "M_HEAD_SAME": 8,
    "M_HEAD_LESS": 5, "M_HEAD_MORE": 6, "M_HEAD_SOME": 4, "M_HEAD_OTHER": 3, "M_BOTH_WITHIN": 2, "M_WITHIN_BARE": 2,
    "M_WITHIN": 1, "M_HOLDS_BARE": 2, "M_HOLDS": 1, "M_ONE_WORD": 1, "M_WORDS": 1, "M_ACRONYM": 7, "M_STEM": 3,
    "M_NONE": 0,
}  # fmt: skip
# Different genders that one entity can have.
LIKE_GENDERS = (
    {Gender.ANIMATE, Gender.MALE},
    {Gender.ANIMATE, Gender.FEMALE},
    {Gender.ANIMATE, Gender.COLLECTIVE},
    {Gender.NEUTER, Gender.COLLECTIVE},
)


def shared(mine: Sequence[str], others: Sequence[str]) -> int:
    """How many of my words are among the others'."""
    return sum(word in others for word in mine)


def match_of_heads(i: Mention, k: Mention) -> str:
    """How the words before two equal heads match."""
    common = shared(i.before, k.before)
    if not i.before and not k.before:
        return "M_HEAD_BARE"
    if common == len(i.before):
        return "M_HEAD_SAME" if common == len(k.before) else "M_HEAD_LESS"
    if common == len(k.before):
        return "M_HEAD_MORE"
    return "M_HEAD_SOME" if common else "M_HEAD_OTHER"


def match_of_phrases(i: Mention, k: Mention) -> str:
    """How two phrases match, the best way first."""
    mine, others = i.before + i.after, k.before + k.after
    common = shared(mine, others)
    if i.full == k.full:
        return "M_FULL"
    if i.core == k.core:
        if not mine or not others:
            return "M_CORE_BARE"
        return "M_CORE_NESTED" if common == min(len(mine), len(others)) else "M_CORE"
    if i.lemma == k.lemma or i.form == k.form:
        return match_of_heads(i, k)
    i_within, k_within = i.lemma in others, k.lemma in mine
    if i_within and k_within:
        return "M_BOTH_WITHIN"
    if i_within:
        return "M_WITHIN" if mine else "M_WITHIN_BARE"
    if k_within:
        return "M_HOLDS" if others else "M_HOLDS_BARE"
    if (i.acronym and i.acronym == k.initials) or (k.acronym and k.acronym == i.initials):
        return "M_ACRONYM"
    if i.lemma[:5] == k.lemma[:5]:
        return "M_STEM"
    return "M_NONE" if common == 0 else "M_ONE_WORD" if common == 1 else "M_WORDS"


def match(i: Mention, k: Mention) -> tuple[int, int]:
    """Code of how two mentions match, and how good that is."""
    if i.is_pronoun and k.is_pronoun:
        if i.form == k.form:
            return codes.M_SAME_PRONOUN, 0
        return (codes.M_LIKE_PRONOUN if i.agreement == k.agreement else codes.M_OTHER_PRONOUN), 0
    if i.is_pronoun or k.is_pronoun:
        return codes.M_PRONOUN_AND_PHRASE, 0
    how = match_of_phrases(i, k)
    numerals = 0 if not i.numerals or not k.numerals else 1 if i.numerals == k.numerals else 2
    return 1 + 3 * getattr(codes, how) + numerals, min(LEVELS[how], 2) if numerals == 2 else LEVELS[how]


def overlap(i: Mention, k: Mention) -> int:
    """How the spans of two mentions lie."""
    if contains(k, i):
        return 3 if (i.start, i.end) == (k.start, k.end) else 1
    if contains(i, k):
        return 2
    between = i.start - k.end
    return 4 if between < 0 else 5 if between == 0 else 6 if between == 1 else 0


def syntax(words: Sequence[Word], i: Mention, k: Mention) -> int:
    """How the heads of two mentions of one sentence hang together."""
    a, b = words[i.head], words[k.head]

    def word(t: int) -> Word | None:
        return words[t] if t >= 0 else None

    over_a, over_b = word(a.governor), word(b.governor)
    if a.governor == k.head:
        return 1 + a.role
    if b.governor == i.head:
        return 32 + b.role
    if a.head == k.head:
        return 64 + a.link
    if over_a is not None and over_a is over_b:
        return 1024 + 32 * a.role + b.role
    if over_a is not None and over_a.head == k.head:
        return 96 + over_a.link
    if over_a is not None and over_b is not None and over_a.governor == b.governor:
        return 128 + over_a.link
    if over_b is not None and over_b.governor == i.head:
        return 160 + over_b.link
    if over_b is not None and over_a is not None and over_b.governor == a.governor:
        return 192 + over_b.link
    return 224


def agree(i: Mention, k: Mention) -> tuple[int, bool]:
    """Code of agreement in number, gender and person, and whether nothing disagrees."""
    genders = {i.gender, k.gender}
    number = 0 if not i.number or not k.number else 1 if i.number == k.number else 2
    if Gender.COLLECTIVE in genders:
        number = 0
    if 0 in genders:
        gender = 0
    elif len(genders) == 1:
        gender = 1
    else:
        gender = 2 if genders in LIKE_GENDERS else 3
    person = 1 if i.person == k.person else 2
    return 1 + number + 3 * gender + 12 * person, number != 2 and gender != 3 and person == 1


def is_one_person(mention: Mention) -> bool:
    if mention.atoms["sort"] == codes.SORT_HE_OR_SHE:
        return True
    singular = mention.number == Number.SINGULAR and mention.gender in (Gender.MALE, Gender.FEMALE)
    return singular and mention.atoms["sort"] in (codes.SORT_NAME, codes.SORT_SINGULAR)


def is_several(mention: Mention) -> bool:
    conjoined_names = mention.atoms["sort"] == codes.SORT_NAMES and mention.atoms["after"] & 16
    return bool(mention.atoms["sort"] == codes.SORT_PLURAL or conjoined_names)


def is_first_person(mention: Mention) -> bool:
    return mention.group == "CLASS_SPEAKER" and mention.person == 1 and mention.number != Number.PLURAL


def is_second_person(mention: Mention) -> bool:
    return mention.group == "CLASS_SPEAKER" and mention.person == 2


def pair_atoms(words: Sequence[Word], mentions: Sequence[Mention], i: int, k: int) -> dict[str, int]:
    """Atoms of a pair by name, and "level": how well its phrases match."""
    a, b, between = mentions[i], mentions[k], mentions[k + 1 : i]
    apart = abs(a.sent - b.sent)
    code, level = match(a, b)
    agreeing = [m for m in between if agree(a, m)[1]]
    quoted = (a.atoms["quoted"], b.atoms["quoted"])
    others = is_second_person if a.person == 1 else is_first_person
    n_others = sum(map(others, mentions[k + 1 : i + 1])) if a.group == "CLASS_SPEAKER" else 0
    return {
        "nothing": 0,
        "sentences": 1 + bucket(apart),
        "mentions": bucket(i - k),
        "match": code,
        "overlap": overlap(a, b),
        "syntax": syntax(words, a, b) if apart == 0 else 0,
        "agree": agree(a, b)[0],
        "agreeing_between": bucket(len(agreeing)),
        "names_between": min(bucket(sum(m.group == "CLASS_NAME" for m in agreeing)), 8),
        "pronouns_between": bucket(sum(m.is_pronoun and m.agreement == a.agreement for m in between)),
        "quotes": {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 3 if apart == 0 else 4}[quoted],
        "others_between": min(bucket(n_others), 7),
        "clash": int((is_one_person(a) and is_several(b)) or (is_several(a) and is_one_person(b))),
        "level": level,
    }
