"""Recalibration and its queries on real documents: 237 gold parses and entities with real antecedent scores."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tolerance
from benchmark_scripts import script

from corefsample import Recalibration, ScoredDocument, read_documents, sample_clusterings
from corefsample.recalibration import RecalibrationFitter

study = script("query_study")
AS_IT_IS = Recalibration()


@pytest.fixture(scope="module")
def gum(gum_path: Path) -> list[ScoredDocument]:
    return list(read_documents(gum_path))


def test_115_mentions_have_no_gold_antecedent_among_their_candidates(gum: list[ScoredDocument]) -> None:
    gold = RecalibrationFitter(gum).gold.counts
    assert (gold.n_documents, gold.n_mentions, gold.n_missing) == (237, 65_473, 115)
    assert gold.n_new + gold.n_linked + gold.n_missing == gold.n_mentions


def test_queries_of_documents_whose_gold_is_drawn_are_calibrated(gum: list[ScoredDocument]) -> None:
    """Each document's gold is one clustering drawn from its own scores: then P is right by construction."""
    drawn = []
    for document in gum:
        labels = sample_clusterings(document.antecedents, n_samples=1, seed=99, doc_id=document.doc_id).labels
        drawn.append(dataclasses.replace(document, gold=labels[0].tolist()))
    table = study.QueryTable(map(study.match_queries, drawn))
    assert (len(table.queries), len(table.truth)) == (2570, 13139)
    for change, right in ((AS_IT_IS, True), (Recalibration(1.3), False)):
        p = table.probabilities([change] * len(table.documents), n_samples=100)
        # Documents are independent: the variance of the summed error is the sum of squares by document.
        errors = np.bincount(table.pair_documents, weights=p - table.truth)
        assert tolerance.plausible_means(errors.sum(), 0.0, np.sqrt(np.sum(errors**2))).all() == right


def test_intervals_of_counts_have_their_level_after_recalibration_and_not_before(gum: list[ScoredDocument]) -> None:
    options = "x --out x --objectives likelihood --folds 2 --samples 200 --resamples 0".split()  # noqa: SIM905
    coverage, scores = study.coverage_of(gum, study.parsed_options(options))
    rows = coverage.query("level == 0.95 and interval == 'quantile'")
    table = rows.pivot_table(index="variant", columns="documents", values="coverage")
    assert (table.loc["likelihood", ["5-9", "10-19", "20-80"]] >= 0.93).all()
    assert table.loc["as scored", "20-80"] < 0.85
    scores = scores.set_index("variant")
    excess = scores["mean_p"] - scores["share_true"]
    assert excess["as scored"] > 0.05
    assert excess["likelihood"] < 0.03
    assert scores.loc["likelihood", "brier"] < scores.loc["as scored", "brier"]
