"""Coverage and width of every method of the audit: python benchmarks/audit_study.py [--only PART] [--save FILE].

Over a grid of corpus size, share of positive documents, quality of P, number of labels, and division into strata; and
by year. A corpus is made once for each cell. Coverage and mean width of intervals that are joined from strata are
computed by enumeration of the numbers of positive labels, or from 20,000 samples where there are more than 200,000
outcomes. Other methods are simulated, with the number of samples printed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from audit_corpora import (
    LEVEL,
    Bools,
    Corpus,
    Division,
    Floats,
    Ints,
    by_default,
    corpora,
    interval_figures,
    labels_alone,
)
from audit_periods import periods_part
from scipy.stats import norm

from events.audit._totals import DEFAULT_METHOD, METHODS

USEFUL = 0.8  # area under the curve


# --- intervals joined from strata --------------------------------------------------------------------------


def joined_part(seed: int) -> pd.DataFrame:
    """Coverage and width of the joined methods, and of labels alone, in every cell."""
    rows = []
    for corpus in corpora(seed):
        alone = labels_alone(corpus)
        about = {**corpus.row(), "alone": alone.width}
        rows.append({**about, "method": "labels alone", "coverage": alone.coverage, "width": alone.width, "error": 0.0})
        for method in METHODS:
            found = interval_figures(corpus, method)
            figures = {"coverage": found.coverage, "width": found.width, "error": found.error}
            rows.append({**about, "method": method, **figures})
    return pd.DataFrame(rows)


def _keyword(found: float, wrong: float) -> Division:
    """P crossed with a keyword that is in a share of the positive documents, and of the others."""

    def division(truth: Bools, rng: np.random.Generator) -> dict[str, object]:
        has_keyword = rng.random(len(truth)) < np.where(truth, found, wrong)
        return {"groups": np.where(has_keyword, "keyword", "no keyword").tolist()}

    return division


def _fixed(*cuts: float) -> Division:
    return lambda truth, rng: {"cuts": cuts}


DIVISIONS: dict[str, Division] = {
    "P, one bound at .5": _fixed(0.5),
    "P, bounds chosen (the default)": by_default,
    "P, bounds at .1, .3, .5, .7, .9": _fixed(0.1, 0.3, 0.5, 0.7, 0.9),
    "P and a weak keyword (.6, .3)": _keyword(0.6, 0.3),
    "P and a good keyword (.9, .1)": _keyword(0.9, 0.1),
    "P and a rare keyword (.3, .001)": _keyword(0.3, 0.001),
    "P and years": lambda truth, rng: {"by": "year"},
}


def strata_part(seed: int) -> pd.DataFrame:
    """Coverage and width of the default for some divisions into strata, in some of the cells."""
    rows = []
    chosen = {"sizes": (2_000, 20_000), "shares": (0.01, 0.05, 0.15), "labels": (200, 500, 1000)}
    models = (
        "useless",
        "good",
        "good, overconfident",
        "good, misses a third",
        "excellent",
        "excellent, misses a third",
    )
    for name, division in DIVISIONS.items():
        for corpus in corpora(seed, division=division, qualities=models, **chosen):  # type: ignore[arg-type]
            found = interval_figures(corpus, DEFAULT_METHOD)
            figures = {"coverage": found.coverage, "width": found.width, "error": found.error}
            row = {**corpus.row(), "strata": name, "alone": labels_alone(corpus).width, **figures}
            rows.append({**row, "method": DEFAULT_METHOD})
    return pd.DataFrame(rows)


# --- simulated methods -------------------------------------------------------------------------------------


def stratified_draws(corpus: Corpus, n_draws: int, rng: np.random.Generator) -> Ints:
    """Numbers of positive labels of stratified samples: (n_draws, n_strata)."""
    shape = n_draws, len(corpus.sizes)
    return rng.hypergeometric(corpus.positive, corpus.sizes - corpus.positive, corpus.labelled, shape)


def jeffreys_figures(corpus: Corpus, n_draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Coverage and mean width of the posterior interval, from 2,000 draws of each posterior."""
    k = stratified_draws(corpus, n_draws, rng)[:, None, :]
    rest = corpus.sizes - corpus.labelled
    rates = rng.beta(k + 0.5, corpus.labelled - k + 0.5, (n_draws, 2000, len(rest)))
    totals = k.sum(axis=2) + rng.binomial(rest, rates).sum(axis=2)
    low, high = np.quantile(totals, [0.5 * (1 - LEVEL), 0.5 * (1 + LEVEL)], axis=1)
    return float(((np.floor(low) <= corpus.total) & (corpus.total <= np.ceil(high))).mean()), float((high - low).mean())


def normal_figures(corpus: Corpus, n_draws: int, rng: np.random.Generator, *, tuned: bool) -> tuple[float, float]:
    """Coverage and mean width of prediction-powered inference with a normal interval, from simple random samples.

    Angelopoulos et al. (2023), "PPI++", Algorithm 1; without tuning it is the difference estimator.
    """
    low, high = np.empty(n_draws), np.empty(n_draws)
    n, size = corpus.n_labels, corpus.n_documents
    for draw in range(n_draws):
        rows = rng.choice(size, n, replace=False, shuffle=False)
        low[draw], high[draw] = ppi_interval(corpus.truth[rows].astype(float), corpus.p[rows], corpus.p, tuned=tuned)
    covered = (low * size <= corpus.total) & (corpus.total <= high * size)
    return float(covered.mean()), float(size * (high - low).mean())


