"""Slow, obvious versions of what the events layer does fast, and documents written by hand.

Parses are written one sentence a string, one token a word: ``attacked=attack/VERB>0:root`` is word, lemma (left out
where it is the word in lower case), part of speech, number of the head in the sentence (0: root) and label.
"""

import datetime
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from references import coreference as references

from corefsample import AntecedentDistribution, ScoredDocument, Tokens
from corefsample.syntax._schemes import SCHEMES
from events.matching._matches import MentionMatches
from events.rules._rules import Rule

Clustering = Sequence[int]
Instance = tuple[int, ...]

# --- documents by hand -------------------------------------------------------------------------------------


def token_columns(sentences: Sequence[str]) -> dict[str, list[Any]]:
    """Token columns of sentences in the notation above."""
    columns: dict[str, list[Any]] = {name: [] for name in references.TOKEN_COLUMNS}
    for number, sentence in enumerate(sentences):
        before = len(columns["text"])
        for token in sentence.split():
            named, _, attached = token.rpartition(">")
            word, _, upos = named.rpartition("/")
            text, _, lemma = word.partition("=")
            head, _, label = attached.partition(":")
            row = {"text": text, "lemma": lemma or text.lower(), "upos": upos, "dep": label, "sent": number}
            row["head"] = -1 if head == "0" else before + int(head) - 1
            for name, value in row.items():
                columns[name].append(value)
    return columns


def parsed(*sentences: str) -> Tokens:
    """Tokens of sentences in the notation above."""
    return Tokens(**token_columns(sentences))


def nominal_mentions(upos: Sequence[str]) -> list[list[int]]:
    """A mention of one token for every noun, name and pronoun."""
    return [[t, t + 1, t] for t, tag in enumerate(upos) if tag in ("NOUN", "PROPN", "PRON")]


