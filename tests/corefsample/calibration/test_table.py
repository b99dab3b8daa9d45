"""The table of sufficient statistics: its sums, addition of tables, and agreement with the pairs themselves."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from hypothesis import given, settings
from hypothesis import strategies as st
from references import calibration_bins as references

from corefsample.calibration import _kernels as kernels
from corefsample.calibration import _table
from corefsample.calibration._binning import bin_pairs, block_bin_pairs
from corefsample.calibration._bins import BlockBins, ReliabilityBins
from corefsample.calibration._error import binned_error
from corefsample.calibration._table import CalibrationTable, TableBuilder
from corefsample.errors import ParameterError

SUMS = ("sum_q", "sum_q2", "sum_y", "sum_qy")
RULES: list[dict[str, Any]] = [{"bin_size": 3}, {"n_bins": 4}, {"n_bins": 4, "strategy": "uniform"}]

ends_and_middle = st.sampled_from([0.0, -0.0, 1.0, 0.5, 0.1, 5e-324, 1e-300, 2.0**-16, math.nextafter(1.0, 0.0)])
predictions = ends_and_middle | st.floats(0.0, 1.0) | st.integers(0, 10).map(lambda k: k / 10)
row_lists = st.lists(
    st.tuples(predictions, st.integers(0, 1), st.sampled_from("xyz"), st.sampled_from(["d1", "d2", "d3"])),
    max_size=40,
)
Rows = list[tuple[float, int, str, str]]


def table_of(rows: Rows) -> CalibrationTable:
    builder = TableBuilder(groups=["z", "y", "x"])
    for block in dict.fromkeys(block for *_, block in rows):
        mine = [row for row in rows if row[3] == block]
        q, y, groups, _ = zip(*mine, strict=True)
        builder.add(q, y, block=block, groups=["zyx".index(group) for group in groups])
    return builder.table()


def table_of_pairs(q: Any, y: Any, blocks: Any = None) -> CalibrationTable:
    q, y, names = np.asarray(q), np.asarray(y), np.zeros(len(q)) if blocks is None else np.asarray(blocks)
    builder = TableBuilder()
    for block in np.unique(names).tolist():
        builder.add(q[names == block], y[names == block], block=block)
    return builder.table()


def same(one: CalibrationTable, other: CalibrationTable) -> bool:
    """Names, keys, pairs and labels exactly, the other sums to rounding."""
    exact = ("group_code", "block_code", "cell", "n", "sum_y")
    return (
        (one.groups, one.blocks) == (other.groups, other.blocks)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in exact)
        and all(np.allclose(getattr(one, name), getattr(other, name), rtol=1e-13, atol=0.0) for name in SUMS)
    )


def require_same_bins(one: ReliabilityBins, other: ReliabilityBins) -> None:
    np.testing.assert_array_equal(one.n, other.n)
    np.testing.assert_array_equal(one.sum_y, other.sum_y)
    for name in SUMS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


def require_same_blocks(one: BlockBins, other: BlockBins) -> None:
    require_same_bins(one.bins, other.bins)
    np.testing.assert_array_equal(one.n, other.n)
    np.testing.assert_array_equal(one.sum_y, other.sum_y)
    np.testing.assert_allclose(one.sum_q, other.sum_q, rtol=1e-9)


# --- its sums ----------------------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=50)
@given(row_lists)
def test_a_table_contains_the_sums_of_the_plain_loop(rows: Rows) -> None:
    table = table_of(rows)
    expected = references.table([(group, block, (q, y)) for q, y, group, block in rows])
    assert table.n_rows == len(expected)
    assert table.n_pairs == len(rows)
    lower, _ = _table.bounds(table.cell.astype(np.int64))
    for row in range(table.n_rows):
        key = table.groups[table.group_code[row]], table.blocks[table.block_code[row]]
        found = [float(getattr(table, name)[row]) for name in ("n", *SUMS)]
        pairs = expected[(*key, references.fine_bin(float(lower[row])))]
        assert found == pytest.approx(references.sums(pairs), rel=1e-13, abs=0.0)


@settings(max_examples=40)
@given(row_lists)
def test_rows_are_sorted_and_every_name_is_used(rows: Rows) -> None:
    table = table_of(rows)
    keys = list(zip(table.group_code.tolist(), table.block_code.tolist(), table.cell.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert list(table.to_frame()) == ["group", "block", "cell", "n", *SUMS]
    assert table.groups == tuple(sorted({group for _, _, group, _ in rows}))
    assert table.blocks == tuple(sorted({block for *_, block in rows}))


def test_a_block_may_come_in_parts_without_effect_on_the_next() -> None:
    builder = TableBuilder()
    builder.add([0.1, 0.9], [0, 1], block="a")
    builder.add([0.1], [1], block="b")
    builder.add([0.1], [1], block="a")
    builder.add([], [], block="c")
    table = builder.table()
    assert table.blocks == ("a", "b")
    assert table.n.tolist() == [2, 1, 1]
    assert table.sum_y.tolist() == [1.0, 1.0, 1.0]


def test_a_rejected_block_adds_nothing() -> None:
    builder = TableBuilder()
    with error(ParameterError, "y"):
        builder.add([0.5, 0.5], [1, 2])
    builder.add([0.5], [1])
    assert builder.table().n_pairs == 1


# --- groups ------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(row_lists)
def test_the_table_of_a_group_is_that_of_its_pairs(rows: Rows) -> None:
    table = table_of(rows)
    for name in table.groups:
        assert same(table.group(name), table_of([row for row in rows if row[2] == name]))


# --- bins --------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=25)
@given(rows=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1), st.sampled_from("abc")), min_size=4, max_size=60))
def test_averages_of_samples_are_binned_as_the_pairs_themselves(
    rule: dict[str, Any], rows: list[tuple[int, int, str]]
) -> None:
    k, y, blocks = (np.array(column) for column in zip(*rows, strict=True))
    table = table_of_pairs(k / 20, y, blocks)
    require_same_bins(table.block_bins(**rule).bins, bin_pairs(k / 20, y, **rule))
    require_same_blocks(table.block_bins(**rule), block_bin_pairs(k / 20, y, blocks, **rule))


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(predictions, st.integers(0, 1)), min_size=4, max_size=40, unique_by=lambda row: row[0]),
    times=st.integers(1, 3),
)
def test_predictions_that_fall_into_different_fine_bins_are_binned_as_the_pairs_themselves(
    rule: dict[str, Any], rows: list[tuple[float, int]], times: int
) -> None:
    alone = {references.fine_bin(q): (q, y) for q, y in rows}
    q, y = (np.array(column * times) for column in zip(*alone.values(), strict=True))
    if "n_bins" in rule and len(q) < rule["n_bins"]:
        return
    require_same_bins(table_of_pairs(q, y).block_bins(**rule).bins, bin_pairs(q, y, **rule))


@pytest.mark.parametrize("shape", [(0.1, 1.0), (1.0, 1.0), (1.0, 0.1), (0.2, 0.2)])
def test_on_continuous_predictions_the_error_is_that_of_the_pairs_to_a_hundredth(shape: tuple[float, float]) -> None:
    """Bins of 2,000 may be too large by the pairs of one fine bin, at most some 60 here: their errors hardly differ."""
    rng = np.random.default_rng(8)
    q = rng.beta(*shape, 400_000)
    y = rng.random(400_000) < q**1.3
    table = table_of_pairs(q, y)
    bins, exact = table.block_bins(bin_size=2000).bins, bin_pairs(q, y, bin_size=2000)
    assert 0.95 * exact.n_bins <= bins.n_bins <= exact.n_bins
    assert binned_error(bins) == pytest.approx(binned_error(exact), rel=0.01)
    assert binned_error(bins, norm="l1") == pytest.approx(binned_error(exact, norm="l1"), rel=0.01)
    uniform: Any = {"strategy": "uniform", "n_bins": 20}
    exact = bin_pairs(q, y, **uniform)
    assert binned_error(table.block_bins(**uniform).bins) == pytest.approx(binned_error(exact), rel=0.01)


@settings(max_examples=40)
@given(row_lists.filter(len))
def test_the_ends_of_a_bin_contain_its_predictions(rows: Rows) -> None:
    q, y, *_ = zip(*rows, strict=True)
    bins = table_of_pairs(q, y).block_bins(bin_size=3).bins
    exact = sorted(q)
    assert bins.q_min[0] <= exact[0]
    assert exact[-1] <= bins.q_max[-1]
    assert (bins.q_max[:-1] < bins.q_min[1:]).all()
    assert ((bins.q_min <= bins.mean_q * (1 + 1e-15)) & (bins.mean_q <= bins.q_max * (1 + 1e-15))).all()


def test_the_pairs_of_one_fine_bin_stay_together() -> None:
    table = table_of_pairs([0.3, 0.3000001, 0.3000002, 0.6], [0, 1, 1, 1])
    assert table.block_bins(bin_size=2).bins.n.tolist() == [4]
    assert table.block_bins(bin_size=1).bins.n.tolist() == [3, 1]


# --- fine bins ---------------------------------------------------------------------------------------------


def cells_of(q: Any) -> npt.NDArray[np.int32]:
    return _table.cell_pairs(q, np.zeros(np.size(q)))[0]


@pytest.mark.kernels
@given(st.lists(predictions, min_size=2, max_size=30))
def test_fine_bins_ascend_with_the_prediction_and_are_those_of_the_plain_rule(q: list[float]) -> None:
    ordered = sorted(q)
    cells = cells_of(ordered)
    assert (np.diff(cells) >= 0).all()
    names = [references.fine_bin(each) for each in ordered]
    assert [a == b for a, b in itertools.pairwise(names)] == (np.diff(cells) == 0).tolist()
    lower, upper = _table.bounds(cells.astype(np.int64))
    assert ((lower <= ordered) & (ordered <= upper)).all()


def test_every_fine_bin_contains_its_own_ends_and_there_are_no_gaps() -> None:
    cells = np.arange(kernels.N_CELLS)
    lower, upper = _table.bounds(cells)
    used = lower <= upper  # just below 1 there are fewer floats than fine bins
    assert (cells_of(lower[used]) == cells[used]).all()
    assert (cells_of(upper[used]) == cells[used]).all()
    assert (np.nextafter(upper[used][:-1], 2.0) == lower[used][1:]).all()
    assert used[: kernels.MIDDLE + 1].all()


@pytest.mark.parametrize(("least", "share"), [(2.0**-16, 1024), (2.0**-64, 256), (2.0**-1022, 8)])
def test_a_fine_bin_is_as_narrow_as_promised(least: float, share: int) -> None:
    lower, upper = _table.bounds(np.arange(kernels.MIDDLE))
    inside = lower >= least
    assert ((upper - lower)[inside] <= lower[inside] / share).all()
    lower, upper = _table.bounds(np.arange(kernels.MIDDLE + 1, kernels.N_CELLS))
    inside = (1.0 - upper >= least) & (lower <= upper)
    assert ((upper - lower)[inside] <= (1.0 - upper[inside]) / share).all()


def test_zero_one_and_a_half_have_their_own_fine_bins() -> None:
    lower, upper = _table.bounds(np.array([0, kernels.MIDDLE, kernels.N_CELLS - 1]))
    assert lower.tolist() == upper.tolist() == [0.0, 0.5, 1.0]


# --- bad input ---------------------------------------------------------------------------------------------


def one_row() -> CalibrationTable:
    return table_of_pairs([0.5], [1])


BAD: list[tuple[Any, str]] = [
    (lambda: TableBuilder().add([0.5, math.nan], [1, 0]), "q"),
    (lambda: one_row().group("far"), "group"),
    (lambda: one_row().block_bins(n_bins=2).bins, "n_bins"),
    (lambda: table_of([]).block_bins(), "table"),
    *[(lambda names=names: TableBuilder(groups=names), "groups") for names in ([], ["a", "a"], ["a", 1])],  # type: ignore[misc]
    (lambda: TableBuilder(groups=["a", "b"]).add([0.5], [1]), "groups"),
    *[(lambda codes=codes: TableBuilder().add([0.5], [1], groups=codes), "groups") for codes in ([1], [-1], [0, 0])],  # type: ignore[misc]
    (lambda: TableBuilder().add([], [1]), "y"),
    (lambda: TableBuilder().add([0.5], [1], block=None), "block"),
]


@pytest.mark.kernels
@pytest.mark.parametrize(("work", "parameter"), BAD)
def test_bad_input_raises(work: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        work()
