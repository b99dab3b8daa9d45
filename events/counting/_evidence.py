"""The evidence behind counts: for each document and country, the sentences and mentions that made the event."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corefsample.documents import Tokens
from events.counting._evaluation import DocumentEvents

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
        ("places", pa.string()),
    ]
)
_SEPARATOR = " | "
_LONGEST_MENTION = 12  # tokens shown of a mention
_MOST_MENTIONS = 8  # shown of each kind, the likeliest first

_Instance = tuple[int, list[int], float]
_Description = tuple[int, str, list[int], float]


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One document and country with P > 0.

    Attributes
    ----------
    doc_id, date, period, country
        Where.
    probability, mc_se
        P(event) and its Monte Carlo standard error (`events.counting.monte_carlo_errors`).
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
    places
        JSON: where these are in the document, for a report. ``instances`` are [token of the trigger, mentions (one a
        role), probability], ``descriptions`` [mention, country, [first token, end] of its name, probability].
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
    places: str = ""


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
        instances, descriptions = _made_by(events, e)
        texts = ("", "", "") if tokens is None else _texts(instances, descriptions, tokens, spans)
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
                json.dumps({"instances": instances, "descriptions": descriptions}),
            )
        )
    return rows


def _made_by(events: DocumentEvents, event: int) -> tuple[list[_Instance], list[_Description]]:
    """Say which instances and descriptions made an event most often, the likeliest first; a predicate has none."""
    matches, instance_hits, description_hits = events.matches, events.instance_hits, events.description_hits
    if matches is None or instance_hits is None or description_hits is None:
        return [], []
    made = [t for t in np.argsort(-instance_hits[:, event], kind="stable").tolist() if instance_hits[t, event]]
    wanted = set(events.keys[event].split(">"))
    codes = [matches.countries[c] for c in matches.described_countries.tolist()]
    likeliest = np.argsort(-description_hits, kind="stable").tolist()
    describing = [d for d in likeliest if description_hits[d] and codes[d] in wanted]
    words = matches.described_words
    return [
        (int(matches.triggers[t]), matches.instances[t].tolist(), float(instance_hits[t, event] / events.n_samples))
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
    instances: list[_Instance], descriptions: list[_Description], tokens: Tokens, spans: np.ndarray
) -> tuple[str, str, str]:
    if not instances:
        return "", "", ""
    agents = [
        " > ".join(_mention(tokens, spans, mention) for mention in mentions) + f" {probability:.3f}"
        for _, mentions, probability in instances
    ]
    described = [f"{_mention(tokens, spans, mention)} {probability:.3f}" for mention, _, _, probability in descriptions]
    places = [trigger for trigger, _, _ in instances] + [int(spans[mention, 2]) for mention, *_ in descriptions]
    bounds = tokens.sentences()
    numbers = sorted({int(tokens.sent[place]) for place in places})
    sentences = [" ".join(tokens.text[slice(*bounds[number])]) for number in numbers]
    return _SEPARATOR.join(sentences), _SEPARATOR.join(agents), _SEPARATOR.join(dict.fromkeys(described))


def _mention(tokens: Tokens, spans: np.ndarray, mention: int) -> str:
    start, end, _ = spans[mention].tolist()
    words = list(tokens.text[start : min(end, start + _LONGEST_MENTION)])
    return " ".join(words) + (" ..." if end - start > _LONGEST_MENTION else "") + f" [{start}-{end}]"
