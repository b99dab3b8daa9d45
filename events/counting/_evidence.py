"""The evidence behind counts: for each document and event, the sentences and mentions of the event."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corefsample._arrays import Ints32
from corefsample.documents import Tokens
from events.counting._evaluation import DocumentEvents
from events.counting._keys import EventKey
from events.counting._tables import COUNTRY, arrow_schema, role_values

_SEPARATOR = " | "
_LONGEST_MENTION = 12  # tokens of a mention's text
_MOST_MENTIONS = 8  # of each kind, the likeliest first

_Instance = tuple[int, list[int], float]
_Description = tuple[int, str, list[int], float]


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

    def values(self, columns: Sequence[str], roles: Sequence[str]) -> dict[str, Any]:
        """The row of a table.

        Parameters
        ----------
        columns
            Columns of the rule's roles.
        roles
            Columns of roles in the table, with those of other rules.
        """
        fields = {name: getattr(self, name) for name in _COLUMNS}
        return {**fields, **dict.fromkeys(roles, ""), **role_values(self.actors, columns)}


_COLUMNS = {
    field.name: str(field.type).removeprefix("datetime.")
    for field in dataclasses.fields(EvidenceRow)
    if field.name != "actors"
}


def evidence_schema(roles: Sequence[str]) -> pa.Schema:
    """Schema of the table of evidence with the given columns of roles."""
    names = list(_COLUMNS)
    after = names.index("event") + 1
    typed = {name: _COLUMNS[name] for name in names[:after]} | dict.fromkeys(roles, "str")
    return arrow_schema(typed | {name: _COLUMNS[name] for name in names[after:]})


EVIDENCE_SCHEMA = evidence_schema(COUNTRY)


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
    excluded = "" if tokens is None else _excluded(events, tokens)
    bounds = {} if tokens is None else tokens.sentences()
    probabilities, errors, n_hits = events.probabilities, events.mc_errors, events.n_hits
    for e in np.flatnonzero(n_hits).tolist():
        instances, descriptions = _sources(events, e)
        texts = ("", "", "") if tokens is None else _texts(instances, descriptions, tokens, spans, bounds)
        rows.append(
            EvidenceRow(
                events.doc_id,
                events.date,
                period,
                name,
                events.keys[e],
                float(probabilities[e]),
                float(errors[e]),
                bool(events.one_best[e]),
                *texts,
                json.dumps({"instances": instances, "descriptions": descriptions}),
                excluded,
            )
        )
    return rows


def _excluded(events: DocumentEvents, tokens: Tokens) -> str:
    """Triggers that a condition excluded, with their token and the conditions."""
    if events.matches is None:
        return ""
    return _SEPARATOR.join(
        f"{tokens.text[each.token]} [{each.token}] {', '.join(each.conditions)}" for each in events.matches.excluded
    )


def _sources(events: DocumentEvents, event: int) -> tuple[list[_Instance], list[_Description]]:
    """Instances and descriptions that make an event true, the likeliest first; none for a predicate."""
    matches, instance_hits, description_hits = events.matches, events.instance_hits, events.description_hits
    if matches is None or instance_hits is None or description_hits is None:
        return [], []
    hits = instance_hits[:, event]
    made = [t for t in np.argsort(-hits, kind="stable").tolist() if hits[t]]
    codes = [matches.countries[c] for c in matches.described_countries.tolist()]
    likeliest = np.argsort(-description_hits, kind="stable").tolist()
    describing = [d for d in likeliest if description_hits[d] and codes[d] in events.keys[event]]
    words = matches.described_words
    return [
        (int(matches.triggers[t]), matches.instances[t].tolist(), float(hits[t] / events.n_samples))
        for t in made[:_MOST_MENTIONS]
    ], [
        (
            int(matches.described_mentions[d]),
            codes[d],
            [] if words is None else words[d].tolist(),
            float(description_hits[d] / events.n_samples),
        )
        for d in describing[:_MOST_MENTIONS]
    ]


def _texts(
    instances: list[_Instance],
    descriptions: list[_Description],
    tokens: Tokens,
    spans: Ints32,
    bounds: Mapping[int, tuple[int, int]],
) -> tuple[str, str, str]:
    if not instances:
        return "", "", ""
    agents = [
        " > ".join(_mention(tokens, spans, m) if m >= 0 else "-" for m in mentions or [-1]) + f" {probability:.3f}"
        for _, mentions, probability in instances
    ]
    described = [f"{_mention(tokens, spans, mention)} {probability:.3f}" for mention, _, _, probability in descriptions]
    places = [trigger for trigger, _, _ in instances] + [int(spans[mention, 2]) for mention, *_ in descriptions]
    numbers = sorted({int(tokens.sent[place]) for place in places})
    sentences = [" ".join(tokens.text[slice(*bounds[number])]) for number in numbers]
    return _SEPARATOR.join(sentences), _SEPARATOR.join(agents), _SEPARATOR.join(dict.fromkeys(described))


def _mention(tokens: Tokens, spans: Ints32, mention: int) -> str:
    start, end, _ = spans[mention].tolist()
    words = list(tokens.text[start : min(end, start + _LONGEST_MENTION)])
    return " ".join(words) + (" ..." if end - start > _LONGEST_MENTION else "") + f" [{start}-{end}]"
