"""Compiled loops that fill the atoms and facts of all mentions of a document.

Legend as in `corefsample.scorers.log_linear.features._encoding_kernels`.
"""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bools, Ints32, Words32
from corefsample._jit import inner_kernel, kernel, kernel_in_place
from corefsample.scorers.log_linear.features import _feature_codes as codes
from corefsample.scorers.log_linear.features._encoding_kernels import (
    U32,
    Text,
    bucket,
    effective_head,
    fill_phrase,
    fill_quoted,
    fill_sentence_flags,
    is_content,
    kind_class,
    mention_kind,
    n_reached,
    text_style,
)
from corefsample.scorers.log_linear.features._feature_codes import Atom, Fact
from corefsample.syntax._codes import ORGANISATIONS, Column, Gender, Meaning, Naming, Number, Role, Upos


@inner_kernel
def fill_head(text: Text, i: int, last: int, kind: int, atoms: Words32, facts: Words32) -> None:
    """Fill what the head of a mention says: kind, word, number, gender, person."""
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
    if atoms[i, Atom.AFTER] & U32(codes.AFTER_CONJUNCT):
        number = conjoined_number(text.words[h, Column.UPOS], number, atoms[i, Atom.AFTER])
    atoms[i, Atom.ANY], atoms[i, Atom.KIND], atoms[i, Atom.CLASS] = 1, kind, group
    sort = mention_sort(group, person, number, gender)
    atoms[i, Atom.SORT], facts[i, Fact.QUANTITY] = sort, quantity(sort, number, gender, atoms[i, Atom.AFTER])
    atoms[i, Atom.HEAD] = text.words[h, Column.FORM] if pronoun else text.known_forms[last]
    atoms[i, Atom.LEMMA] = text.words[h, Column.FORM] if pronoun else text.known_lemmas[last]
    atoms[i, Atom.PRONOUN] = text.words[h, Column.FORM] if pronoun else U32(kind)
    atoms[i, Atom.ENDING] = text.words[last, Column.ENDING]
    atoms[i, Atom.UPOS] = text.words[h, Column.UPOS]
    atoms[i, Atom.MEANING] = name_meaning(text, i, last)
    by_gender, by_person = codes.AGREEMENT_FACTORS
    agreement = U32(1) + number + U32(by_gender) * gender + U32(by_person) * person
    atoms[i, Atom.NUMBER], atoms[i, Atom.GENDER], atoms[i, Atom.PERSON] = number, gender, person
    atoms[i, Atom.AGREEMENT] = agreement
    facts[i, Fact.LEMMA], facts[i, Fact.FORM] = text.words[last, Column.LEMMA], text.words[last, Column.FORM]
    facts[i, Fact.STEM], facts[i, Fact.SENT] = text.words[last, Column.STEM], text.sent[h]
    facts[i, Fact.NUMBER], facts[i, Fact.GENDER], facts[i, Fact.PERSON] = number, gender, person
    facts[i, Fact.CLASS], facts[i, Fact.AGREEMENT] = group, agreement
    facts[i, Fact.SPEAKER], facts[i, Fact.TURN] = text.speaker[h], text.turn[h]
    naming = text.words[last, Column.NAMING]
    if group == codes.CLASS_NAME:
        naming = name_naming(text, i, last, gender, facts)
    for t in range(text.mentions[i, 0], last):
        if group == codes.CLASS_DEFINITE and text.words[t, Column.NAMING] & U32(Naming.OTHER) != 0:
            naming = U32(0)  # "the other company"
    atoms[i, Atom.NAMING] = facts[i, Fact.NAMING] = naming


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
def conjoined_number(upos: int, number: np.uint32, after: int) -> np.uint32:
    """Number of conjoined words; "a poet and painter" may be one person, "the poet and the painter" are two."""
    if upos == Upos.NOUN and number == Number.SINGULAR and not after & codes.AFTER_DETERMINED:
        return U32(Number.UNKNOWN)
    return U32(Number.PLURAL)


