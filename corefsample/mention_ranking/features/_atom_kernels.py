"""Compiled loops that fill the atoms and facts of all mentions of a document.

Legend as in `corefsample.mention_ranking.features._encoding_kernels`.
"""

from __future__ import annotations

import numpy as np

from corefsample._jit import kernel
from corefsample.mention_ranking.features import _encoding_kernels as enc
from corefsample.mention_ranking.features._encoding_kernels import (
    NOTHING,
    U32,
    Bools,
    Ints,
    Text,
    Words,
    bucket,
    effective_head,
    fill_phrase,
    fill_quoted,
    fill_sentence_flags,
    kind_class,
    mention_kind,
    text_style,
)

DEEPEST = 64  # mentions nested in one another that are told apart
MODIFIER_TOKENS = 12  # of a mention, whose content words are compared


@kernel
def fill_head(text: Text, i: int, last: int, kind: int, atoms: Words, facts: Words) -> None:
    """Fill what the head of a mention says: kind, word, number, gender, person."""
    h = text.mentions[i, 2]
    person = text.words[h, enc.C_PERSON]
    group = kind_class(kind, person)
    pronoun = group <= enc.CLASS_OTHER_PRONOUN
    number, gender = text.words[h, enc.C_NUMBER], text.words[last, enc.C_GENDER]
    if text.words[h, enc.C_UPOS] == enc.PROPN:
        gender = name_gender(text, i, gender)
    if gender == 0 and group == enc.CLASS_NAME:
        for k in range(i - 1, -1, -1):  # the same name met before, perhaps with a title
            same = facts[k, enc.F_CLASS] == enc.CLASS_NAME and facts[k, enc.F_LEMMA] == text.words[last, enc.C_LEMMA]
            if same and facts[k, enc.F_GENDER] != 0:
                gender = facts[k, enc.F_GENDER]
                break
    if atoms[i, enc.A_AFTER] & U32(16):  # conjoined
        number = U32(enc.PLURAL)
    atoms[i, enc.A_ANY], atoms[i, enc.A_KIND], atoms[i, enc.A_CLASS] = 1, kind, group
    atoms[i, enc.A_HEAD] = text.words[h, enc.C_FORM] if pronoun else text.known_forms[last]
    atoms[i, enc.A_LEMMA] = text.words[h, enc.C_FORM] if pronoun else text.known_lemmas[last]
    atoms[i, enc.A_PRONOUN] = text.words[h, enc.C_FORM] if pronoun else U32(kind)
    atoms[i, enc.A_ENDING] = text.words[last, enc.C_ENDING]
    atoms[i, enc.A_UPOS] = text.words[h, enc.C_UPOS]
    atoms[i, enc.A_MEANING] = name_meaning(text, i, last)
    agreement = U32(1) + number + U32(3) * gender + U32(20) * person
    atoms[i, enc.A_NUMBER], atoms[i, enc.A_GENDER], atoms[i, enc.A_PERSON] = number, gender, person
    atoms[i, enc.A_AGREEMENT] = agreement
    facts[i, enc.F_LEMMA], facts[i, enc.F_FORM] = text.words[last, enc.C_LEMMA], text.words[last, enc.C_FORM]
    facts[i, enc.F_STEM], facts[i, enc.F_SENT] = text.words[last, enc.C_STEM], text.sent[h]
    facts[i, enc.F_NUMBER], facts[i, enc.F_GENDER], facts[i, enc.F_PERSON] = number, gender, person
    facts[i, enc.F_CLASS], facts[i, enc.F_AGREEMENT] = group, agreement


@kernel
def name_gender(text: Text, i: int, gender: np.uint32) -> np.uint32:
    """Gender of a name by the first of its words that has one: a given name, a title."""
    s, e, h = text.mentions[i]
    for t in range(s, e):
        upos = text.words[t, enc.C_UPOS]
        if (text.head[t] == h or t == h) and (upos == enc.PROPN or upos == enc.NOUN):
            own = text.words[t, enc.C_GENDER]
            if own == enc.MALE or own == enc.FEMALE:
                return U32(own)
    return gender


@kernel
def name_meaning(text: Text, i: int, last: int) -> np.uint32:
    """Meaning of the head, or of the last word before it that has one if the head is a name without."""
    meaning = text.words[last, enc.C_MEANING]
    if meaning == 0 and text.words[text.mentions[i, 2], enc.C_UPOS] == enc.PROPN:
        for t in range(text.mentions[i, 0], last):
            if text.words[t, enc.C_MEANING] != 0:
                meaning = text.words[t, enc.C_MEANING] + U32(40)
    return U32(meaning)


