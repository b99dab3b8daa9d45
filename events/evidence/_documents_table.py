"""The table of documents: a row for each document, with or without events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from corefsample._arrays import Ints
from corefsample.documents._batch import DocumentBatch
from events.evidence._columns import TABLE_METADATA
from events.evidence._document_events import DocumentEvents
from events.evidence._merged_actors import MERGED_ACTORS, merged_actors
from events.evidence._periods import Period
from events.matching._screening import DocumentMatches
from events.rules._format import ANYBODY

ALL_DOCUMENTS_SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.date32()),
        ("period", pa.string()),
        ("trigger", pa.bool_()),  # whether a trigger of the rule was found
        ("actor", pa.bool_()),  # whether a word was found that may begin a name of the lexicon
        ("sampled", pa.bool_()),  # whether an event is possible, so that clusterings were sampled
        ("probability", pa.float64()),  # P(some event, of any rule)
        # What has P > 0: the event of a rule of anybody or nobody (actor "*"), and of each actor ("-": nobody named).
        ("events", pa.list_(pa.string())),
        ("actors", pa.list_(pa.string())),
        ("probabilities", pa.list_(pa.float64())),
        ("n_tokens", pa.int32()),
        # A text for each trigger whose roles may be filled, as in `DocumentMatches.triggers`: "arrest", or with the
        # conditions that exclude it "arrest: future, negated".
        ("triggers", pa.list_(pa.string())),
        ("ambiguous_names", pa.int32()),  # names in a sampled document that the lexicon declares ambiguous
        ("n_parses", pa.int32()),
        *MERGED_ACTORS,
    ],
    TABLE_METADATA,
)
_LISTS = ("events", "actors", "probabilities")
_LONGEST = 500  # longest text of a metadata column, in characters


def document_rows(
    batch: DocumentBatch,
    periods: Sequence[Period],
    matches: Mapping[int, DocumentMatches],
    events_of: Mapping[int, Sequence[DocumentEvents]],
) -> pa.RecordBatch:
    """Rows of the documents of a batch, with a column of text for each simple value of the documents' metadata.

    Parameters
    ----------
    batch
        Documents, with or without events.
    periods
        Period of each row of the batch.
    matches
        Matches of the rules in each document, by its first row.
    events_of
        Events of each document that was sampled, one result per rule, by its first row.
    """
    firsts = batch.firsts
    n_parses = np.diff([*firsts, len(batch)])
    n = len(firsts)
    sampled, any_share = np.zeros(n, np.bool_), np.zeros(n)
    lengths = np.zeros(n, np.int64)  # of the lists of each document
    names: list[str] = []
    actors: list[str] = []
    shares: list[float] = []
    ambiguous = np.zeros(n, np.int32)
    merged: list[dict[str, Any]] = [{}] * n
    for row, first in enumerate(firsts.tolist()):
        if first not in events_of:
            continue
        rule_events = events_of[first]
        sampled[row] = True
        merged[row] = merged_actors(rule_events)
        of_rules = (events.parses[0].matches for events in rule_events if events.parses)
        ambiguous[row] = max((each.n_ambiguous for each in of_rules if each is not None), default=0)
        hits = [events.hits.any(axis=0) for events in rule_events]  # by sample; the rules share the clusterings
        any_share[row] = np.count_nonzero(np.any(hits, axis=0)) / rule_events[0].n_samples
        n_before = len(names)
        for events, any_actor in zip(rule_events, hits, strict=True):
            likely = np.flatnonzero(events.n_hits)
            if likely.size:
                # Not the event of a rule without roles, nor an outcome of anybody or nobody.
                listed = [e for e in likely.tolist() if events.keys[e] not in ((), (ANYBODY,))]
                names += [events.event] * (1 + len(listed))
                actors += [ANYBODY, *(events.keys[e].name for e in listed)]
                shares += [np.count_nonzero(any_actor) / events.n_samples, *events.probabilities[listed].tolist()]
        lengths[row] = len(names) - n_before
    batch, of_documents = batch.usual_parses(), [matches[row] for row in firsts.tolist()]
    triggers = [_trigger_texts(each) if each.triggers else [] for each in of_documents]
    columns = [
        *(batch.doc_ids, batch.dates.astype("datetime64[D]"), [periods[row].label for row in firsts.tolist()]),
        *([each.has_trigger for each in of_documents], [each.has_name for each in of_documents]),
        *(sampled, any_share, names, actors, shares),
        *(np.diff(batch.token_bounds).astype(np.int32), list(chain.from_iterable(triggers))),
        *(ambiguous, n_parses.astype(np.int32)),
        *([each.get(name) for each in merged] for name in MERGED_ACTORS.names),
    ]
    trigger_counts = np.array([len(each) for each in triggers], np.int64)
    offsets = {name: _offsets(lengths) for name in _LISTS} | {"triggers": _offsets(trigger_counts)}
    arrays = [
        pa.ListArray.from_arrays(offsets[field.name], pa.array(values, field.type.value_type))
        if field.name in offsets
        else pa.array(values, field.type)
        for values, field in zip(columns, ALL_DOCUMENTS_SCHEMA, strict=True)
    ]
    rows = pa.RecordBatch.from_arrays(arrays, schema=ALL_DOCUMENTS_SCHEMA)
    for name, texts in _metadata_columns(batch).items():
        rows = rows.append_column(pa.field(name, pa.string()), pa.array(texts, pa.string()))
    return rows


def _metadata_columns(batch: DocumentBatch) -> dict[str, list[str | None]]:
    """Texts, numbers and booleans of the documents' metadata as texts, by name; long texts are left out."""
    columns: dict[str, list[str | None]] = {}
    for row, text in enumerate(batch.table.column("metadata").to_pylist()):
        for name, value in msgspec.json.decode(text).items() if text else ():
            is_simple = isinstance(value, (str, int, float)) and name not in ALL_DOCUMENTS_SCHEMA.names
            if is_simple and len(as_text := str(value)) <= _LONGEST:
                columns.setdefault(name, [None] * len(batch))[row] = as_text
    return columns


def _offsets(lengths: Ints) -> pa.Array:
    """Offsets of the documents' lists in the array of their concatenated values."""
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())


def _trigger_texts(matches: DocumentMatches) -> list[str]:
    """A text for each trigger of a document: the event, and the conditions that exclude the trigger."""
    return [
        f"{event}: {', '.join(sorted(conditions))}" if conditions else event
        for event, triggers in matches.triggers.items()
        for _, conditions in sorted(triggers.items())
    ]


def excluded_triggers(texts: Mapping[str, int], event: str, preset: str) -> dict[str, Any]:
    """Numbers of excluded triggers of a rule for the record of a run: see docs/file-formats.md.

    Parameters
    ----------
    texts
        Number of triggers by their text in the column `triggers`.
    event, preset
        Name of the rule, and of its preset.
    """
    n_triggers = n_excluded = 0
    by_condition: dict[str, int] = {}
    for text, n in texts.items():
        name, _, conditions = text.partition(": ")
        if name == event:
            n_triggers += n
            n_excluded += n * bool(conditions)
            for condition in conditions.split(", ") if conditions else ():
                by_condition[condition] = by_condition.get(condition, 0) + n
    return {
        "preset": preset,
        "n_triggers": n_triggers,
        "n_excluded": n_excluded,
        "conditions": dict(sorted(by_condition.items(), key=lambda item: (-item[1], item[0]))),
    }
