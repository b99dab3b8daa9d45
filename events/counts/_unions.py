"""Outcomes of evidence: a document has one in the samples in which it has any of the events that it unites."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Bytes, Ints
from corefsample._random import monte_carlo_errors
from corefsample.errors import ParameterError
from events.counts._evidence import Evidence
from events.counts._occurrences import Occurrences
from events.evidence._columns import ACTOR, EventKey
from events.rules._format import Outcome


def with_outcomes(evidence: Evidence, outcomes: Sequence[Outcome]) -> Evidence:
    """Evidence with rows for further outcomes, whose samples are those with any of the united events.

    Raises
    ------
    ParameterError
        If an outcome has the name of an event of the evidence, or unites events that it does not have.
    """
    settings = evidence.settings
    for outcome in outcomes:
        unknown = [name for name in outcome.events if name not in settings.columns or name in settings.outcomes]
        if unknown or outcome.name in settings.columns:
            names = ", ".join(name for name in settings.columns if name not in settings.outcomes)
            rule = f"must unite events of the run ({names}) under another name than theirs"
            raise ParameterError(f"{rule}, got {outcome}", parameter="outcome")
    patterns: dict[str, list[str]] = {}
    for outcome in outcomes:
        patterns.setdefault(outcome.name, []).append(outcome.actors)
    united = Evidence(
        dataclasses.replace(
            settings,
            columns={**settings.columns, **dict.fromkeys(patterns, ACTOR)},
            outcomes={**settings.outcomes, **patterns},
        )
    )
    for rows, added in zip(united.tables, evidence.tables, strict=True):
        rows.extend(added)
    occurrences = evidence.occurrences()
    columns = evidence.rows.read("doc_id", "date", "one_best", "inefficiency", "samples", "named_samples")
    for outcome in outcomes:
        united.rows.add(_rows(outcome, occurrences, columns, united))
    return united


def _rows(outcome: Outcome, occurrences: Occurrences, columns: pa.Table, united: Evidence) -> pa.RecordBatch:
    """Rows of evidence of one outcome."""
    settings, keys = united.settings, occurrences.keys
    matching = {*outcome.matching_keys([key for _, key in keys], settings.kinds)}
    is_member = np.array([k in matching and name in outcome.events for k, (name, _) in enumerate(keys)], np.bool_)
    rows = np.flatnonzero(is_member[occurrences.key]) if len(keys) else np.zeros(0, np.int64)
    rows = rows[np.argsort(occurrences.document[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(occurrences.document[rows], prepend=-1))
    members = columns.take(pa.array(rows))
    samples = _united(members["samples"], starts, settings.n_samples)
    named = _united(pc.coalesce(members["named_samples"], members["samples"]), starts, settings.n_samples)
    n_hits = np.unpackbits(samples, axis=1).sum(axis=1, dtype=np.int64)
    documents = members.take(pa.array(starts))
    inefficiency = np.maximum.reduceat(members["inefficiency"].to_numpy(), starts) if len(starts) else np.zeros(0)
    one_best = np.logical_or.reduceat(members["one_best"].to_numpy(), starts) if len(starts) else np.zeros(0, np.bool_)
    errors = [
        float(monte_carlo_errors(n, settings.n_samples, time)) for n, time in zip(n_hits, inefficiency, strict=True)
    ]
    cells = EventKey.of(outcome.actors).cells(ACTOR, settings.roles)
    n = len(starts)
    values = {
        "doc_id": documents["doc_id"].combine_chunks(),
        "date": documents["date"].combine_chunks(),
        "event": pa.array([outcome.name] * n, pa.string()),
        **{name: pa.array([cell] * n, pa.string()) for name, cell in cells.items()},
        "probability": pa.array(n_hits / settings.n_samples),
        "mc_se": pa.array(errors, pa.float64()),
        "one_best": pa.array(one_best),
        "samples": pa.array([bits.tobytes() for bits in samples], pa.binary(), mask=n_hits == 0),
        "named_samples": pa.array([bits.tobytes() for bits in named], pa.binary(), mask=n_hits == 0),
        "inefficiency": pa.array(inefficiency),
    }
    return pa.RecordBatch.from_pydict(values)


def _united(bits: pa.ChunkedArray, starts: Ints, n_samples: int) -> Bytes:
    """Packed bits that are set in any of the rows from each start to the next; null stands for no bits."""
    n_bytes = -(-n_samples // 8)
    filled = bits.combine_chunks().fill_null(bytes(n_bytes))
    packed = np.frombuffer(b"".join(filled.to_pylist()), np.uint8).reshape(-1, n_bytes)
    return np.bitwise_or.reduceat(packed, starts, axis=0) if len(starts) else packed