def ppi_interval(y: Floats, p: Floats, every_p: Floats, *, tuned: bool) -> tuple[float, float]:
    """Normal interval of the mean of y, with P of the labelled documents and of all."""
    n, size, spread = len(y), len(every_p), float(np.var(np.concatenate((p, every_p))))
    weight = 1.0
    if tuned:
        covariance = float(((y - y.mean()) * (p - p.mean())).mean())
        weight = float(np.clip(covariance / ((1 + n / size) * spread), 0.0, 1.0)) if spread > 0 else 0.0
    estimate = weight * every_p.mean() + (y - weight * p).mean()
    variance = weight**2 * every_p.var() / size + (y - weight * p).var() / n
    half = norm.isf(0.5 * (1 - LEVEL)) * np.sqrt(variance)
    return float(estimate - half), float(estimate + half)


def simulated_part(seed: int, n_draws: int) -> pd.DataFrame:
    """Coverage and width of the posterior and of prediction-powered inference, with 100 and 500 labels."""
    rows = []
    for corpus in corpora(seed, labels=(100, 500)):
        rng = np.random.default_rng([seed, corpus.n_documents, corpus.n_labels])
        alone = labels_alone(corpus).width
        found = {"jeffreys": jeffreys_figures(corpus, n_draws, rng)}
        if corpus.n_documents <= 20_000:
            found["difference, normal"] = normal_figures(corpus, n_draws, rng, tuned=False)
            found["PPI++, normal"] = normal_figures(corpus, n_draws, rng, tuned=True)
        for method, (coverage, width) in found.items():
            rows.append({**corpus.row(), "method": method, "coverage": coverage, "width": width, "alone": alone})
    return pd.DataFrame(rows)


def compare_with_ppi_py() -> None:
    """Show that our formula of PPI++ gives the intervals of ppi_py, where it is installed."""
    try:
        from ppi_py import ppi_mean_ci
    except ImportError:
        print("\nppi_py is not installed: its intervals are not compared")
        return
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(20):
        every_p = rng.beta(0.3, 1.0, 2000)
        p = every_p[:100]
        y = (rng.random(100) < p).astype(float)
        for tuned in (False, True):
            theirs = ppi_mean_ci(y, p, every_p, alpha=1 - LEVEL, lam=None if tuned else 1)
            ours = ppi_interval(y, p, every_p, tuned=tuned)
            largest = max(largest, *(abs(float(np.ravel(a)[0]) - b) for a, b in zip(theirs, ours, strict=True)))
    print(f"\nlargest difference from ppi_py over 40 intervals of a share: {largest:.1e}")


# --- tables ------------------------------------------------------------------------------------------------


def summarised(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Coverage and width by method, or by other columns too."""
    error = table.get("error", 0.0)
    is_low = table["coverage"] + 3.0 * error < 0.93
    table = table.assign(ratio=table["width"] / table["alone"], useful=table["auc"] >= USEFUL, is_low=is_low)
    grouped = table.groupby(keys, sort=False)
    useful = table[table["useful"]].groupby(keys, sort=False)["ratio"].median()
    return pd.DataFrame(
        {
            "cells": grouped.size(),
            "mean coverage": grouped["coverage"].mean(),
            "lowest": grouped["coverage"].min(),
            "below .93": grouped["is_low"].sum(),
            "median width / alone": grouped["ratio"].median(),
            "useful P": useful,
        }
    )


def show(title: str, table: pd.DataFrame) -> None:
    """Print a table under its title."""
    print(f"\n{title}\n{table.round(3).to_string()}", flush=True)


def main() -> None:
    """Run the parts asked for, or all, and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["joined", "strata", "years", "simulated"], help="one part alone")
    parser.add_argument("--draws", type=int, default=100, help="samples of each cell of the simulated methods")
    parser.add_argument("--seed", type=int, default=0, help="of the corpora")
    parser.add_argument("--save", metavar="FILE", help="CSV of all cells")
    arguments = parser.parse_args()
    started, tables = time.process_time(), []
    if arguments.only in (None, "joined"):
        joined = joined_part(arguments.seed)
        tables.append(joined)
        show("Joined by MOVER, and labels alone", summarised(joined, ["method"]))
        print(
            f"cells from samples: {(joined['error'] > 0).mean():.0%}, standard error up to {joined['error'].max():.4f}"
        )
        default = joined[joined["method"] == DEFAULT_METHOD]
        for column in ("n_documents", "share", "quality", "n_labels"):
            show(f"The default by {column}", summarised(default, [column]))
    if arguments.only in (None, "strata"):
        tables.append(strata_part(arguments.seed))
        show("The default by division into strata", summarised(tables[-1], ["strata"]))
        show("The same by quality of P", summarised(tables[-1], ["quality", "strata"]))
    if arguments.only in (None, "years"):
        tables.append(periods_part(arguments.seed, arguments.draws))
        show(f"Intervals of years, {arguments.draws} samples", tables[-1])
        show(
            "The same by scenario",
            tables[-1].groupby(["years", "by"], sort=False)[["coverage", "lowest", "ratio"]].mean(),
        )
    if arguments.only in (None, "simulated"):
        tables.append(simulated_part(arguments.seed, arguments.draws))
        show(f"Simulated, {arguments.draws} samples of each cell", summarised(tables[-1], ["method"]))
        compare_with_ppi_py()
    print(f"\n{time.process_time() - started:.0f} seconds of processor time")
    if arguments.save:
        pd.concat(tables).to_csv(arguments.save, index=False)


if __name__ == "__main__":
    main()