@inner_kernel
def quantity(sort: int, number: int, gender: int, after: int) -> int:
    """Whether a mention must be one person, or several things; 0 where neither is sure."""
    if sort == codes.SORT_PLURAL or (sort == codes.SORT_NAMES and after & codes.AFTER_CONJUNCT):
        return codes.SEVERAL
    phrase = sort == codes.SORT_NAME or sort == codes.SORT_SINGULAR
    person = (gender == Gender.MALE or gender == Gender.FEMALE) and number == Number.SINGULAR
    return codes.ONE_PERSON if sort == codes.SORT_HE_OR_SHE or (phrase and person) else 0


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
def name_meaning(text: Text, i: int, last: int) -> np.uint32:
    """Meaning of the head, or of the last word before it that has one if the head is a name without."""
    meaning = text.words[last, Column.MEANING]
    if meaning == 0 and text.words[text.mentions[i, 2], Column.UPOS] == Upos.PROPN:
        for t in range(text.mentions[i, 0], last):
            if text.words[t, Column.MEANING] != 0:
                meaning = text.words[t, Column.MEANING] + U32(codes.NAME_MEANING)
    return U32(meaning)


@inner_kernel
def fill_surroundings(text: Text, i: int, last: int, atoms: Words32) -> None:
    """Fill words at and around the bounds of a mention, and what its head hangs on."""
    s, e, h = text.mentions[i, 0], text.mentions[i, 1], text.mentions[i, 2]
    sent = text.sent
    n_tokens = sent.shape[0]
    forms = text.known_forms
    nothing = U32(codes.NOTHING)
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


@inner_kernel
def fill_nesting(mentions: Ints32, open_mentions: Ints32, atoms: Words32) -> None:
    """Fill how deep a mention lies in others, what the innermost of these is, and how many it holds (up to 3)."""
    n_open = 0
    for i in range(mentions.shape[0]):
        while n_open > 0 and mentions[open_mentions[n_open - 1], 1] <= mentions[i, 0]:
            n_open -= 1
        depth, outer = 0, -1
        for depth_open in range(n_open):
            if mentions[open_mentions[depth_open], 1] >= mentions[i, 1]:
                depth += 1
                outer = open_mentions[depth_open]
        atoms[i, Atom.NESTING] = depth if depth < codes.MOST_NESTED else codes.MOST_NESTED
        if outer >= 0:
            atoms[i, Atom.OUTER] = atoms[outer, Atom.ROLE] + U32(codes.OUTER_FACTOR) * atoms[outer, Atom.CLASS]
            if atoms[outer, Atom.INNER] < codes.MOST_NESTED:
                atoms[outer, Atom.INNER] += U32(1)
        if n_open < codes.DEEPEST:
            open_mentions[n_open] = i
            n_open += 1


