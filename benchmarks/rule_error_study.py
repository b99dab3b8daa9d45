"""Does the outer band hold? python benchmarks/rule_error_study.py --folder FOLDER.

Coverage and width of counts with the error of rules. Reads P and the answer of each document from the folder of
`rule_reference.py`. A corpus is counted with a reference class without it; MUC also with 70% of its reports in the
reference class, and the others counted. Totals are covered with a cell (event and actor) left out, too. No text of a
document is read.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from rule_reference import reference_table
from scipy.special import expit
from scipy.stats import norm
from studies import markdown

from corefsample._arrays import Floats, Ints
from events.audit import AuditFrame, estimate_total, plan_audit
from events.rule_error._counts import error_generator, reader_probability, true_counts, unlabelled_yes
from events.rule_error._model import MISSES, PRECISION, Cell, Prior, RuleErrorModel, _fitted, fit_rule_error

LEVEL = 0.95
N_DRAWS = 1000
FREQUENT = 9  # documents with a yes
SHARE_OF_DEV = 70  # percent of MUC in the reference class of "with MUC"
LABELS = (25, 50, 100, 200)
MODELS_OF_MISSES = ("relative to counted documents", "recall", "per document without")
PARTS = ("coverage", "totals", "reader", "labels", "alternatives", "priors")
Priors = dict[str, Prior]


def scaled(factor: float) -> Priors:
    """Default priors with other standard deviations."""
    names = ("sd", "kind", "corpus", "event", "actor", "cell", "period")
    return {
        name: replace(prior, **{each: factor * getattr(prior, each) for each in names})
        for name, prior in (("precision", PRECISION), ("misses", MISSES))
    }


PRIORS: Mapping[str, Priors] = {
    "default": {},
    "effects half as large": scaled(0.5),
    "effects twice as large": scaled(2.0),
    "precision .5, as many missed as counted": {
        "precision": replace(PRECISION, mean=0.0),
        "misses": replace(MISSES, mean=0.0),
    },
}
Error = Callable[[str, str, str], Cell]  # of event, actor and kind


def sampled_counts(p: Floats, period: Ints, n_periods: int, rng: np.random.Generator) -> Ints:
    """Counts by sample of documents with these P: int64 (N_DRAWS, n_periods)."""
    counts = np.zeros((N_DRAWS, n_periods), np.int64)
    for i in np.flatnonzero(p):
        counts[:, period[i]] += rng.random(N_DRAWS) < p[i]
    return counts


def interval(draws: Ints) -> tuple[Ints, Ints]:
    lower, upper = np.quantile(draws, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0, method="inverted_cdf")
    return lower, upper


def by_period(documents: pd.DataFrame, length: str) -> tuple[pd.DataFrame, Ints, int]:
    """Documents with a date, and the number of the period of each among those with documents."""
    dated = documents[documents["date"].notna()] if documents["date"].notna().any() else documents.assign(date=0)
    labels = dated["date"].dt.to_period(length) if documents["date"].notna().any() else dated["date"]
    number, names = pd.factorize(labels, sort=True)
    return dated, number, len(names)


def covered(documents: pd.DataFrame, model: RuleErrorModel, cell: Cell, length: str) -> dict[str, float]:
    """Coverage and mean width of both bands over periods, and of the total."""
    documents, period, n_periods = by_period(documents, length)
    rng = error_generator(0, cell.event, cell.actor)
    truth = np.bincount(period, weights=documents["yes"], minlength=n_periods)
    n_docs = np.bincount(period, minlength=n_periods)
    counts = sampled_counts(documents["p"].to_numpy(), period, n_periods, rng)
    draws = true_counts(counts, n_docs, model.draws(cell, N_DRAWS, rng), rng)
    (inner_low, inner_high), (low, high) = interval(counts), interval(draws)
    total_low, total_high = interval(draws.sum(axis=1))
    return {
        "inner": float(((inner_low <= truth) & (truth <= inner_high)).mean()),
        "coverage": float(((low <= truth) & (truth <= high)).mean()),
        "width": float((high - low).mean()),
        "total": float(truth.sum()),
        "lower": float(total_low),
        "upper": float(total_high),
    }


def cells_of(documents: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Frequent cells, by event, actor and kind."""
    for key, rows in documents.groupby(["event", "actor", "kind"], sort=False):
        if rows["yes"].sum() >= FREQUENT:
            yield key, rows  # type: ignore[misc]


