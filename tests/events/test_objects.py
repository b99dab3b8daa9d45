"""The public names of `events`, and how its objects represent themselves."""

from __future__ import annotations

from typing import Any

import pytest

import events
from events import (
    EventCounter,
    TrueEvents,
    count_posterior,
    count_samples,
    hdi_interval,
    load_lexicon,
    load_rules,
    quantile_interval,
    simulate_documents,
)
from events.counting import count_pmf
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


def test_counts_show_a_short_table_in_notebooks(objects: dict[str, Any]) -> None:
    html = objects["EventCounts"]._repr_html_()
    assert html.startswith("<p>EventCounts(30 documents")
    assert html.count("<tr") <= 11


def test_counts_are_printed_with_their_largest_rows(objects: dict[str, Any]) -> None:
    counts = objects["EventCounts"]
    description, _, rows = str(counts).partition("\n\n")
    assert description == repr(counts)
    header, *lines = rows.splitlines()
    names = header.split()
    printed = [dict(zip(names, line.split(), strict=True)) for line in lines]
    table = counts.to_frame()
    largest = sorted(table["mean"].tolist(), reverse=True)[: len(lines)]
    assert sorted((float(row["mean"]) for row in printed), reverse=True) == pytest.approx(largest, abs=6e-4)
    assert min(float(row["mean"]) for row in printed) > 0.0
    assert all(row["lower"].isdigit() and row["upper"].isdigit() for row in printed)
    assert "0 documents" in str(EventCounter(n_samples=1).counts())
    assert objects["EventCounter"].evidence()["date"].dtype.kind == "M"


def test_an_empty_corpus_has_a_representation() -> None:
    assert "0 documents, no period, 0 actors" in repr(EventCounter(n_samples=1).counts())


def test_subpackages_are_attributes() -> None:
    assert events.plots.event_band
    assert events.queries.QueryScore
    assert events.counting.count_pmf is count_pmf


def test_intervals_are_public() -> None:
    assert quantile_interval(count_pmf([0.01])) == hdi_interval(count_pmf([0.01])) == (0, 0)


@pytest.mark.parametrize("name", ["IRQ", "IRQ>KWT", "X-NATO>YUG"])
def test_the_key_and_the_name_of_an_event_convert_into_each_other(name: str) -> None:
    assert EventKey.of(name).name == name
    assert EventKey.of(EventKey.of(name)) == EventKey.of(name)
