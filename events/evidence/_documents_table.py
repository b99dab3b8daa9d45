"""The table of documents: a row for each document, with or without events, and how often coreference merges actors."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Ints, Ints32
from corefsample.coreference._conditioning import METHODS, Conditioned
from corefsample.documents._batch import DocumentBatch
from corefsample.posterior._posterior import DocumentPosterior
from events.evidence._columns import TABLE_METADATA, Period
from events.evidence._document_events import DocumentEvents
from events.lexicon._lexicon import Lexicon
from events.matching._matching import distinct_actors
from events.matching._screening import DocumentMatches
from events.rules._format import ANYBODY

# Columns of a document: how its samples were conditioned (`Conditioned.method`, null if they were not); mentions that
# name an actor, and mentions whose entity also names a distinct actor, both summed over samples.
MERGED_ACTORS = pa.schema(
    [("conditioned", pa.string()), ("named_mentions", pa.int64()), ("merged_mentions", pa.int64())]
)
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
_UNSETTLED = 20  # number of doc_ids that are listed
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


_Sampled = tuple[Conditioned, Ints32, int]  # clashes, mentions that name an actor, number of samples


def merged_actors(rule_events: Sequence[DocumentEvents]) -> dict[str, Any]:
    """Columns `MERGED_ACTORS` of one document, given its events by each rule; empty without conditioned samples."""
    by_parse: dict[int, _Sampled] = {}  # the same for all rules
    for parse in (parse for events in rule_events for parse in events.parses):
        if parse.conditioned is not None and parse.matches is not None and parse.matches.naming is not None:
            by_parse[parse.parse] = parse.conditioned, parse.matches.naming, parse.n_drawn
    return _columns([*by_parse.values()])


def sampled_merged_actors(
    batch: DocumentBatch, row: int, lexicon: Lexicon, *, scheme: str | None = None, n_samples: int = 100
) -> dict[str, Any]:
    """doc_id and `merged_actors` of a document with tokens, without rules, from samples of its unchanged scores.

    Raises
    ------
    InputError
        If the labels of the document fit no scheme.
    """
    of_parses: list[_Sampled] = []
    for r in batch.parses(row):
        tokens = batch.tokens(r)
        assert tokens is not None
        pairs, naming = distinct_actors(tokens, batch.spans(r), lexicon, batch.dates[row].item(), scheme)
        if len(naming):
            n_mentions = int(pairs.max(initial=-1)) + 1
            posterior, cannot_link = DocumentPosterior.of_row(batch, r), pairs if len(pairs) else None
            drawn = posterior.sample(n_samples=n_samples, n_mentions=n_mentions, cannot_link=cannot_link)
            if drawn.samples.size:
                # Without a pair there is nothing to condition.
                conditioned = drawn.conditioned or Conditioned(np.zeros(0, np.int64), METHODS[0])
                of_parses.append((conditioned, naming, drawn.samples.size))
    return {"doc_id": batch.doc_ids[row], **_columns(of_parses)}


def _columns(of_parses: Sequence[_Sampled]) -> dict[str, Any]:
    if not of_parses:
        return {}
    merged = 0
    for conditioned, naming, _ in of_parses:
        clashes = conditioned.n_clashes
        merged += int(
            clashes[naming[naming < len(clashes)]].sum()
        )  # later mentions, which are not drawn, are in no pair
    return {
        "conditioned": max((conditioned.method for conditioned, *_ in of_parses), key=METHODS.index),
        "named_mentions": sum(len(naming) * n for _, naming, n in of_parses),
        "merged_mentions": merged,
    }


def merging_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Table of the results of `sampled_merged_actors`, for `merging_summary`."""
    return pa.Table.from_pylist(rows, pa.schema([("doc_id", pa.string()), *MERGED_ACTORS]))


def merging_summary(documents: pa.Table, n_samples: int) -> dict[str, Any] | None:
    """Values for the record of a run: see docs/file-formats.md.

    Parameters
    ----------
    documents
        Table with the columns doc_id and `MERGED_ACTORS`.
    n_samples
        Number of samples of each document.

    Returns
    -------
    dict or None
        None if distinct actors were not kept apart.
    """
    documents = documents.filter(documents["conditioned"].is_valid())
    if not len(documents):
        return None
    n_named, n_merged = (pc.sum(documents[name]).as_py() for name in MERGED_ACTORS.names[1:])
    conditioned = documents["conditioned"].to_pylist()
    unsettled = documents.filter(pc.equal(documents["conditioned"], METHODS[-1]))["doc_id"].to_pylist()
    return {
        "n_mentions": round(n_named / n_samples, 3),
        "probability": n_merged / max(n_named, 1),
        "n_documents": {method: conditioned.count(method) for method in METHODS},
        "unsettled": sorted(unsettled)[:_UNSETTLED],
    }