def in_development(doc_ids: pd.Series) -> npt.NDArray[np.bool_]:
    """Whether each document is among those of the reference class "with MUC"."""
    return doc_ids.map(lambda doc_id: zlib.crc32(doc_id.encode()) % 100 < SHARE_OF_DEV).to_numpy(np.bool_)


def coverage_rows(documents: pd.DataFrame, table: pd.DataFrame, prior: Priors) -> pd.DataFrame:
    """Mean coverage and width of months and quarters, without the corpus in the reference class and with part."""
    rows = []
    muc = documents[documents["corpus"] == "muc"]
    development = in_development(muc["doc_id"])
    others = table[table["corpus"] != "muc"]
    with_muc = pd.concat([others, reference_table(muc[development], "")])
    test = muc[~development]
    references: Mapping[str, tuple[pd.DataFrame, Error]] = {
        "without MUC": (others, lambda event, actor, kind: Cell(kind, event, actor)),
        "with MUC, rule not in it": (with_muc, lambda event, actor, kind: Cell(kind, "another rule", actor, "muc")),
        "with MUC": (with_muc, lambda event, actor, kind: Cell(kind, event, actor, "muc")),
    }
    for name, (reference, cell) in references.items():
        model = fit_rule_error(reference, **prior)
        for group in ("actors", "any and nobody"):
            for length, label in (("M", "months"), ("Q", "quarters")):
                results = [
                    covered(rows_of_cell, model, cell(*key), length)
                    for key, rows_of_cell in cells_of(test)
                    if (key[2] in ("any", "nobody")) == (group == "any and nobody")
                ]
                means = pd.DataFrame(results)[["inner", "coverage", "width"]].mean()
                rows.append({"reference class": name, "of": group, "periods": label, "cells": len(results), **means})
    return pd.DataFrame(rows)


def total_rows(documents: pd.DataFrame, table: pd.DataFrame, prior: Priors) -> pd.DataFrame:
    """Totals of each corpus with a reference class without it, and without the cell alone."""
    rows = []
    for corpus, of_corpus in documents.groupby("corpus"):
        model = fit_rule_error(table[table["corpus"] != corpus], **prior)
        for (event, actor, kind), cell in cells_of(of_corpus):
            same = (table["corpus"] == corpus) & (table["event"] == event) & (table["actor"] == actor)
            other = covered(cell, model, Cell(kind, event, actor), "Y")
            without = covered(cell, fit_rule_error(table[~same], **prior), Cell(kind, event, actor, str(corpus)), "Y")
            names = {
                "corpus": corpus,
                "event": event,
                "actor": actor,
                "counted": cell["p"].sum(),
                "true": other["total"],
            }
            ends = {
                label: f"{result['lower']:.0f} to {result['upper']:.0f}"
                for label, result in (("without the corpus", other), ("without the cell", without))
            }
            held = {
                f"{label} holds": r["lower"] <= r["total"] <= r["upper"]
                for label, r in (("corpus", other), ("cell", without))
            }
            rows.append({**names, **ends, **held})
    return pd.DataFrame(rows)


