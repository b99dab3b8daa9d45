"""Errors of sparse tagsets against plain loops, by hand, and by their properties."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references.calibration_recalibrators_and_tags import (
    bins_by_number,
    equal_groups,
    kranzlein_groups,
    mean,
    rms,
)

from corefsample import ParameterError
from corefsample.calibration._error import calibration_error
from corefsample.calibration._tag_errors import (
    grouped_calibration_errors,
    shared_calibration_error,
    tag_calibration_errors,
)
from corefsample.calibration._tag_scores import TagGroups, TagScores, tag_frequency_groups

scores = st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0.0, 1.0, allow_subnormal=False))
rows = st.lists(st.tuples(scores, st.integers(0, 1), st.sampled_from("abcd")), min_size=1, max_size=24)
counts = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 6), min_size=1).filter(
    lambda found: any(found.values())
)
few = settings(max_examples=40)
Row = tuple[float, int, str]


def taken(content: list[Row], threshold: float = 0.0, **options: Any) -> TagScores:
    q, y, tags = (list(column) for column in zip(*content, strict=True))
    return TagScores.from_arrays(q, y, tags, threshold=threshold, **options)


def groups_of(found: TagGroups) -> list[list[str]]:
    of_tags = list(zip(found.tags, found.group.tolist(), strict=True))
    return [[tag for tag, own in of_tags if own == group] for group in range(1, found.n_groups + 1)]


def some_matrix(n_tokens: int = 600, n_tags: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities that are right for common tags and too low for rare ones; gold columns; documents."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 1.5, (n_tokens, n_tags)) - 0.5 * np.arange(n_tags)
    probs = np.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    gold = (rng.random((n_tokens, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, n_tags - 1)
    return np.where(np.arange(n_tags) >= 3, probs / 3, probs), gold, rng.integers(0, 15, n_tokens)


def of_matrix(probs: np.ndarray, gold: np.ndarray, documents: np.ndarray | None = None) -> TagScores:
    """Scores of every token and tag, those below .01 left out."""
    n_tokens, n_tags = probs.shape
    labels, tags = gold[:, None] == np.arange(n_tags), np.tile(np.arange(n_tags), n_tokens)
    of_scores = None if documents is None else documents.repeat(n_tags)
    return TagScores.from_arrays(probs.ravel(), labels.ravel(), tags, documents=of_scores)


# --- scores above a threshold ------------------------------------------------------------------------------


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


def test_the_threshold_is_applied_once() -> None:
    found = TagScores.from_arrays([0.3, 0.005, 0.01], [1, 0, 1], ["a", "b", "a"])  # .01 by default
    assert found.scores.tolist() == [0.3, 0.01]
    better = found.recalibrated([0.0001, 0.002])
    assert better.scores.tolist() == [0.0001, 0.002]
    assert better.labels.tolist() == [1, 1]


def test_the_threshold_is_compared_in_the_precision_of_the_scores() -> None:
    single = np.array([0.01], np.float32)
    assert float(single[0]) < 0.01
    assert TagScores.from_arrays(single, [1], ["a"], threshold=0.01).n == 1


# --- groups ------------------------------------------------------------------------------------------------


@given(counts, st.integers(1, 5))
def test_default_groups_are_those_of_the_reference(found: dict[str, int], n_groups: int) -> None:
    n_groups = min(n_groups, sum(count > 0 for count in found.values()))
    assert groups_of(tag_frequency_groups(found, n_groups=n_groups)) == equal_groups(found, n_groups)


@given(counts, st.integers(1, 5))
def test_groups_of_the_2021_code_are_those_of_the_reference(found: dict[str, int], n_groups: int) -> None:
    groups = tag_frequency_groups(found, n_groups=n_groups, convention="kranzlein2021")
    assert groups_of(groups) == kranzlein_groups(found, n_groups)


def test_a_tag_that_training_did_not_have_is_in_the_last_group() -> None:
    groups = tag_frequency_groups({"a": 9, "b": 4, "c": 1}, n_groups=3)
    assert groups.of(["c", "new", "a", "b", "new"]).tolist() == [3, 3, 1, 2, 3]


def test_tags_of_another_tagset_raise() -> None:
    groups = tag_frequency_groups({"1": 9, "2": 4}, n_groups=2)
    with pytest.raises(ParameterError, match=r"tags must share one with those of training \('1', ...\), got 1, ..."):
        groups.of([1, 2])


def test_a_table_of_tags_has_group_and_share() -> None:
    table = tag_frequency_groups(Counter("aaab"), n_groups=2).to_frame()
    assert table.to_dict("list") == {
        "tag": ["a", "b"],
        "group": [1, 2],
        "frequency": [3.0, 1.0],
        "share": [0.75, 0.25],
    }


@pytest.mark.parametrize(
    ("frequencies", "n_groups", "parameter"),
    [
        *[({"a": 1, "b": 0}, 2, "n_groups"), ({"a": 1}, 0, "n_groups")],
        *[({"a": count}, 1, "frequencies['a']") for count in (-1, math.nan, "3")],
        *[(counts, 1, "frequencies") for counts in ({"a": 0}, {}, {"a": 1, 2: 1}, ["a", "b"])],
    ],
)
def test_bad_frequencies_raise(frequencies: Any, n_groups: int, parameter: str) -> None:
    with error(ParameterError, parameter):
        tag_frequency_groups(frequencies, n_groups=n_groups)


# --- errors ------------------------------------------------------------------------------------------------


@given(rows, st.integers(1, 5))
def test_the_shared_error_pools_all_tags(content: list[Row], n_bins: int) -> None:
    n_bins = min(n_bins, len(content))
    found = shared_calibration_error(taken(content), n_bins=n_bins, interval=None)
    bins = bins_by_number([(q, float(y), 1.0) for q, y, _ in content], n_bins)
    assert found.estimate == pytest.approx(rms(bins, len(content)), abs=1e-12)
    assert (found.n_pairs, found.n_bins) == (len(content), len(bins))


@few
@given(rows)
def test_each_group_has_the_error_of_its_own_scores(content: list[Row]) -> None:
    groups = tag_frequency_groups({"a": 8, "b": 4, "c": 2}, n_groups=3)  # d is unseen, so in group 3
    if all(tag == "d" for _, _, tag in content):
        return
    found = grouped_calibration_errors(taken(content), groups, n_bins=1, interval=None)
    for group, tags in ((1, "a"), (2, "b"), (3, "cd")):
        mine = [(q, y) for q, y, tag in content if tag in tags]
        assert found.n[group - 1] == len(mine)
        assert found.n_tags_scored[group - 1] == len({tag for _, _, tag in content if tag in tags})
        if not mine:
            assert math.isnan(found.error[group - 1])
        else:
            expected = abs(mean([q for q, _ in mine]) - mean([y for _, y in mine]))
            assert found.error[group - 1] == pytest.approx(expected, abs=1e-12)


def test_a_table_of_groups_is_derived_by_hand() -> None:
    # Shares .6 .2 .1 .1 in two groups: {a}, {b c d}. Group 1: .5 against 1/2. Group 2: .3 against 1/3.
    content = [(0.4, 1, "a"), (0.6, 0, "a"), (0.2, 0, "b"), (0.3, 0, "c"), (0.4, 1, "e")]
    groups = tag_frequency_groups({"a": 6, "b": 2, "c": 1, "d": 1}, n_groups=2)
    found = grouped_calibration_errors(taken(content), groups, n_bins=1, interval=None)
    table = found.to_frame()
    assert table[["group", "n_tags", "n_tags_scored", "n"]].to_numpy().tolist() == [[1, 1, 1, 2], [2, 3, 3, 3]]
    assert table[["share_min", "share_max"]].to_numpy().tolist() == [[0.6, 0.6], [0.1, 0.2]]
    assert found.error == pytest.approx([0.0, 1 / 30], abs=1e-15)
    assert np.isnan(found.lower).all()


def test_intervals_are_those_of_the_calibration_error() -> None:
    probs, gold, documents = some_matrix()
    options: Any = {"level": 0.9, "n_resamples": 200, "seed": 3}
    groups = tag_frequency_groups(Counter(gold.tolist()), n_groups=3)
    for given_documents in (None, documents):
        found = of_matrix(probs, gold, given_documents)
        kind = "simulated" if given_documents is None else "bootstrap"
        shared = shared_calibration_error(found, **options)
        own = calibration_error(found.scores, found.labels, n_bins=10, documents=found.documents, **options)
        assert (shared.estimate, shared.lower, shared.upper) == (own.estimate, own.lower, own.upper)
        assert str(shared.interval).startswith(kind)
        grouped = grouped_calibration_errors(found, groups, **options)
        assert grouped.interval == kind
        for group in (1, 2, 3):
            mine = found.groups(groups) == group
            blocks = None if found.documents is None else found.documents[mine]
            own = calibration_error(found.scores[mine], found.labels[mine], n_bins=10, documents=blocks, **options)
            row = grouped.to_frame().loc[group - 1, ["error", "lower", "upper"]]
            assert row.tolist() == [own.estimate, own.lower, own.upper]


def test_a_group_of_one_document_has_no_bootstrap() -> None:
    content = [(0.4, 1, "a"), (0.6, 0, "a"), (0.2, 0, "b"), (0.3, 0, "b")]
    groups = tag_frequency_groups({"a": 6, "b": 2}, n_groups=2)
    found = grouped_calibration_errors(taken(content, documents=["x", "y", "x", "x"]), groups, n_bins=1, n_resamples=50)
    assert np.isnan(found.lower).tolist() == np.isnan(found.upper).tolist() == [False, True]
    assert np.isfinite(found.error).all()


def test_the_variance_of_bins_may_be_taken_off() -> None:
    probs, gold, _ = some_matrix()
    found = of_matrix(probs, gold)
    own = calibration_error(found.scores, found.labels, bin_size=100, debiased=True, interval=None)
    assert shared_calibration_error(found, bin_size=100, debiased=True, interval=None).estimate == own.estimate


def test_each_tag_has_its_own_row() -> None:
    content = [(0.4, 1, "b"), (0.6, 0, "b"), (0.75, 0, "a"), (0.001, 1, "c")]
    found = tag_calibration_errors(taken(content, 0.01), interval=None)
    assert found.to_frame().drop(columns=["lower", "upper"]).to_dict("list") == {
        "tag": ["a", "b"],  # the only score of c was dropped
        "n": [1, 2],
        "n_gold": [0, 1],
        "mean_score": [0.75, 0.5],
        "mean_label": [0.0, 0.5],
        "error": [0.75, 0.0],
        "n_bins": [1, 1],
    }


@few
@given(rows, st.integers(1, 4))
def test_the_error_of_a_tag_is_that_of_its_scores(content: list[Row], bin_size: int) -> None:
    found = tag_calibration_errors(taken(content), bin_size=bin_size, n_resamples=20)
    for place, tag in enumerate(found.tags):
        mine = [(q, y) for q, y, name in content if name == tag]
        own = calibration_error(*zip(*mine, strict=True), bin_size=bin_size, n_resamples=20)  # type: ignore[arg-type]
        expected = np.array([own.estimate, own.lower, own.upper], float)  # None, without an interval, becomes NaN
        np.testing.assert_array_equal([found.error[place], found.lower[place], found.upper[place]], expected)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        *[({"n_bins": 5}, "n_bins"), ({}, "n_bins"), ({"n_bins": 0}, "n_bins")],
        *[({"n_bins": 2, "bin_size": 2}, "bin_size"), ({"interval": "exact"}, "interval")],
        *[({"n_bins": 1, "interval": "bootstrap"}, "documents"), ({"n_bins": 1, "level": 1.0}, "level")],
    ],
)
def test_bad_options_raise(options: Any, parameter: str) -> None:
    found = taken([(0.1, 0, "a"), (0.2, 1, "a"), (0.3, 0, "a"), (0.4, 1, "b")])
    with error(ParameterError, parameter):
        shared_calibration_error(found, **options)
    if options not in ({}, {"n_bins": 5}):
        with error(ParameterError, parameter):
            grouped_calibration_errors(found, tag_frequency_groups({"a": 1}, n_groups=1), **options)


def test_the_error_for_a_group_of_fewer_scores_than_bins_names_it() -> None:
    found = taken([(0.1, 0, "a"), (0.2, 1, "a"), (0.4, 1, "b")])
    groups = tag_frequency_groups({"a": 3, "b": 1}, n_groups=2)
    with error(ParameterError, "n_bins", place="group 2"):
        grouped_calibration_errors(found, groups, n_bins=2, interval=None)
