"""Scores of sparse tagsets and their shared calibration error, against plain loops."""

from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import calibration_bins as references

from corefsample import ParameterError
from corefsample.calibration import TagScores, calibration_error, shared_calibration_error

scores = st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0.0, 1.0, allow_subnormal=False))
rows = st.lists(st.tuples(scores, st.integers(0, 1), st.sampled_from("abcd")), min_size=1, max_size=24)
few = settings(max_examples=40)
Row = tuple[float, int, str]


def taken(content: list[Row], threshold: float = 0.0, **options: Any) -> TagScores:
    q, y, tags = (list(column) for column in zip(*content, strict=True))
    return TagScores.from_arrays(q, y, tags, threshold=threshold, **options)


@few
@given(rows, st.integers(0, 8).map(lambda k: k / 8))
def test_scores_at_or_above_the_threshold_are_used(content: list[Row], threshold: float) -> None:
    expected = [row for row in content if row[0] >= threshold]
    if not expected:
        with error(ParameterError, "threshold"):
            taken(content, threshold)
        return
    found = taken(content, threshold)
    assert list(zip(found.scores, found.labels, found.to_frame()["tag"], strict=True)) == expected


def test_the_threshold_is_compared_in_the_precision_of_the_scores() -> None:
    single = np.array([0.01], np.float32)
    assert float(single[0]) < 0.01
    assert TagScores.from_arrays(single, [1], ["a"], threshold=0.01).n == 1


@given(rows, st.integers(1, 5))
def test_the_shared_error_pools_all_tags(content: list[Row], n_bins: int) -> None:
    n_bins = min(n_bins, len(content))
    found = shared_calibration_error(taken(content), n_bins=n_bins, interval=None, debiased=False)
    bins = references.bins_by_number([(q, y) for q, y, _ in content], n_bins)
    assert found.estimate == pytest.approx(references.error(bins, "rms"), abs=1e-12)
    assert (found.bins.n_pairs, found.bins.n_bins) == (len(content), len(bins))


@pytest.mark.parametrize("documents", [None, np.arange(600) % 15])
def test_intervals_are_those_of_the_calibration_error(documents: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(0.01, 1.0, 600)
    scores = TagScores.from_arrays(q, rng.random(600) < q**2, rng.integers(0, 12, 600), documents=documents)
    options: Any = {"level": 0.9, "n_resamples": 200, "seed": 3}
    shared = shared_calibration_error(scores, **options)
    own = calibration_error(scores.scores, scores.labels, n_bins=10, documents=documents, **options)
    assert (shared.estimate, shared.lower, shared.upper) == (own.estimate, own.lower, own.upper)
    assert str(shared.interval).startswith("simulated" if documents is None else "bootstrap")


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        *[({"n_bins": 5}, "n_bins"), ({}, "n_bins"), ({"n_bins": 0}, "n_bins")],
        *[({"n_bins": 2, "bin_size": 2}, "bin_size"), ({"n_bins": 1, "interval": "bootstrap"}, "documents")],
    ],
)
def test_bad_options_raise(options: Any, parameter: str) -> None:
    found = taken([(0.1, 0, "a"), (0.2, 1, "a"), (0.3, 0, "a"), (0.4, 1, "b")])
    with error(ParameterError, parameter):
        shared_calibration_error(found, **options)
