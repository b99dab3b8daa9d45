"""Compiled loops that compare a mention with an earlier one.

Legend
    i, k : mention, earlier mention        pair[atom] : uint32, columns of `PairAtom`
Other names as in `corefsample.scorers.log_linear._mention_kernels`.
"""

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Ints32, Words32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.scorers.log_linear import _feature_codes as codes
from corefsample.scorers.log_linear._feature_codes import Atom, Fact, PairAtom
from corefsample.scorers.log_linear._mention_kernels import U32, bucket
from corefsample.syntax._codes import OCCUPATIONS, ORGANISATIONS, PLACES, Gender, Meaning, Naming, Number, Role

LEVELS = np.array(codes.MATCH_LEVELS, np.int64)


class Encoded(NamedTuple):
    """An encoded document: arrays by mention, by token, and modifiers as compressed rows."""

    atoms: Words32
    facts: Words32
    mentions: Ints32
    head: Ints32
    link: Ints32
    role: Ints32
    governor: Ints32
    modifier_indptr: Ints32
    modifiers: Words32
    modifier_before: Bools
    blooms: Words32


@inner_kernel
def shared_words(doc: Encoded, i: int, k: int) -> tuple[int, int, bool, bool]:
    """Count the words of i that k has too, those before both heads; whether each one's words hold the other's head."""
    shared, shared_before, k_head, i_head = 0, 0, False, False
    for x in range(doc.modifier_indptr[i], doc.modifier_indptr[i + 1]):
        if doc.modifiers[x] == doc.facts[k, Fact.LEMMA]:
            k_head = True
        for y in range(doc.modifier_indptr[k], doc.modifier_indptr[k + 1]):
            if doc.modifiers[x] == doc.modifiers[y]:
                shared += 1
                shared_before += doc.modifier_before[x] and doc.modifier_before[y]
                break
    for y in range(doc.modifier_indptr[k], doc.modifier_indptr[k + 1]):
        if doc.modifiers[y] == doc.facts[i, Fact.LEMMA]:
            i_head = True
    return shared, shared_before, i_head, k_head


@inner_kernel
def words_before(doc: Encoded, i: int) -> int:
    """Count the content words before a mention's head."""
    count = 0
    for x in range(doc.modifier_indptr[i], doc.modifier_indptr[i + 1]):
        count += doc.modifier_before[x]
    return count


@inner_kernel
def phrase_match(doc: Encoded, i: int, k: int) -> int:
    """How two phrases that are no pronouns match."""
    facts = doc.facts
    n_i = doc.modifier_indptr[i + 1] - doc.modifier_indptr[i]
    n_k = doc.modifier_indptr[k + 1] - doc.modifier_indptr[k]
    shared, shared_before, i_head, k_head = 0, 0, False, False
    if doc.blooms[i] & doc.blooms[k]:
        shared, shared_before, i_head, k_head = shared_words(doc, i, k)
    if facts[i, Fact.FULL] == facts[k, Fact.FULL]:
        return codes.M_FULL
    if facts[i, Fact.CORE] == facts[k, Fact.CORE]:
        if n_i == 0 or n_k == 0:
            return codes.M_CORE_BARE
        return codes.M_CORE_NESTED if shared == (n_i if n_i < n_k else n_k) else codes.M_CORE
    if facts[i, Fact.LEMMA] == facts[k, Fact.LEMMA] or facts[i, Fact.FORM] == facts[k, Fact.FORM]:
        before_i, before_k = words_before(doc, i), words_before(doc, k)
        if before_i == 0 and before_k == 0:
            return codes.M_HEAD_BARE
        if shared_before == before_i:
            return codes.M_HEAD_SAME if shared_before == before_k else codes.M_HEAD_LESS
        some = codes.M_HEAD_SOME if shared_before > 0 else codes.M_HEAD_OTHER
        return codes.M_HEAD_MORE if shared_before == before_k else some
    if i_head and k_head:
        return codes.M_BOTH_WITHIN
    if i_head:
        return codes.M_WITHIN_BARE if n_i == 0 else codes.M_WITHIN
    if k_head:
        return codes.M_HOLDS_BARE if n_k == 0 else codes.M_HOLDS
    acronym_i, acronym_k = facts[i, Fact.ACRONYM], facts[k, Fact.ACRONYM]
    if (acronym_i != 0 and acronym_i == facts[k, Fact.INITIALS]) or (
        acronym_k != 0 and acronym_k == facts[i, Fact.INITIALS]
    ):
        return codes.M_ACRONYM
    if facts[i, Fact.STEM] == facts[k, Fact.STEM]:
        return codes.M_STEM
    if shared == 0 and facts[i, Fact.CLASS] == codes.CLASS_DEFINITE and facts[k, Fact.CLASS] == codes.CLASS_NAME:
        return description_match(facts[i, Fact.NAMING], facts[k, Fact.NAMING])
    return codes.M_NONE if shared == 0 else codes.M_ONE_WORD if shared == 1 else codes.M_WORDS