def json_document(
    doc_id: str,
    date: str,
    sentences: Sequence[str],
    links: Mapping[int, Mapping[int, float]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A document as a line of a file; `links` gives a mention's candidates with their scores."""
    tokens = token_columns(sentences)
    mentions = nominal_mentions(tokens["upos"])
    rows = [dict((links or {}).get(i, {})) for i in range(len(mentions))]
    document = {
        "doc_id": doc_id,
        "date": date,
        "mentions": mentions,
        "antecedents": [list(row) for row in rows],
        "scores": [list(row.values()) for row in rows],
        "tokens": tokens,
    }
    return document | more


def scored(document: Mapping[str, Any]) -> ScoredDocument:
    """The same document as an object."""
    date = document.get("date")
    return ScoredDocument(
        doc_id=document["doc_id"],
        mentions=np.array(document["mentions"], np.int32),
        antecedents=AntecedentDistribution.from_lists(document["antecedents"], document["scores"]),
        date=None if date is None else datetime.date.fromisoformat(date),
        tokens=Tokens(**document["tokens"]) if document.get("tokens") else None,
        **{name: document[name] for name in ("gold", "parse", "samples") if name in document},
    )


# Two names that are often of one entity; a trigger that is negated, and one in the future.
MERGING = [
    "Iraq/PROPN>2:nsubj met=meet/VERB>0:root Iran/PROPN>2:obl",
    "they/PRON>2:nsubj attacked=attack/VERB>0:root soldiers/NOUN>2:obj",
]
NEGATED = "Iraq/PROPN>4:nsubj did=do/AUX>4:aux not/PART>4:advmod attack/VERB>0:root Iran/PROPN>4:obj"
FUTURE = "Iraq/PROPN>3:nsubj will/AUX>3:aux attack/VERB>0:root"


# --- the country-attack rule by its definition --------------------------------------------------------------


def entities(labels: Clustering) -> list[set[int]]:
    """Mentions of each entity."""
    return [{i for i, other in enumerate(labels) if other == label} for label in sorted(set(labels))]


def only_country(entity: Iterable[int], described: Sequence[set[str]]) -> str | None:
    """The country that an entity's mentions are described as, if it is one and no more."""
    countries = {country for mention in entity for country in described[mention]}
    return countries.pop() if len(countries) == 1 else None


def counted(codes: set[str], matches: MentionMatches) -> set[str]:
    """What an entity described as some actors counts as, by the definition in docs/rules.md."""
    joint, counts_as = matches.apart is not None, matches.inner_counts_as
    inner, outer = codes & matches.inner, codes - matches.inner
    the_inner = inner if joint or len(inner) == 1 else set()
    the_outer = outer if joint or len(outer) == 1 else set()
    found: set[str] = set()
    if "composite" in counts_as:
        found |= {f"{one}:{other}" for one in the_outer for other in the_inner}
    if "inner" in counts_as or not the_outer:
        found |= the_inner
    if "outer" in counts_as or not inner:
        found |= the_outer
    return found


def instance_event(instance: Instance, labels: Clustering, described: Sequence[set[str]]) -> str | None:
    """The event that the fillers of one trigger's roles make in a clustering, if any."""
    codes = []
    for filler in instance:
        (entity,) = (e for e in entities(labels) if filler in e)
        codes.append(only_country(entity, described))
    return None if None in codes else ">".join(map(str, codes))


def events_of_clustering(labels: Clustering, described: Sequence[set[str]], instances: Iterable[Instance]) -> set[str]:
    """Events of a clustering: f(c, e) of the design, tried for every entity (or pair of them) and instance."""
    made = {instance_event(instance, labels, described) for instance in instances}
    return {event for event in made if event is not None}


def active_mentions(labels: Clustering, described: Sequence[set[str]], instances: Iterable[Instance]) -> set[int]:
    """Mentions of the entities that make an event."""
    acting = [i for i in instances if instance_event(i, labels, described) is not None]
    return {mention for instance in acting for e in entities(labels) if e & set(instance) for mention in e}


def event_distribution(
    rows: Sequence[references.Row], described: Sequence[set[str]], instances: Sequence[Instance]
) -> dict[str, float]:
    """P(event), exactly: over every antecedent vector."""
    probabilities: Counter[str] = Counter()
    for labels, probability in references.clustering_probs(rows).items():
        for event in events_of_clustering(labels, described, instances):
            probabilities[event] += probability  # type: ignore[assignment]
    return dict(probabilities)


# --- distributions of counts --------------------------------------------------------------------------------


def quantile(pmf: Sequence[float], share: float) -> int:
    """Least count whose cumulative probability reaches `share`."""
    total = 0.0
    for count, probability in enumerate(pmf):
        total += probability
        if total >= share - 1e-12:
            return count
    return len(pmf) - 1


def shortest_intervals(pmf: Sequence[float], level: float) -> set[tuple[int, int]]:
    """Of all intervals that contain `level` the shortest, and of those the ones that contain most."""
    pairs = [(a, b) for a in range(len(pmf)) for b in range(a, len(pmf))]
    contents = {pair: math.fsum(pmf[pair[0] : pair[1] + 1]) for pair in pairs}
    enough = [pair for pair in pairs if contents[pair] >= level - 1e-12]
    width = min(b - a for a, b in enough)
    shortest = [(a, b) for a, b in enough if b - a == width]
    most = max(contents[pair] for pair in shortest)
    return {pair for pair in shortest if contents[pair] >= most - 1e-12}


def difference_distribution(first_only: Sequence[float], second_only: Sequence[float]) -> dict[int, float]:
    """P(n_a - n_b = k), over every outcome of every document: first alone, second alone, neither or both."""
    terms_of: dict[int, list[float]] = {}
    documents = [((1, a), (-1, b), (0, 1.0 - a - b)) for a, b in zip(first_only, second_only, strict=True)]
    for outcome in itertools.product(*documents):
        terms_of.setdefault(sum(step for step, _ in outcome), []).append(math.prod(p for _, p in outcome))
    return {k: math.fsum(terms) for k, terms in terms_of.items()}


def joint_shares(hits: npt.NDArray[Any], first: int, second: int) -> tuple[float, float]:
    """Share of samples with the first event alone and with the second alone."""
    samples = list(zip(hits[first].tolist(), hits[second].tolist(), strict=True))
    return samples.count((1, 0)) / len(samples), samples.count((0, 1)) / len(samples)


# --- a small corpus -----------------------------------------------------------------------------------------

_FILLER = "It/PRON>2:nsubj rained=rain/VERB>0:root"
_CORPUS: list[tuple[str, list[str], dict[int, dict[int, float]]]] = [
    (
        "1999-01-05",
        ["Iraqis/PROPN>2:nsubj waited=wait/VERB>0:root", "they/PRON>2:nsubj attacked=attack/VERB>0:root it/PRON>2:obj"],
        {},
    ),
    (
        "1999-02-05",
        [
            'Iraqis/PROPN>2:nsubj waited=wait/VERB>0:root ,/PUNCT>2:punct "/PUNCT>2:punct',
            "they/PRON>2:nsubj attacked=attack/VERB>0:root it/PRON>2:obj",
        ],
        {1: {0: 1.0}, 2: {0: -1.0, 1: -1.0}},
    ),
    (
        "1999-02-06",
        ["American/ADJ>2:amod forces/NOUN>3:nsubj attacked=attack/VERB>0:root Kuwait/PROPN>3:obj"],
        {1: {0: -2.0}},
    ),
    ("1999-02-28", ["troops/NOUN>4:nsubj in/ADP>3:case Iraq/PROPN>1:nmod left=leave/VERB>0:root it/PRON>4:obj"], {}),
    (
        "1999-03-01",
        [
            "Americans/PROPN>2:nsubj met=meet/VERB>0:root Iraqis/PROPN>2:obj",
            "they/PRON>2:nsubj attacked=attack/VERB>0:root",
        ],
        {1: {0: -3.0}, 2: {0: 0.5, 1: 1.0}},
    ),
    ("1999-12-31", [_FILLER], {}),
    (
        "1999-12-31",
        [
            "Kuwait/PROPN>2:nsubj saw=see/VERB>0:root it/PRON>2:obj",
            "they/PRON>2:nsubj attacked=attack/VERB>0:root",
            "Iraq/PROPN>2:nsubj fell=fall/VERB>0:root",
        ],
        {1: {0: 0.0}, 2: {0: 0.25, 1: 0.5}, 3: {2: -0.5}},
    ),
    ("1999-11-01", ["Iraq/PROPN>2:nsubj condemned=condemn/VERB>0:root the/DET>4:det attack/NOUN>2:obj"], {}),
    ("2000-01-01", ["Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Iran/PROPN>2:obj"], {1: {0: -4.0}}),
    ("2000-04-01", [_FILLER], {}),
]


def corpus() -> list[dict[str, Any]]:
    """Ten documents of 1999Q1 to 2000Q2 as lines of a file; six of them could contain an event."""
    return [
        json_document(f"doc {n}", date, sentences, links) for n, (date, sentences, links) in enumerate(_CORPUS, start=1)
    ]


def write_lines(path: Path, documents: Iterable[Mapping[str, Any] | str]) -> Path:
    """Write a file of JSON Lines; a string stands for itself."""
    lines = [document if isinstance(document, str) else json.dumps(document) for document in documents]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def paths_of(rule: Rule, role: str = "agent") -> dict[str, tuple[str, ...]]:
    """Paths of a role in all frames, by the scheme."""
    paths = {
        scheme: [path for frame in rule.frames for path in frame.roles.get(role, {}).get(scheme, ())]
        for scheme in SCHEMES
    }
    return {scheme: tuple(dict.fromkeys(of_scheme)) for scheme, of_scheme in paths.items()}
