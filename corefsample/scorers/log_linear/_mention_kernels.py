"""Compiled loops that turn one mention into atoms (what templates combine) and facts (what pairs are compared by).

Legend
    t : token; s, e, h : first token, end and head of a mention; g : governor of the head
    i, k : mention, earlier mention                n : mentions
    words[t, column] : a word table, columns of `Column`
    atoms[i, atom], facts[i, fact] : uint32, columns of `Atom` and `Fact`; 0 where there is nothing to say
"""

from typing import NamedTuple

import numpy as np

from corefsample._arrays import Ints32, Words32
from corefsample._jit import inner_kernel
from corefsample.scorers.log_linear import _feature_codes as codes
from corefsample.scorers.log_linear._feature_codes import Atom, Fact
from corefsample.syntax import _codes as syntax_codes
from corefsample.syntax._codes import ORGANISATIONS, Column, Gender, Kind, Meaning, Naming, Number, Role, Upos

U32, U64 = np.uint32, np.uint64
LOW = U64(0xFFFFFFFF)
PRONOUN_KINDS = np.full(len(Kind), codes.OTHER_PRONOUN)  # kind of a mention that is one pronoun, by the pronoun's kind
PRONOUN_KINDS[Kind.PERSONAL] = codes.THIRD
PRONOUN_KINDS[Kind.POSSESSIVE] = codes.POSSESSIVE_PRONOUN
PRONOUN_KINDS[Kind.REFLEXIVE] = codes.REFLEXIVE_PRONOUN
PRONOUN_KINDS[Kind.DEMONSTRATIVE] = codes.DEMONSTRATIVE_PRONOUN
PRONOUN_KINDS[Kind.RELATIVE] = codes.RELATIVE_PRONOUN
PRONOUN_KINDS[Kind.EXISTENTIAL] = codes.EXISTENTIAL_PRONOUN
CLASS_OF_KIND = np.array(codes.CLASS_OF_KIND)


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
    partner: Ints32  # by mention: head of the second of two names of one clause, -1 of other mentions


@inner_kernel
def mix(code: np.uint32, value: np.uint32) -> np.uint32:
    """Hash of a code extended by a value: a product, a sum, and the avalanche of XXH32 on 64 bits."""
    z = U64(code) * U64(codes.XXH32_PRIMES[0]) + U64(value)
    z ^= z >> U64(codes.XXH32_SHIFTS[0])
    z *= U64(codes.XXH32_PRIMES[1])
    z ^= z >> U64(codes.XXH32_SHIFTS[1])
    z *= U64(codes.XXH32_PRIMES[2])
    return U32((z ^ (z >> U64(codes.XXH32_SHIFTS[2]))) & LOW)


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
    n_core, n_modifiers, n_initials = 0, 0, 0
    after = codes.AFTER_CONJUNCT if text.partner[i] >= 0 else 0
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
        if kind == Kind.INDEFINITE and text.words[t, Column.NUMBER] == Number.PLURAL:  # both countries
            numerals = mix(numerals, text.words[t, Column.FORM])
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
def mention_kind(text: Text, i: int, determiner: int, by_pronoun: int, by_noun: int) -> int:
    """Kind of a mention: what pronoun it is, or what determines its noun."""
    s, e, h = text.mentions[i, 0], text.mentions[i, 1], text.mentions[i, 2]
    upos, kind = text.words[h, Column.UPOS], text.words[h, Column.KIND]
    if upos == Upos.PRON or (kind != 0 and kind < Kind.DEFINITE_ARTICLE and e - s == 1):
        person = text.words[h, Column.PERSON]
        if kind == Kind.PERSONAL and (person == 1 or person == 2):
            return codes.FIRST if person == 1 else codes.SECOND
        pronoun_kind: int = PRONOUN_KINDS[kind]
        return pronoun_kind
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
        both = by == Kind.INDEFINITE and text.words[determiner, Column.NUMBER] == Number.PLURAL
        if by == Kind.DEFINITE_ARTICLE or both:
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
    speaker = (person == 1 or person == 2) and kind <= codes.REFLEXIVE_PRONOUN
    group: int = codes.CLASS_SPEAKER if speaker else CLASS_OF_KIND[kind]
    return group