def reader_rows(documents: pd.DataFrame, table: pd.DataFrame, prior: Priors) -> tuple[pd.DataFrame, str]:
    """Calibration of P that a reader says yes, in five bins, and its log score beside that of P."""
    muc = documents[(documents["corpus"] == "muc") & ~documents["kind"].isin(["any", "nobody"])]
    development = in_development(muc["doc_id"])
    frames = []
    lines = []
    for name, reference, corpus in (
        ("without MUC", table[table["corpus"] != "muc"], ""),
        ("with MUC", pd.concat([table[table["corpus"] != "muc"], reference_table(muc[development], "")]), "muc"),
    ):
        model = fit_rule_error(reference, **prior)
        parts = []
        for (event, actor, kind), cell in cells_of(muc[~development]):
            rng = error_generator(0, event, actor)
            p = cell["p"].to_numpy()
            counts = sampled_counts(p, np.zeros(len(p), np.int64), 1, rng)
            error = model.draws(Cell(kind, event, actor, corpus), N_DRAWS, rng)
            reader = reader_probability(p, counts, [len(p)], error, rng).mean(axis=0)
            parts.append(pd.DataFrame({"p": p, "reader": reader, "yes": cell["yes"].to_numpy()}))
        pairs = pd.concat(parts)
        scores = [
            -np.log(np.where(pairs["yes"], q, 1.0 - q)).mean() for q in (pairs["p"].clip(0.01, 0.99), pairs["reader"])
        ]
        lines.append(f"{name}: mean log loss of P {scores[0]:.4f}, of P that a reader says yes {scores[1]:.4f}")
        bins = np.minimum((pairs["reader"] * 5).astype(int), 4)
        means = pairs.groupby(bins).agg(
            pairs=("p", "size"), p=("p", "mean"), reader=("reader", "mean"), yes=("yes", "mean")
        )
        frames.append(means.reset_index(names="bin").assign(**{"reference class": name}))
    return pd.concat(frames), "\n".join(lines)


def label_rows(documents: pd.DataFrame, table: pd.DataFrame, prior: Priors, n_seeds: int) -> pd.DataFrame:
    """Totals from labels, by design and with the prior of a reference class without the corpus."""
    rows = []
    for corpus in ("muc", "police"):
        model = fit_rule_error(table[table["corpus"] != corpus], **prior)
        cells = [
            (key, cell)
            for key, cell in cells_of(documents[documents["corpus"] == corpus])
            if key[0] == "violence" or corpus == "police"
        ]
        for n_labels in LABELS:
            results = []
            for (event, actor, kind), cell in cells:
                p, yes = cell["p"].to_numpy(), cell["yes"].to_numpy()
                dates = np.full(len(p), "2000-01-01", "datetime64[D]")
                plan = plan_audit(AuditFrame.from_arrays(cell["doc_id"].tolist(), dates, p), n_labels)
                stratum, n_strata = plan.stratum_of, len(plan.strata)
                sizes = np.bincount(stratum, minlength=n_strata)
                mean_p = np.bincount(stratum, weights=p, minlength=n_strata) / sizes
                positive = np.bincount(stratum, weights=yes, minlength=n_strata).astype(np.int64)
                labels = np.array([each.n_sampled for each in plan.strata])
                rng = error_generator(1, event, actor)
                error = model.draws(Cell(kind, event, actor), 20_000, rng)
                for _ in range(n_seeds):
                    k = rng.hypergeometric(positive, sizes - positive, labels)
                    design = estimate_total(k, labels, sizes)
                    others = unlabelled_yes(sizes, mean_p, labels, k, error, rng)
                    low, high = interval(k.sum() + others.sum(axis=1))
                    results.append(
                        (design.lower <= yes.sum() <= design.upper, design.width, low <= yes.sum() <= high, high - low)
                    )
            means = np.array(results, np.float64).mean(axis=0)
            names = ("coverage by design", "width by design", "coverage with the prior", "width with the prior")
            by_cell = np.array(results, np.float64).reshape(len(cells), n_seeds, -1).mean(axis=1)
            ratio = float((by_cell[:, 3] / by_cell[:, 1]).mean())
            named = dict(zip(names, means.tolist(), strict=True))
            rows.append({"corpus": corpus, "labels": n_labels, **named, "mean ratio of widths": ratio})
    return pd.DataFrame(rows)


