"""The figures of docs/recalibration.md that no command reports: python benchmarks/recalibration_study.py [--only PART].

On a file with gold (GUM by default), every figure held out: calibration of links before and after, the spread of
coverage over other folds and samples, scores multiplied by a half and by two, and queries whose gold is drawn from the
scores, where calibration is perfect.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from held_out_scores import genre_of

from corefsample import ScoredDocument, read_documents, sample_clusterings
from corefsample.links import calibrate_links
from corefsample.links._pairs import link_tables
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._refits import CrossFit
from events.queries._score import named_objective
from events.queries._study import AS_SCORED, study_queries

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
OBJECTIVES = ("likelihood", "links", "links-log", "queries", "queries-log")
LEVEL, BIN_SIZE = 0.95, 5000


def fits(documents: Sequence[ScoredDocument]) -> dict[str, CrossFit]:
    """Fit and cross-fit by each objective, and print the results."""
    held_out, rows = {}, []
    for name in OBJECTIVES:
        fitter = RecalibrationFitter(documents, objective=named_objective(name, {}))
        fit, draws = fitter.fit(), fitter.bootstrap(200)
        held_out[name] = fitter.cross_fit()
        rows.append(
            {
                "objective": name,
                "temperature": fit.recalibration.temperature,
                "se": draws.temperature.std(ddof=1),
                "new_bias": fit.recalibration.new_bias,
                "bias_se": draws.new_bias.std(ddof=1),
                "before": held_out[name].score_before,
                "after": held_out[name].score_after,
                "change_se": held_out[name].score_change_se,
            }
        )
    print_table("Fits, and held-out mean loss of a term", pd.DataFrame(rows).set_index("objective"), 5)
    return held_out


def links(documents: Sequence[ScoredDocument], held_out: dict[str, CrossFit]) -> None:
    """Print the calibration of link marginals, each document under the recalibration that did not see it."""
    rows = []
    for name, fit in {AS_SCORED: None, **held_out}.items():
        change = [Recalibration() if fit is None else fit.recalibration_of(each.doc_id) for each in documents]
        recalibrated = (each.apply_document(document) for each, document in zip(change, documents, strict=True))
        overall = calibrate_links(link_tables(recalibrated), bin_size=BIN_SIZE, n_resamples=2000).overall
        ends = overall.by_document
        rows.append(
            {
                "objective": name,
                "mean_q": overall.mean_q,
                "true": overall.share_true,
                "CalibErr": overall.error,
                "lower": None if ends is None else ends.lower,
                "upper": None if ends is None else ends.upper,
                "brier": overall.brier.brier,
            }
        )
    print_table("Calibration of all pairs, held out", pd.DataFrame(rows).set_index("objective"), 5)


def spread(documents: Sequence[ScoredDocument], n_seeds: int) -> None:
    """Print the lowest and the highest coverage over seeds, of folds and samples both."""
    parts = []
    for seed in range(n_seeds):
        study = study_queries(documents, objectives=("likelihood", "links-log", "queries"), n_resamples=0, seed=seed)
        parts.append(study.coverage().query("level == @LEVEL"))
    grouped = pd.concat(parts).groupby(["variant", "interval", "documents"], sort=False)["coverage"]
    table = grouped.agg(["min", "max"]).unstack("documents")  # noqa: PD010
    print_table(f"Lowest and highest coverage of 95% intervals over {n_seeds} seeds", table, 3)


def paired(documents: Sequence[ScoredDocument]) -> None:
    """Print how many queries each of two recalibrations covers alone: by kind (joint), and by two numbers (queries).

    Both are held out in the same folds. The interval of the difference resamples verbs, because the queries of a verb
    share its documents.
    """
    held = []
    for objective, form in (("joint", "kinds"), ("queries", "global")):
        study = study_queries(documents, objectives=(objective,), form=form, n_resamples=0)
        table = study.intervals.query("variant == @objective and level == @LEVEL and interval == 'quantile'")
        held.append(table.set_index(["mention_type", "verb", "n_documents"])["held"].astype(int))
    both = pd.concat(held, axis=1, keys=["kinds", "global"]).reset_index()
    rng = np.random.default_rng(0)
    rows = []
    for first, last in ((5, 9), (10, 19), (20, 80), (81, 10**9)):
        part = both[both["n_documents"].between(first, last)]
        difference = part["kinds"] - part["global"]
        by_verb = difference.groupby(part["verb"]).agg(["sum", "size"]).to_numpy()
        weights = rng.multinomial(len(by_verb), np.full(len(by_verb), 1 / len(by_verb)), 4000)
        sums = weights @ by_verb
        lower, upper = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
        counts = {"queries": len(part), "kinds only": (difference > 0).sum(), "global only": (difference < 0).sum()}
        rows.append({"documents": first, **counts, "difference": difference.mean(), "lower": lower, "upper": upper})
    print_table("95% intervals: coverage by kind minus coverage by two numbers", pd.DataFrame(rows), 4)


def by_kind(documents: Sequence[ScoredDocument]) -> None:
    """Print the coverage by kind as `recalibrate` and `events` give it by default, held out in five folds.

    The domain effect of each fold is estimated from the genres of the other folds' documents.
    """
    domains = {document.doc_id: genre_of(document.doc_id) for document in documents}
    parts = []
    for known in (None, domains):
        study = study_queries(documents, objectives=("joint",), form="kinds", domains=known)
        table = study.coverage()
        table.insert(0, "uncertain", "refits" if known is None else "refits and domain effect")
        parts.append(table[table["variant"] == "joint"])
    columns = ["uncertain", "recalibration", "interval", "level"]
    found = pd.concat(parts).pivot_table(
        index=columns, columns="documents", values=["coverage", "mean_width"], sort=False
    )
    print_table("By kind, held out: coverage and mean width", found, 4)


def multiplied(documents: Sequence[ScoredDocument]) -> None:
    """Print the fits to scores that were multiplied."""
    rows = []
    for name in ("likelihood", "links", "queries"):
        for factor in (0.5, 1.0, 2.0):
            scaled = [Recalibration(1 / factor).apply_document(document) for document in documents]
            fit = RecalibrationFitter(scaled, objective=named_objective(name, {"n_samples": 200})).fit().recalibration
            row = {"objective": name, "factor": factor, "temperature / factor": fit.temperature / factor}
            rows.append({**row, "new_bias": fit.new_bias})
    print_table("Scores multiplied by a factor", pd.DataFrame(rows).set_index(["objective", "factor"]), 5)


def drawn(documents: Sequence[ScoredDocument]) -> None:
    """Print the coverage where gold is one clustering drawn from the scores."""
    made = []
    for document in documents:
        labels = sample_clusterings(document.antecedents, n_samples=1, seed=99, doc_id=document.doc_id).labels
        made.append(dataclasses.replace(document, gold=labels[0].tolist()))
    study = study_queries(made, objectives=(), n_resamples=0)
    coverage = study.coverage().pivot_table(
        index=["interval", "level"], columns="documents", values="coverage", sort=False
    )
    print_table("Gold drawn from the scores: coverage", coverage, 3)
    print_table("Gold drawn from the scores: P", study.scores().set_index("variant"), 4)


def print_table(title: str, table: pd.DataFrame, digits: int) -> None:
    """Print a table under its title."""
    print(f"\n{title}\n{table.round(digits).to_string()}", flush=True)


def main() -> None:
    """Run the parts asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=GUM, help="pre-scored mention file with gold and tokens")
    parser.add_argument("--seeds", type=int, default=10, help="of the spread of coverage")
    parser.add_argument(
        "--only", choices=["fits", "spread", "multiplied", "drawn", "paired", "kinds"], help="one part alone"
    )
    arguments = parser.parse_args()
    documents = [document for document in read_documents(arguments.file) if document.gold is not None]
    if arguments.only in (None, "fits"):
        links(documents, fits(documents))
    if arguments.only in (None, "drawn"):
        drawn(documents)
    if arguments.only in (None, "paired"):
        paired(documents)
    if arguments.only in (None, "kinds"):
        by_kind(documents)
    if arguments.only in (None, "multiplied"):
        multiplied(documents)
    if arguments.only in (None, "spread"):
        spread(documents, arguments.seeds)


if __name__ == "__main__":
    main()
