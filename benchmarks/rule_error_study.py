"""Does the outer band hold? python benchmarks/rule_error_study.py --folder FOLDER.

Coverage and width of counts with the error of rules. Reads P, the class and the answer of each document from the folder
of `rule_reference.py`. A corpus is counted with a reference class without it; MUC also with 70% of its reports in the
reference class, and the others counted. Totals are covered with a cell (event and actor) left out, too, and in corpora
that the model simulates. No text of a document is read.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from rule_reference import reference_table
from scipy.special import expit
from studies import markdown

from corefsample._arrays import Floats, Ints
from events.audit import AuditFrame, estimate_total, plan_audit
from events.rule_error import _model
from events.rule_error._counts import error_generator, reader_probability, true_counts, unlabelled_yes
from events.rule_error._model import CLASSES, MISSES, PRECISION, Cell, Prior, RuleErrorModel, fit_rule_error, log_odds

LEVEL = 0.95
N_DRAWS = 1000
FREQUENT = 9  # documents with a yes
SHARE_OF_DEV = 70  # percent of MUC in the reference class of "with MUC"
LABELS = (25, 50, 100, 200)
PARTS = ("coverage", "totals", "reader", "labels", "simulated", "priors")
Priors = dict[str, Prior]


def scaled(factor: float) -> Priors:
    """Default priors with other standard deviations."""
    names = ("common", "of_class", "kind", "corpus", "event", "actor", "cell", "slope_sd")
    return {
        name: replace(prior, **{each: factor * getattr(prior, each) for each in names})
        for name, prior in (("precision", PRECISION), ("misses", MISSES))
    }


PRIORS: Mapping[str, Priors] = {
    "effects half as large": scaled(0.5),
    "effects twice as large": scaled(2.0),
    "no slope": {
        "precision": replace(PRECISION, slope=0.0, slope_sd=0.0),
        "misses": replace(MISSES, slope=0.0, slope_sd=0.0),
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


def in_classes(documents: pd.DataFrame, period: Ints | None = None, n_periods: int = 1) -> Ints:
    """Numbers of documents with P of .5 or less, by period and class: int64 (n_periods, 3)."""
    of_class, n_classes = (
        pd.Index(CLASSES).get_indexer(documents["cooccurrence"].replace("", CLASSES[-1])),
        len(CLASSES),
    )
    cells = of_class + n_classes * (np.zeros(len(documents), np.int64) if period is None else period)
    return np.bincount(cells[documents["p"] <= 0.5], minlength=n_periods * n_classes).reshape(n_periods, n_classes)


def covered(documents: pd.DataFrame, model: RuleErrorModel, cell: Cell, length: str) -> dict[str, float]:
    """Coverage and mean width of both bands over periods, and of the total."""
    documents, period, n_periods = by_period(documents, length)
    rng = error_generator(0, cell.event, cell.actor)
    truth = np.bincount(period, weights=documents["yes"], minlength=n_periods)
    n_docs = np.bincount(period, minlength=n_periods)
    counts = sampled_counts(documents["p"].to_numpy(), period, n_periods, rng)
    classes = in_classes(documents, period, n_periods)
    error = model.draws(cell, [documents["p"].sum(), *classes.sum(axis=0)], N_DRAWS, rng)
    draws = true_counts(counts, n_docs, classes[:, :2], error, rng)
    (inner_low, inner_high), (low, high) = interval(counts), interval(draws)
    low, high = np.minimum(low, inner_low), np.maximum(high, inner_high)
    of_counts, of_draws = interval(counts.sum(axis=1)), interval(draws.sum(axis=1))
    return {
        "inner": float(((inner_low <= truth) & (truth <= inner_high)).mean()),
        "coverage": float(((low <= truth) & (truth <= high)).mean()),
        "width": float((high - low).mean()),
        "total": float(truth.sum()),
        "mean": float(draws.sum(axis=1).mean()),
        "lower": float(min(of_draws[0], of_counts[0])),
        "upper": float(max(of_draws[1], of_counts[1])),
    }


def cells_of(documents: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Frequent cells, by event, actor and kind."""
    for key, rows in documents.groupby(["event", "actor", "kind"], sort=False):
        if rows["yes"].sum() >= FREQUENT:
            yield key, rows  # type: ignore[misc]


def in_development(doc_ids: pd.Series) -> np.typing.NDArray[np.bool_]:
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
            logs = {
                f"{label} log ratio": np.log(r["upper"] / max(r["lower"], 1.0))
                for label, r in (("corpus", other), ("cell", without))
            }
            rows.append({**names, "mean": other["mean"], **ends, **held, **logs})
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
            error = model.draws(Cell(kind, event, actor, corpus), [p.sum(), *in_classes(cell)[0]], N_DRAWS, rng)
            of_class = pd.Index(CLASSES).get_indexer(cell["cooccurrence"].replace("", CLASSES[-1]))
            reader = reader_probability(p, error).mean(axis=0)[np.arange(len(p)), of_class]
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
                error = model.draws(Cell(kind, event, actor), [p.sum(), *in_classes(cell)[0]], 20_000, rng)
                others = [in_classes(cell[stratum == h])[0] for h in range(n_strata)]
                classes = np.array([each / max(each.sum(), 1) for each in others])
                for _ in range(n_seeds):
                    k = rng.hypergeometric(positive, sizes - positive, labels)
                    design = estimate_total(k, labels, sizes)
                    unlabelled = unlabelled_yes(sizes, mean_p, classes, labels, k, error, rng)
                    low, high = interval(k.sum() + unlabelled.sum(axis=1))
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


