"""Documents of a run without evidence: where events are that the rule, the lexicon or the parse missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from corefsample._random import document_key
from events.pages._marked_texts import run_texts
from events.pages._rendering import PER_PART, packed_parts

# A document without evidence has a trigger and an actor, one of them, or none.
KINDS = ("trigger and actor found, no event", "trigger found, no actor", "actor found, no trigger", "neither found")


@dataclass(frozen=True, slots=True)
class OtherDocuments:
    """Documents without evidence.

    Attributes
    ----------
    counts
        Number of each of `KINDS` in the run.
    content
        Those in the page, as columns: id, date, kind (index in `KINDS`), label; and "perPart".
    texts
        Their texts in pieces, packed.
    n_shown
        Number of those in the page.
    """

    counts: tuple[int, ...]
    content: dict[str, Any]
    texts: list[str]
    n_shown: int


def other_documents(
    table: pd.DataFrame,
    record: Mapping[str, Any],
    labels: Mapping[str, str],
    n_documents: int,
    learned: Callable[[str], float] | None = None,
) -> OtherDocuments:
    """Choose documents without evidence, and read their texts from the inputs of the run that still exist.

    Those with a label come first; of the others, as many of each kind as possible, at random; with learned P instead
    those where it is highest.

    Parameters
    ----------
    table
        doc_id, date, trigger, actor and probability of every document of the run.
    record
        Content of run.json.
    labels
        Label by doc_id.
    n_documents
        The most documents in the page.
    learned
        P that a reader says yes, by doc_id.
    """
    without = table[table["probability"] == 0.0]
    kinds: Ints = np.where(without["trigger"], np.where(without["actor"], 0, 1), np.where(without["actor"], 2, 3))
    taught = None if learned is None else np.array([learned(doc_id) for doc_id in without["doc_id"]])
    chosen = _chosen(without["doc_id"].tolist(), kinds, labels, n_documents, taught)
    rows = without.iloc[chosen]
    doc_ids = [str(doc_id) for doc_id in rows["doc_id"]]
    found = dict(run_texts(record, set(doc_ids))) if doc_ids else {}
    content = {
        "id": doc_ids,
        "date": [str(date) for date in rows["date"]],
        "kind": kinds[chosen].tolist(),
        "label": [labels.get(doc_id, "") for doc_id in doc_ids],
        "perPart": PER_PART,
        **({} if taught is None else {"learned": taught[chosen].tolist()}),
    }
    texts = packed_parts([found[doc_id].pieces if doc_id in found else [] for doc_id in doc_ids])
    return OtherDocuments(tuple(np.bincount(kinds, minlength=len(KINDS)).tolist()), content, texts, len(doc_ids))


def _chosen(
    doc_ids: list[str], kinds: Ints, labels: Mapping[str, str], n_documents: int, learned: Floats | None
) -> list[int]:
    """Rows to show, by kind: in turn one of each, in the order of the keys that also draw samples; or by learned P."""
    keys = np.array([document_key(0, doc_id) for doc_id in doc_ids], np.uint64)
    labelled = np.array([doc_id in labels for doc_id in doc_ids], np.bool_)
    order = np.lexsort((keys, ~labelled, kinds))
    counts = np.bincount(kinds, minlength=len(KINDS))
    turn = np.concatenate([np.arange(n) for n in counts]) if len(order) else order
    first = turn if learned is None else -learned[order]
    by_turn = np.lexsort((kinds[order], first, ~labelled[order]))
    return sorted(order[by_turn[:n_documents]].tolist(), key=lambda row: (kinds[row], row))
