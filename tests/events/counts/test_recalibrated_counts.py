"""Counts under an uncertain recalibration, which all documents share."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from expected_errors import error

from corefsample import InputError, ParameterError, Recalibration
from corefsample.recalibration._model import N_PARAMETERS
from corefsample.recalibration._uncertain import DomainEffect, UncertainRecalibration
from events import EventCounter, load_rules, simulate_documents


@cache
def documents(n: int = 30) -> list:  # type: ignore[type-arg]
    return [each.document for each in simulate_documents(n, seed=2, event_share=1.0)]


def counted(recalibration: UncertainRecalibration | None, uncertainty: Any = None) -> EventCounter:
    counter = EventCounter(
        triggers="rules", period="year", n_samples=400, recalibration=recalibration, uncertainty=uncertainty
    )
    counter.update(documents())
    return counter


def test_a_shared_shift_widens_counts() -> None:
    draws = (Recalibration(), Recalibration())
    effect = DomainEffect(0.0, 3.0, 0.0, 0.0, n_domains=4)
    uncertain = UncertainRecalibration(Recalibration(), draws, effect)
    wide, narrow = counted(uncertain).counts(), counted(uncertain, "fit").counts()
    frames = wide.to_frame(), narrow.to_frame()
    assert frames[0]["sd"].sum() > 1.1 * frames[1]["sd"].sum()
    row = frames[0].loc[frames[0]["mean"].idxmax()]
    cells = wide.cells
    is_cell = (cells.key == cells.keys.index(wide.key(row["actor"]))) & (
        cells.period == wide.period(row["period"]).number
    )
    (by_sample,) = cells.sampled(np.where(is_cell, 0, -1), 1)
    # The distribution is that of the counts by sample, not the one of independent documents.
    pmf = wide.pmf(row["actor"], row["period"])
    np.testing.assert_allclose(pmf, np.bincount(by_sample) / 400)
    assert not np.allclose(pmf, cells.pmf(int(np.flatnonzero(is_cell)[0]))[: len(pmf)])
    first, second = sorted({*frames[0]["actor"]})[:2]
    compared = wide.compare(first, second)
    np.testing.assert_allclose(compared[["p_first_greater", "p_equal", "p_second_greater"]].sum(axis=1), 1.0)


def by_kind() -> UncertainRecalibration:
    """A recalibration by kind with three refits and a domain effect, of random numbers."""
    rng = np.random.default_rng(3)
    fit = Recalibration.from_vector(rng.normal(0.0, 0.3, N_PARAMETERS))
    draws = tuple(map(Recalibration.from_vector, fit.vector() + rng.normal(0.0, 0.3, (3, N_PARAMETERS))))
    return UncertainRecalibration(fit, draws, DomainEffect(0.1, 0.3, 0.1, 0.1, n_domains=4))


@pytest.mark.parametrize(("uncertainty", "is_by_kind"), [("none", True), ("domain", True), ("fit", False)])
def test_scores_that_had_the_recalibration_get_its_uncertainty_alone(uncertainty: str, is_by_kind: bool) -> None:
    uncertain = by_kind()
    if not is_by_kind:
        draws = tuple(map(Recalibration, [1.2, 1.9, 1.4], [0.1, 0.9, -0.2]))
        uncertain = UncertainRecalibration(Recalibration(1.6, 0.3), draws, uncertain.domain_effect)
    options: dict[str, Any] = {"rule": load_rules("attack", "paper"), "period": "year", "n_samples": 400}
    counters = [EventCounter(recalibration=uncertain, uncertainty=uncertainty, **options) for _ in range(2)]  # type: ignore[arg-type]
    counters[0].update(documents(20))
    counters[1].update(uncertain.recalibration.apply_document(each) for each in documents(20))
    expected, found = (counter.counts().to_frame() for counter in counters)
    # Scores differ by rounding, so a sample near a threshold may differ: less than one of 400 on average.
    for column in ("mean", "sd"):
        np.testing.assert_allclose(found[column], expected[column], atol=0.0025)
    plain = EventCounter(**options)
    plain.update(documents(20))
    assert abs(expected["mean"].sum() - plain.counts().to_frame()["mean"].sum()) > 0.1


def test_scores_with_another_recalibration_are_refused() -> None:
    uncertain, other = by_kind(), Recalibration(1.7, 0.4)
    counter = EventCounter(triggers="rules", period="year", n_samples=400, recalibration=uncertain)
    with error(InputError, place="doc_id"):
        counter.update(other.apply_document(each) for each in documents())


def test_a_recalibration_of_recalibrated_scores_is_applied_to_such_alone() -> None:
    first, second = Recalibration(1.7, 0.4), UncertainRecalibration(Recalibration(0.8, 0.1), base="0123456789ab")
    assert not second.is_in("0123456789ab")
    assert second.is_in(f"0123456789ab {second.recalibration.fingerprint()}")
    for applied in ("", first.fingerprint(), second.recalibration.fingerprint()):
        with pytest.raises(ParameterError, match="must be like those to which the recalibration was fitted"):
            second.is_in(applied)
