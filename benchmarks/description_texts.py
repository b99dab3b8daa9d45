"""Short simulated news in which a description means a name, or does not: training texts that annotated corpora lack.

In GUM's texts of free licences, some 30 descriptions mean a name of the sentence before that shares no word with them.
News are full of them. These texts are simulated: invented names by class, a description by what it can mean, and what
a reader says of the two. Each is parsed by a pipeline, as texts are that the model scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.languages._language import load_language
from corefsample.syntax._mentions import mentions_from_parse

LETTERS, VOWELS = "BDFGKLMNPRSTVZ", "aeiou"
PLACES = ("Lom", "Tarna", "Vesk", "Oruro", "Padang", "Kirkos", "Maribel", "Solano", "Brezno", "Adana", "Quimper", "Lund")
# What a description of a class can be, what names of the class contain, and what they do.
DESCRIPTIONS = {
    "armed": "guerrillas rebels insurgents militants terrorists gunmen fighters extremists separatists group attackers",
    "company": "company firm manufacturer corporation producer supplier group business",
    "airline": "airline company carrier",
    "bank": "bank company lender institution",
    "party": "party group movement organization",
    "school": "university school college institution",
    "media": "newspaper paper company publisher",
    "network": "network station channel broadcaster",
    "body": "agency organization group charity commission",
    "country": "country nation state government",
    "city": "city town place",
    "team": "team club side",
    "politician": "president minister politician leader official",
    "officer": "general officer commander soldier",
    "doctor": "doctor surgeon physician",
    "other": "man woman teacher author lawyer farmer player singer owner judge",
}
PERSONS = ("politician", "officer", "doctor", "other")
NAMES = {
    "armed": ("{acronym}", "{acronym}", "{word}", "{word} Front", "{word} Liberation Army", "{word} Brigades", "Black {word}"),
    "company": ("{word}", "{word}", "{word} Corp.", "{word} Motors", "{word} {word}", "{word} Steel", "{acronym}"),
    "airline": ("{word}", "{word} Airlines", "Air {word}"),
    "bank": ("{word}", "{word} Bank", "Bank of {place}"),
    "party": ("{word} Party", "{word} Alliance", "{acronym}", "{word} League"),
    "school": ("{word}", "{word} University", "University of {place}", "{word} College"),
    "media": ("{word} Times", "{word} Post", "{word} Herald", "{word} Gazette"),
    "network": ("{acronym}", "{word} News", "Radio {word}"),
    "body": ("{acronym}", "{word} Foundation", "{word}", "World {word} Organization"),
    "country": ("{country}",),
    "city": ("{place}", "{city}"),
    "team": ("{word}", "{word} United", "{place} Rovers"),
    "politician": ("Mr. {word}", "Mrs. {word}", "President {word}", "Minister {first} {word}", "{first} {word}", "Senator {word}"),
    "officer": ("General {word}", "Colonel {first} {word}", "Mr. {word}", "Captain {word}"),
    "doctor": ("Dr. {word}", "Dr. {first} {word}"),
    "other": ("Mr. {word}", "Ms. {word}", "{first} {word}", "{first} {word}"),
}
ARTICLE = ("Front", "Army", "Brigades", "Party", "Alliance", "League", "Times", "Post", "Herald", "Gazette", "Foundation", "Organization")
FIRST = ("Maria", "Peter", "Susan", "Robert", "Anna", "Thomas", "Helen", "Paul", "Laura", "Victor", "Emma", "Carlos")
COUNTRIES = ("Peru", "Ghana", "Norway", "Chile", "Kenya", "Laos", "Malta", "Nepal", "Oman", "Panama", "Poland", "Togo")
CITIES = ("Lima", "Accra", "Oslo", "Riga", "Hanoi", "Dakar", "Lyon", "Porto", "Turin", "Quito", "Minsk", "Perth")
DEEDS = {
    "armed": ("attacked a convoy near {place}", "blew up a bridge", "took two hostages in {place}", "shelled a barracks",
              "claimed the bombing", "declared a truce on Sunday", "burned a school"),
    "organization": ("opened an office in {place}", "lost a case in court", "hired ninety people", "signed a contract",
                     "published its figures", "moved to {place}", "changed its name", "cut its budget"),
    "place": ("voted in June", "had a hard winter", "borrowed money", "suffered a drought", "built a stadium", "banned old cars"),
    "person": ("went to {place} on Tuesday", "met three reporters", "spoke for an hour", "fell ill last week",
               "returned from {place}", "signed the letter", "wrote to the bishop"),
}  # fmt: skip
MORE = {
    "armed": ("had used mortars", "released a film", "fled to the hills", "killed a driver", "want a ransom", "will not give up",
              "had planned it for weeks"),
    "organization": ("expects a loss", "gave no reason", "will close in March", "denied the report", "paid its debts",
                     "said it was too early", "wants more time", "has four thousand members"),
    "place": ("needs more water", "has a new law", "fears an epidemic", "is poor", "has few doctors", "grew fast"),
    "person": ("said that it would be easy", "gave no details", "promised to return", "was tired", "refused to answer",
               "will speak again on Friday"),
}  # fmt: skip
BY_OTHERS = ("Police said that {it} {more}.", "Two witnesses said {it} {more}.", "Nobody spoke with {it}.", "Critics blamed {it}.",
             "Many people left {it} last year.", "A report on {it} is due in May.")  # fmt: skip
MIDDLE = ("Rain fell all night.", "Nobody was hurt.", "A crowd watched.", "Prices rose by a tenth.")
# After "the" noun: this is a description of something else.
FURTHER = ("of {country2}", "from {country2}", "in {city2}")


class Simulated(NamedTuple):
    """A text; the last words of the described name and of another name, and the head of the description."""

    text: str
    name: str
    description: str
    same: bool


def _kind(group: str) -> str:
    if group in PERSONS:
        return "person"
    return group if group == "armed" else "place" if group in ("country", "city") else "organization"


def simulated(n_texts: int, seed: int) -> Iterator[Simulated]:
    """Draw texts."""
    generator = np.random.Generator(np.random.Philox(seed))

    def pick(options: Sequence[str]) -> str:
        return str(options[int(generator.integers(len(options)))])

    def word() -> str:
        syllables = [pick(LETTERS).lower() + pick(VOWELS) for _ in range(int(generator.integers(1, 4)))]
        return ("".join(syllables) + pick("nrstlm")).capitalize()

    def filled(template: str) -> str:
        names = {
            "word": word(), "place": pick(PLACES), "acronym": "".join(pick(LETTERS + "AEIU") for _ in range(int(generator.integers(3, 6)))),
            "country": pick(COUNTRIES), "city": pick(CITIES), "country2": pick(COUNTRIES), "city2": pick(CITIES),
            "first": pick(FIRST),
        }  # fmt: skip
        return template.format(**names)

    def name_of(group: str) -> str:
        name = filled(pick(NAMES[group]))
        article = name.split()[-1] in ARTICLE or (group in ("armed", "party", "body") and name.isupper())
        return f"the {name}" if article else name

    groups = list(DESCRIPTIONS)
    for _ in range(n_texts):
        group = pick(groups)
        name = name_of(group)
        of_same = bool(generator.random() < 0.7)
        alike = {group} if _kind(group) != "person" else set(PERSONS)
        other = group if of_same else pick([each for each in groups if each not in alike and _kind(each) != _kind(group)])
        noun = pick(DESCRIPTIONS[other].split())
        further = bool(generator.random() < 0.12)
        it = f"the {noun}" + (f" {filled(pick(FURTHER))}" if further else "")
        first = f"{name} {filled(pick(DEEDS[_kind(group)]))}."
        if generator.random() < 0.25:  # the name is not the subject
            first = f"{filled('Mr. {word}')} accused {name} of a crime." if _kind(group) != "person" else f"A court freed {name} on Monday."
        first = first[0].upper() + first[1:]
        more = pick(MORE[_kind(other)])
        if noun.endswith("s") and more.startswith(("has ", "is ", "needs", "was", "wants", "expects", "fears")):
            more = "left"
        later = f"{it} {more}." if generator.random() < 0.6 else pick(BY_OTHERS).format(it=it, more=more)
        middle = f" {pick(MIDDLE)}" if generator.random() < 0.2 else ""
        text = f"{first}{middle} {later[0].upper() + later[1:]}"
        yield Simulated(text, name.split()[-1], noun, of_same and not further)


def description_documents(pipeline: Any, n_texts: int, seed: int = 1) -> list[AnnotatedDocument]:
    """Texts with the parse of a pipeline, whose mentions are entities by themselves but for the name and what means it."""
    from corefsample.spacy_bridge.documents import tokens_of_doc

    texts, documents = list(simulated(n_texts, seed)), []
    for number, (simulation, doc) in enumerate(zip(texts, pipeline.pipe(each.text for each in texts), strict=True)):
        tokens = tokens_of_doc(doc)
        mentions = mentions_from_parse(tokens, language=load_language("en"))
        heads = [tokens.text[head] for head in mentions[:, 2].tolist()]
        lasts = [tokens.text[end - 1] for end in mentions[:, 1].tolist()]
        name = next((i for i, (head, last) in enumerate(zip(heads, lasts, strict=True)) if simulation.name in (head, last)), None)
        described = [i for i, head in enumerate(heads) if head == simulation.description]
        if name is None or not described or described[-1] <= name:
            continue  # the parse has no such mentions
        entities = [str(i) for i in range(len(mentions))]
        if simulation.same:
            entities[described[-1]] = entities[name]
        documents.append(AnnotatedDocument(f"simulated-{number}", tokens, mentions, entities))
    return documents
