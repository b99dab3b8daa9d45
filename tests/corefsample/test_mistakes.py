"""Common mistakes: the error is one line and says what to pass instead."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from corefsample import (
    AntecedentDistribution,
    ParameterError,
    ScoredDocument,
    clustering_scores,
    link_marginals,
    link_pairs,
    links,
    metric_posterior,
    plots,
    sample_clusterings,
    summaries,
)
from corefsample.errors import CorefsampleError
from corefsample.metrics import corpus_posterior

DIST = AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.5], [0.0, 1.0]])
DOC = ScoredDocument("d", np.array([[i, i + 1, i] for i in range(3)]), DIST, gold=["a", "a", "b"])
BARE = dataclasses.replace(DOC, gold=None)
DRAWN = sample_clusterings(DIST, n_samples=5)

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a document is not its distribution": (lambda: sample_clusterings(DOC), "pass document.antecedents"),  # type: ignore[arg-type]
    "the same in summaries": (lambda: summaries.point_estimate(DOC), "pass document.antecedents"),  # type: ignore[arg-type]
    "lists are not a distribution": (lambda: link_marginals([[], [0]]), "AntecedentDistribution.from_lists"),  # type: ignore[arg-type]
    "a file is not a distribution": (lambda: sample_clusterings("scored.jsonl"), "read_documents"),  # type: ignore[arg-type]
    "a distribution is not samples": (lambda: summaries.representatives(DIST, 2), "sample_clusterings"),  # type: ignore[arg-type]
    "a heat map of a document": (lambda: plots.link_heat_map(DOC), r"document_links\(document\)"),  # type: ignore[arg-type]
    "a heat map of a matrix": (lambda: plots.link_heat_map(link_marginals(DIST)), r"document_links\(document\)"),  # type: ignore[arg-type]
    "a network of a document": (lambda: plots.link_network(DOC), r"document_links\(document\)"),  # type: ignore[arg-type]
    "bars of a document": (lambda: plots.clusterings.entity_count_bars(DOC), r"entity_count_posterior\(document\)"),  # type: ignore[arg-type]
    "a core curve of a document": (lambda: plots.clusterings.core_curve_line(DOC), "core_curve"),  # type: ignore[arg-type]
    "a threshold curve of a document": (lambda: plots.clusterings.precision_recall_line(DOC), "threshold_curve"),  # type: ignore[arg-type]
    "links of a distribution": (lambda: summaries.document_links(DIST), "pass the document itself"),  # type: ignore[arg-type]
    "counts of a distribution": (lambda: summaries.entity_count_posterior(DIST), "pass the document itself"),  # type: ignore[arg-type]
    "scores of a document": (lambda: clustering_scores(DOC, [0, 0, 2]), "pass document.gold"),  # type: ignore[arg-type]
    "scores without gold": (lambda: clustering_scores(BARE.gold, [0, 0, 2]), "has no gold entities"),
    "a posterior of scores without gold": (lambda: metric_posterior(BARE.gold, DRAWN), "has no gold entities"),
    "links without gold": (lambda: link_pairs(BARE), "gold is missing"),
    "links of several documents": (lambda: link_pairs([DOC]), r"link_tables\(documents\)"),  # type: ignore[arg-type]
    "calibration of documents": (lambda: links.calibrate_links([DOC]), r"link_tables\(documents\)"),  # type: ignore[arg-type]
    "a corpus of documents": (lambda: corpus_posterior([DOC]), r"metric_posterior\("),  # type: ignore[list-item]
    "one threshold": (lambda: summaries.core_curve(DIST, thresholds=0.5), "must be a list of numbers"),  # type: ignore[arg-type]
    "one mention": (lambda: summaries.cluster_probability(DIST, 1), "must be a list of mentions"),  # type: ignore[arg-type]
    "samples of different lengths": (lambda: summaries.point_estimate([[0, 0], [0]]), "rows of different lengths"),
    "one sample for CoNLL": (lambda: summaries.point_estimate([[0, 0]], loss="conll"), "at least 2, got 1"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_line_with_what_to_do(name: str) -> None:
    call, answer = MISTAKES[name]
    with pytest.raises(CorefsampleError, match=answer) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, (ParameterError, ValueError))


def test_lists_of_samples_are_taken_as_arrays() -> None:
    rows = [[0, 0, 2], [0, 0, 0], [0, 1, 0]]
    found = summaries.point_estimate(rows, loss="vi")
    assert found.labels.tolist() == summaries.point_estimate(np.array(rows), loss="vi").labels.tolist()


def test_an_estimate_of_a_single_sample_is_the_sample() -> None:
    sample = [0, 0, 0, 0, 0, 5, 5]
    for loss in ("binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea"):
        assert summaries.point_estimate([sample], loss=loss).labels.tolist() == sample  # type: ignore[arg-type]