def simulated_rows(table: pd.DataFrame, n: int, left_out: Cell) -> pd.DataFrame:
    """How often the total of a cell holds whose errors, and those of all other cells, are drawn from the prior."""
    cells = table.groupby(list(_model.CELL), as_index=False)[list(_model.NUMBERS)].sum()
    is_left_out = (cells[list(Cell._fields)] == list(left_out)).all(axis=1).to_numpy()
    cells["n_neither"] = cells["n_documents"] - cells[["n_above", *_model.N_OF]].sum(axis=1)
    odds, rng, results = log_odds(cells["n_above"], cells["n_sentence"]), np.random.default_rng(0), []
    rows = {name: cells[name].to_numpy() for name in Cell._fields} | {"cell": np.arange(len(cells)), "odds": odds}
    weights = _model.FACTORS * np.exp(-0.5 * _model.FACTORS**2)
    event_of = cells.groupby(["corpus", "event"]).ngroup().to_numpy()
    columns = ("n_above", *_model.N_OF, "n_neither")
    for _ in range(n):
        logits = []
        for prior in (PRECISION, MISSES):
            n_classes = len(prior.means)
            of_classes = {name: np.tile(column, n_classes) for name, column in rows.items()}
            of_classes["of_class"] = np.repeat(np.arange(n_classes), len(cells))
            covariance = _model._covariance(prior, of_classes, of_classes)
            factor = rng.choice(len(weights), p=weights / weights.sum())
            effects = rng.multivariate_normal(_model._means(prior, of_classes), covariance[factor], method="eigh")
            logits += [*effects.reshape(-1, len(cells))]
        is_uncovered = rng.random(event_of.max() + 1) < rng.beta(1, _model.N_COVERED + 1)
        means, sds = np.transpose([_model.COVERED, _model.UNCOVERED])[:, is_uncovered.astype(np.int64)]
        logits.append(
            rng.normal(means, sds)[event_of] + log_odds(cells["n_above"], cells["n_documents"] - cells["n_above"])
        )
        of_period = _model.PERIOD_SD * rng.standard_normal(2)[[0, 1, 1, 1], None] * is_left_out
        yes = rng.binomial(cells[list(columns)].T, expit(np.array(logits) + of_period))
        simulated = cells.assign(**dict(zip(("yes_above", *_model.YES_OF), yes, strict=True)), sum_p=cells["n_above"])
        cell = simulated[is_left_out].iloc[0]
        model = fit_rule_error(simulated[~is_left_out])
        error = model.draws(left_out, cell[list(columns)].to_numpy(np.float64), N_DRAWS, rng)
        near = cell[list(_model.N_OF)].to_numpy(np.int64)[None]
        counts = np.full((N_DRAWS, 1), cell["n_above"])
        low, high = interval(true_counts(counts, [cell["n_documents"]], near, error, rng))
        results.append((low[0] <= yes[:, is_left_out].sum() <= high[0], high[0] - low[0]))
    held, width = np.array(results, np.float64).mean(axis=0)
    return pd.DataFrame([{**left_out._asdict(), "corpora": n, "held": held, "width": width}])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where rule_reference.py kept P and answers")
    parser.add_argument("--seeds", type=int, default=200, help="samples of labels for each count")
    parser.add_argument("--simulated", type=int, default=1000, help="simulated corpora")
    parser.add_argument("--only", choices=PARTS, action="append")
    options = parser.parse_args()
    documents = pd.read_parquet(options.folder / "labelled.parquet")
    table = reference_table(documents, "")
    parts = options.only or PARTS
    if "coverage" in parts:
        markdown("Months and quarters of 30% of MUC", coverage_rows(documents, table, {}), digits=2)
    if "totals" in parts:
        totals = total_rows(documents, table, {})
        markdown("Totals", totals, digits=2)
        print(totals[["corpus holds", "corpus log ratio", "cell holds", "cell log ratio"]].mean())
    if "reader" in parts:
        bins, scores = reader_rows(documents, table, {})
        markdown("P that a reader says yes, 30% of MUC", bins, digits=2)
        print(scores)
    if "labels" in parts:
        markdown("Totals with labels", label_rows(documents, table, {}, options.seeds), digits=2)
    if "simulated" in parts:
        left_out = Cell("any", "bomb", "*", "muc")
        markdown("Totals in simulated corpora", simulated_rows(table, options.simulated, left_out), digits=3)
    if "priors" in parts:
        for name, prior in PRIORS.items():
            markdown(f"Prior: {name}", coverage_rows(documents, table, prior), digits=2)


if __name__ == "__main__":
    main()
