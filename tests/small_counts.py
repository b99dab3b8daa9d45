"""Small counts, by hand and drawn, for the tests of cells and of their posterior."""

import dataclasses
import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from events.counts._event_counts import EventCounts
from events.counts._evidence import Evidence
from events.evidence._columns import ACTOR, EventKey, EvidenceSettings
from events.evidence._document_events import DocumentEvents
from events.evidence._document_evidence import evidence_rows

DAY = datetime.date(2000, 1, 1)
Labelled = list[tuple[str, DocumentEvents | None]]  # events of documents, with the labels of their quarters


def document(hits: dict[str, list[int]], one_best: tuple[str, ...] = ()) -> DocumentEvents:
    """Events of a document: by country, 0 or 1 per sample."""
    keys = tuple(sorted(hits))
    return DocumentEvents(
        "d",
        DAY,
        tuple(map(EventKey.of, keys)),
        np.array([hits[k] for k in keys], np.uint8),
        np.array([k in one_best for k in keys]),
    )


def names(events: DocumentEvents) -> tuple[str, ...]:
    """Names of the possible events of a document."""
    return tuple(key.name for key in events.keys)


def evidence_of(documents: Labelled, n_samples: int = 4, **settings: Any) -> Evidence:
    """Evidence of documents, of which each has its own doc_id and outlet; every third has no outlet."""
    options = {"n_samples": n_samples, "seed": 0, "period": "quarter", **settings}
    evidence = Evidence(EvidenceSettings({"event": ACTOR}, **options))
    for number, (label, events) in enumerate(documents):
        values = {
            "doc_id": f"d{number}",
            "date": pd.Period(label, freq="Q").start_time.date(),
            "outlet": "AB"[number % 2],
        }
        if number % 3 == 2:
            del values["outlet"]
        row = pa.RecordBatch.from_pylist([values])
        evidence.documents.add(row)
        if events is not None:
            of_document = dataclasses.replace(events, doc_id=values["doc_id"], date=values["date"])
            parses = [(None, np.zeros((0, 3), np.int32))]
            rows = evidence_rows([of_document], parses, label, {"event": ACTOR}, ACTOR)
            evidence.rows.add(pa.RecordBatch.from_pylist(rows, evidence.schema))
    return evidence


def counts_of(documents: Labelled, n_samples: int = 4, level: float = 0.95, **options: Any) -> EventCounts:
    """Posterior of quarterly counts."""
    names_of_counts = {"interval", "by", "period"}
    of_counts = {name: options.pop(name) for name in names_of_counts & options.keys()}
    return evidence_of(documents, n_samples, **options).counts(level=level, **of_counts)


SMALL: Labelled = [
    ("1999Q1", document({"AAA": [1, 0, 0, 0], "BBB": [0, 1, 1, 0]}, ("BBB",))),
    ("1999Q1", document({"AAA": [1, 1, 0, 0]}, ("AAA",))),
    ("1999Q1", None),
    ("1999Q4", document({"AAA": [1, 1, 1, 1], "CCC": [0, 0, 0, 0]}, ("AAA",))),
]


@st.composite
def corpora(draw: Any, n_samples: int = 6) -> list[tuple[str, DocumentEvents]]:
    documents = []
    for _ in range(draw(st.integers(1, 5))):
        codes = draw(st.lists(st.sampled_from(["AAA", "BBB", "CCC"]), unique=True, max_size=3))
        hits = {c: draw(st.lists(st.integers(0, 1), min_size=n_samples, max_size=n_samples)) for c in codes}
        best = tuple(c for c in codes if draw(st.booleans()))
        if codes:
            documents.append((draw(st.sampled_from(["1999Q1", "1999Q3"])), document(hits, best)))
    return documents or [("1999Q1", document({"AAA": [1] * n_samples}))]
