"""How often coreference alone merges mentions of distinct actors, before samples are conditioned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample._arrays import Ints32
from corefsample.coreference._conditioning import METHODS, Conditioned
from corefsample.documents._batch import DocumentBatch
from corefsample.posterior._posterior import DocumentPosterior
from events.evidence._document_events import DocumentEvents
from events.lexicon._lexicon import Lexicon
from events.matching._matching import distinct_actors

_UNSETTLED = 20  # number of doc_ids that are listed

# Columns of a document: how its samples were conditioned (`Conditioned.method`, null if they were not); mentions that
# name an actor, and mentions whose entity also names a distinct actor, both summed over samples.
MERGED_ACTORS = pa.schema(
    [("conditioned", pa.string()), ("named_mentions", pa.int64()), ("merged_mentions", pa.int64())]
)

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
