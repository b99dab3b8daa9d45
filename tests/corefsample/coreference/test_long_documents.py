"""Documents of thousands of mentions: the same numbers, memory in proportion, and errors where it cannot be."""

from __future__ import annotations

import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest

from corefsample import AntecedentDistribution, ParameterError, _memory, link_marginals, sample_clusterings
from corefsample.coreference._clusterings import map_clustering, root_posterior

Floats = npt.NDArray[np.float64]


def long_document(n_mentions: int, n_candidates: int, seed: int = 0) -> AntecedentDistribution:
    """Random scores of random earlier mentions."""
    rng = np.random.default_rng(seed)
    candidates = [
        np.sort(rng.choice(i, min(i, n_candidates), replace=False)) if i < 2_000 else np.arange(i - n_candidates, i)
        for i in range(n_mentions)
    ]
    sizes = [len(each) for each in candidates]
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    return AntecedentDistribution.from_csr(indptr, np.concatenate(candidates), rng.normal(-1.0, 2.0, indptr[-1]))


def plain_marginals(antecedents: AntecedentDistribution) -> Floats:
    """The recursion by whole rows, with a dense matrix of antecedents."""
    n = antecedents.n_mentions
    probs, m = np.zeros((n, n)), np.eye(n)
    probs[np.repeat(np.arange(n), np.diff(antecedents.indptr)), antecedents.antecedents] = antecedents.probs
    for j in range(n):
        m[j, :j] = m[:j, j] = probs[j, :j] @ m[:j, :j]
    return m


# 128 columns make a block: fewer, exactly one, one more, several, and a last block of a single column.
@pytest.mark.parametrize("n_mentions", [1, 127, 128, 129, 255, 257, 300])
@pytest.mark.parametrize("n_candidates", [1, 3, 4, 7, 8, 13, 300])
def test_blocks_of_columns_change_no_figure(n_mentions: int, n_candidates: int) -> None:
    document = long_document(n_mentions, n_candidates)
    np.testing.assert_allclose(link_marginals(document), plain_marginals(document), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_mentions", [5_000, 20_000])
def test_sampling_needs_memory_for_the_labels_and_the_candidates(n_mentions: int) -> None:
    document = long_document(n_mentions, 20)
    sample_clusterings(document, n_samples=1)  # loads or compiles the kernels
    tracemalloc.start()
    try:
        samples = sample_clusterings(document, n_samples=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    block = 128 * 4 * n_mentions  # labels of the samples that are drawn together
    tables = 12 * (document.n_candidates + n_mentions)
    assert peak < 1.1 * (samples.labels.nbytes + block + tables) + 2**16
    # A mention is NEW, or has the label of one of its candidates.
    indptr, labels = document.indptr, samples.labels.T
    for i in range(0, n_mentions, 97):
        possible = labels[document.antecedents[indptr[i] : indptr[i + 1]]]
        assert ((labels[i] == i) | (labels[i] == possible).any(axis=0)).all()


def test_a_chain_of_twenty_thousand_mentions_is_one_entity() -> None:
    n = 20_000
    indptr = np.concatenate(([0], np.arange(n)))
    chain = AntecedentDistribution.from_csr(indptr, np.arange(n - 1), np.full(n - 1, 60.0))
    assert (sample_clusterings(chain, n_samples=3).labels == 0).all()
    assert (map_clustering(chain) == 0).all()


@pytest.mark.parametrize("function", [link_marginals, root_posterior])
def test_what_does_not_fit_into_memory_raises_before_it_is_allocated(
    function: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_memory, "available_memory", lambda: 3 * 2**30 // 2)
    document = AntecedentDistribution.from_csr(np.zeros(20_001, np.int64), np.zeros(0, np.int64), np.zeros(0))
    rule = (
        r"antecedents must fit into memory: a matrix of 20,000 x 20,000 mentions takes 3\.0 GiB, "
        r"got 1\.5 GiB of free memory \(`sample_clusterings`"
    )
    with pytest.raises(ParameterError, match=rule):
        function(document)  # type: ignore[operator]


def test_available_memory_is_that_of_the_machine_or_its_group() -> None:
    available = _memory.available_memory()
    assert available is None or 0 < available < 2**50