@kernel
def fill_surroundings(text: Text, i: int, last: int, atoms: Words) -> None:
    """Fill words at and around the bounds of a mention, and what its head hangs on."""
    s, e, h = text.mentions[i]
    sent = text.sent
    n_tokens = sent.shape[0]
    forms = text.known_forms
    atoms[i, enc.A_FIRST], atoms[i, enc.A_LAST] = forms[s], forms[e - 1]
    atoms[i, enc.A_PREVIOUS] = forms[s - 1] if s > 0 and sent[s - 1] == sent[s] else NOTHING
    atoms[i, enc.A_BEFORE_PREVIOUS] = forms[s - 2] if s > 1 and sent[s - 2] == sent[s] else NOTHING
    atoms[i, enc.A_NEXT] = forms[e] if e < n_tokens and sent[e] == sent[h] else NOTHING
    atoms[i, enc.A_AFTER_NEXT] = forms[e + 1] if e + 1 < n_tokens and sent[e + 1] == sent[h] else NOTHING
    atoms[i, enc.A_BEFORE_HEAD] = forms[last - 1] if last - 1 >= s else NOTHING
    atoms[i, enc.A_AFTER_HEAD] = forms[last + 1] if last + 1 < e else NOTHING
    g = text.governor[h]
    atoms[i, enc.A_ROLE], atoms[i, enc.A_LINK] = text.role[h] + 1, text.link[h] + 1
    atoms[i, enc.A_GOVERNOR] = text.known_lemmas[g] if g >= 0 else NOTHING
    atoms[i, enc.A_GOVERNOR_ROLE] = text.link[g] + 1 if g >= 0 else 0
    atoms[i, enc.A_ADPOSITION] = text.words[text.marker[h], enc.C_FORM] if text.marker[h] >= 0 else NOTHING
    atoms[i, enc.A_LENGTH] = e - s if e - s <= 5 else 6 if e - s <= 9 else 7


@kernel
def fill_nesting(mentions: Ints, atoms: Words) -> None:
    """Fill how deep a mention lies in others, what the innermost of these is, and how many it holds (up to 3)."""
    open_mentions = np.zeros(DEEPEST, np.int64)
    n_open = 0
    for i in range(mentions.shape[0]):
        while n_open > 0 and mentions[open_mentions[n_open - 1], 1] <= mentions[i, 0]:
            n_open -= 1
        depth, outer = 0, -1
        for place in range(n_open):
            if mentions[open_mentions[place], 1] >= mentions[i, 1]:
                depth += 1
                outer = open_mentions[place]
        atoms[i, enc.A_NESTING] = min(depth, 3)
        if outer >= 0:
            atoms[i, enc.A_OUTER] = atoms[outer, enc.A_ROLE] + U32(32) * atoms[outer, enc.A_CLASS]
            atoms[outer, enc.A_INNER] = min(atoms[outer, enc.A_INNER] + U32(1), U32(3))
        if n_open < DEEPEST:
            open_mentions[n_open] = i
            n_open += 1


