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
from events.audit._plan import AuditPlan, extend_plan
from events.audit._strata import target_strata
from events.rule_error import _model
from events.rule_error._counts import error_generator, expected_width, reader_probability, true_counts, unlabelled_yes
from events.rule_error._model import (
    CLASSES,
    MISSES,
    PRECISION,
    Cell,
    Prior,
    RuleError,
    RuleErrorModel,
    log_odds,
)

LEVEL = 0.95
N_DRAWS = 1000
FREQUENT = 9  # documents with a yes
SHARE_OF_DEV = 70  # percent of MUC in the reference class of "with MUC"
LABELS = (25, 50, 100, 200)
PARTS = ("coverage", "totals", "reader", "labels", "promise", "uncovered", "simulated", "priors")
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
        model = RuleErrorModel(reference, **prior)
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
        model = RuleErrorModel(table[table["corpus"] != corpus], **prior)
        for (event, actor, kind), cell in cells_of(of_corpus):
            same = (table["corpus"] == corpus) & (table["event"] == event) & (table["actor"] == actor)
            other = covered(cell, model, Cell(kind, event, actor), "Y")
            without = covered(cell, RuleErrorModel(table[~same], **prior), Cell(kind, event, actor, str(corpus)), "Y")
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


def of_readers(documents: pd.DataFrame, cell: Cell, model: RuleErrorModel) -> Floats:
    """P that a reader says yes of each document of a cell: float64 (n_docs,)."""
    p, rng = documents["p"].to_numpy(float), error_generator(0, cell.event, cell.actor)
    error = model.draws(cell, [p.sum(), *in_classes(documents)[0]], N_DRAWS, rng)
    of_class = pd.Index(CLASSES).get_indexer(documents["cooccurrence"].replace("", CLASSES[-1]))
    return reader_probability(p, error).mean(axis=0)[np.arange(len(p)), of_class]


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
        model = RuleErrorModel(reference, **prior)
        parts = []
        for (event, actor, kind), cell in cells_of(muc[~development]):
            reader = of_readers(cell, Cell(kind, event, actor, corpus), model)
            parts.append(pd.DataFrame({"p": cell["p"], "reader": reader, "yes": cell["yes"]}))
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


def label_strata(cell: pd.DataFrame, n_labels: int, *, classes: bool = True) -> tuple[AuditPlan, Ints]:
    """Plan of an audit of a cell, and the number of documents with a yes in each of its strata."""
    dates, cooccurrence = np.full(len(cell), "2000-01-01"), cell["cooccurrence"].tolist() if classes else None
    columns = cell["doc_id"].tolist(), dates, cell["p"].to_numpy()
    frame = AuditFrame.from_arrays(*columns, event=str(cell["event"].iloc[0]), cooccurrence=cooccurrence)
    plan = plan_audit(frame, n_labels)
    return plan, np.bincount(plan.stratum_of, cell["yes"], len(plan.strata)).astype(np.int64)


