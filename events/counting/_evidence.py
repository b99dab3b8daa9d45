"""The evidence behind counts: for each document and event, the sentences and mentions of the event."""

from __future__ import annotations

import dataclasses
import datetime
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from corefsample._arrays import Ints32
from corefsample.documents import Tokens
from events.counting._evaluation import DocumentEvents, monte_carlo_errors
from events.counting._keys import EventKey
from events.counting._tables import COUNTRY, arrow_schema, role_values

SEPARATOR = " | "
_LONGEST_MENTION = 12  # tokens of a mention's text
MOST_MENTIONS = 8  # of each kind, the likeliest first

_Instance = tuple[int, list[int], float]
_Description = tuple[int, str, list[int], float]


@dataclass(frozen=True, slots=True)
class ParseEvidence:
    """What the alternative parses of a document contribute to one event; columns of a table of evidence.

    Attributes
    ----------
    n_parses
        Number of the document's parses.
    parse_variance, coreference_variance
        Parts of P (1 - P), by the law of total variance: the variance of P(event | parse) over the parses, and the
        mean variance given the parse (see `events.counting.variance_parts`).
    parses
        The likeliest parses (at most eight) that make the event, "2: 0.950 of 0.100": number of the parse,
        P(event | parse), share of the samples with this parse.
    alternatives
        For each trigger, what the parses have there (at most eight): labels and words that depend on the trigger,
        share of the samples, P(event) given these.
    """

    n_parses: int
    parse_variance: float
    coreference_variance: float
    parses: str = ""
    alternatives: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One document and event with P > 0; a row of the table of evidence.

    Attributes
    ----------
    doc_id, date, period
        The document, and the label of its period.
    event, actors
        Name of the rule, and the code of each role.
    probability, mc_se
        P(event) and its Monte Carlo standard error (`events.counting.monte_carlo_errors`).
    one_best
        Whether the event is true in the likeliest-antecedent clustering.
    sentences
        The sentences of the triggers and of the mentions listed, in the order of the text.
    agent_mentions
        The likeliest mentions (at most eight) that fill the event's roles, with token span and P(this instance makes
        the event true).
    country_mentions
        The likeliest mentions (at most eight) described as the actors, with token span and P(it belongs to an entity
        of an event).
    excluded
        Triggers of the event in this document that a condition excluded, with their tokens and the conditions.
    places
        JSON: where these are in the document, for a report. ``instances`` are [token of the trigger, mentions (one per
        role, -1 for none), probability], ``descriptions`` [mention, code, [first token, end] of its name, probability].
        With alternative parses, mentions are those of the first parse, -1 if it has none of these words, and
        ``alternatives`` are [token of the trigger, words, share, probability].
    parse
        Of a document with alternative parses; in a table the columns of `ParseEvidence`, if it has them.
    """

    doc_id: str
    date: datetime.date
    period: str
    event: str
    actors: EventKey
    probability: float
    mc_se: float
    one_best: bool
    sentences: str
    agent_mentions: str
    country_mentions: str
    places: str = ""
    excluded: str = ""
    parse: ParseEvidence | None = None

    def values(self, columns: Sequence[str], roles: Sequence[str], *, parses: bool = False) -> dict[str, Any]:
        """The row of a table.

        Parameters
        ----------
        columns
            Columns of the rule's roles.
        roles
            Columns of roles in the table, with those of other rules.
        parses
            Whether the table has the columns of `ParseEvidence`.
        """
        fields = {name: getattr(self, name) for name in _COLUMNS}
        if parses:
            fields |= dataclasses.asdict(parse_evidence(self))
        return {**fields, **dict.fromkeys(roles, ""), **role_values(self.actors, columns)}


_COLUMNS = {
    field.name: str(field.type).removeprefix("datetime.")
    for field in dataclasses.fields(EvidenceRow)
    if field.name not in ("actors", "parse")
}
_PARSE_COLUMNS = {field.name: str(field.type) for field in dataclasses.fields(ParseEvidence)}


def evidence_schema(roles: Sequence[str], *, parses: bool = False) -> pa.Schema:
    """Schema of the table of evidence with the given columns of roles, and those of `ParseEvidence` if `parses`."""
    names = list(_COLUMNS)
    after = names.index("event") + 1
    typed = {name: _COLUMNS[name] for name in names[:after]} | dict.fromkeys(roles, "str")
    last = _PARSE_COLUMNS if parses else {}
    return arrow_schema(typed | {name: _COLUMNS[name] for name in names[after:]} | last)


EVIDENCE_SCHEMA = evidence_schema(COUNTRY)


def evidence_batch(
    rows: Sequence[EvidenceRow],
    columns: Mapping[str, Sequence[str]],
    roles: Sequence[str],
    *,
    parses: bool = False,
) -> pa.RecordBatch:
    """The table of some rows, as `evidence_schema` describes it.

    Parameters
    ----------
    rows
        Of one rule or several.
    columns
        Columns of the roles of each rule, by its name.
    roles
        Columns of roles in the table.
    parses
        Whether it has the columns of `ParseEvidence`.
    """
    schema = evidence_schema(roles, parses=parses)
    about_parses = [parse_evidence(row) for row in rows] if parses else []
    of_roles = [role_values(each.actors, columns[each.event]) for each in rows]
    arrays = [
        pa.array(
            [each.get(field.name, "") for each in of_roles]
            if field.name in roles
            else list(map(attrgetter(field.name), about_parses if field.name in _PARSE_COLUMNS else rows)),
            field.type,
        )
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def parse_evidence(row: EvidenceRow) -> ParseEvidence:
    """What alternative parses contribute to a row; nothing if its document has one parse."""
    return row.parse or ParseEvidence(1, 0.0, row.probability * (1.0 - row.probability))


def evidence_rows(
    events: DocumentEvents, period: str, tokens: Tokens | None, spans: Ints32, event: str | None = None
) -> list[EvidenceRow]:
    """Rows of one document, one for each event with P > 0.

    Parameters
    ----------
    events
        Events of the document.
    period
        Label of its period.
    tokens, spans
        Tokens and mentions (int32 (n_mentions, 3)) of the document, for the texts; None leaves them empty.
    event
        Name of the rule; by default that of the matches.
    """
    rows = []
    name = event or ("event" if events.matches is None else events.matches.event)
    excluded = "" if tokens is None else excluded_triggers(events, tokens)
    texts_of = None if tokens is None else _texts_of(tokens, spans)
    true_in_any = np.flatnonzero(events.n_hits)
    probabilities = (events.n_hits[true_in_any] / events.n_samples).tolist()
    errors = monte_carlo_errors(events.n_hits[true_in_any], events.n_samples).tolist()
    sources = _Sources(events)
    for e, probability, error in zip(true_in_any.tolist(), probabilities, errors, strict=True):
        instances, descriptions = sources.of(e)
        texts = ("", "", "") if texts_of is None else texts_of.of(instances, descriptions)
        rows.append(
            EvidenceRow(
                events.doc_id,
                events.date,
                period,
                name,
                events.keys[e],
                probability,
                error,
                bool(events.one_best[e]),
                *texts,
                json.dumps({"instances": instances, "descriptions": descriptions}),
                excluded,
            )
        )
    return rows


def excluded_triggers(events: DocumentEvents, tokens: Tokens) -> str:
    """Triggers that a condition excluded, with their token and the conditions."""
    if events.matches is None:
        return ""
    return SEPARATOR.join(
        f"{tokens.text[each.token]} [{each.token}] {', '.join(each.conditions)}" for each in events.matches.excluded
    )


class _Sources:
    """What makes the events of a document true; what they share is done once."""

    def __init__(self, events: DocumentEvents) -> None:
        matches, instance_hits, description_hits = events.matches, events.instance_hits, events.description_hits
        self._events = events
        self._instance_hits = instance_hits
        self._described: list[tuple[str, _Description]] = []  # in any event, the likeliest first
        if matches is None or instance_hits is None or description_hits is None:
            return
        self._instances = list(zip(matches.triggers.tolist(), matches.instances.tolist(), strict=True))
        hits, mentions = description_hits.tolist(), matches.described_mentions.tolist()
        codes = [matches.countries[c] for c in matches.described_countries.tolist()]
        words = [[] for _ in hits] if matches.described_words is None else matches.described_words.tolist()
        self._described = [
            (codes[d], (mentions[d], codes[d], words[d], hits[d] / events.n_samples))
            for d in sorted((d for d, n_hits in enumerate(hits) if n_hits), key=lambda d: -hits[d])
        ]

    def of(self, event: int) -> tuple[list[_Instance], list[_Description]]:
        """Instances and descriptions that make an event true, the likeliest first; none for a predicate."""
        if self._instance_hits is None:
            return [], []
        hits, key = self._instance_hits[:, event].tolist(), self._events.keys[event]
        n_samples = self._events.n_samples
        made = sorted((t for t, n_hits in enumerate(hits) if n_hits), key=lambda t: -hits[t])
        describing = [description for code, description in self._described if code in key]
        instances = [(*self._instances[t], hits[t] / n_samples) for t in made[:MOST_MENTIONS]]
        return instances, describing[:MOST_MENTIONS]


class EvidenceTexts:
    """Sentences and mentions of a document as text, each made once."""

    def __init__(self, tokens: Tokens, spans: Ints32) -> None:
        self.tokens, self.spans = tokens, spans
        self._bounds = tokens.sentences()
        self._sentences: dict[int, str] = {}
        self._mentions: dict[int, str] = {}

    def of(self, instances: list[_Instance], descriptions: list[_Description]) -> tuple[str, str, str]:
        """Sentences, agents and described mentions of an event."""
        if not instances:
            return "", "", ""
        agents = [
            " > ".join(self._mention(m) if m >= 0 else "-" for m in mentions or [-1]) + f" {probability:.3f}"
            for _, mentions, probability in instances
        ]
        described = [f"{self._mention(mention)} {probability:.3f}" for mention, _, _, probability in descriptions]
        heads = [int(self.spans[mention, 2]) for mention, *_ in descriptions]
        places = {trigger for trigger, _, _ in instances}.union(heads)
        sentences = map(self._sentence, sorted({int(self.tokens.sent[place]) for place in places}))
        return SEPARATOR.join(sentences), SEPARATOR.join(agents), SEPARATOR.join(dict.fromkeys(described))

    def _sentence(self, number: int) -> str:
        if number not in self._sentences:
            self._sentences[number] = " ".join(self.tokens.text[slice(*self._bounds[number])])
        return self._sentences[number]

    def _mention(self, mention: int) -> str:
        if mention not in self._mentions:
            start, end, _ = self.spans[mention].tolist()
            words = list(self.tokens.text[start : min(end, start + _LONGEST_MENTION)])
            shortened = " ..." if end - start > _LONGEST_MENTION else ""
            self._mentions[mention] = f"{' '.join(words)}{shortened} [{start}-{end}]"
        return self._mentions[mention]


_latest = threading.local()  # the texts of the latest document: the rules of a run follow each other in it


def _texts_of(tokens: Tokens, spans: Ints32) -> EvidenceTexts:
    """The texts of a document, of which the latest are kept."""
    kept: EvidenceTexts | None = getattr(_latest, "texts", None)
    if kept is None or kept.tokens is not tokens or kept.spans is not spans:
        kept = _latest.texts = EvidenceTexts(tokens, spans)
    return kept
