"""The public names of `events`, and how its objects represent themselves."""

from __future__ import annotations

from typing import Any

import pytest

from events import (
    EventCounter,
    TrueEvents,
    count_posterior,
    count_samples,
    load_lexicon,
    load_rules,
    simulate_documents,
)
from events.counting._tables import EventKey


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    documents = [each.document for each in simulate_documents(30, event_share=1.0, seed=1)]
    counter, truth = EventCounter(n_samples=20), TrueEvents()
    counter.update(documents)
    truth.update(documents)
    counts = counter.counts()
    row = counts.to_frame().sort_values("mean").iloc[-1]
    return {
        "EventCounter": counter,
        "TrueEvents": truth,
        "EventCounts": counts,
        "CountTally": counter.tally,
        "CountDistribution": count_posterior(counts, row["actor"], row["period"]),
        "CountSamples": count_samples(counts),
        "Lexicon": load_lexicon(),
        "Rule": load_rules(),
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("EventCounter", "30 documents, 20 samples each"),
        ("TrueEvents", "events in 30 documents"),
        ("EventCounts", "95% quantile intervals from 20 samples per document"),
        ("CountTally", "30 documents"),
        ("CountDistribution", "one best"),
        ("CountSamples", "20 draws of"),
        ("Lexicon", "'countries', 282 codes"),
        ("Rule", "'attack', preset 'asserted', event: agent"),
    ],
)
def test_objects_represent_themselves_in_at_most_five_lines(objects: dict[str, Any], name: str, content: str) -> None:
    text = repr(objects[name])
    assert text.startswith(f"{name}(")
    assert content in text
    assert len(text.splitlines()) <= 5
    assert len(text) < 500


def test_an_empty_corpus_has_a_representation() -> None:
    assert "0 documents, no period, 0 actors" in repr(EventCounter(n_samples=1).counts())


@pytest.mark.parametrize("name", ["IRQ", "IRQ>KWT", "X-NATO>YUG"])
def test_the_key_and_the_name_of_an_event_convert_into_each_other(name: str) -> None:
    assert EventKey.of(name).name == name
    assert EventKey.of(EventKey.of(name)) == EventKey.of(name)
