"""P of two rules beside labels, against plain loops and scikit-learn."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from events_audit_made import actor_frame, frame, write_sheet
from expected_errors import error

from corefsample import InputError
from events.audit import plan_audit, read_sheets
from events.audit._quality import (
    MEASURES,
    LabelledCells,
    labelled_cells,
    paired_differences,
    target_keys,
    target_probabilities,
)


def cells(n: int = 240, *, seed: int = 0) -> LabelledCells:
    """Two strata: of the first each label stands for ten documents, of the second for two; a quarter are yes."""
    rng = np.random.default_rng(seed)
    strata = (np.arange(n) % 3 == 0).astype(np.int64)
    weights = np.where(strata == 0, 10.0, 2.0)
    return LabelledCells(np.arange(n), np.zeros(n, np.int64), rng.random(n) < 0.25, weights, strata)


def test_a_label_stands_for_its_share_of_the_stratum(tmp_path: Path) -> None:
    plan = plan_audit(frame(), 60, cuts=[0.5])
    p = {str(d): v for d, v in zip(plan.frame.doc_ids, plan.frame.probability(0), strict=True)}
    unlabelled = set(plan.frame.doc_ids[plan.sample[:5]])
    words = lambda doc_id: "" if doc_id in unlabelled else "yes" if p[doc_id] > 0.4 else "no"  # noqa: E731
    found = labelled_cells(plan, read_sheets(plan, [write_sheet(tmp_path / "s.csv", plan, words)]), [0])
    assert len(found) == 55
    assert found.weights.sum() == pytest.approx(300)
    for stratum, each in enumerate(plan.strata):
        own = found.strata == stratum
        assert np.allclose(found.weights[own], each.n_documents / own.sum())
    doc_ids = plan.frame.doc_ids[plan.sample[found.documents]]
    assert found.is_positive.tolist() == [p[doc_id] > 0.4 for doc_id in doc_ids]
    with error(InputError):
        no = read_sheets(plan, [write_sheet(tmp_path / "no.csv", plan, lambda doc_id: "no")])
        labelled_cells(plan, no, [0])


def test_targets_of_runs_of_one_rule_and_of_several() -> None:
    def keys(event: str, *targets: str) -> list[tuple[str, str]]:
        return target_keys(dataclasses.replace(frame(), event=event, targets=targets))

    assert keys("attack", "attack") == [("attack", "*")]
    assert keys("attack", "USA", "IRQ") == [("attack", "USA"), ("attack", "IRQ")]
    assert keys("kill, arrest", "kill", "arrest: POLICE") == [("kill", "*"), ("arrest", "POLICE")]


def test_probabilities_are_found_by_document_rule_and_actor() -> None:
    rows = {
        "doc_id": ["b", "a", "c"],
        "events": [["kill", "kill", "arrest"], [], ["kill"]],
        "actors": [["*", "USA", "USA"], [], ["USA"]],
        "probabilities": [[0.5, 0.25, 1.0], [], [0.125]],
    }
    p = target_probabilities(pa.table(rows), ["a", "b"], [("kill", "USA"), ("kill", "*")])
    assert p.tolist() == [[0.0, 0.0], [0.25, 0.5]]
    with error(InputError):
        target_probabilities(pa.table(rows), ["a", "d"], [("kill", "USA")])


def test_measures_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    labels = cells()
    rng = np.random.default_rng(2)
    p = [np.round(np.clip(labels.is_positive * s + rng.random(240) * (1 - s), 0, 1), 1) for s in (0.2, 0.4)]
    y, weights = labels.is_positive, labels.weights
    found = {each.measure: each for each in paired_differences(labels, *p, n_resamples=100)}
    assert tuple(found) == MEASURES
    for number, values in enumerate(p):
        clipped = np.clip(values, 0.001, 0.999)
        expected = {
            "brier": metrics.brier_score_loss(y, values, sample_weight=weights),
            "log_score": -metrics.log_loss(y, clipped, sample_weight=weights),
            "average_precision": metrics.average_precision_score(y, values, sample_weight=weights),
            "precision": metrics.precision_score(y, values > 0.5, sample_weight=weights),
            "recall": metrics.recall_score(y, values > 0.5, sample_weight=weights),
        }
        for name, value in expected.items():
            each = found[name]
            assert (each.first, each.second)[number] == pytest.approx(value), name
            assert each.difference == pytest.approx(each.second - each.first)
            assert each.lower <= each.difference <= each.upper


def test_the_interval_has_the_width_of_a_stratified_mean() -> None:
    labels = cells(600)
    rng = np.random.default_rng(4)
    first, second = rng.random(600), rng.random(600)
    brier = paired_differences(labels, first, second, n_resamples=4000)[0]
    # The difference of Brier scores is a weighted mean of differences by document; n_h labels of each stratum are
    # drawn again, so its variance is the sum of share^2 s^2 / n_h, s^2 with the divisor n_h.
    by_document = (second - labels.is_positive) ** 2 - (first - labels.is_positive) ** 2
    variance = 0.0
    for stratum in (0, 1):
        own = labels.strata == stratum
        share = labels.weights[own].sum() / labels.weights.sum()
        variance += share**2 * by_document[own].var() / own.sum()
    # The width of a normal 95% interval; a quantile of 4,000 resamples has an error of some 2% of it.
    assert brier.upper - brier.lower == pytest.approx(2 * 1.96 * math.sqrt(variance), rel=0.1)


def test_labels_of_several_targets_are_drawn_by_document(tmp_path: Path) -> None:
    plan = plan_audit(actor_frame(), 60, floor=1)
    sheet = write_sheet(tmp_path / "s.csv", plan, lambda doc_id: "USA;IRQ" if doc_id < "d0030" else "none")
    labels = labelled_cells(plan, read_sheets(plan, [sheet]), [0, 1])
    assert len(labels) == 120
    # Both targets have the same P and label: the interval is that of one target.
    p = np.where(labels.documents % 3 == 0, 1.0, 0.0)
    both = paired_differences(labels, np.zeros(120), p)[0]
    single = labelled_cells(plan, read_sheets(plan, [sheet]), [0])
    alone = paired_differences(single, np.zeros(60), np.where(single.documents % 3 == 0, 1.0, 0.0))[0]
    assert (both.difference, both.lower, both.upper) == pytest.approx((alone.difference, alone.lower, alone.upper))
