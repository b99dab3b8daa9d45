"""Compiled loops that fill the atoms and facts of all mentions of a document.

Legend as in `corefsample.scorers.log_linear._mention_kernels`.
"""

import numpy as np

from corefsample._arrays import Bools, Ints32, Words32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.scorers.log_linear import _feature_codes as codes, _mention_kernels as mention_kernels
from corefsample.scorers.log_linear._feature_codes import Atom, Fact
from corefsample.scorers.log_linear._mention_kernels import U32, Text, bucket, effective_head
from corefsample.syntax._codes import LONGEST_CHAIN, Column, Gender, Kind, Meaning, Number, Role, Upos

# By token, but the last: subject of each verb, whether a conjunction introduces it, whether others are conjoined to the
# token; and the subject of the main clause of each sentence.
Clauses = tuple[Ints32, Bools, Bools, Ints32]


@inner_kernel
def n_reached(value: float, limits: tuple[float, float, float]) -> int:
    """Count the limits that a value reaches."""
    count = 0
    for limit in limits:
        count += value >= limit
    return count


@inner_kernel
def fill_sentences(words: Words32, sent: Ints32, quoted: Bools, flags: Ints32) -> None:
    """Mark tokens between quotation marks, and fill the flags of sentences.

    A quotation that does not end within six sentences does not count. A sentence begins with an interjection, ends in a
    question mark, or is short.
    """
    n_tokens, inside, since, start = sent.shape[0], False, 0, 0
    for t in range(n_tokens):
        if words[t, Column.QUOTE] != 0:
            inside = not inside
            since = sent[t]
        if inside and sent[t] - since > codes.QUOTATION_SENTENCES:
            inside = False
        quoted[t] = inside
        if t + 1 == n_tokens or sent[t + 1] != sent[t]:
            flags[sent[t]] = (
                codes.SENTENCE_INTERJECTION * (words[start, Column.UPOS] == Upos.INTJ)
                + codes.SENTENCE_QUESTION * (words[t, Column.QUESTION] != 0)
                + codes.SENTENCE_SHORT * (t + 1 - start <= codes.SHORT_SENTENCE)
            )
            start = t + 1


@inner_kernel
def text_style(words: Words32, n_sentences: int) -> tuple[int, int]:
    """Codes of a text's style: length of sentences with interjections; first and second persons with length."""
    n_tokens = words.shape[0]
    n_first, n_second, n_speaker, n_interjections = 0, 0, 0, 0
    for t in range(n_tokens):
        kind, person = words[t, Column.KIND], words[t, Column.PERSON]
        if kind == Kind.PERSONAL or kind == Kind.POSSESSIVE:
            n_first += person == 1 and words[t, Column.NUMBER] != Number.PLURAL
            n_second += person == 2
            n_speaker += kind == Kind.PERSONAL and (person == 1 or person == 2)
        n_interjections += words[t, Column.UPOS] == Upos.INTJ
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
            by_density = n_reached(density, codes.PRONOUN_SHARES)
            by_rivals = (rivals > 0.0) + (rivals >= codes.RIVAL_SHARE)
            middle, high = codes.SHARE_FACTORS
            atoms[i, Atom.SHARE] = 1 + by_density + middle * by_rivals + high * group
        atoms[i, Atom.FREQUENCY] = bucket(0 + count)  # a sum is signed, so that `bucket` has one type of argument


@inner_kernel
def fill_clauses(text: Text, clauses: Clauses) -> None:
    """Fill the clauses, before which subjects are -1.

    The subject of a relative clause is the noun that it modifies, and a conjoined verb has that of the first verb.
    """
    subject, conjunction, joined, main = clauses
    for t in range(subject.shape[0]):
        h = text.head[t]
        if h < 0:
            continue
        if text.link[t] == Role.FUNCTION and text.words[t, Column.UPOS] == Upos.SCONJ:
            conjunction[h] = True
        joined[h] |= text.link[t] == Role.CONJUNCT
        if (text.link[t] == Role.SUBJECT or text.link[t] == Role.PASSIVE_SUBJECT) and subject[h] < 0:
            relative = text.words[t, Column.KIND] == Kind.RELATIVE or text.words[t, Column.KIND] == Kind.DEMONSTRATIVE
            subject[h] = text.head[h] if relative and text.link[h] == Role.RELATIVE_CLAUSE else t
            if text.head[h] < 0 and main[text.sent[t]] < 0:
                main[text.sent[t]] = t
    for t in range(subject.shape[0]):
        if subject[t] < 0 and text.link[t] == Role.CONJUNCT and text.head[t] >= 0:
            subject[t] = subject[text.head[t]]


@inner_kernel
def clause_of(text: Text, t: int, subject: Ints32) -> int:
    """Head of the clause of a token that has a subject; of the whole sentence if no clause below has any."""
    steps = 0
    while text.head[t] >= 0 and steps < LONGEST_CHAIN:
        link = text.link[t]
        clausal = link == Role.CLAUSE or link == Role.NOUN_CLAUSE or link == Role.RELATIVE_CLAUSE or link == Role.LIST
        if subject[t] >= 0 and (clausal or link == Role.CONJUNCT):
            break
        t = text.head[t]
        steps += 1
    return t


