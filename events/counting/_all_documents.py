"""The table of all documents of a run: one row a document, with or without events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from corefsample.documents._batch import DocumentBatch
from events.counting._evaluation import DocumentEvents
from events.counting._keys import event_name
from events.counting._periods import Period
from events.counting._tables import TABLE_METADATA
from events.matching._screening import DocumentMatches

ALL_DOCUMENTS_SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("date", pa.date32()),
        ("period", pa.string()),
        ("trigger", pa.bool_()),  # whether a trigger of the rule was found
        ("actor", pa.bool_()),  # whether a word was found that may begin a name of the lexicon
        ("sampled", pa.bool_()),  # whether an event is possible, so that clusterings were sampled
        ("probability", pa.float64()),  # P(some event, of any rule)
        # What has P > 0: the event of a rule of any actor (actor ""), and of each actor.
        ("events", pa.list_(pa.string())),
        ("actors", pa.list_(pa.string())),
        ("probabilities", pa.list_(pa.float64())),
    ],
    TABLE_METADATA,
)


def document_rows(
    batch: DocumentBatch,
    periods: Sequence[Period],
    matches: Mapping[int, DocumentMatches],
    events_of: Mapping[int, Sequence[DocumentEvents]],
) -> pa.RecordBatch:
    """Rows of the documents of a batch.

    Parameters
    ----------
    batch
        The documents, all of which have dates.
    periods
        Their periods.
    matches
        What was found in each, by row.
    events_of
        Events of those that were sampled, by row, of every rule.
    """
    n = len(batch)
    sampled, some = np.zeros(n, np.bool_), np.zeros(n)
    lengths = np.zeros(n, np.int64)  # of the lists of each document
    names: list[str] = []
    actors: list[str] = []
    shares: list[float] = []
    for row, several in sorted(events_of.items()):
        sampled[row] = True
        hits = [events.hits.any(axis=0) for events in several]  # by sample; the rules share the clusterings
        some[row] = np.count_nonzero(np.any(hits, axis=0)) / several[0].n_samples
        before = len(names)
        for events, any_actor in zip(several, hits, strict=True):
            likely = np.flatnonzero(events.n_hits)
            if likely.size:
                own = [e for e in likely.tolist() if events.keys[e]]  # not the event of a rule without roles
                names += [events.event] * (1 + len(own))
                actors += ["", *(event_name(events.keys[e]) for e in own)]
                shares += [np.count_nonzero(any_actor) / events.n_samples, *events.probabilities[own].tolist()]
        lengths[row] = len(names) - before
    columns = [
        *(batch.doc_ids, batch.dates.astype("datetime64[D]"), [period.label for period in periods]),
        *([matches[row].has_trigger for row in range(n)], [matches[row].has_name for row in range(n)]),
        *(sampled, some, names, actors, shares),
    ]
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    arrays = [
        pa.ListArray.from_arrays(offsets, pa.array(values, field.type.value_type))
        if pa.types.is_list(field.type)
        else pa.array(values, field.type)
        for values, field in zip(columns, ALL_DOCUMENTS_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ALL_DOCUMENTS_SCHEMA)
