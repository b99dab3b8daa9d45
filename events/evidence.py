"""The evidence behind counts: for each document and country, the sentences and mentions that made the event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corefsample.documents import Tokens
from events.evaluation import DocumentEvents

__all__ = ["EVIDENCE_SCHEMA", "EvidenceRow", "evidence_rows"]

EVIDENCE_SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.date32()),
        ("period", pa.string()),
        ("country", pa.string()),
        ("probability", pa.float64()),
        ("mc_se", pa.float64()),
        ("one_best", pa.bool_()),
        ("sentences", pa.string()),
        ("agent_mentions", pa.string()),
        ("country_mentions", pa.string()),
    ]
)
_SEPARATOR = " | "
_LONGEST_MENTION = 12  # tokens shown of a mention
_MOST_MENTIONS = 8  # shown of each kind, the likeliest first


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One document and country with P > 0.

    Attributes
    ----------
    doc_id, date, period, country
        Where.
    probability, mc_se
        P(event) and its Monte Carlo standard error (`events.evaluation.monte_carlo_errors`).
    one_best
        Whether the likeliest-antecedent clustering holds the event.
    sentences
        The sentences of the triggers and of the mentions shown, in the order of the text.
    agent_mentions
        The likeliest mentions (at most eight) that fill the event's roles, with token span and P(this instance makes
        the event).
    country_mentions
        The likeliest mentions (at most eight) described as the country, with token span and P(it belongs to an entity
        that makes an event).
    """

    doc_id: str
    date: object
    period: str
    country: str
    probability: float
    mc_se: float
    one_best: bool
    sentences: str
    agent_mentions: str
    country_mentions: str


def evidence_rows(events: DocumentEvents, period: str, tokens: Tokens | None, spans: np.ndarray) -> list[EvidenceRow]:
    """Rows of one document, one an event with P > 0.

    Parameters
    ----------
    events
        Of the document.
    period
        Label of its period.
    tokens, spans
        Tokens and mentions (int32 (n_mentions, 3)) of the document, for the text.
    """
    rows = []
    probabilities, errors, n_hits = events.probabilities, events.mc_errors, events.n_hits
    for e in np.flatnonzero(n_hits).tolist():
        texts = ("", "", "") if tokens is None or events.matches is None else _texts(events, e, tokens, spans)
        rows.append(
            EvidenceRow(
                events.doc_id,
                events.date,
                period,
                events.keys[e],
                float(probabilities[e]),
                float(errors[e]),
                bool(events.one_best[e]),
                *texts,
            )
        )
    return rows


def _texts(events: DocumentEvents, event: int, tokens: Tokens, spans: np.ndarray) -> tuple[str, str, str]:
    matches, instance_hits, description_hits = events.matches, events.instance_hits, events.description_hits
    if matches is None or instance_hits is None or description_hits is None:
        return "", "", ""
    made = [t for t in np.argsort(-instance_hits[:, event], kind="stable").tolist() if instance_hits[t, event]]
    made = made[:_MOST_MENTIONS]
    wanted = set(events.keys[event].split(">"))
    describing = [
        d
        for d in np.argsort(-description_hits, kind="stable").tolist()
        if description_hits[d] and matches.countries[matches.described_countries[d]] in wanted
    ][:_MOST_MENTIONS]
    agents = [
        " > ".join(_mention(tokens, spans, m) for m in matches.instances[t].tolist())
        + f" {instance_hits[t, event] / events.n_samples:.3f}"
        for t in made
    ]
    described = [
        f"{_mention(tokens, spans, int(matches.described_mentions[d]))} {description_hits[d] / events.n_samples:.3f}"
        for d in describing
    ]
    places = [int(matches.triggers[t]) for t in made] + [
        int(spans[matches.described_mentions[d], 2]) for d in describing
    ]
    bounds = tokens.sentences()
    numbers = sorted({int(tokens.sent[place]) for place in places})
    sentences = [" ".join(tokens.text[slice(*bounds[number])]) for number in numbers]
    return _SEPARATOR.join(sentences), _SEPARATOR.join(agents), _SEPARATOR.join(dict.fromkeys(described))


def _mention(tokens: Tokens, spans: np.ndarray, mention: int) -> str:
    start, end, _ = spans[mention].tolist()
    words = list(tokens.text[start : min(end, start + _LONGEST_MENTION)])
    return " ".join(words) + (" ..." if end - start > _LONGEST_MENTION else "") + f" [{start}-{end}]"