@inner_kernel
def fill_head(text: Text, i: int, last: int, kind: int, atoms: Words32, facts: Words32) -> None:
    """Fill what the head of a mention says: kind, word, number, gender, person.

    Its quantity is one person, or several things, or 0 where neither is sure. A name without a meaning has that of the
    last word before it that has one.
    """
    h = text.mentions[i, 2]
    person = text.words[h, Column.PERSON]
    group = kind_class(kind, person)
    pronoun = group <= codes.CLASS_OTHER_PRONOUN
    number, gender = text.words[h, Column.NUMBER], text.words[last, Column.GENDER]
    if text.words[h, Column.UPOS] == Upos.PROPN:
        gender = name_gender(text, i, gender)
    if (gender == Gender.UNKNOWN or gender == Gender.NEUTER) and group == codes.CLASS_NAME:
        for k in range(i - 1, -1, -1):  # the same name met before, perhaps with a title
            same = facts[k, Fact.CLASS] == codes.CLASS_NAME and facts[k, Fact.LEMMA] == text.words[last, Column.LEMMA]
            if same and facts[k, Fact.GENDER] != 0:
                gender = facts[k, Fact.GENDER]
                break
    after = atoms[i, Atom.AFTER]
    if after & U32(codes.AFTER_CONJUNCT):
        # "A poet and painter" may be one person, "the poet and the painter" are two.
        perhaps_one = text.words[h, Column.UPOS] == Upos.NOUN and number == Number.SINGULAR
        number = U32(Number.UNKNOWN if perhaps_one and not after & U32(codes.AFTER_DETERMINED) else Number.PLURAL)
    sort = mention_sort(group, person, number, gender)
    if sort == codes.SORT_PLURAL or (sort == codes.SORT_NAMES and after & U32(codes.AFTER_CONJUNCT)):
        facts[i, Fact.QUANTITY] = codes.SEVERAL
    elif sort == codes.SORT_HE_OR_SHE or sort == codes.SORT_NAME or sort == codes.SORT_SINGULAR:
        one_person = (gender == Gender.MALE or gender == Gender.FEMALE) and number == Number.SINGULAR
        facts[i, Fact.QUANTITY] = codes.ONE_PERSON * (sort == codes.SORT_HE_OR_SHE or one_person)
    meaning = text.words[last, Column.MEANING]
    if meaning == 0 and text.words[h, Column.UPOS] == Upos.PROPN:
        for t in range(text.mentions[i, 0], last):
            if text.words[t, Column.MEANING] != 0:
                meaning = text.words[t, Column.MEANING] + U32(codes.NAME_MEANING)
    joined = after & U32(codes.AFTER_CONJUNCT) != 0 and group == codes.CLASS_NAME
    if joined:
        kind, group, meaning, gender = codes.COORDINATION, codes.CLASS_COORDINATION, U32(0), U32(0)
    atoms[i, Atom.ANY], atoms[i, Atom.KIND], atoms[i, Atom.CLASS] = 1, kind, group
    atoms[i, Atom.SORT] = sort
    atoms[i, Atom.HEAD] = text.words[h, Column.FORM] if pronoun else text.known_forms[last]
    atoms[i, Atom.LEMMA] = text.words[h, Column.FORM] if pronoun else text.known_lemmas[last]
    atoms[i, Atom.PRONOUN] = text.words[h, Column.FORM] if pronoun else U32(kind)
    atoms[i, Atom.ENDING] = text.words[last, Column.ENDING]
    atoms[i, Atom.UPOS] = text.words[h, Column.UPOS]
    atoms[i, Atom.MEANING] = meaning
    by_gender, by_person = codes.AGREEMENT_FACTORS
    agreement = U32(1) + number + U32(by_gender) * gender + U32(by_person) * person
    atoms[i, Atom.NUMBER], atoms[i, Atom.GENDER], atoms[i, Atom.PERSON] = number, gender, person
    atoms[i, Atom.AGREEMENT] = agreement
    facts[i, Fact.LEMMA], facts[i, Fact.FORM] = text.words[last, Column.LEMMA], text.words[last, Column.FORM]
    facts[i, Fact.STEM], facts[i, Fact.SENT] = text.words[last, Column.STEM], text.sent[h]
    facts[i, Fact.NUMBER], facts[i, Fact.GENDER], facts[i, Fact.PERSON] = number, gender, person
    facts[i, Fact.CLASS], facts[i, Fact.AGREEMENT] = group, agreement
    if joined:  # matches the same names only
        for fact in (Fact.LEMMA, Fact.FORM, Fact.STEM, Fact.CORE):
            facts[i, fact] = facts[i, Fact.FULL]
        atoms[i, Atom.HEAD], atoms[i, Atom.LEMMA] = codes.NOTHING, codes.NOTHING
    facts[i, Fact.SPEAKER], facts[i, Fact.TURN] = text.speaker[h], text.turn[h]
    naming = text.words[last, Column.NAMING]
    for t in range(h + 1, text.mentions[i, 1] if joined else h):  # what all members are
        if (text.head[t] == h and text.link[t] == Role.CONJUNCT) or t == text.partner[i]:
            naming &= text.words[t, Column.NAMING]
    if group == codes.CLASS_NAME:
        naming = name_naming(text, i, last, gender, facts)
    for t in range(text.mentions[i, 0], last):
        if group == codes.CLASS_DEFINITE and text.words[t, Column.NAMING] & U32(Naming.OTHER) != 0:
            naming = U32(0)  # "the other company"
    atoms[i, Atom.NAMING] = facts[i, Fact.NAMING] = naming