@inner_kernel
def description_match(description: np.uint32, name: np.uint32) -> int:
    """Code of how a description fits a name: they share a class, may share one, the name's is unknown, or they do not.

    "The general" is perhaps Mr. Smith, and not President Smith; "the rebels" are perhaps an acronym.
    """
    if description == 0:
        return codes.M_NONE
    if name == 0:
        return codes.M_DESCRIBES_UNKNOWN
    common = description & name
    if common == 0:
        return codes.M_DESCRIBES_OTHER
    if name == ORGANISATIONS:
        return codes.M_MAY_DESCRIBE
    if common == Naming.PERSON and description & OCCUPATIONS != 0:
        return codes.M_DESCRIBES_OTHER if name & OCCUPATIONS != 0 else codes.M_MAY_DESCRIBE
    return codes.M_DESCRIBES


@inner_kernel
def match(doc: Encoded, i: int, k: int) -> tuple[int, int]:
    """Code of how two mentions match, and how good that is (0 to 18, for phrases)."""
    facts = doc.facts
    pronoun_i = facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
    pronoun_k = facts[k, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
    if pronoun_i and pronoun_k:
        if facts[i, Fact.FORM] == facts[k, Fact.FORM]:
            return codes.M_SAME_PRONOUN, 0
        agrees = facts[i, Fact.AGREEMENT] == facts[k, Fact.AGREEMENT]
        return codes.M_LIKE_PRONOUN if agrees else codes.M_OTHER_PRONOUN, 0
    if pronoun_i or pronoun_k:
        return codes.M_PRONOUN_AND_PHRASE, 0
    how = phrase_match(doc, i, k)
    level = LEVELS[how]
    numerals = 0
    if facts[i, Fact.NUMERALS] != 0 and facts[k, Fact.NUMERALS] != 0:
        same = facts[i, Fact.NUMERALS] == facts[k, Fact.NUMERALS]
        numerals = codes.SAME_NUMERALS if same else codes.OTHER_NUMERALS
    if numerals == codes.OTHER_NUMERALS and level > codes.OTHER_NUMERALS_LEVEL:
        level = codes.OTHER_NUMERALS_LEVEL
    return 1 + codes.MATCH_FACTOR * how + numerals, level


@inner_kernel
def overlap(doc: Encoded, i: int, k: int) -> int:
    """How the spans of two mentions lie: a code O_."""
    s, e, s_k, e_k = doc.mentions[i, 0], doc.mentions[i, 1], doc.mentions[k, 0], doc.mentions[k, 1]
    if s_k <= s and e_k >= e:
        return codes.O_SAME_SPAN if s_k == s and e_k == e else codes.O_WITHIN
    if s_k >= s and e_k <= e:
        return codes.O_AROUND
    if e_k > s:
        return codes.O_CROSSING
    return codes.O_ADJACENT if s == e_k else codes.O_ONE_BETWEEN if s == e_k + 1 else codes.O_APART


@inner_kernel
def syntax(doc: Encoded, i: int, k: int) -> int:
    """Code of how the heads of two mentions of one sentence hang together in the parse."""
    h, h_k = doc.mentions[i, 2], doc.mentions[k, 2]
    g, g_k = doc.governor[h], doc.governor[h_k]
    code: int = codes.S_APART
    if g == h_k:
        code = codes.S_GOVERNED + doc.role[h]
    elif g_k == h:
        code = codes.S_GOVERNS + doc.role[h_k]
    elif doc.head[h] == h_k:
        code = codes.S_HANGS_ON + doc.link[h]
    elif g == g_k and g >= 0:
        code = codes.S_SIBLINGS + codes.S_FACTOR * doc.role[h] + doc.role[h_k]
    elif g >= 0 and doc.head[g] == h_k:
        code = codes.S_GOVERNOR_HANGS_ON + doc.link[g]
    elif g >= 0 and g_k >= 0 and doc.governor[g] == g_k:
        code = codes.S_BELOW_SIBLING + doc.link[g]
    elif g_k >= 0 and doc.governor[g_k] == h:
        code = codes.S_GOVERNS_GOVERNOR + doc.link[g_k]
    elif g_k >= 0 and g >= 0 and doc.governor[g_k] == g:
        code = codes.S_ABOVE_SIBLING + doc.link[g_k]
    return code


@inner_kernel
def alike(gender: int, second_gender: int) -> bool:
    """Whether two genders fit: a person of either gender and one of them; a group and a thing, or persons."""
    if gender == Gender.ANIMATE:
        return second_gender <= Gender.FEMALE or second_gender == Gender.COLLECTIVE
    return gender == Gender.COLLECTIVE and second_gender == Gender.NEUTER


@inner_kernel
def is_of_members(doc: Encoded, i: int, k: int) -> bool:
    """Whether i is a description of a group by its members, and k a name that is not of a person."""
    facts = doc.facts
    if facts[i, Fact.CLASS] != codes.CLASS_DEFINITE or facts[k, Fact.CLASS] != codes.CLASS_NAME:
        return False
    of_members: bool = facts[i, Fact.NAMING] & Naming.MEMBERS != 0
    return of_members and facts[k, Fact.NAMING] & Naming.PERSON == 0


@inner_kernel
def agreement(doc: Encoded, i: int, k: int) -> tuple[int, bool]:
    """Code of agreement in number, gender and person, and whether nothing disagrees."""
    number_i, number_k = doc.facts[i, Fact.NUMBER], doc.facts[k, Fact.NUMBER]
    gender_i, gender_k = doc.facts[i, Fact.GENDER], doc.facts[k, Fact.GENDER]
    number = 0 if number_i == 0 or number_k == 0 else codes.AGREES if number_i == number_k else codes.DIFFERS
    if gender_i == Gender.COLLECTIVE or gender_k == Gender.COLLECTIVE:
        number = 0  # the team they are
    if is_of_members(doc, i, k) or is_of_members(doc, k, i):
        number = 0  # the Front: the rebels
    if gender_i == 0 or gender_k == 0:
        gender = 0
    elif gender_i == gender_k:
        gender = codes.AGREES
    else:
        like = alike(gender_i, gender_k) or alike(gender_k, gender_i)
        gender = codes.ALIKE if like else codes.GENDER_DIFFERS
    person = codes.AGREES if doc.facts[i, Fact.PERSON] == doc.facts[k, Fact.PERSON] else codes.DIFFERS
    by_gender, by_person = codes.AGREE_FACTORS
    agrees = number != codes.DIFFERS and gender != codes.GENDER_DIFFERS and person == codes.AGREES
    return 1 + number + by_gender * gender + by_person * person, agrees


@inner_kernel
def description_bonus_index(doc: Encoded, i: int, k: int, code: int, sentences: int, agrees: bool) -> int:
    """Index in `DESCRIPTION_BONUSES`: above 0 for a new description with at most one modifier and a name close by.

    An acronym that was read as a noun is a name. A description can also mean an indefinite noun of its class: a
    singular one, or members of a group. A plural one with a number or of the class of names means their coordination.
    """
    atoms, facts, naming = doc.atoms, doc.facts, doc.facts[i, Fact.NAMING]
    if facts[i, Fact.CLASS] != codes.CLASS_DEFINITE or sentences > codes.DESCRIBED_WITHIN:
        return 0
    if atoms[i, Atom.MODIFIERS] > 1 or atoms[i, Atom.AFTER] + atoms[i, Atom.SAME_BEFORE] + atoms[i, Atom.HEAD_BEFORE]:
        return 0
    singular, naming_k = facts[i, Fact.NUMBER] == Number.SINGULAR, facts[k, Fact.NAMING]
    if facts[k, Fact.CLASS] == codes.CLASS_COORDINATION:  # the two countries, the two
        how = description_match(naming, naming_k)
        counted = facts[i, Fact.NUMERALS] != 0 and how != codes.M_DESCRIBES_OTHER
        return 0 if singular else 1 if how == codes.M_DESCRIBES else codes.UNKNOWN_NAME * counted
    if naming == 0:
        return 0
    how = (code - 1) // codes.MATCH_FACTOR
    if how == codes.M_NONE and facts[k, Fact.ACRONYM] != 0 and naming_k == 0:
        how = description_match(naming, U32(ORGANISATIONS))
    elif how == codes.M_WITHIN_BARE or how == codes.M_WITHIN:  # "President Ruiz": the president
        how = description_match(naming, naming_k) if facts[k, Fact.CLASS] == codes.CLASS_NAME else how
    elif how == codes.M_NONE and (atoms[k, Atom.KIND] == codes.INDEFINITE or atoms[k, Atom.KIND] == codes.BARE_PLURAL):
        of_one_class = naming & naming_k & ~U32(Naming.PERSON) != 0
        alike_in_number = facts[k, Fact.NUMBER] == facts[i, Fact.NUMBER] and (singular or naming & Naming.MEMBERS != 0)
        return int(of_one_class and alike_in_number)
    elif how == codes.M_DESCRIBES and naming & naming_k & OCCUPATIONS:  # another title than the description
        how = codes.M_MAY_DESCRIBE
    if not codes.M_DESCRIBES <= how <= codes.M_DESCRIBES_UNKNOWN or atoms[k, Atom.MEANING] == Meaning.TIME:
        return 0
    if naming_k == PLACES:  # by a preposition alone
        how = codes.M_DESCRIBES_UNKNOWN
    index = 1 + how - codes.M_DESCRIBES
    if naming & Naming.MEMBERS:
        return 0 if singular or naming_k & Naming.PERSON else index
    perhaps_person = naming == Naming.PERSON and atoms[i, Atom.MEANING] == Meaning.PERHAPS_PERSON
    if not singular or perhaps_person or (naming & Naming.PERSON and not agrees):
        return 0
    if index == codes.UNKNOWN_NAME:  # countries are listed; it is rarely a person or an area
        return 0 if naming & (Naming.PERSON | Naming.COUNTRY | Naming.AREA) else index
    return codes.UNKNOWN_NAME if index == 1 and naming & naming_k == Naming.PERSON else index


@inner_kernel
def governor_bonus_index(doc: Encoded, i: int, k: int, pair: Words32) -> int:
    """Index in `GOVERNOR_BONUSES` of a pair that agrees, by its atoms GOVERNS and DESCRIBED.

    Above 0 for "it", "they" and descriptions in the subject of their clause, and a name or noun.
    """
    facts, code = doc.facts, 0 + pair[PairAtom.GOVERNS]
    below = code > codes.G_BELOW
    pronoun, phrase = (k, i) if below else (i, k)
    h, gender = doc.mentions[pronoun, 2], facts[pronoun, Fact.GENDER]
    role = doc.role[doc.head[h]] if doc.link[h] == Role.POSSESSOR else doc.role[h]
    is_subject = role == Role.SUBJECT or role == Role.PASSIVE_SUBJECT
    if code == 0 or not is_subject or facts[phrase, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN:
        return 0
    third = facts[pronoun, Fact.CLASS] == codes.CLASS_THIRD and gender != Gender.MALE and gender != Gender.FEMALE
    kind = doc.atoms[pronoun, Atom.GOVERNED] % U32(codes.FITS_FACTOR)
    if third and (below or code <= codes.G_PART) and codes.OF_SAYING < kind < codes.CLAUSE_OF_NOUN:
        return (codes.RAISED_BELOW if facts[pronoun, Fact.SENT] == 0 else 0) if below else codes.RAISED_SAYING
    if third and code == codes.G_SUBJECT and 0 < kind < codes.CLAUSE_OF_NOUN:
        return codes.RAISED_CONTINUED
    actor = facts[k, Fact.NAMING] & U32(ORGANISATIONS | Naming.COUNTRY) != 0
    actor = actor or facts[k, Fact.JOINED] == codes.COORDINATED
    continued = code == codes.G_CONTINUED + codes.G_SUBJECT and (third or pair[PairAtom.DESCRIBED] != 0)
    return codes.RAISED_CONTINUED if continued and actor else 0


@inner_kernel
def description_bonus(doc: Encoded, i: int, k: int, index: int) -> float:
    """What is added to the score of a pair with this index of `described`."""
    if index == 0:
        return 0.0
    bonus: float = codes.DESCRIPTION_BONUSES[index] - codes.MODIFIED_PENALTY * (doc.atoms[i, Atom.MODIFIERS] != 0)
    if index != codes.UNKNOWN_NAME:
        bonus += codes.MEMBERS_BONUS * is_of_members(doc, i, k)
    if index != codes.UNKNOWN_NAME or doc.facts[i, Fact.NAMING] & PLACES == 0:
        bonus += codes.SUBJECT_BONUS * (doc.role[doc.mentions[k, 2]] == Role.SUBJECT)
    return bonus


@inner_kernel
def speakers(facts: Words32, i: int, k: int) -> int:
    """Code of turns between "I", "we" or "you" and a candidate, of one speaker or two, and of how many there are."""
    if facts[i, Fact.CLASS] != codes.CLASS_SPEAKER or facts[i, Fact.SPEAKER] == 0 or facts[k, Fact.SPEAKER] == 0:
        return 0
    turn_i, turn_k = 0 + facts[i, Fact.TURN], 0 + facts[k, Fact.TURN]  # sums are signed
    turns = turn_i - turn_k if turn_i > turn_k else turn_k - turn_i
    same = facts[i, Fact.SPEAKER] == facts[k, Fact.SPEAKER]
    n_turns = turns if turns < codes.MOST_TURNS else codes.MOST_TURNS
    code: int = 1 + n_turns + codes.SAME_SPEAKER * same + codes.SPEAKERS_FACTOR * (0 + facts[i, Fact.SPEAKERS])
    return code


@inner_kernel
def meant(facts: Words32, i: int, k: int) -> int:
    """Code of which of the speakers that two mentions can mean are the same; 0 unless each can mean one."""
    first_i, second_i = facts[i, Fact.MEANT], facts[i, Fact.MEANT_ELSE]
    first_k, second_k = facts[k, Fact.MEANT], facts[k, Fact.MEANT_ELSE]
    if first_i == 0 or first_k == 0:
        return 0
    of_first = (first_i == first_k) + 2 * (first_i == second_k)
    code: int = 1 + of_first + 4 * (second_i == first_k) + 8 * (second_i == second_k)
    return code


@inner_kernel
def part_of(doc: Encoded, k: int, subject: int) -> int:
    """What a mention is of a subject, by the token that is its head: it, a part or a member of it, or nothing (0)."""
    h = doc.mentions[k, 2]
    if subject < 0 or (h != subject and doc.head[h] != subject):
        return 0
    link = doc.link[h]
    if link == Role.CONJUNCT or doc.facts[k, Fact.JOINED] == codes.MEMBER:
        return codes.G_MEMBER
    if h == subject:
        return codes.G_SUBJECT
    is_part = link == Role.POSSESSOR or link == Role.COMPOUND or link == Role.NOUN_MODIFIER
    return codes.G_PART if is_part else 0


@inner_kernel
def governs(doc: Encoded, i: int, k: int) -> int:
    """Code of whether a mention governs the clause of another one: see `G_SUBJECT`."""
    facts = doc.facts
    above, before = part_of(doc, k, 0 + facts[i, Fact.ABOVE] - 1), part_of(doc, k, 0 + facts[i, Fact.CONTINUED] - 1)
    verb, below = 0 + facts[i, Fact.VERB_ABOVE] - 1, part_of(doc, i, 0 + facts[k, Fact.ABOVE] - 1)
    if above == 0 and verb >= 0 and doc.governor[doc.mentions[k, 2]] == verb:
        return codes.G_OTHER
    return above or (codes.G_CONTINUED + before if before else codes.G_BELOW + below if below else 0)


@inner_kernel
def compare(doc: Encoded, i: int, k: int, between: Ints32, pair: Words32) -> int:
    """Fill the atoms of a pair; return how well the phrases match.

    between (3,) : agreeing mentions, agreeing names and like pronouns between k and i; k is counted in, for the next
    pair, which is that of i and k - 1.
    """
    facts = doc.facts
    sent_i, sent_k = 0 + facts[i, Fact.SENT], 0 + facts[k, Fact.SENT]  # sums are signed
    apart = sent_i - sent_k if sent_i > sent_k else sent_k - sent_i
    code, level = match(doc, i, k)
    agreeing, agrees = agreement(doc, i, k)
    pair[PairAtom.SENTENCES] = 1 + bucket(apart)
    pair[PairAtom.MENTIONS] = bucket(i - k)
    pair[PairAtom.MATCH] = code
    pair[PairAtom.OVERLAP] = overlap(doc, i, k)
    pair[PairAtom.SYNTAX] = syntax(doc, i, k) if apart == 0 else 0
    pair[PairAtom.AGREE] = agreeing
    pair[PairAtom.AGREEING_BETWEEN] = bucket(0 + between[0])
    names = bucket(0 + between[1])
    pair[PairAtom.NAMES_BETWEEN] = names if names < codes.MOST_NAMES else codes.MOST_NAMES
    pair[PairAtom.PRONOUNS_BETWEEN] = bucket(0 + between[2])
    quoted_i, quoted_k = doc.atoms[i, Atom.QUOTED], doc.atoms[k, Atom.QUOTED]
    if quoted_i != quoted_k:
        pair[PairAtom.QUOTES] = U32(1) + quoted_i
    else:
        together = codes.QUOTED_TOGETHER if apart == 0 else codes.QUOTED_APART
        pair[PairAtom.QUOTES] = U32(0 if quoted_i == 0 else together)
    n_others = 0
    if facts[i, Fact.CLASS] == codes.CLASS_SPEAKER:
        of = Fact.SECOND_PERSONS if facts[i, Fact.PERSON] == 1 else Fact.FIRST_PERSONS
        n_others = 0 + facts[i, of] - facts[k, of]
    n_others = bucket(n_others)
    pair[PairAtom.OTHERS_BETWEEN] = n_others if n_others < codes.MOST_OTHERS else codes.MOST_OTHERS
    quantity_i, quantity_k = facts[i, Fact.QUANTITY], facts[k, Fact.QUANTITY]
    pair[PairAtom.CLASH] = quantity_i != 0 and quantity_k != 0 and quantity_i != quantity_k
    pair[PairAtom.DESCRIBED] = description_bonus_index(doc, i, k, code, pair[PairAtom.SENTENCES], agrees)
    pair[PairAtom.SPEAKERS] = speakers(facts, i, k)
    pair[PairAtom.GOVERNS] = governs(doc, i, k)
    pair[PairAtom.MEANT] = meant(facts, i, k)
    pair[PairAtom.RAISED] = governor_bonus_index(doc, i, k, pair) if agrees else 0
    between[0] += agrees
    between[1] += agrees and facts[k, Fact.CLASS] == codes.CLASS_NAME
    alike_k = facts[k, Fact.AGREEMENT] == facts[i, Fact.AGREEMENT]
    between[2] += facts[k, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN and alike_k
    return level


@kernel_in_place
def fill_pair(doc: Encoded, i: int, k: int, between: Ints32, pair: Words32) -> int:
    """Call `compare` from Python, for one pair."""
    return compare(doc, i, k, between, pair)