def alternative_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Mean log score, coverage and width of the logarithm of true by counted documents, by three models of misses."""
    corpora = [(table["corpus"] == corpus, False) for corpus in table["corpus"].unique()]
    events = [
        ((table["corpus"] == corpus) & (table["event"] == event), True)
        for corpus, event in table[["corpus", "event"]].drop_duplicates().itertuples(index=False)
    ]
    rows = []
    for name, left_out in (("a corpus", corpora), ("an event of a corpus", events)):
        results = [_alternatives(table[~chosen], table[chosen], same) for chosen, same in left_out]
        means = np.concatenate(results).mean(axis=0)
        for model, figures in zip(
            ("relative to counted documents", "recall", "per document without"), means, strict=True
        ):
            measures = dict(zip(("log score", "coverage", "width"), figures.tolist(), strict=True))
            rows.append({"left out": name, "misses": model, **measures})
    return pd.DataFrame(rows)


def _alternatives(reference: pd.DataFrame, table: pd.DataFrame, same_corpus: bool) -> Floats:
    """Log score, coverage and width, float64 (n_cells, 3, 3), by model of misses, of the cells of a table."""
    n_others = (reference["n_documents"] - reference["n_above"]).to_numpy(np.float64)
    n_yes = reference["n_yes"].to_numpy(np.float64)
    of_documents = replace(MISSES, mean=-4.0, sd=1.5)
    recall_model = _fitted(reference, "binomial", "yes_above", n_yes, PRECISION)
    miss_model = _fitted(reference, "binomial", "yes_below", n_others, of_documents)
    model = fit_rule_error(reference)
    rng, figures = np.random.default_rng(0), []
    for (corpus, event, actor, kind), rows in table.groupby(["corpus", "event", "actor", "kind"]):
        counted, true, n_docs = (float(rows[name].sum()) for name in ("n_above", "n_yes", "n_documents"))
        if counted + true < FREQUENT:
            continue
        cell = Cell(str(kind), str(event), str(actor), str(corpus) if same_corpus else "")
        error = model.draws(cell, 4000, rng)
        precision = expit(error.precision)
        recall, miss = (expit(other.draws(cell, 4000, rng)[0]) for other in (recall_model, miss_model))
        counted = max(counted, 0.5)
        ratios = (precision + np.exp(error.misses), precision / recall, precision + miss * (n_docs - counted) / counted)
        truth = np.log((true + 0.5) / counted)
        of_models = []
        for logs in map(np.log, ratios):
            lower, upper = np.quantile(logs, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
            score = float(np.log(norm.pdf(truth, logs, 0.2).mean()))  # a kernel estimate of the density
            of_models.append((score, float(lower <= truth <= upper), float(upper - lower)))
        figures.append(of_models)
    return np.array(figures).reshape(-1, 3, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where rule_reference.py kept P and answers")
    parser.add_argument("--seeds", type=int, default=200, help="samples of labels for each count")
    parser.add_argument("--only", choices=PARTS, action="append")
    options = parser.parse_args()
    documents = pd.read_parquet(options.folder / "labelled.parquet")
    table = reference_table(documents, "")
    parts = options.only or PARTS
    if "coverage" in parts:
        markdown("Months and quarters of 30% of MUC", coverage_rows(documents, table, {}), digits=2)
    if "totals" in parts:
        markdown("Totals", total_rows(documents, table, {}), digits=2)
    if "reader" in parts:
        bins, scores = reader_rows(documents, table, {})
        markdown("P that a reader says yes, 30% of MUC", bins, digits=2)
        print(scores)
    if "labels" in parts:
        markdown("Totals with labels", label_rows(documents, table, {}, options.seeds), digits=2)
    if "alternatives" in parts:
        markdown("Models of misses", alternative_rows(table), digits=2)
    if "priors" in parts:
        for name, prior in PRIORS.items():
            markdown(f"Prior: {name}", coverage_rows(documents, table, prior), digits=2)


if __name__ == "__main__":
    main()