@inner_kernel
def mention_sort(group: int, person: int, number: int, gender: int) -> int:
    """Sort of a mention: which pronoun, or a name or noun by number."""
    plural = number == Number.PLURAL
    if group == codes.CLASS_SPEAKER:
        return codes.SORT_YOU if person != 1 else codes.SORT_WE if plural else codes.SORT_I
    if group == codes.CLASS_THIRD:
        if plural:
            return codes.SORT_THEY
        return codes.SORT_HE_OR_SHE if gender == Gender.MALE or gender == Gender.FEMALE else codes.SORT_IT
    if group <= codes.CLASS_OTHER_PRONOUN:
        return codes.SORT_OTHER_PRONOUN
    if group == codes.CLASS_NAME:
        return codes.SORT_NAMES if plural else codes.SORT_NAME
    if group == codes.CLASS_CLAUSE:
        return codes.SORT_CLAUSE
    return codes.SORT_PLURAL if plural else codes.SORT_SINGULAR


@inner_kernel
def name_naming(text: Text, i: int, last: int, gender: np.uint32, facts: Words32) -> np.uint32:
    """Classes of what a name means, in bits of `Naming`.

    The first source that has any decides: titles before the name ("President Ruiz", "carmaker Fiat"), its gender, its
    last word, an apposition or the members that it modifies ("FMLN rebels"), an earlier name with its last word, and
    the preposition before it ("in"). An apposition also replaces the classes of any organisation.
    """
    s, h, g = text.mentions[i, 0], text.mentions[i, 2], text.governor[text.mentions[i, 2]]
    naming = U32(0)
    for t in range(s, last):
        if t == h or (s <= text.head[t] <= last and text.link[t] != Role.POSSESSOR):
            title = text.words[t, Column.UPOS] == Upos.NOUN or text.words[t, Column.MEANING] == Meaning.PERSON
            naming |= text.words[t, Column.NAMING] if title else text.words[t, Column.NAMING] & U32(Naming.PERSON)
    if gender == Gender.COLLECTIVE and naming == Naming.PERSON:  # "European Commission"
        naming = U32(0)
    if naming == 0 and (gender == Gender.MALE or gender == Gender.FEMALE):
        naming = U32(Naming.PERSON)
    if naming == 0:
        naming = text.words[last, Column.NAMING]
    if naming == 0 or naming == ORGANISATIONS:
        by_context = U32(0)
        if g >= 0:
            of_members = text.words[g, Column.NAMING] & U32(Naming.MEMBERS) != 0
            if text.link[h] == Role.APPOSITION or (text.link[h] == Role.COMPOUND and of_members):
                by_context = text.words[g, Column.NAMING]
                if text.link[h] == Role.COMPOUND:  # the name is that of their group
                    by_context &= ~U32(Naming.PERSON)
        for t in range(h + 1, text.head.shape[0]):
            if t > h + codes.APPOSITION_WORDS:
                break
            if text.head[t] == h and text.link[t] == Role.APPOSITION:
                by_context |= text.words[t, Column.NAMING]
        if by_context != 0:
            naming = by_context
    if naming == 0:
        for k in range(i - 1, -1, -1):
            if facts[k, Fact.CLASS] == codes.CLASS_NAME and facts[k, Fact.NAMING] != 0:
                for t in range(text.mentions[k, 0], effective_head(text, k) + 1):
                    if text.words[t, Column.LEMMA] == text.words[last, Column.LEMMA]:
                        return U32(facts[k, Fact.NAMING])
    if naming == 0 and text.marker[h] >= 0:
        naming = text.words[text.marker[h], Column.NAMING]
    return U32(naming)


