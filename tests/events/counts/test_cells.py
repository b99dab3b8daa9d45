"""Sums over documents: groups add up to the whole, numbers by hand, and bits that are united."""

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st
from references import events as er
from small_counts import DAY, SMALL, corpora, counts_of, document, evidence_of

from corefsample._random import agreement_bound
from events import EventCounter, load_rules
from events.counts._evidence import Evidence, with_outcomes
from events.evidence._document_events import DocumentEvents
from events.rules._format import Outcome


@settings(max_examples=50)
@given(corpora(), st.sampled_from(["quantile", "normal"]))
def test_counts_of_groups_are_those_of_their_documents(
    documents: list[tuple[str, DocumentEvents]], interval: str
) -> None:
    """The group of a document is "B" for odd numbers, "" for every third, "A" for the others."""
    columns = ["n_docs", "mean", "mean_mc_se", "sd", "lower", "upper", "one_best"]
    grouped = counts_of(documents, 6, by="outlet", interval=interval)
    outlets = ["" if number % 3 == 2 else "AB"[number % 2] for number in range(len(documents))]
    table, totals = grouped.to_frame(), grouped.totals()
    assert set(table["outlet"]) <= {*outlets}
    alone = {
        outlet: counts_of(
            [each for each, name in zip(documents, outlets, strict=True) if name == outlet], 6, interval=interval
        ).to_frame()
        for outlet in table["outlet"].unique()
    }
    for (outlet, actor), rows in table.groupby(["outlet", "actor"]):
        expected = alone[outlet][alone[outlet]["actor"] == actor].set_index("period")
        found = rows.set_index("period")
        missing = found.drop(index=expected.index)
        assert (missing[["mean", "sd", "lower", "upper", "one_best"]] == 0).all(axis=None)
        both = found.index.intersection(expected.index)
        pd.testing.assert_frame_equal(found.loc[both, columns], expected.loc[both, columns], rtol=0, atol=1e-12)
        mean = totals[(totals["outlet"] == outlet) & (totals["actor"] == actor)]["mean"].item()
        assert mean == pytest.approx(rows["mean"].sum(), abs=1e-12)


def test_a_comparison_of_groups_is_that_of_their_documents() -> None:
    table = counts_of(SMALL, by="outlet").compare("AAA", "BBB").set_index(["outlet", "period"])
    # Group A has document 0 alone: AAA in sample 0, BBB in samples 1 and 2; group "" has no event.
    shares = ["p_first_greater", "p_equal", "p_second_greater"]
    assert table.loc[("A", "1999Q1"), shares].tolist() == pytest.approx([0.25, 0.25, 0.5])
    assert table.loc[("", "1999Q1"), shares].tolist() == [0.0, 1.0, 0.0]


def test_other_periods_are_counted_from_the_same_evidence() -> None:
    table = counts_of(SMALL, period="year").to_frame().set_index(["actor", "period"])
    assert table.loc[("AAA", "1999"), ["n_docs", "mean", "one_best"]].tolist() == [4, 1.75, 2]


def numbered(*values: int) -> DocumentEvents:
    numbers = np.array([values])
    hits = (numbers > 0).astype(np.uint8)
    return DocumentEvents("d", DAY, document({"AAA": [0] * 4}).keys, hits, np.array([values[0]]), numbers=numbers)


def test_numbers_of_documents_add_up() -> None:
    documents = [("1999Q1", numbered(0, 2, 2, 5)), ("1999Q1", numbered(3, 3, 3, 3)), ("1999Q1", numbered(0, 0, 0, 0))]
    counts = counts_of(documents, is_predicate=True)  # type: ignore[arg-type]
    expected = np.zeros(9)
    expected[[3, 5, 8]] = 0.25, 0.5, 0.25
    assert counts.pmf("AAA", "1999Q1") == pytest.approx(expected, abs=1e-15)
    (row,) = counts.to_frame().to_dict("records")
    assert (row["mean"], row["one_best"]) == (5.25, 3)
    assert row["sd"] ** 2 == pytest.approx(3.1875, abs=1e-12)  # (0 + 4 + 4 + 25) / 4 - 2.25**2
    # The variance of the first number over 4 samples; bounds for the two whose samples agree.
    assert row["mean_mc_se"] ** 2 == pytest.approx(3.1875 / 4 + 2 * agreement_bound(4) ** 2, abs=1e-12)
    assert counts.cells.sampled(np.array([0]), 1).tolist() == [[3, 5, 5, 8]]


def test_the_evidence_has_a_row_for_each_possible_event() -> None:
    rows = evidence_of(SMALL).rows.read("doc_id", "actor", "probability", "samples").to_pylist()
    assert [(row["doc_id"], row["actor"], row["samples"]) for row in rows] == [
        ("d0", "AAA", b"\x80"),
        ("d0", "BBB", b"\x60"),
        ("d1", "AAA", b"\xc0"),
        ("d3", "AAA", b"\xf0"),
        ("d3", "CCC", None),
    ]


def test_words_and_names_that_only_co_occur_change_no_table_and_are_counted_by_period() -> None:
    outcomes = ["any=attack|kill:*", "two=attack:IRQ|KWT"]
    counter = EventCounter([load_rules("attack"), load_rules("kill")], n_samples=40, outcomes=outcomes)
    counter.update([er.scored(each) for each in er.corpus()])
    alone = Evidence(counter.settings)
    for rows, added in zip(alone.tables, counter.tables, strict=True):
        for batch in added.dataset().to_batches():
            rows.add(batch.filter(pc.field("inefficiency") > 0.0) if rows is alone.rows else batch)
    assert 0 < len(alone.rows) < len(counter.rows)
    with_rows, without = (each.counts_of_all() for each in (counter, alone))
    pd.testing.assert_frame_equal(with_rows.to_frame(), without.to_frame())
    pd.testing.assert_frame_equal(totals := with_rows.totals(), without.totals())
    pd.testing.assert_frame_equal(with_rows.compare(["IRQ", "USA"]), without.compare(["IRQ", "USA"]))
    assert with_rows.samples() == without.samples()
    for counts in with_rows.of_rules:  # zeros between others would change the last bits of a long sum
        rows = [counts.cells.rows_of(cell) for cell in range(len(counts.cells.key))]
        assert not rows or counts.occurrences.is_possible[np.concatenate(rows)].all()
    pd.testing.assert_frame_equal(counter.evidence(), alone.evidence())
    pd.testing.assert_frame_equal(counter.events(), alone.events())
    # In 1999Q1 the USA attack in one of five documents, and are named far from the word in another, with P = 0.31. The
    # other quarters to 2000Q2 have 0, 0, 3, 1 and 1 documents, and no document is outside of them.
    (row,) = np.flatnonzero(totals["actor"].eq("USA") & totals["event"].eq("attack"))
    later_quarters = [[0, 0, 0], [0, 0, 0], [0, 0, 3], [0, 0, 1], [0, 0, 1]]
    assert with_rows.not_counted()[row].tolist() == [[0, 1, 3], *later_quarters, [0, 0, 0]]
    # Outcomes are the same whether they are united while documents are counted or later.
    united = with_outcomes(counter, [Outcome.parsed("later=attack|kill:*")]).rows
    rows = united.read("event", "doc_id", "cooccurrence").to_pandas().set_index("doc_id").sort_index()
    first, later = (rows["cooccurrence"][rows["event"] == event] for event in ("any", "later"))
    pd.testing.assert_series_equal(first, later)
    assert {*first} == {"document", "sentence"}
