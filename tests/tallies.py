"""Small tallies, by hand and drawn, for the tests of tallies and of their posterior."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from events.counting._counts import EventCounts
from events.counting._document_events import DocumentEvents
from events.counting._periods import Calendar
from events.counting._tables import EventKey
from events.counting._tally import CountTally

QUARTER = Calendar("quarter")
DAY = datetime.date(2000, 1, 1)


def quarter(label: str) -> int:
    return int(QUARTER.numbers([pd.Period(label, freq="Q").start_time.date()])[0])


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


def tally_of(documents: list[tuple[str, DocumentEvents | None]], n_samples: int = 4) -> CountTally:
    """Tally of documents by the labels of their quarters."""
    tally = CountTally(n_samples)
    for label, events in documents:
        tally.add_documents(np.array([quarter(label)]))
        if events is not None:
            tally.add_events(events, quarter(label))
    return tally


def counts_of(tally: CountTally, **options: Any) -> EventCounts:
    """Posterior of quarterly counts."""
    return EventCounts(tally, QUARTER, **options)


SMALL = [
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