@kernel
def fill_history(facts: Words, atoms: Words) -> None:
    """Fill how often a mention's string and head came before, and how often in the whole document."""
    n = facts.shape[0]
    for i in range(n):
        same, head, everywhere = 0, 0, 0
        pronoun = facts[i, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN
        for k in range(n):
            other = facts[k, enc.F_CLASS] <= enc.CLASS_OTHER_PRONOUN
            alike = (
                facts[k, enc.F_FORM] == facts[i, enc.F_FORM]
                if pronoun
                else facts[k, enc.F_LEMMA] == facts[i, enc.F_LEMMA]
            )
            if other == pronoun and alike:
                everywhere += 1
            if k < i:
                if other == pronoun and facts[k, enc.F_CORE] == facts[i, enc.F_CORE]:
                    same += 1
                elif not other and facts[k, enc.F_LEMMA] == facts[i, enc.F_LEMMA]:
                    head += 1
        atoms[i, enc.A_SAME_BEFORE] = min(same, 5)
        atoms[i, enc.A_HEAD_BEFORE] = min(head, 5)
        atoms[i, enc.A_FREQUENCY] = everywhere  # a count here; fill_salience makes it a bucket


@kernel
def pronoun_group(facts: Words, i: int) -> int:
    """1 he, 2 she, 3 another third person singular, 4 others."""
    if facts[i, enc.F_NUMBER] != 1:
        return 4
    gender = facts[i, enc.F_GENDER]
    return 1 if gender == enc.MALE else 2 if gender == enc.FEMALE else 3


@kernel
def fill_salience(facts: Words, atoms: Words) -> None:
    """Fill how frequent a name is among names, and a third-person pronoun among pronouns; bucket frequencies."""
    n = facts.shape[0]
    groups = np.zeros(5, np.int64)
    most, second = U32(0), U32(0)
    for i in range(n):
        if facts[i, enc.F_CLASS] == enc.CLASS_THIRD and facts[i, enc.F_PERSON] == 3:
            groups[pronoun_group(facts, i)] += 1
        if facts[i, enc.F_CLASS] == enc.CLASS_NAME and atoms[i, enc.A_SAME_BEFORE] + atoms[i, enc.A_HEAD_BEFORE] == 0:
            if atoms[i, enc.A_FREQUENCY] > most:
                most, second = atoms[i, enc.A_FREQUENCY], most
            elif atoms[i, enc.A_FREQUENCY] > second:
                second = atoms[i, enc.A_FREQUENCY]
    for i in range(n):
        count = atoms[i, enc.A_FREQUENCY]
        if facts[i, enc.F_CLASS] == enc.CLASS_NAME:
            atoms[i, enc.A_RANK] = 1 if count == most else 2 if count == second else 3
        elif facts[i, enc.F_CLASS] == enc.CLASS_THIRD:
            group = pronoun_group(facts, i)
            density, he_or_she = float(groups[group]) / n, float(groups[1] + groups[2])
            rivals = (he_or_she - float(groups[group])) / max(he_or_she, 1.0) if group <= 2 else 0.0
            by_density = (density >= 0.01) + (density >= 0.03) + (density >= 0.08)
            atoms[i, enc.A_SHARE] = 1 + by_density + 4 * ((rivals > 0.0) + (rivals >= 0.3)) + 16 * group
        atoms[i, enc.A_FREQUENCY] = bucket(count)


@kernel
def encode(text: Text, atoms: Words, facts: Words) -> None:
    """Fill atoms (n, n_atoms) and facts (n, N_FACTS), zeros before."""
    n_tokens, n = text.sent.shape[0], text.mentions.shape[0]
    n_sentences = text.sent[n_tokens - 1] + 1 if n_tokens > 0 else 0
    quoted, flags = np.zeros(n_tokens, np.bool_), np.zeros(n_sentences, np.int32)
    fill_quoted(text.words, text.sent, quoted)
    fill_sentence_flags(text.words, text.sent, flags)
    style, dialogue = text_style(text.words, n_sentences)
    sentence, place = -1, 0
    first_persons, second_persons = 0, 0
    for i in range(n):
        s, h = text.mentions[i, 0], text.mentions[i, 2]
        last = effective_head(text, i)
        determiner, by_pronoun, by_noun = fill_phrase(text, i, last, atoms, facts)
        fill_head(text, i, last, mention_kind(text, i, determiner, by_pronoun, by_noun), atoms, facts)
        fill_surroundings(text, i, last, atoms)
        if text.sent[h] != sentence:
            sentence, place = text.sent[h], 0
        begun = s > 0 and text.sent[s - 1] == text.sent[s]
        atoms[i, enc.A_PLACE] = min(place, 3) + 4 * begun
        place += 1
        atoms[i, enc.A_POSITION] = bucket(i)
        atoms[i, enc.A_QUOTED], atoms[i, enc.A_STYLE], atoms[i, enc.A_DIALOGUE] = quoted[h], style, dialogue
        atoms[i, enc.A_SENTENCE] = flags[sentence] + 8 * (flags[sentence - 1] if sentence > 0 else 8)
        if facts[i, enc.F_CLASS] == enc.CLASS_SPEAKER:
            first_persons += facts[i, enc.F_PERSON] == 1 and facts[i, enc.F_NUMBER] != enc.PLURAL
            second_persons += facts[i, enc.F_PERSON] == 2
        facts[i, enc.F_FIRST_PERSONS], facts[i, enc.F_SECOND_PERSONS] = first_persons, second_persons
    fill_nesting(text.mentions, atoms)
    fill_history(facts, atoms)
    fill_salience(facts, atoms)


@kernel
def fill_modifiers(text: Text, indptr: Ints, lemmas: Words, before: Bools, blooms: Words) -> None:
    """List the lemmas of each mention's content words but its head, of the first dozen tokens.

    indptr (n + 1,) : where those of a mention begin; before : whether one stands before the head;
    blooms (n,) : a bit by each lemma and by the head's, to rule out shared words at once.
    """
    c = 0
    for i in range(text.mentions.shape[0]):
        s, e, last = text.mentions[i, 0], text.mentions[i, 1], effective_head(text, i)
        blooms[i] = U32(1) << (text.words[last, enc.C_LEMMA] & U32(31))
        for t in range(s, min(e, s + MODIFIER_TOKENS)):
            upos = text.words[t, enc.C_UPOS]
            content = upos == enc.NOUN or upos == enc.PROPN or upos == enc.ADJ or upos == enc.NUM or upos == enc.VERB
            if t != last and content:
                lemmas[c] = text.words[t, enc.C_LEMMA]
                before[c] = t < last
                blooms[i] |= U32(1) << (lemmas[c] & U32(31))
                c += 1
        indptr[i + 1] = c