@inner_kernel
def subject_fit(word: Words32, joined: bool, facts: Words32) -> int:
    """Code of how the facts of a mention fit a subject: a speaker, another number or gender, a pronoun, or a phrase."""
    number, gender = word[Column.NUMBER], word[Column.GENDER]
    if word[Column.PERSON] == 1 or word[Column.PERSON] == 2:
        return codes.FITS_SPEAKER
    if joined:
        number, gender = U32(Number.PLURAL), U32(Gender.UNKNOWN)
    other_number = number != 0 and facts[Fact.NUMBER] != 0 and number != facts[Fact.NUMBER]
    personal = gender == Gender.MALE or gender == Gender.FEMALE or gender == Gender.ANIMATE
    if (other_number and gender != Gender.COLLECTIVE) or (personal and facts[Fact.GENDER] == Gender.NEUTER):
        return codes.FITS_NOT
    return codes.FITS_PRONOUN if word[Column.KIND] != 0 else codes.FITS


@inner_kernel
def fill_governor(text: Text, i: int, clauses: Clauses, atoms: Words32, facts: Words32) -> None:
    """Fill who is the subject of the verb that governs the clause of a mention, and of the clause before."""
    subject, conjunction, joined, main = clauses
    h = text.mentions[i, 2]
    # A sum is a wide integer, so that `clause_of` has one type of argument.
    clause = clause_of(text, 0 + text.governor[h], subject) if text.governor[h] >= 0 else -1
    first, kind, above, before = clause, 0, -1, -1
    if clause >= 0 and text.link[clause] == Role.CONJUNCT:
        first = text.head[clause]
        before = subject[first] if subject[first] != subject[clause] else -1
    if before < 0 and text.sent[h] > 0:
        before = main[text.sent[h] - 1]
    g = text.head[first] if first >= 0 else -1
    if g >= 0:
        verb = clause_of(text, g, subject)
        above = subject[verb]
        if text.link[first] == Role.CLAUSE:
            saying = text.words[g, Column.MEANING] == Meaning.SAYING
            kind = codes.CLAUSE_OF_VERB + codes.WITH_CONJUNCTION * conjunction[first] + codes.OF_SAYING * saying
        else:
            kind = codes.CLAUSE_BESIDE if text.link[first] == Role.LIST else codes.CLAUSE_OF_NOUN
        facts[i, Fact.ABOVE], facts[i, Fact.VERB_ABOVE] = above + 1, verb + 1
    elif before >= 0:
        kind, above = codes.CLAUSE_BEFORE, before
    if above >= 0:
        kind += codes.FITS_FACTOR * subject_fit(text.words[above], joined[above], facts[i])
    atoms[i, Atom.GOVERNED] = kind
    facts[i, Fact.CONTINUED] = before + 1
    if atoms[i, Atom.AFTER] & U32(codes.AFTER_CONJUNCT) != 0:
        facts[i, Fact.JOINED] = codes.COORDINATED
    elif joined[h]:
        facts[i, Fact.JOINED] = codes.MEMBER


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


@kernel_in_place
def fill_mentions(
    text: Text,
    clauses: Clauses,
    quoted: Bools,
    flags: Ints32,
    open_mentions: Ints32,
    groups: Ints32,
    atoms: Words32,
    facts: Words32,
) -> None:
    """Fill all arrays: see `encode`, which allocates them, because a kernel that does takes longer to compile."""
    n = text.mentions.shape[0]
    fill_sentences(text.words, text.sent, quoted, flags)
    style, dialogue = text_style(text.words, flags.shape[0])
    fill_clauses(text, clauses)
    sentence, n_before = -1, 0
    first_persons, second_persons = 0, 0
    n_speakers = 0
    for t in range(text.speaker.shape[0]):
        if text.speaker[t] > n_speakers:
            n_speakers = text.speaker[t]
    for i in range(n):
        s, h = text.mentions[i, 0], text.mentions[i, 2]
        last = effective_head(text, i)
        determiner, by_pronoun, by_noun = mention_kernels.fill_phrase(text, i, last, atoms, facts)
        mention_kernels.fill_head(
            text, i, last, mention_kernels.mention_kind(text, i, determiner, by_pronoun, by_noun), atoms, facts
        )
        mention_kernels.fill_surroundings(text, i, last, atoms)
        fill_governor(text, i, clauses, atoms, facts)
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


def encode(text: Text, n_sentences: int, atoms: Words32, facts: Words32) -> None:
    """Fill atoms (n, n_atoms) and facts (n, N_FACTS), zeros before."""
    n_tokens = len(text.sent)
    conjunction, joined, quoted = np.zeros((3, n_tokens), np.bool_)
    clauses = np.full(n_tokens, -1, np.int32), conjunction, joined, np.full(n_sentences, -1, np.int32)
    flags, open_mentions = np.zeros(n_sentences, np.int32), np.zeros(codes.DEEPEST, np.int32)
    groups = np.zeros(codes.GROUP_OTHER + 1, np.int32)
    fill_mentions(text, clauses, quoted, flags, open_mentions, groups, atoms, facts)


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
            if t != last and mention_kernels.is_content(upos):
                lemmas[c] = text.words[t, Column.LEMMA]
                before[c] = t < last
                blooms[i] |= U32(1) << (lemmas[c] & U32(codes.BLOOM_BITS - 1))
                c += 1
        indptr[i + 1] = c