def with_labels(
    cell: pd.DataFrame, plan: AuditPlan, positive: Ints, error: RuleError | None, n_seeds: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Of samples of labels: coverage and width by design and with draws of an error, and yes in "neither" (warned)."""
    sizes, mean_p, classes = target_strata(plan.frame, 0, plan.stratum_of, len(plan.strata))
    labels, truth = np.array([each.n_sampled for each in plan.strata]), int(cell["yes"].sum())
    is_neither, results = np.array(["neither" in each.name for each in plan.strata]), []
    for _ in range(n_seeds):
        k = rng.hypergeometric(positive, sizes - positive, labels)
        design = estimate_total(k, labels, sizes)
        row = {"design": design.lower <= truth <= design.upper, "design width": design.width}
        if error is not None:
            low, high = interval(k.sum() + unlabelled_yes(sizes, mean_p, classes, labels, k, error, rng).sum(axis=1))
            warned = bool(k[is_neither].sum())
            row |= {"prior": low <= truth <= high, "prior width": high - low, "warned": warned}
            row["first on the screen"] = row["design"] if warned else row["prior"]
        results.append(row)
    return pd.DataFrame(results)


def label_cells(
    documents: pd.DataFrame, table: pd.DataFrame
) -> Iterator[tuple[str, str, pd.DataFrame, RuleError, np.random.Generator]]:
    """Cells that are labelled, with corpus and group, and the error of their rule without the corpus."""
    for corpus in ("muc", "police"):
        model = RuleErrorModel(table[table["corpus"] != corpus])
        for (event, actor, kind), cell in cells_of(documents[documents["corpus"] == corpus]):
            group = {"muc": "any and nobody" if kind in ("any", "nobody") else "actors"}.get(corpus, "three rules")
            if event == "police_action":
                group = event
            if event != "violence" and corpus == "muc":
                continue
            rng = error_generator(1, event, actor)
            documents_of = [cell["p"].sum(), *in_classes(cell)[0]]
            yield corpus, group, cell, model.draws(Cell(kind, event, actor), documents_of, 20_000, rng), rng


def label_rows(documents: pd.DataFrame, table: pd.DataFrame, n_seeds: int) -> pd.DataFrame:
    """Totals from labels: strata of P alone, and classes, by design and with the prior without the corpus."""
    rows = []
    for corpus, group, cell, error, rng in label_cells(documents, table):
        for n_labels in LABELS:
            plan, positive = label_strata(cell, n_labels, classes=False)
            of_p = with_labels(cell, plan, positive, None, n_seeds, rng)["design width"].mean()
            plan, positive = label_strata(cell, n_labels)
            means = with_labels(cell, plan, positive, error, n_seeds, rng).mean()
            names = {"corpus": corpus, "of": group, "labels": n_labels, "width, strata of P": of_p}
            rows.append({**names, **means, "ratio": means["prior width"] / of_p})
    return pd.DataFrame(rows).groupby(["corpus", "of", "labels"], as_index=False).mean()


def promise_rows(documents: pd.DataFrame, table: pd.DataFrame, n_seeds: int) -> pd.DataFrame:
    """Width that is promised for 50 further labels, as in `audit estimate`, over the width that then comes."""
    rows = []
    for corpus, group, cell, error, rng in label_cells(documents, table):
        for n_labels in LABELS[:-1]:
            plan, positive = label_strata(cell, n_labels)
            strata = target_strata(plan.frame, 0, plan.stratum_of, len(plan.strata))
            before, after = (np.array(each) for each in (plan.rounds[-1], extend_plan(plan, 50).rounds[-1]))
            fewer = RuleError(error.precision[:5000], error.misses[:5000])
            for _ in range(n_seeds):
                k = rng.hypergeometric(positive, strata[0] - positive, before)
                more = rng.hypergeometric(positive - k, strata[0] - positive - before + k, after - before)
                promised = expected_width(*strata, after, fewer, rng, LEVEL, (before, k))
                draws = unlabelled_yes(*strata, after, k + more, error, rng).sum(axis=1)
                ratio = promised / float(np.ptp(interval(draws)))
                rows.append({"corpus": corpus, "of": group, "labels": n_labels, "ratio": ratio})
    grouped = pd.DataFrame(rows).groupby(["corpus", "of", "labels"], as_index=False)["ratio"]
    quantiles = {f"{q:.0%}": grouped.quantile(q)["ratio"] for q in (0.05, 0.5, 0.95)}
    return grouped.mean().assign(**quantiles)


def uncovered_rows(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """Fifty labels in corpora whose rule words miss half of what readers count: one corpus, one sample of labels."""
    rng, model, results = np.random.default_rng(0), RuleErrorModel(table), []
    for _ in range(n):
        n_documents, share = int(rng.integers(400, 2001)), rng.uniform(0.1, 0.3)
        true = rng.random(n_documents) < share
        has_word = np.where(true, rng.random(n_documents) < 0.5, rng.random(n_documents) < rng.uniform(0.1, 0.3))
        p = has_word & (rng.random(n_documents) < np.where(true, 0.8, 0.2))
        near = np.where(rng.random(n_documents) < np.where(true, 0.8, 0.4), "sentence", "document")
        columns = {"event": "e", "doc_id": np.arange(n_documents).astype(str), "p": p.astype(float), "yes": true}
        cell = pd.DataFrame({**columns, "cooccurrence": np.where(has_word, near, "")})
        plan, positive = label_strata(cell, 50)
        error = model.draws(Cell("named", "e", "A"), [p.sum(), *in_classes(cell)[0]], 20_000, rng)
        results.append(with_labels(cell, plan, positive, error, 1, rng))
    return pd.concat(results).mean().to_frame().T


def label_picture(rows: pd.DataFrame, path: Path) -> None:
    """Width of the interval of a total against labels, relative to that of strata of P with the fewest labels."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    for ax, group, title in zip(
        axes, ("actors", "three rules"), ("MUC, five actors", "Police, three rules"), strict=True
    ):
        of_group = rows[rows["of"] == group]
        for name, column, style in (
            ("labels, strata of P", "width, strata of P", "o--"),
            ("labels, strata by class", "design width", "s-."),
            ("labels and other rules", "prior width", "D-"),
        ):
            ax.plot(of_group["labels"], of_group[column], style, label=name)
        ax.axhline(0.0, color="0.4", linestyle=":", label="all documents read")
        ax.set(title=title, xlabel="labels", xscale="log", xticks=LABELS, xticklabels=LABELS)
        ax.minorticks_off()
    axes[0].set_ylabel("width of the interval, documents")
    axes[0].legend(fontsize=8)
    figure.savefig(path)


