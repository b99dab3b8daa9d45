"""Documents without evidence in a report, in which missed events can be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample._arrays import Floats, Ints, pd
from corefsample._random import document_key
from events.evidence._periods import UNDATED
from events.pages._document_texts import run_texts
from events.pages._rendering import PER_PART, packed_parts

# A document without evidence has a trigger and an actor, one of them, or none.
KINDS = ("trigger and actor found, no event", "trigger found, no actor", "actor found, no trigger", "neither found")


@dataclass(frozen=True, slots=True)
class OtherDocuments:
    """Documents without evidence.

    Attributes
    ----------
    counts
        Number of documents in the run of each of `KINDS`.
    content
        Documents in the page, as columns: id, date, kind (index in `KINDS`), label, and learned P if there is any; and
        "perPart", the number of texts of a packed part.
    texts
        Texts of the documents in the page in pieces, packed.
    n_shown
        Number of documents in the page.
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
        Table of all documents of the run: doc_id, date, trigger, actor and probability.
    record
        Content of run.json of the run.
    labels
        Label of each labelled document, by doc_id.
    n_documents
        Largest number of documents in the page.
    learned
        Function that returns the learned P that a reader says yes of a document, by its doc_id; without it, documents
        are drawn at random.
    """
    without = table[table["probability"] == 0.0]
    kinds: Ints = np.where(without["trigger"], np.where(without["actor"], 0, 1), np.where(without["actor"], 2, 3))
    taught = None if learned is None else np.array([learned(doc_id) for doc_id in without["doc_id"]])
    row_numbers = _chosen(without["doc_id"].tolist(), kinds, labels, n_documents, taught)
    rows = without.iloc[row_numbers]
    doc_ids = [str(doc_id) for doc_id in rows["doc_id"]]
    texts_by_id = dict(run_texts(record, set(doc_ids))) if doc_ids else {}
    columns = {
        "id": doc_ids,
        "date": [date_text(date) for date in rows["date"]],
        "kind": kinds[row_numbers].tolist(),
        "label": [labels.get(doc_id, "") for doc_id in doc_ids],
        "perPart": PER_PART,
        **({} if taught is None else {"learned": taught[row_numbers].tolist()}),
    }
    texts = packed_parts([texts_by_id[doc_id].pieces if doc_id in texts_by_id else [] for doc_id in doc_ids])
    return OtherDocuments(tuple(np.bincount(kinds, minlength=len(KINDS)).tolist()), columns, texts, len(doc_ids))


def _chosen(
    doc_ids: list[str], kinds: Ints, labels: Mapping[str, str], n_documents: int, learned: Floats | None
) -> list[int]:
    """Rows to show, ordered by kind: first those with a label, then one of each kind in turn, or by learned P."""
    keys = np.array([document_key(0, doc_id) for doc_id in doc_ids], np.uint64)
    labelled = np.array([doc_id in labels for doc_id in doc_ids], np.bool_)
    order = np.lexsort((keys, ~labelled, kinds))
    counts = np.bincount(kinds, minlength=len(KINDS))
    turn = np.concatenate([np.arange(n) for n in counts]) if len(order) else order
    first = turn if learned is None else -learned[order]
    by_turn = np.lexsort((kinds[order], first, ~labelled[order]))
    return sorted(order[by_turn[:n_documents]].tolist(), key=lambda row: (kinds[row], row))


def date_text(date: object) -> str:
    """Text of a date, which a document need not have."""
    return UNDATED if pd.isna(date) else str(date)  # type: ignore[call-overload]
