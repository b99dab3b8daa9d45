"""Bins of pairs: what is in which, whatever the order of the rows."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import calibration_bins as references

from corefsample.calibration._binning import BlockBins, ReliabilityBins, bin_pairs, block_bin_pairs, default_bin_size
from corefsample.errors import ParameterError

SUMS = ("sum_q", "sum_q2", "sum_y", "sum_qy")
FIELDS = ("n", *SUMS, "q_min", "q_max")
Pair = references.Pair

ends_and_middle = st.sampled_from([0.0, -0.0, 1.0, 0.5, 0.1, 0.3, 5e-324, 1e-300, math.nextafter(1.0, 0.0)])
predictions = ends_and_middle | st.floats(0.0, 1.0) | st.integers(0, 10).map(lambda k: k / 10)
pair_lists = st.lists(st.tuples(predictions, st.integers(0, 1)), min_size=1, max_size=60)


def columns(pairs: list[Pair]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    return np.array([q for q, _ in pairs], np.float64), np.array([y for _, y in pairs], np.int64)


def require_same_bins(bins: ReliabilityBins, expected: list[references.Bin]) -> None:
    """n, ends and sums of y exactly, the other sums to rounding."""
    assert bins.n.tolist() == [len(each) for each in expected]
    assert bins.q_min.tolist() == [min(q for q, _ in each) for each in expected]
    assert bins.q_max.tolist() == [max(q for q, _ in each) for each in expected]
    assert bins.sum_y.tolist() == [sum(y for _, y in each) for each in expected]
    found = [[float(getattr(bins, name)[b]) for name in SUMS] for b in range(bins.n_bins)]
    for mine, each in zip(found, expected, strict=True):
        assert mine == pytest.approx(references.sums(each)[1:], rel=1e-13, abs=0.0)


# --- adaptive bins -----------------------------------------------------------------------------------------


@pytest.mark.kernels
@given(pair_lists, st.integers(1, 70))
def test_bins_by_size_are_those_of_the_plain_loop(pairs: list[Pair], bin_size: int) -> None:
    require_same_bins(bin_pairs(*columns(pairs), bin_size=bin_size), references.bins_by_size(pairs, bin_size))


@pytest.mark.kernels
@given(pair_lists, st.data())
def test_bins_by_number_are_those_of_the_plain_loop(pairs: list[Pair], data: st.DataObject) -> None:
    n_bins = data.draw(st.integers(1, len(pairs)))
    require_same_bins(bin_pairs(*columns(pairs), n_bins=n_bins), references.bins_by_number(pairs, n_bins))


def test_bins_have_5000_pairs_by_default_and_are_15_of_equal_width() -> None:
    q = np.linspace(0.0, 1.0, 109_999)
    assert bin_pairs(q, q > 0.5).n.tolist() == [5000] * 20 + [9999]
    assert bin_pairs(q, q > 0.5, strategy="uniform").n_bins == 15


@pytest.mark.parametrize(
    ("n_pairs", "size"), [(10, 50), (1000, 50), (1020, 51), (99_999, 4999), (100_000, 5000), (10_000_000, 5000)]
)
def test_small_data_have_smaller_bins_by_default(n_pairs: int, size: int) -> None:
    # A twentieth of the pairs, from 50 to 5,000.
    assert default_bin_size(n_pairs) == size


# --- bins of equal width -----------------------------------------------------------------------------------


@pytest.mark.kernels
@given(pair_lists, st.data())
def test_uniform_bins_are_those_of_the_plain_loop(pairs: list[Pair], data: st.DataObject) -> None:
    n_bins = data.draw(st.integers(1, len(pairs)))
    bins = bin_pairs(*columns(pairs), n_bins=n_bins, strategy="uniform")
    require_same_bins(bins, references.uniform_bins(pairs, n_bins))


@pytest.mark.parametrize("n_bins", [10, 15, 49, 100])
def test_an_edge_belongs_to_the_bin_above_it(n_bins: int) -> None:
    """b / n_bins as floats: a product such as 0.29 * 100 rounds below 29."""
    edges = np.arange(n_bins) / n_bins
    bins = bin_pairs(edges, np.zeros(n_bins), n_bins=n_bins, strategy="uniform")
    assert bins.n.tolist() == [1] * n_bins


# --- order, types ------------------------------------------------------------------------------------------

RULES: list[dict[str, Any]] = [{"bin_size": 3}, {"n_bins": 4}, {"n_bins": 4, "strategy": "uniform"}]


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(predictions, st.integers(0, 1)), min_size=4, max_size=60), data=st.data())
def test_the_order_of_rows_changes_no_bit(rule: dict[str, Any], pairs: list[Pair], data: st.DataObject) -> None:
    one, other = bin_pairs(*columns(pairs), **rule), bin_pairs(*columns(data.draw(st.permutations(pairs))), **rule)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int8, np.int64, np.uint64, np.float32, np.float64, list])
def test_labels_may_be_of_any_kind(kind: Any) -> None:
    labels: Any = [0, 1, 1] if kind is list else np.array([0, 1, 1], kind)
    bins = bin_pairs([0.1, 0.5, 0.9], labels, n_bins=3)
    assert bins.sum_y.tolist() == [0.0, 1.0, 1.0]


def test_arrays_may_be_views_and_are_not_modified() -> None:
    q, y = np.linspace(0.0, 1.0, 10)[::-2], np.array([1, 0] * 5, bool)[::2]
    before = q.copy(), y.copy()
    assert bin_pairs(q, y, n_bins=5).q_min.tolist() == sorted(q.tolist())
    assert (q == before[0]).all()
    assert (y == before[1]).all()
    assert bin_pairs(q.astype(np.float32), y, n_bins=5).n.tolist() == [1] * 5


# --- blocks ------------------------------------------------------------------------------------------------


def require_same_blocks(found: BlockBins, q: Any, y: Any, blocks: list[Any]) -> None:
    for row, name in enumerate(sorted(set(blocks))):
        mine = np.array([each == name for each in blocks])
        for b in range(found.bins.n_bins):
            inside = mine & (found.bins.q_min[b] <= q) & (q <= found.bins.q_max[b])
            assert found.n[row, b] == inside.sum()
            assert found.sum_y[row, b] == y[inside].sum()
            assert found.sum_q[row, b] == pytest.approx(math.fsum(q[inside]), rel=1e-13, abs=0.0)


@pytest.mark.kernels
@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(predictions, st.integers(0, 1), st.sampled_from("abc")), min_size=4, max_size=60),
    data=st.data(),
)
def test_blocks_have_sums_of_their_pairs(
    rule: dict[str, Any], rows: list[tuple[float, int, str]], data: st.DataObject
) -> None:
    q, y = columns([(p, label) for p, label, _ in rows])
    blocks = [name for _, _, name in rows]
    found = block_bin_pairs(q, y, blocks, **rule)
    expected = bin_pairs(q, y, **rule)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found.bins, name), getattr(expected, name), strict=True)
    require_same_blocks(found, q, y, blocks)
    order = data.draw(st.permutations(range(len(rows))))
    again = block_bin_pairs(q[order], y[order], [blocks[i] for i in order], **rule)
    np.testing.assert_array_equal(again.sum_q, found.sum_q, strict=True)


# --- bad input ---------------------------------------------------------------------------------------------

NAN, ABOVE_ONE = float("nan"), math.nextafter(1.0, 2.0)
BAD: list[tuple[Any, Any, dict[str, Any], str]] = [
    *[([0.1, bad], [0, 1], {}, "q") for bad in (1.5, -0.1, ABOVE_ONE, -5e-324, NAN)],
    *[([0.1, 0.2], [0, bad], {}, "y") for bad in (2, -1, 0.5, NAN)],
    ([0.1, 0.2], [0], {}, "y"),
    *[([], [], {}, "q"), ([[0.1]], [[0]], {}, "q"), (["0.1"], [0], {}, "q"), ([0.1], ["0"], {}, "y")],
    *[([0.1, 0.2], labels, {}, "y") for labels in (pd.array([True, None], dtype="boolean"), pd.Series([1, "no"]))],
    ([0.1, 0.2], [0, 1], {"n_bins": 3}, "n_bins"),
    *[([0.1], [0], {name: 0}, name) for name in ("n_bins", "bin_size")],
    *[([0.1], [0], {"bin_size": 5, **more}, "bin_size") for more in ({"n_bins": 2}, {"strategy": "uniform"})],
    ([0.1], [0], {"strategy": "quantile"}, "strategy"),
]


@pytest.mark.kernels
@pytest.mark.parametrize(("q", "y", "options", "parameter"), BAD, ids=str)
def test_bad_pairs_and_options_raise(q: Any, y: Any, options: dict[str, Any], parameter: str) -> None:
    with error(ParameterError, parameter):
        bin_pairs(q, y, **options)
    with error(ParameterError, parameter):
        block_bin_pairs(q, y, list(range(len(q))), **options)


BAD_IDS = (["a"], ["a", None], [1.0, NAN], np.array(["a", 1], object), [["a"], ["b"]])


@pytest.mark.parametrize("ids", BAD_IDS, ids=str)
def test_bad_ids_of_blocks_raise(ids: Any) -> None:
    with error(ParameterError, "documents"):
        block_bin_pairs([0.1, 0.2], [0, 1], ids)