@inner_kernel
def name_gender(text: Text, i: int, gender: np.uint32) -> np.uint32:
    """Gender of a name: a group by its last word, else by the first of its words that has one (given name, title)."""
    if gender == Gender.COLLECTIVE:
        return U32(gender)
    s, e, h = text.mentions[i, 0], text.mentions[i, 1], text.mentions[i, 2]
    for t in range(s, e):
        upos = text.words[t, Column.UPOS]
        if (text.head[t] == h or t == h) and (upos == Upos.PROPN or upos == Upos.NOUN):
            word_gender = text.words[t, Column.GENDER]
            if word_gender == Gender.MALE or word_gender == Gender.FEMALE:
                return U32(word_gender)
    return gender


@inner_kernel
def fill_surroundings(text: Text, i: int, last: int, atoms: Words32) -> None:
    """Fill words at and around the bounds of a mention, and what its head hangs on."""
    s, e, h = text.mentions[i, 0], text.mentions[i, 1], text.mentions[i, 2]
    sent, forms, nothing = text.sent, text.known_forms, U32(codes.NOTHING)
    n_tokens = sent.shape[0]
    atoms[i, Atom.FIRST], atoms[i, Atom.LAST] = forms[s], forms[e - 1]
    atoms[i, Atom.PREVIOUS] = forms[s - 1] if s > 0 and sent[s - 1] == sent[s] else nothing
    atoms[i, Atom.BEFORE_PREVIOUS] = forms[s - 2] if s > 1 and sent[s - 2] == sent[s] else nothing
    atoms[i, Atom.NEXT] = forms[e] if e < n_tokens and sent[e] == sent[h] else nothing
    atoms[i, Atom.AFTER_NEXT] = forms[e + 1] if e + 1 < n_tokens and sent[e + 1] == sent[h] else nothing
    atoms[i, Atom.BEFORE_HEAD] = forms[last - 1] if last - 1 >= s else nothing
    atoms[i, Atom.AFTER_HEAD] = forms[last + 1] if last + 1 < e else nothing
    g = text.governor[h]
    atoms[i, Atom.ROLE], atoms[i, Atom.LINK] = text.role[h] + 1, text.link[h] + 1
    atoms[i, Atom.GOVERNOR] = text.known_lemmas[g] if g >= 0 else nothing
    atoms[i, Atom.GOVERNOR_ROLE] = text.link[g] + 1 if g >= 0 else 0
    atoms[i, Atom.ADPOSITION] = text.words[text.marker[h], Column.FORM] if text.marker[h] >= 0 else nothing
    single, middle = codes.LENGTH_ENDS
    atoms[i, Atom.LENGTH] = e - s if e - s <= single else single + 1 if e - s <= middle else single + 2
