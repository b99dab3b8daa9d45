"""Mentions as the antecedent model sees them, slow and obvious: words compared as words.

What a word is by itself (`word_table`) and how it hangs in the sentence (`NeutralParse`) is taken as given; both have
tests of their own. Kinds, classes and matches are names here; their codes are in `_codes`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from corefsample.documents._tokens import Tokens
from corefsample.scorers.log_linear.features import _codes as codes
from corefsample.syntax._codes import UPOS, Column, Gender, Kind, Number, Role
from corefsample.syntax._roles import NeutralParse
from corefsample.syntax._words import word_hash, word_table

PRONOUN_CLASSES = ("CLASS_SPEAKER", "CLASS_THIRD", "CLASS_DEMONSTRATIVE", "CLASS_OTHER_PRONOUN")
CONTENT = ("NOUN", "PROPN", "ADJ", "NUM", "VERB")
NOTHING = 1


@dataclass(frozen=True)
class Word:
    """A token with all that is known of it; `known_form` and `known_lemma` are hashes."""

    text: str
    form: str
    lemma: str
    upos: str
    kind: int
    person: int
    number: int
    gender: int
    meaning: int
    ending: int
    known_form: int
    known_lemma: int
    head: int
    link: int
    role: int
    governor: int
    marker: int
    sent: int


def words_of(tokens: Tokens, vocabulary: Collection[str], scheme: str | None = None) -> list[Word]:
    """Tokens as words; those that are not in the vocabulary are known by their endings."""
    table, parse = word_table(tokens), NeutralParse.of(tokens, scheme)
    numbers = {number: place for place, number in enumerate(sorted(set(tokens.sent.tolist())))}
    words = []
    for t in range(len(tokens)):
        form, lemma, row = tokens.text[t].lower(), tokens.lemma[t].lower(), table[t].tolist()
        ending = row[Column.ENDING]
        words.append(
            Word(
                text=tokens.text[t],
                form=form,
                lemma=lemma,
                upos=tokens.upos[t],
                kind=row[Column.KIND],
                person=row[Column.PERSON],
                number=row[Column.NUMBER],
                gender=row[Column.GENDER],
                meaning=row[Column.MEANING],
                ending=ending,
                known_form=word_hash(form) if form in vocabulary else ending,
                known_lemma=word_hash(lemma) if lemma in vocabulary else ending,
                head=int(parse.head[t]),
                link=int(parse.link[t]),
                role=int(parse.role[t]),
                governor=int(parse.governor[t]),
                marker=int(parse.marker[t]),
                sent=numbers[int(tokens.sent[t])],
            )
        )
    return words


def vocabulary_hashes(vocabulary: Collection[str]) -> np.ndarray:
    """What a model contains of a vocabulary."""
    return np.unique(np.array([word_hash(word) for word in vocabulary], np.uint32))


@dataclass
class Mention:
    """A mention with what it is compared by, and its atoms by name."""

    start: int
    end: int
    head: int
    last: int
    group: str
    lemma: str
    form: str
    sent: int
    number: int
    gender: int
    person: int
    core: tuple[str, ...]
    full: tuple[str, ...]
    numerals: tuple[str, ...]
    initials: str
    acronym: str
    before: list[str]  # content words before the head
    after: list[str]
    atoms: dict[str, int] = field(default_factory=dict)

    @property
    def is_pronoun(self) -> bool:
        return self.group in PRONOUN_CLASSES

    @property
    def agreement(self) -> tuple[int, int, int]:
        return self.number, self.gender, self.person


def bucket(count: int) -> int:
    """Counts to 4 stand for themselves, then come 5-6, 7-9, 10-14, 15-22, 23-40, 41-70, 71-120 and more."""
    return count if count <= 4 else 5 + sum(count > end for end in (6, 9, 14, 22, 40, 70, 120))


# --- one mention -------------------------------------------------------------------------------------------


def last_of_name(words: Sequence[Word], end: int, head: int) -> int:
    """A name that is flat in UD hangs on its first word; its last one names the person."""
    last = head
    if words[head].upos == "PROPN":
        for t in range(head + 1, end):
            if not (words[t].link == Role.FLAT and words[t].head == head and words[t].upos == "PROPN"):
                break
            last = t
    return last


def kind_of(words: Sequence[Word], start: int, end: int, head: int) -> str:
    """What pronoun a mention is, or what determines its noun."""
    word = words[head]
    listed = word.kind not in (Kind.NONE, Kind.DEFINITE_ARTICLE, Kind.INDEFINITE_ARTICLE, Kind.EXISTENTIAL)
    if word.upos == "PRON" or (listed and end - start == 1):
        by_person = {1: "FIRST", 2: "SECOND"}.get(word.person, "THIRD")
        return {
            Kind.PERSONAL: by_person,
            Kind.POSSESSIVE: "POSSESSIVE_PRONOUN",
            Kind.REFLEXIVE: "REFLEXIVE_PRONOUN",
            Kind.DEMONSTRATIVE: "DEMONSTRATIVE_PRONOUN",
            Kind.RELATIVE: "RELATIVE_PRONOUN",
            Kind.EXISTENTIAL: "EXISTENTIAL_PRONOUN",
        }.get(word.kind, "OTHER_PRONOUN")
    mine = [words[t] for t in range(start, end) if words[t].head == head]
    determiners = [words[t] for t in range(start, head) if words[t].head == head and words[t].link == Role.DETERMINER]
    if word.upos == "PROPN":
        return "NAME_WITH_DETERMINER" if determiners else "NAME"
    if word.upos in ("VERB", "AUX", "ADV"):
        return "ADVERBIAL" if word.upos == "ADV" else "VERBAL"
    if word.upos not in ("NOUN", "NUM", "SYM", "X"):
        return "ADJECTIVAL"
    by = {
        Kind.DEFINITE_ARTICLE: "DEFINITE",
        Kind.INDEFINITE_ARTICLE: "INDEFINITE",
        Kind.DEMONSTRATIVE: "DEMONSTRATIVE_NOUN",
    }
    if determiners and determiners[0].kind in by:
        return by[determiners[0].kind]
    possessors = [other for other in mine if other.link == Role.POSSESSOR]
    if possessors:
        return "PRONOUN_POSSESSED" if any(other.kind != Kind.NONE for other in possessors) else "NOUN_POSSESSED"
    if determiners:
        return "QUANTIFIED"
    if word.upos == "NUM":
        return "NUMBER"
    return "BARE_PLURAL" if word.number == Number.PLURAL else "BARE_SINGULAR"


def class_of(kind: str, person: int) -> str:
    """Class of a kind."""
    if kind in ("FIRST", "SECOND"):
        return "CLASS_SPEAKER"
    if kind in ("POSSESSIVE_PRONOUN", "REFLEXIVE_PRONOUN"):
        return "CLASS_SPEAKER" if person in (1, 2) else "CLASS_THIRD"
    return {
        "THIRD": "CLASS_THIRD",
        "DEMONSTRATIVE_PRONOUN": "CLASS_DEMONSTRATIVE",
        "NAME": "CLASS_NAME",
        "NAME_WITH_DETERMINER": "CLASS_NAME",
        "DEFINITE": "CLASS_DEFINITE",
        "DEMONSTRATIVE_NOUN": "CLASS_DEFINITE",
        "PRONOUN_POSSESSED": "CLASS_POSSESSED",
        "NOUN_POSSESSED": "CLASS_POSSESSED",
        "INDEFINITE": "CLASS_INDEFINITE",
        "QUANTIFIED": "CLASS_INDEFINITE",
        "NUMBER": "CLASS_BARE",
        "BARE_SINGULAR": "CLASS_BARE",
        "BARE_PLURAL": "CLASS_BARE",
        "VERBAL": "CLASS_CLAUSE",
        "ADJECTIVAL": "CLASS_CLAUSE",
        "ADVERBIAL": "CLASS_CLAUSE",
    }.get(kind, "CLASS_OTHER_PRONOUN")


def sort_of(group: str, number: int, gender: int, person: int) -> str:
    """Which pronoun a mention is, or whether a name or noun is plural."""
    plural = number == Number.PLURAL
    if group == "CLASS_SPEAKER":
        return {1: "SORT_WE" if plural else "SORT_I"}.get(person, "SORT_YOU")
    if group == "CLASS_THIRD":
        singular = "SORT_HE_OR_SHE" if gender in (Gender.MALE, Gender.FEMALE) else "SORT_IT"
        return "SORT_THEY" if plural else singular
    if group in PRONOUN_CLASSES:
        return "SORT_OTHER_PRONOUN"
    if group == "CLASS_NAME":
        return "SORT_NAMES" if plural else "SORT_NAME"
    if group == "CLASS_CLAUSE":
        return "SORT_CLAUSE"
    return "SORT_PLURAL" if plural else "SORT_SINGULAR"


def first_gender(words: Sequence[Word], start: int, end: int, head: int, last: int) -> int:
    """Gender of a name: a group's by its last word, else by its first word that is male or female, else the last's."""
    if words[last].gender == Gender.COLLECTIVE:
        return Gender.COLLECTIVE
    for t in range(start, end):
        word, near = words[t], words[t].head == head or t == head
        if near and word.upos in ("PROPN", "NOUN") and word.gender in (Gender.MALE, Gender.FEMALE):
            return word.gender
    return words[last].gender


def after_head(words: Sequence[Word], start: int, end: int, head: int) -> int:
    """Flags of what hangs on the head behind it."""
    links = {words[t].link for t in range(head + 1, end) if words[t].head == head}
    flags = ((Role.RELATIVE_CLAUSE,), (Role.CLAUSE, Role.NOUN_CLAUSE), (Role.NOUN_MODIFIER,), (Role.APPOSITION,))
    conjuncts = {t for t in range(head + 1, end) if words[t].head == head and words[t].link == Role.CONJUNCT}
    determiners = [t for t in range(head + 1, end) if words[t].link in (Role.DETERMINER, Role.POSSESSOR)]
    determined = any(words[t].head in conjuncts_of(words, head) for t in determiners)
    found = [bool(links & set(roles)) for roles in flags]
    return sum(2**place * value for place, value in enumerate((*found, bool(conjuncts), determined)))


def conjuncts_of(words: Sequence[Word], head: int) -> set[int]:
    """Words that are conjuncts of a head."""
    return {t for t, word in enumerate(words) if word.head == head and word.link == Role.CONJUNCT}


def number_of(word: Word, after: int) -> int:
    """Conjoined words are plural; of singular nouns only if another one has a determiner or possessor of its own."""
    if not after & 16:
        return word.number
    if word.upos == "NOUN" and word.number == Number.SINGULAR and not after & 32:
        return Number.UNKNOWN
    return Number.PLURAL


def content_tokens(words: Sequence[Word], start: int, end: int, head: int) -> list[int]:
    """Tokens of a phrase without punctuation, an article or possessive before its head, a particle at its end."""
    remaining = []
    for t in range(start, end):
        word = words[t]
        opening = t == start != head and (word.upos == "DET" or (word.kind == Kind.POSSESSIVE and end - start > 1))
        closing = t == end - 1 and word.upos == "PART"
        if word.upos != "PUNCT" and not opening and not closing:
            remaining.append(t)
    return remaining


def acronym_of(text: str) -> str:
    letters = text.replace(".", "")
    return letters if 2 <= len(letters) <= 6 and letters.isupper() and letters.isalpha() else ""


def mention_of(words: Sequence[Word], start: int, end: int, head: int) -> Mention:
    """A mention by itself; what depends on others comes later."""
    last = last_of_name(words, end, head)
    kind = kind_of(words, start, end, head)
    group = class_of(kind, words[head].person)
    pronoun = group in PRONOUN_CLASSES
    tokens = content_tokens(words, start, end, head)
    core = [t for t in tokens if t <= last]
    initials = [words[t].text[0] for t in range(start, min(end, last + 4)) if words[t].upos != "DET" and words[t].text]
    initials = [letter for letter in initials if letter.isupper()]
    after = after_head(words, start, end, head)
    content = [t for t in range(start, min(end, start + 12)) if t != last and words[t].upos in CONTENT]
    gender = first_gender(words, start, end, head, last) if words[head].upos == "PROPN" else words[last].gender
    mention = Mention(
        start=start,
        end=end,
        head=head,
        last=last,
        group=group,
        lemma=words[last].lemma,
        form=words[last].form,
        sent=words[head].sent,
        number=number_of(words[head], after),
        gender=gender,
        person=words[head].person,
        core=tuple(words[t].form for t in core),
        full=tuple(words[t].form for t in tokens),
        numerals=tuple(words[t].form for t in core if words[t].upos == "NUM"),
        initials="".join(initials) if len(initials) >= 2 else "",
        acronym=acronym_of(words[last].text) if len(core) == 1 else "",
        before=[words[t].lemma for t in content if t < last],
        after=[words[t].lemma for t in content if t > last],
    )
    meaning = words[last].meaning
    if meaning == 0 and words[head].upos == "PROPN":
        meaning = next((40 + words[t].meaning for t in reversed(range(start, last)) if words[t].meaning), 0)
    modifiers = sum(t < last and words[t].upos in CONTENT for t in core)
    code = getattr(codes, kind)
    mention.atoms = {
        "any": 1,
        "kind": code,
        "class": getattr(codes, group),
        "pronoun": word_hash(words[head].form) if pronoun else code,
        "head": word_hash(words[head].form) if pronoun else words[last].known_form,
        "lemma": word_hash(words[head].form) if pronoun else words[last].known_lemma,
        "ending": words[last].ending,
        "meaning": meaning,
        "upos": UPOS.index(words[head].upos) + 1 if words[head].upos in UPOS else 0,
        "modifiers": min(modifiers, 2),
        "after": after,
        "length": end - start if end - start <= 5 else 6 if end - start <= 9 else 7,
        **surroundings(words, mention),
    }
    return mention


def surroundings(words: Sequence[Word], mention: Mention) -> dict[str, int]:
    """Words in and around a mention, and what its head hangs on."""
    start, end, head, last = mention.start, mention.end, mention.head, mention.last
    forms = dict(enumerate(word.known_form for word in words))
    left = {t: forms[t] for t in range(start) if words[t].sent == words[start].sent}
    right = {t: forms[t] for t in range(end, len(words)) if words[t].sent == words[head].sent}
    inside = {t: forms[t] for t in range(start, end)}
    word = words[head]
    governor = words[word.governor] if word.governor >= 0 else None
    return {
        "first": forms[start],
        "last": forms[end - 1],
        "previous": left.get(start - 1, NOTHING),
        "before_previous": left.get(start - 2, NOTHING),
        "next": right.get(end, NOTHING),
        "after_next": right.get(end + 1, NOTHING),
        "before_head": inside.get(last - 1, NOTHING),
        "after_head": inside.get(last + 1, NOTHING),
        "role": word.role + 1,
        "link": word.link + 1,
        "governor": governor.known_lemma if governor else NOTHING,
        "governor_role": governor.link + 1 if governor else 0,
        "adposition": word_hash(words[word.marker].form) if word.marker >= 0 else NOTHING,
    }


# --- all mentions of a document ----------------------------------------------------------------------------


def mentions_of(tokens: Tokens, spans: Sequence[Sequence[int]], vocabulary: Collection[str]) -> list[Mention]:
    """The mentions of a document with all their atoms."""
    words = words_of(tokens, vocabulary)
    mentions = [mention_of(words, *span) for span in spans]
    add_agreement(mentions)
    add_places(words, mentions)
    add_nesting(mentions)
    add_history(mentions)
    add_salience(mentions)
    return mentions


def add_agreement(mentions: Sequence[Mention]) -> None:
    """A name without a gender, or of a thing by the lists, has that of the last mention of the same name."""
    for i, mention in enumerate(mentions):
        if mention.group == "CLASS_NAME" and mention.gender in (Gender.UNKNOWN, Gender.NEUTER):
            same = [k for k in mentions[:i] if k.group == "CLASS_NAME" and k.lemma == mention.lemma and k.gender]
            mention.gender = same[-1].gender if same else mention.gender
        number, gender, person = mention.agreement
        mention.atoms |= {"number": number, "gender": gender, "person": person}
        mention.atoms["sort"] = getattr(codes, sort_of(mention.group, number, gender, person))
        mention.atoms["agreement"] = 1 + number + 3 * gender + 20 * person


def in_quotation(words: Sequence[Word]) -> list[bool]:
    """Whether each token stands in a quotation; one that runs on for more than six sentences has ended."""
    flags, opened = [], None
    for word in words:
        if word.form in ('"', "“", "”", "``", "''", "„", "«", "»"):
            opened = word.sent if opened is None else None
        if opened is not None and word.sent - opened > 6:
            opened = None
        flags.append(opened is not None)
    return flags


def add_places(words: Sequence[Word], mentions: Sequence[Mention]) -> None:
    """Where mentions stand, and what their sentences and the document are like."""
    sentences: dict[int, list[Word]] = {}
    for word in words:
        sentences.setdefault(word.sent, []).append(word)
    flags = {
        number: (inside[0].upos == "INTJ") + 2 * ("?" in inside[-1].form) + 4 * (len(inside) <= 4)
        for number, inside in sentences.items()
    }
    quoted, (style, dialogue) = in_quotation(words), style_of(words, len(sentences))
    place, before = 0, None
    for i, mention in enumerate(mentions):
        place = place + 1 if before == mention.sent else 0
        before = mention.sent
        begun = mention.start > 0 and words[mention.start - 1].sent == words[mention.start].sent
        mention.atoms |= {
            "place": min(place, 3) + 4 * begun,
            "position": bucket(i),
            "quoted": int(quoted[mention.head]),
            "style": style,
            "dialogue": dialogue,
            "sentence": flags[mention.sent] + 8 * flags.get(mention.sent - 1, 8),
        }


def style_of(words: Sequence[Word], n_sentences: int) -> tuple[int, int]:
    """Codes of sentence length with interjections, and of first and second persons."""
    n = len(words)
    own = [word for word in words if word.kind in (Kind.PERSONAL, Kind.POSSESSIVE)]
    first = sum(word.person == 1 and word.number != Number.PLURAL for word in own)
    second = sum(word.person == 2 for word in own)
    speakers = sum(word.kind == Kind.PERSONAL and word.person in (1, 2) for word in own) / n
    interjections = sum(word.upos == "INTJ" for word in words) / n
    length = sum(n / n_sentences > limit for limit in (11, 15, 19))
    by_speakers = sum(speakers >= limit for limit in (0.005, 0.02, 0.04))
    by_second = sum(second / max(first + second, 1) >= limit for limit in (0.15, 0.35, 0.7))
    by_interjections = sum(interjections >= limit for limit in (0.005, 0.02, 0.04))
    style = 1 + length + 4 * by_interjections + 16 * (by_speakers >= 2)
    return style, 1 + by_speakers + 4 * by_second + 16 * (length == 0)


def contains(outer: Mention, inner: Mention) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def add_nesting(mentions: Sequence[Mention]) -> None:
    """How many earlier mentions contain a mention; what the last of these is; how many it contains so itself."""
    for mention in mentions:
        mention.atoms |= {"nesting": 0, "outer": 0, "inner": 0}
    for i, mention in enumerate(mentions):
        around = [k for k in mentions[:i] if contains(k, mention)]
        mention.atoms["nesting"] = min(len(around), 3)
        if around:
            outer = around[-1]
            mention.atoms["outer"] = outer.atoms["role"] + 32 * outer.atoms["class"]
            outer.atoms["inner"] = min(outer.atoms["inner"] + 1, 3)


def alike(a: Mention, b: Mention) -> bool:
    """Whether two pronouns have one form, or two phrases one lemma."""
    if a.is_pronoun != b.is_pronoun:
        return False
    return a.form == b.form if a.is_pronoun else a.lemma == b.lemma


def frequency(mentions: Sequence[Mention], mention: Mention) -> int:
    return sum(alike(mention, other) for other in mentions)


def add_history(mentions: Sequence[Mention]) -> None:
    """How often a mention's words, or its head, came before."""
    for i, mention in enumerate(mentions):
        same = [k.is_pronoun == mention.is_pronoun and k.core == mention.core for k in mentions[:i]]
        head = [not k.is_pronoun and k.lemma == mention.lemma for k in mentions[:i]]
        mention.atoms |= {
            "same_before": min(sum(same), 5),
            "head_before": min(sum(h and not s for h, s in zip(head, same, strict=True)), 5),
            "frequency": bucket(frequency(mentions, mention)),
        }