def simulated_rows(table: pd.DataFrame, n: int, left_out: Cell) -> pd.DataFrame:
    """How often the total of a cell holds whose errors, and those of all other cells, are drawn from the prior."""
    cells = table.groupby(list(_model.CELL), as_index=False)[list(_model.NUMBERS)].sum()
    is_left_out = (cells[list(Cell._fields)] == list(left_out)).all(axis=1).to_numpy()
    cells["n_neither"] = cells["n_documents"] - cells[["n_above", *_model.N_OF]].sum(axis=1)
    odds = [log_odds(cells["n_above"], cells[name]) for name in _model.N_OF]
    rng, results = np.random.default_rng(0), []
    rows = {name: cells[name].to_numpy() for name in Cell._fields} | {"cell": np.arange(len(cells))}
    weights = _model.FACTORS * np.exp(-0.5 * _model.FACTORS**2)
    event_of = cells.groupby(["corpus", "event"]).ngroup().to_numpy()
    columns = ("n_above", *_model.N_OF, "n_neither")
    for _ in range(n):
        logits = []
        for prior in (PRECISION, MISSES):
            n_classes = len(prior.means)
            of_classes = {name: np.tile(column, n_classes) for name, column in rows.items()}
            of_classes["of_class"] = np.repeat(np.arange(n_classes), len(cells))
            of_classes["odds"] = np.concatenate(odds[:n_classes])
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
        model = RuleErrorModel(simulated[~is_left_out])
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
    parser.add_argument("--picture", type=Path, help="of widths against labels")
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
        rows = label_rows(documents, table, options.seeds)
        markdown("Totals with labels", rows, digits=2)
        if options.picture:
            label_picture(rows, options.picture)
    if "promise" in parts:
        markdown("Promised widths over those that came", promise_rows(documents, table, options.seeds), digits=2)
    if "uncovered" in parts:
        markdown("Words that miss half", uncovered_rows(table, 1000), digits=2)
    if "simulated" in parts:
        left_out = Cell("any", "bomb", "*", "muc")
        markdown("Totals in simulated corpora", simulated_rows(table, options.simulated, left_out), digits=3)
    if "priors" in parts:
        for name, prior in PRIORS.items():
            markdown(f"Prior: {name}", coverage_rows(documents, table, prior), digits=2)


if __name__ == "__main__":
    main()
