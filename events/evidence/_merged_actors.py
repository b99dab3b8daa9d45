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

_WORST = 3  # number of mentions that are listed
_OFTEN = 5  # mentions that are merged with a probability above 1 / 5 are counted
_UNSETTLED = 20  # number of doc_ids that are listed
_LONGEST = 12  # longest text of a mention, in tokens
_NO_DATE = "NaT"  # sorts after all dates

_WORST_MENTION = pa.struct(
    [("share", pa.float64()), ("start", pa.int32()), ("end", pa.int32()), ("mention", pa.string())]
)
# Columns of a document: how its samples were conditioned (`Conditioned.method`, null if they were not); mentions that
# name an actor, mentions whose entity also names a distinct actor, both summed over samples, and the first of these for
# mentions with a share of such samples above 0.2; the mentions with the highest shares.
MERGED_ACTORS = pa.schema(
    [
        ("conditioned", pa.string()),
        ("named_mentions", pa.int64()),
        ("merged_mentions", pa.int64()),
        ("often_merged", pa.int64()),
        ("worst_merged", pa.list_(_WORST_MENTION)),
    ]
)

_ByParse = Mapping[int, tuple[Conditioned, Ints32, int]]  # clashes, mentions that name an actor, number of samples


def merged_actors(batch: DocumentBatch, row: int, rule_events: Sequence[DocumentEvents]) -> dict[str, Any]:
    """Columns `MERGED_ACTORS` of one document, given its events by each rule; empty without conditioned samples."""
    by_parse: dict[int, tuple[Conditioned, Ints32, int]] = {}  # the same for all rules
    for parse in (parse for events in rule_events for parse in events.parses):
        if parse.conditioned is not None and parse.matches is not None and parse.matches.naming is not None:
            by_parse[parse.parse] = parse.conditioned, parse.matches.naming, parse.n_drawn
    return _columns(batch, row, by_parse)


def sampled_merged_actors(
    batch: DocumentBatch, row: int, lexicon: Lexicon, *, scheme: str | None = None, n_samples: int = 100
) -> dict[str, Any]:
    """doc_id, date and `merged_actors` of a document with tokens, without rules, from samples of its unchanged scores.

    Raises
    ------
    InputError
        If the labels of the document fit no scheme.
    """
    by_parse: dict[int, tuple[Conditioned, Ints32, int]] = {}
    for parse, r in enumerate(batch.parses(row)):
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
                by_parse[parse] = conditioned, naming, drawn.samples.size
    return {"doc_id": batch.doc_ids[row], "date": batch.dates[row].item(), **_columns(batch, row, by_parse)}


def merging_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Table of the results of `sampled_merged_actors`, for `merging_summary`."""
    return pa.Table.from_pylist(rows, pa.schema([("doc_id", pa.string()), ("date", pa.date32()), *MERGED_ACTORS]))


def _columns(batch: DocumentBatch, row: int, by_parse: _ByParse) -> dict[str, Any]:
    if not by_parse:
        return {}
    # Number of samples with a mention, and of those in which it is merged, by the token span of the mention.
    counts: dict[tuple[int, int], tuple[int, int]] = {}
    for parse, (conditioned, naming, n) in by_parse.items():
        spans, clashes = batch.spans(row + parse)[naming].tolist(), conditioned.n_clashes.tolist()
        for mention, (start, end, _) in zip(naming.tolist(), spans, strict=True):
            n_before, n_merged = counts.get((start, end), (0, 0))
            # Later mentions, which are not drawn, are in no pair.
            counts[start, end] = n_before + n, n_merged + (clashes[mention] if mention < len(clashes) else 0)
    worst = sorted((-n_merged / n, *span) for span, (n, n_merged) in counts.items() if n_merged)[:_WORST]
    tokens = batch.tokens(row)
    assert tokens is not None  # rules need them
    return {
        "conditioned": max((conditioned.method for conditioned, *_ in by_parse.values()), key=METHODS.index),
        "named_mentions": sum(n for n, _ in counts.values()),
        "merged_mentions": sum(n_merged for _, n_merged in counts.values()),
        "often_merged": sum(n for n, n_merged in counts.values() if _OFTEN * n_merged > n),
        "worst_merged": [
            {
                "share": -p,
                "start": start,
                "end": end,
                "mention": " ".join(tokens.text[start : min(end, start + _LONGEST)]),
            }
            for p, start, end in worst
        ],
    }


def merging_summary(documents: pa.Table, n_samples: int) -> dict[str, Any] | None:
    """Values for the record of a run: see docs/file-formats.md.

    Parameters
    ----------
    documents
        Table with the columns doc_id, date and `MERGED_ACTORS`.
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
    n_named, n_merged, n_often = (pc.sum(documents[name]).as_py() for name in MERGED_ACTORS.names[1:4])
    shares = pc.struct_field(pc.list_flatten(documents["worst_merged"]), "share").to_numpy()
    least = np.sort(shares)[-_WORST:].min(initial=2.0)
    worst = []
    listed = documents.select(["doc_id", "date", "worst_merged"])
    for document in listed.filter(pc.list_value_length(listed["worst_merged"]).to_numpy() > 0).to_pylist():
        date = _NO_DATE if document["date"] is None else str(document["date"])
        worst += [
            (-each["share"], date, document["doc_id"], each["start"], each["end"], each["mention"])
            for each in document["worst_merged"]
            if each["share"] >= least
        ]
    conditioned = documents["conditioned"].to_pylist()
    unsettled = documents.filter(pc.equal(documents["conditioned"], METHODS[-1]))["doc_id"].to_pylist()
    return {
        "n_mentions": round(n_named / n_samples, 3),
        "probability": n_merged / max(n_named, 1),
        "share_above_0.2": n_often / max(n_named, 1),
        "worst": [
            {"doc_id": doc_id, "date": None if date == _NO_DATE else date, "mention": text, "probability": -p}
            for p, date, doc_id, _, _, text in sorted(worst)[:_WORST]
        ],
        "n_documents": {method: conditioned.count(method) for method in METHODS},
        "unsettled": sorted(unsettled)[:_UNSETTLED],
    }