@inner_kernel
def fill_history(facts: Words32, atoms: Words32) -> None:
    """Fill how often a mention's string and head came before, and how often in the whole document."""
    n = facts.shape[0]
    for i in range(n):
        same, head, everywhere = 0, 0, 0
        pronoun = facts[i, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
        for k in range(n):
            earlier_pronoun = facts[k, Fact.CLASS] <= codes.CLASS_OTHER_PRONOUN
            alike = (
                facts[k, Fact.FORM] == facts[i, Fact.FORM] if pronoun else facts[k, Fact.LEMMA] == facts[i, Fact.LEMMA]
            )
            if earlier_pronoun == pronoun and alike:
                everywhere += 1
            if k < i:
                if earlier_pronoun == pronoun and facts[k, Fact.CORE] == facts[i, Fact.CORE]:
                    same += 1
                elif not earlier_pronoun and facts[k, Fact.LEMMA] == facts[i, Fact.LEMMA]:
                    head += 1
        atoms[i, Atom.SAME_BEFORE] = same if same < codes.MOST_BEFORE else codes.MOST_BEFORE
        atoms[i, Atom.HEAD_BEFORE] = head if head < codes.MOST_BEFORE else codes.MOST_BEFORE
        atoms[i, Atom.FREQUENCY] = everywhere  # a count here; fill_salience makes it a bucket


@inner_kernel
def pronoun_group(facts: Words32, i: int) -> int:
    """Group of a third person: he, she, another singular, others."""
    if facts[i, Fact.NUMBER] != Number.SINGULAR:
        return codes.GROUP_OTHER
    gender = facts[i, Fact.GENDER]
    if gender == Gender.MALE:
        return codes.GROUP_HE
    return codes.GROUP_SHE if gender == Gender.FEMALE else codes.GROUP_OTHER_SINGULAR


@inner_kernel
def fill_salience(facts: Words32, groups: Ints32, atoms: Words32) -> None:
    """Fill how frequent a name is among names, and a third-person pronoun among pronouns; bucket frequencies."""
    n = facts.shape[0]
    most, second = U32(0), U32(0)
    for i in range(n):
        if facts[i, Fact.CLASS] == codes.CLASS_THIRD and facts[i, Fact.PERSON] == codes.THIRD_PERSON:
            groups[pronoun_group(facts, i)] += 1
        if facts[i, Fact.CLASS] == codes.CLASS_NAME and atoms[i, Atom.SAME_BEFORE] + atoms[i, Atom.HEAD_BEFORE] == 0:
            if atoms[i, Atom.FREQUENCY] > most:
                most, second = atoms[i, Atom.FREQUENCY], most
            elif atoms[i, Atom.FREQUENCY] > second:
                second = atoms[i, Atom.FREQUENCY]
    for i in range(n):
        count = atoms[i, Atom.FREQUENCY]
        if facts[i, Fact.CLASS] == codes.CLASS_NAME:
            atoms[i, Atom.RANK] = (
                codes.RANK_FIRST if count == most else codes.RANK_SECOND if count == second else codes.RANK_OTHER
            )
        elif facts[i, Fact.CLASS] == codes.CLASS_THIRD:
            group = pronoun_group(facts, i)
            density, he_or_she = float(groups[group]) / n, float(groups[codes.GROUP_HE] + groups[codes.GROUP_SHE])
            rivals = 0.0
            if group <= codes.GROUP_SHE and he_or_she > 0.0:
                rivals = (he_or_she - float(groups[group])) / he_or_she
            by_density, by_rivals = (
                n_reached(density, codes.PRONOUN_SHARES),
                (rivals > 0.0) + (rivals >= codes.RIVAL_SHARE),
            )
            middle, high = codes.SHARE_FACTORS
            atoms[i, Atom.SHARE] = 1 + by_density + middle * by_rivals + high * group
        atoms[i, Atom.FREQUENCY] = bucket(0 + count)  # a sum is signed, so that `bucket` has one type of argument


@inner_kernel
def spoken_before(facts: Words32, i: int) -> int:
    """Code of how often the speaker of i said this person before, and whether others said the other ("you", "I")."""
    n_same, answered = 0, 0
    for k in range(i):
        plural_i, plural_k = facts[i, Fact.NUMBER] == Number.PLURAL, facts[k, Fact.NUMBER] == Number.PLURAL
        if facts[k, Fact.CLASS] == codes.CLASS_SPEAKER and plural_i == plural_k:
            same_speaker = facts[k, Fact.SPEAKER] == facts[i, Fact.SPEAKER]
            same_person = facts[k, Fact.PERSON] == facts[i, Fact.PERSON]
            n_same += same_speaker and same_person
            answered |= not same_speaker and not same_person
    by_answered, by_speakers = codes.SPOKEN_FACTORS
    n_same = n_same if n_same < codes.MOST_SPOKEN else codes.MOST_SPOKEN
    code: int = 1 + n_same + by_answered * answered + by_speakers * (0 + facts[i, Fact.SPEAKERS])
    return code


@kernel
def encode(text: Text, n_sentences: int, atoms: Words32, facts: Words32) -> None:
    """Fill atoms (n, n_atoms) and facts (n, N_FACTS), zeros before."""
    n = text.mentions.shape[0]
    quoted, flags = np.zeros(text.sent.shape[0], np.bool_), np.zeros(n_sentences, np.int32)
    open_mentions, groups = np.zeros(codes.DEEPEST, np.int32), np.zeros(codes.GROUP_OTHER + 1, np.int32)
    fill_quoted(text.words, text.sent, quoted)
    fill_sentence_flags(text.words, text.sent, flags)
    style, dialogue = text_style(text.words, n_sentences)
    sentence, n_before = -1, 0
    first_persons, second_persons = 0, 0
    n_speakers = 0
    for t in range(text.speaker.shape[0]):
        n_speakers = max(n_speakers, text.speaker[t])
    for i in range(n):
        s, h = text.mentions[i, 0], text.mentions[i, 2]
        last = effective_head(text, i)
        determiner, by_pronoun, by_noun = fill_phrase(text, i, last, atoms, facts)
        fill_head(text, i, last, mention_kind(text, i, determiner, by_pronoun, by_noun), atoms, facts)
        fill_surroundings(text, i, last, atoms)
        if text.sent[h] != sentence:
            sentence, n_before = text.sent[h], 0
        begun = s > 0 and text.sent[s - 1] == text.sent[s]
        n_counted = n_before if n_before < codes.MOST_PLACES else codes.MOST_PLACES
        atoms[i, Atom.PLACE] = n_counted + codes.PLACE_FACTOR * begun
        n_before += 1
        atoms[i, Atom.POSITION] = bucket(i)
        atoms[i, Atom.QUOTED], atoms[i, Atom.STYLE], atoms[i, Atom.DIALOGUE] = quoted[h], style, dialogue
        before = flags[sentence - 1] if sentence > 0 else codes.NO_SENTENCE
        atoms[i, Atom.SENTENCE] = flags[sentence] + codes.SENTENCE_FACTOR * before
        if facts[i, Fact.CLASS] == codes.CLASS_SPEAKER:
            first_persons += facts[i, Fact.PERSON] == 1 and facts[i, Fact.NUMBER] != Number.PLURAL
            second_persons += facts[i, Fact.PERSON] == 2
        facts[i, Fact.FIRST_PERSONS], facts[i, Fact.SECOND_PERSONS] = first_persons, second_persons
        facts[i, Fact.SPEAKERS] = n_speakers if n_speakers < codes.MOST_SPEAKERS else codes.MOST_SPEAKERS
        if facts[i, Fact.SPEAKER] != 0 and facts[i, Fact.CLASS] == codes.CLASS_SPEAKER:
            atoms[i, Atom.SPOKEN] = spoken_before(facts, i)
    fill_nesting(text.mentions, open_mentions, atoms)
    fill_history(facts, atoms)
    fill_salience(facts, groups, atoms)


@kernel_in_place
def fill_modifiers(text: Text, indptr: Ints32, lemmas: Words32, before: Bools, blooms: Words32) -> None:
    """List the lemmas of each mention's content words but its head, of the first dozen tokens.

    indptr (n + 1,) : where those of a mention begin; before : whether one stands before the head;
    blooms (n,) : a bit by each lemma and by the head's, to rule out shared words at once.
    """
    c = 0
    for i in range(text.mentions.shape[0]):
        s, e, last = text.mentions[i, 0], text.mentions[i, 1], effective_head(text, i)
        blooms[i] = U32(1) << (text.words[last, Column.LEMMA] & U32(codes.BLOOM_BITS - 1))
        for t in range(s, e if e < s + codes.MODIFIER_TOKENS else s + codes.MODIFIER_TOKENS):
            upos = text.words[t, Column.UPOS]
            if t != last and is_content(upos):
                lemmas[c] = text.words[t, Column.LEMMA]
                before[c] = t < last
                blooms[i] |= U32(1) << (lemmas[c] & U32(codes.BLOOM_BITS - 1))
                c += 1
        indptr[i + 1] = c
