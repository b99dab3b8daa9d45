"""The compiled loops, each on small input against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from references import coreference as references
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import AntecedentDistribution, _random_kernels
from corefsample._arrays import Ints32, Words, Words32
from corefsample.coreference import _kernels

pytestmark = pytest.mark.kernels


# --- random words ------------------------------------------------------------------------------------------

# Test values of the reference implementation (Vigna's splitmix64.c), as Rosetta Code publishes them.
PUBLISHED_SEED = 1234567
PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def splitmix64(key: int, start: int, n: int) -> list[int]:
    words = np.empty(n, np.uint64)
    _random_kernels.splitmix64(np.uint64(key), start, words)
    return [int(word) for word in words]


def test_splitmix64_gives_the_published_values() -> None:
    assert splitmix64(PUBLISHED_SEED, 0, 5) == PUBLISHED


@given(st.integers(0, 2**64 - 1), st.integers(0, 30), st.integers(0, 30))
def test_splitmix64_can_start_anywhere(key: int, start: int, n: int) -> None:
    assert splitmix64(key, start, n) == references.splitmix64(key, start + n)[start:]


# --- alias tables ------------------------------------------------------------------------------------------


def cells_of(distribution: AntecedentDistribution) -> tuple[Words, Words32]:
    """Cells and values of the alias tables."""
    n_cells = distribution.n_candidates + distribution.n_mentions
    cells, values = np.empty(n_cells, np.uint64), np.empty(n_cells, np.uint32)
    rows = distribution.indptr, distribution.antecedents, distribution.probs, distribution.new_probs
    _kernels.alias_tables(*rows, cells, values)
    return cells, values


def tables_of(distribution: AntecedentDistribution) -> list[references.Table]:
    """The alias table of each mention, taken out of the flat arrays."""
    cells, values = cells_of(distribution)
    tables = []
    for i in range(distribution.n_mentions):
        begin, end = int(distribution.indptr[i]) + i, int(distribution.indptr[i + 1]) + i + 1
        row = zip(values[begin:end].tolist(), cells[begin:end].tolist(), strict=True)
        # A cell that keeps all its mass has itself as alias, so that its threshold plays no part.
        tables.append([(own, cell >> 16 & 0xFFFF, cell >> 32) for own, cell in row])
        np.testing.assert_array_equal(cells[begin:end] & np.uint64(0xFFFF), values[begin:end])
    return tables


@given(strategies.antecedent_lists(max_mentions=9))
def test_alias_tables_meet_each_probability_to_32_bits(lists: Lists) -> None:
    tables = tables_of(AntecedentDistribution.from_lists(*lists))
    for table, row in zip(tables, references.softmax_rows(*lists), strict=True):
        # Each threshold is rounded down to 2^-32 of a cell, so a value is off by at most 2^-32 in all.
        assert references.table_probabilities(table) == pytest.approx(row, abs=2.0**-32 + 1e-12)


@given(strategies.antecedent_lists(max_mentions=9))
def test_alias_tables_never_give_what_has_probability_zero(lists: Lists) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    for i, table in enumerate(tables_of(distribution)):
        candidates, probs = distribution.row(i)
        impossible = set(candidates[probs == 0.0].tolist()) | ({i} if distribution.new_probs[i] == 0.0 else set())
        given_by_table = references.table_probabilities(table)
        assert all(given_by_table.get(k, 0.0) == 0.0 for k in impossible)


# --- sampling ----------------------------------------------------------------------------------------------


def labels_by_kernel(distribution: AntecedentDistribution, key: int, first: int, n_samples: int) -> Ints32:
    labels = np.full((distribution.n_mentions, n_samples), -1, np.int32)
    _kernels.sample_labels(distribution.indptr, *cells_of(distribution), np.uint64(key), first, labels)
    return labels.T


@settings(max_examples=25)
@given(strategies.antecedent_lists(max_mentions=8), st.integers(0, 2**64 - 1), st.integers(0, 5))
def test_labels_are_the_components_of_antecedents_picked_by_table_and_word(lists: Lists, key: int, first: int) -> None:
    distribution = AntecedentDistribution.from_lists(*lists)
    expected = references.sample_labels(tables_of(distribution), key, first + 10)[first:]
    np.testing.assert_array_equal(labels_by_kernel(distribution, key, first, 10), expected)


def test_labels_of_several_blocks_follow_the_words() -> None:
    lists = Lists([[], [0], [0, 1], [2]], [[], [0.3], [0.0, 1.0], [-0.5]])
    distribution = AntecedentDistribution.from_lists(*lists)
    n_samples = 2 * _kernels.BLOCK + 3
    expected = references.sample_labels(tables_of(distribution), 99, n_samples)
    np.testing.assert_array_equal(labels_by_kernel(distribution, 99, 0, n_samples), expected)
