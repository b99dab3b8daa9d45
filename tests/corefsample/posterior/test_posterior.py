"""Samples of a document's posterior: parses, draws of a recalibration, and clusterings given both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from references import events as er
from references import parses as pr

from corefsample import (
    AntecedentDistribution,
    ParameterError,
    Recalibration,
    ScoredDocument,
    map_clustering,
    read_documents,
    sample_clusterings,
    summaries,
)
from corefsample.posterior._posterior import DocumentPosterior, DrawnRecalibration, WeightedParse
from corefsample.recalibration._model import N_PARAMETERS
from corefsample.recalibration._refits import RecalibrationDraws
from corefsample.recalibration._uncertain import UncertainRecalibration

WEIGHTS = (5.0, 2.0, 3.0)
LISTS = [
    AntecedentDistribution.from_lists([[], [0]], [[], [0.5]]),
    AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [1.0], [-0.5, 0.25]]),
    AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.75]]),
]
# NEW is nearly certain, nearly impossible, and as scored.
DRAWS = tuple(Recalibration(1.0, bias) for bias in (40.0, -40.0, 0.0))


def posterior(weights: tuple[float, ...] = WEIGHTS, **options: Any) -> DocumentPosterior:
    parses = (WeightedParse(each, weight) for each, weight in zip(LISTS, weights, strict=False))
    return DocumentPosterior("d", tuple(parses), **options)


@pytest.mark.parametrize("is_drawn", [False, True])
@pytest.mark.parametrize("weights", [WEIGHTS, (5.0,), (0.0, 1.0)])
def test_each_sample_is_a_parse_and_a_clustering_of_its_own_stream(weights: tuple[float, ...], is_drawn: bool) -> None:
    # Three draws share 10 samples as [0, 3), [3, 6), [6, 10): np.linspace(0, 10, 4) cut to whole numbers.
    expected_draws = [0] * 3 + [1] * 3 + [2] * 4 if is_drawn else [0] * 10
    recalibrated = DrawnRecalibration(Recalibration(), DRAWS) if is_drawn else None
    for seed in range(5):
        samples = posterior(weights, recalibrated=recalibrated).sample(n_samples=10, seed=seed)
        drawn = pr.sample_parses(weights, 10, seed, "d") if len(weights) > 1 else [0] * 10
        assert samples.parses.tolist() == drawn
        assert samples.draws.tolist() == expected_draws
        assert samples.parse_counts.tolist() == [drawn.count(k) for k in range(len(weights))]
        given = [samples.of_parse(k) for k in range(len(weights))]
        assert [each.samples.tolist() for each in given] == [
            [s for s, other in enumerate(drawn) if other == k] for k in range(len(weights))
        ]
        for s, k in enumerate(drawn):
            changed = DRAWS[expected_draws[s]].apply(LISTS[k]) if is_drawn else LISTS[k]
            place = drawn[:s].count(k)
            one = sample_clusterings(changed, n_samples=1, seed=seed, doc_id="d", first_sample=k * 2**40 + place)
            assert given[k].labels[:, place].tolist() == one.labels[0].tolist()
        for each, own in zip(given, LISTS, strict=False):
            assert each.likeliest.tolist() == map_clustering(own).tolist()


def test_the_first_samples_do_not_depend_on_their_number_nor_the_first_mentions_on_the_others() -> None:
    many, few = posterior().sample(n_samples=300, seed=7), posterior().sample(n_samples=100, seed=7)
    assert few.parses.tolist() == many.parses[:100].tolist()
    for k in range(3):
        n = int(few.parse_counts[k])
        short = few.of_parse(k, n_mentions=2)
        assert short.labels.tolist() == many.of_parse(k).labels[:2, :n].tolist()
        assert short.likeliest.tolist() == many.of_parse(k).likeliest[:2].tolist()


def test_a_document_has_its_parses_and_kinds_of_mentions_where_a_recalibration_needs_them(tmp_path: Path) -> None:
    (document,) = read_documents(
        er.write_lines(tmp_path / "d.jsonl", [pr.with_other_parses(er.corpus()[0], (5, 1, 2))])
    )
    by_kind = Recalibration.from_vector(np.linspace(-0.2, 0.2, N_PARAMETERS))
    plain = DocumentPosterior.of(document)
    made = DocumentPosterior.of(document, DrawnRecalibration(by_kind, (by_kind,)))
    assert [parse.weight for parse in plain.parses] == [parse.weight for parse in document.parses] == [5.0, 1.0, 2.0]
    assert plain.parses[0].kinds is None
    changed = by_kind.apply_document(document)
    for k, parse in enumerate(made.parses):
        assert parse.kinds is not None
        expected = sample_clusterings(
            changed.with_parse(k).antecedents, n_samples=20, doc_id=document.doc_id, first_sample=k * 2**40
        )
        found = made.sample(n_samples=200).of_parse(k).labels.T[:20]
        assert found.tolist() == expected.labels[: len(found)].tolist()


def test_summaries_ask_the_posterior_so_that_draws_of_a_recalibration_count() -> None:
    """Half of the draws link the two mentions for sure, half never do: whatever the scores, they corefer in half."""
    antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [1.0]])
    document = ScoredDocument("d", [[0, 1, 0], [1, 2, 1]], antecedents)
    uncertain = UncertainRecalibration(Recalibration(), RecalibrationDraws(np.ones(2), np.array([-50.0, 50.0])))
    of_document = DocumentPosterior.of(document, uncertain)
    samples = of_document.clusterings(n_samples=400, seed=3)
    assert (samples.n_samples, samples.seed, samples.doc_id) == (400, 3, "d")
    assert (samples.labels[:, 1] == 0).mean() == 0.5
    # Half of the samples split the two ordered pairs, of four with each mention's own.
    of_draws, of_samples, as_scored = (
        summaries.expected_loss(each, [0, 0], loss="binder").value for each in (of_document, samples, antecedents)
    )
    assert of_draws == of_samples == 0.25 != as_scored


def test_clusterings_of_several_parses_cannot_be_put_together() -> None:
    with error(ParameterError, "posterior"):
        posterior().clusterings()


@pytest.mark.parametrize(("options", "parameter"), [({"n_samples": 0}, "n_samples"), ({"seed": -1}, "seed")])
def test_options_that_break_their_rules_are_rejected(options: dict[str, int], parameter: str) -> None:
    with error(ParameterError, parameter):
        posterior().sample(**options)


def test_a_recalibration_by_kind_needs_tokens() -> None:
    by_kind = Recalibration.from_vector(np.linspace(-0.2, 0.2, N_PARAMETERS))
    document = er.scored({**er.corpus()[0], "tokens": None})
    with error(ParameterError, place="doc_id 'doc 1'"):
        DocumentPosterior.of(document, DrawnRecalibration(by_kind, (by_kind,)))
