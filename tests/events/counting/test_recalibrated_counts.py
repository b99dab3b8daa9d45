"""Counts under an uncertain recalibration, which all documents share."""

from __future__ import annotations

import numpy as np
import pytest

from corefsample import ParameterError, Recalibration
from corefsample.recalibration import DomainEffect, RecalibrationDraws, UncertainRecalibration
from events import EventCounter, simulate_documents
from events.counting import count_pmf


def documents() -> list:  # type: ignore[type-arg]
    return [each.document for each in simulate_documents(60, seed=2, event_share=1.0)]


def counted(recalibration: UncertainRecalibration | None, uncertainty: str | None = None) -> EventCounter:
    counter = EventCounter(
        period="year",
        n_samples=400,
        recalibration=recalibration,
        uncertainty=uncertainty,  # type: ignore[arg-type]
    )
    counter.update(documents())
    return counter


def test_no_uncertainty_counts_recalibrated_documents() -> None:
    change = Recalibration(1.7, 0.4)
    found = counted(UncertainRecalibration(change))
    expected = EventCounter(period="year", n_samples=400)
    expected.update(change.apply_document(each) for each in documents())
    table = found.counts().to_frame()
    assert set(table.pop("uncertainty")) == {"none"}
    assert table.equals(expected.counts().to_frame())


def test_without_a_recalibration_there_is_no_column() -> None:
    assert "uncertainty" not in counted(None).counts().to_frame()


def test_draws_that_are_all_alike_give_the_counts_of_one() -> None:
    change = Recalibration(1.7, 0.4)
    draws = RecalibrationDraws(np.full(3, 1.7), np.full(3, 0.4))
    found = counted(UncertainRecalibration(change, draws)).counts().to_frame()
    expected = counted(UncertainRecalibration(change)).counts().to_frame()
    for column in ("mean", "one_best"):
        assert found[column].equals(expected[column])
    assert set(found["uncertainty"]) == {"fit"}


def test_a_shared_shift_widens_counts() -> None:
    draws = RecalibrationDraws(np.ones(2), np.zeros(2))
    effect = DomainEffect(0.0, 3.0, 0.0, 0.0, n_domains=4)
    uncertain = UncertainRecalibration(Recalibration(), draws, effect)
    wide, narrow = counted(uncertain).counts(), counted(uncertain, "fit").counts()
    frames = wide.to_frame(), narrow.to_frame()
    assert frames[0]["sd"].sum() > 1.1 * frames[1]["sd"].sum()
    row = frames[0].loc[frames[0]["mean"].idxmax()]
    cell = wide.tally.cell(wide.key(row["country"]), wide.period(row["period"]).number)
    # The distribution is that of the counts by sample, not the one of independent documents.
    pmf = wide.pmf(row["country"], row["period"])
    np.testing.assert_allclose(pmf, np.bincount(cell.by_sample) / 400)
    assert not np.allclose(pmf, count_pmf(cell.probabilities)[: len(pmf)])
    first, second = sorted({*frames[0]["country"]})[:2]
    compared = wide.compare(first, second)
    np.testing.assert_allclose(compared[["p_first_greater", "p_equal", "p_second_greater"]].sum(axis=1), 1.0)


def test_a_predicate_cannot_be_recalibrated() -> None:
    with pytest.raises(ParameterError, match="predicate cannot be combined with a recalibration"):
        EventCounter(predicate=lambda document, labels: {}, recalibration=UncertainRecalibration(Recalibration()))