def sort_of_pronoun(mention: Mention) -> int:
    if mention.number != Number.SINGULAR:
        return 4
    return {Gender.MALE: 1, Gender.FEMALE: 2}.get(mention.gender, 3)


def add_salience(mentions: Sequence[Mention]) -> None:
    """How frequent a name is among names, and a pronoun among pronouns."""
    for mention in mentions:
        mention.atoms |= {"rank": 0, "share": 0}
    new = [m for m in mentions if m.group == "CLASS_NAME" and m.atoms["same_before"] + m.atoms["head_before"] == 0]
    counts = [*sorted((frequency(mentions, m) for m in new), reverse=True), 0, 0]
    third = [m for m in mentions if m.group == "CLASS_THIRD"]
    sorts = [sort_of_pronoun(m) for m in third if m.person == 3]
    for mention in mentions:
        if mention.group == "CLASS_NAME":
            count = frequency(mentions, mention)
            mention.atoms["rank"] = 1 if count == counts[0] else 2 if count == counts[1] else 3
    for mention in third:
        own = sort_of_pronoun(mention)
        density = sorts.count(own) / len(mentions)
        he_or_she = sorts.count(1) + sorts.count(2)
        rivals = (he_or_she - sorts.count(own)) / max(he_or_she, 1) if own <= 2 else 0.0
        by_density = sum(density >= limit for limit in (0.01, 0.03, 0.08))
        mention.atoms["share"] = 1 + by_density + 4 * ((rivals > 0) + (rivals >= 0.3)) + 16 * own
