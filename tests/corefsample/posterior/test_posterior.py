"""Samples of a document's posterior: those of a parse, draws of a recalibration, and clusterings given both."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tolerance
from expected_errors import error
from hypothesis import given, strategies as st
from references import events as er, parses as pr

import corefsample as cs
from corefsample.documents._batch import DocumentBatch
from corefsample.posterior._posterior import DocumentPosterior, DrawnRecalibration, samples_of_share
from corefsample.recalibration._model import N_PARAMETERS
from corefsample.recalibration._uncertain import UncertainRecalibration

LISTS = [
    cs.AntecedentDistribution.from_lists([[], [0]], [[], [0.5]]),
    cs.AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [1.0], [-0.5, 0.25]]),
    cs.AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.75]]),
]
# NEW is nearly certain, nearly impossible, and as scored.
DRAWS = tuple(cs.Recalibration(1.0, bias) for bias in (40.0, -40.0, 0.0))
counts_of_parses = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any)


def posteriors(counts: Sequence[int] = (5, 2, 3), **options: Any) -> list[DocumentPosterior]:
    """One for each parse of document d, with its share of the samples."""
    shares = itertools.pairwise([0.0, *(np.cumsum(counts) / sum(counts)).tolist()])
    return [
        DocumentPosterior("d", lists, parse=k, share=share, **options)
        for k, (lists, share) in enumerate(zip(LISTS, shares, strict=False))
    ]


@pytest.mark.parametrize("is_drawn", [False, True])
@pytest.mark.parametrize("counts", [(5, 2, 3), (5,), (0, 1)])
def test_each_sample_is_a_parse_and_a_clustering_of_its_own_stream(counts: tuple[int, ...], is_drawn: bool) -> None:
    # Three draws share 10 samples as [0, 3), [3, 6), [6, 10): np.linspace(0, 10, 4) cut to whole numbers.
    expected_draws = [0] * 3 + [1] * 3 + [2] * 4
    recalibrated = DrawnRecalibration(cs.Recalibration(), DRAWS) if is_drawn else None
    for seed in range(5):
        given = [each.sample(n_samples=10, seed=seed) for each in posteriors(counts, recalibrated=recalibrated)]
        drawn = pr.sample_parses(counts, 10, seed, "d") if len(counts) > 1 else [0] * 10
        assert [each.samples.tolist() for each in given] == [
            [s for s, other in enumerate(drawn) if other == k] for k in range(len(counts))
        ]
        for s, k in enumerate(drawn):
            changed = DRAWS[expected_draws[s]].apply(LISTS[k]) if is_drawn else LISTS[k]
            place = drawn[:s].count(k)
            one = cs.sample_clusterings(changed, n_samples=1, seed=seed, doc_id="d", first_sample=k * 2**40 + place)
            assert given[k].labels[:, place].tolist() == one.labels[0].tolist()
        for each, own in zip(given, LISTS, strict=False):
            assert each.likeliest.tolist() == cs.map_clustering(own).tolist()


def test_the_first_samples_do_not_depend_on_their_number_nor_the_first_mentions_on_the_others() -> None:
    for each in posteriors():
        many, short = each.sample(n_samples=300, seed=7), each.sample(n_samples=100, seed=7, n_mentions=2)
        n = len(short.samples)
        assert short.samples.tolist() == many.samples[:n].tolist()
        assert short.labels.tolist() == many.labels[:2, :n].tolist()
        assert short.likeliest.tolist() == many.likeliest[:2].tolist()


@given(counts_of_parses, st.integers(0, 2**64 - 1), st.text(max_size=4))
def test_the_samples_of_a_parse_are_those_of_the_definition(counts: list[int], seed: int, doc_id: str) -> None:
    ends = (np.cumsum(counts) / sum(counts)).tolist()
    drawn = pr.sample_parses(counts, 200, seed, doc_id)
    for k, share in enumerate(itertools.pairwise([0.0, *ends])):
        samples = samples_of_share(share, n_samples=200, seed=seed, doc_id=doc_id)
        # A sample within rounding of the border of two parses may have either; none of 200 should be.
        if len(counts) > 1:
            assert samples.tolist() == [s for s, other in enumerate(drawn) if other == k]


@given(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), st.integers(0, 2**64 - 1))
def test_shares_are_closer_to_the_weights_than_those_of_independent_draws(counts: tuple[int, int], seed: int) -> None:
    # The discrepancy of n points of a golden sequence is below (3 + log(n) / log(phi) + 2) / n (Niederreiter 1992,
    # theorem 3.3 with all partial quotients 1); the share of an interval differs from its length by that at most.
    n, p = 1000, counts[0] / sum(counts)
    n_first = len(samples_of_share((0.0, p), n_samples=n, seed=seed))
    assert abs(n_first / n - p) <= (5 + np.log(n) / np.log((1 + 5**0.5) / 2)) / n


@pytest.mark.parametrize("sample", [0, 7])
def test_each_sample_alone_has_the_probabilities_of_the_shares(sample: int) -> None:
    n = 20_000
    shares = [(0.0, 0.5), (0.5, 0.8), (0.8, 1.0)]
    hits = [
        sum(sample in samples_of_share(share, n_samples=sample + 1, doc_id=str(d)) for d in range(n))
        for share in shares
    ]
    assert tolerance.plausible_counts(hits, n, [0.5, 0.3, 0.2]).all()


def test_a_row_of_a_batch_has_its_share_and_kinds_of_mentions_where_a_recalibration_needs_them() -> None:
    documents = [*map(er.scored, pr.with_other_parses(er.corpus()[0], (5, 1, 2)))]
    batch = DocumentBatch.of(documents)
    by_kind = cs.Recalibration.from_vector(np.linspace(-0.2, 0.2, N_PARAMETERS))
    plain = [DocumentPosterior.of_row(batch, row) for row in range(3)]
    assert [each.share for each in plain] == [(0.0, 0.625), (0.625, 0.75), (0.75, 1.0)]
    assert [each.kinds for each in plain] == [None] * 3
    for k, document in enumerate(documents):
        made = DocumentPosterior.of_row(batch, k, DrawnRecalibration(by_kind, (by_kind,)))
        assert made.kinds is not None
        expected = cs.sample_clusterings(
            by_kind.apply_document(document).antecedents, n_samples=20, doc_id=document.doc_id, first_sample=k * 2**40
        )
        found = made.sample(n_samples=200).labels.T[:20]
        assert found.tolist() == expected.labels[: len(found)].tolist()


def test_summaries_of_samples_have_the_draws_of_a_recalibration() -> None:
    """Half of the draws link the two mentions for sure, half never do: whatever the scores, they corefer in half."""
    antecedents = cs.AntecedentDistribution.from_lists([[], [0]], [[], [1.0]])
    document = cs.ScoredDocument("d", [[0, 1, 0], [1, 2, 1]], antecedents)
    uncertain = UncertainRecalibration(cs.Recalibration(), (cs.Recalibration(1.0, -50.0), cs.Recalibration(1.0, 50.0)))
    samples = DocumentPosterior.of(document, uncertain).clusterings(n_samples=400, seed=3)
    assert (samples.n_samples, samples.seed, samples.doc_id) == (400, 3, "d")
    assert (samples.labels[:, 1] == 0).mean() == 0.5
    # Half of the samples split the two ordered pairs, of four with each mention's own.
    of_samples, as_scored = (
        cs.summaries.expected_loss(each, [0, 0], loss="binder").value for each in (samples, antecedents)
    )
    assert of_samples == 0.25 != as_scored


@pytest.mark.parametrize(("options", "parameter"), [({"n_samples": 0}, "n_samples"), ({"seed": -1}, "seed")])
def test_options_that_break_their_rules_are_rejected(options: dict[str, int], parameter: str) -> None:
    with error(cs.ParameterError, parameter):
        posteriors()[0].sample(**options)


def test_a_recalibration_by_kind_needs_tokens() -> None:
    by_kind = cs.Recalibration.from_vector(np.linspace(-0.2, 0.2, N_PARAMETERS))
    document = er.scored({**er.corpus()[0], "tokens": None})
    with error(cs.ParameterError, place="doc_id 'doc 1'"):
        DocumentPosterior.of(document, DrawnRecalibration(by_kind, (by_kind,)))
