"""Coverage and width of every method of the audit: python benchmarks/audit_study.py [--only PART] [--save FILE].

Over a grid of corpus size, share of positive documents, quality of P and number of labels. A corpus is made once for
each cell; then coverage and mean width of intervals that are joined from strata are computed exactly, by enumeration of
the numbers of positive labels, without simulation. Other methods are simulated, with the number of samples printed.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import hypergeom, norm

from events.audit import DEFAULT_METHOD, AuditFrame, allocate, estimate_total
from events.audit._guaranteed import guaranteed_limits
from events.audit._strata import cut_classes, expected_spreads
from events.audit._totals import gamma_limit, stratum_limits

LEVEL = 0.95
SIZES = (300, 2_000, 20_000, 200_000)
SHARES = (0.001, 0.01, 0.05, 0.15, 0.4)
LABELS = (50, 100, 200, 500, 1000)
JOINED = ("mid-p", "shortest", "exact", "wilson")
USEFUL = 0.8  # area under the curve
_GUARANTEED = 40  # samples of a cell of the guaranteed method, which takes a second
NEGLIGIBLE = 1e-9  # probability of numbers of labels that are left out of the enumeration
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Area under the curve, factor of the evidence (2: overconfident), and share of positives that have P = 0 in any case.
QUALITIES = {
    "useless": (0.5, 1.0, 0.0),
    "weak": (0.7, 1.0, 0.0),
    "good": (0.9, 1.0, 0.0),
    "good, overconfident": (0.9, 2.0, 0.0),
    "good, underconfident": (0.9, 0.5, 0.0),
    "good, misses a third": (0.9, 1.0, 1 / 3),
    "excellent": (0.98, 1.0, 0.0),
    "excellent, overconfident": (0.98, 2.0, 0.0),
    "excellent, misses a third": (0.98, 1.0, 1 / 3),
    "perfect": (1.0, 1.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class Corpus:
    """One cell of the grid: P and truth of every document, and the strata with their labels."""

    n_documents: int
    share: float
    quality: str
    n_labels: int
    p: Floats
    truth: npt.NDArray[np.bool_]
    sizes: Ints
    positive: Ints
    labelled: Ints

    @property
    def total(self) -> int:
        return int(self.truth.sum())

    def auc(self) -> float:
        """Area under the curve of P: the chance that a positive document has the higher P; ties count one half."""
        values, codes = np.unique(self.p, return_inverse=True)
        positive = np.bincount(codes[self.truth], minlength=len(values))
        negative = np.bincount(codes[~self.truth], minlength=len(values))
        below = np.cumsum(negative) - 0.5 * negative
        return float((positive * below).sum() / max(positive.sum() * negative.sum(), 1))

    def row(self) -> dict[str, object]:
        names = ("n_documents", "share", "quality", "n_labels")
        return {**{name: getattr(self, name) for name in names}, "auc": self.auc()}


def corpora(seed: int) -> Iterator[Corpus]:
    """The cells of the grid: at most half of a corpus is labelled, and there is at least one positive document."""
    for n, share, quality in itertools.product(SIZES, SHARES, QUALITIES):
        rng = np.random.default_rng([seed, n, int(1000 * share), list(QUALITIES).index(quality)])
        p, truth = _scored(n, share, quality, rng)
        frame = AuditFrame.from_arrays(list(map(str, range(n))), np.full(n, "2000-01-01", "datetime64[D]"), p)
        present, strata = np.unique(cut_classes(p, [0.5]), return_inverse=True)
        sizes = np.bincount(strata)
        spreads = expected_spreads(frame, strata, len(present))
        for n_labels in LABELS:
            if n_labels <= n // 2:
                labelled = allocate(sizes, spreads, n_labels, floor=5)
                positive = np.bincount(strata[truth], minlength=len(present))
                yield Corpus(n, share, quality, n_labels, p, truth, sizes, positive, labelled)


def _scored(n: int, share: float, quality: str, rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """P and truth of n documents: P is the posterior of a normal score, the share of 1,000 samples with the event."""
    auc, factor, missed = QUALITIES[quality]
    truth = np.zeros(n, np.bool_)
    truth[: max(1, round(share * n))] = True
    if auc == 1.0:
        return truth.astype(float), truth
    distance = np.sqrt(2.0) * norm.ppf(auc)
    evidence = distance * (rng.normal(size=n) + distance * truth) - 0.5 * distance**2
    p = rng.binomial(1000, expit(logit(share) + factor * evidence)) / 1000
    p[truth & (rng.random(n) < missed)] = 0.0
    return p, truth


# --- intervals joined from strata, exactly -----------------------------------------------------------------


def outcomes(corpus: Corpus) -> list[tuple[Ints, Floats]]:
    """Of each stratum the numbers of positive labels that are not negligible, and their probabilities."""
    found = []
    for size, positive, n in zip(corpus.sizes, corpus.positive, corpus.labelled, strict=True):
        k = np.arange(max(0, n - (size - positive)), min(n, positive) + 1)
        pmf = hypergeom.pmf(k, size, positive, n)
        kept = pmf > NEGLIGIBLE
        found.append((k[kept], pmf[kept] / pmf[kept].sum()))
    return found


def exact_figures(corpus: Corpus, method: str) -> tuple[float, float]:
    """Coverage and mean width of a method that joins the intervals of strata by MOVER."""
    estimate = below = above = variance = np.zeros(())
    n_spread = np.zeros((), np.int64)
    weight = np.ones(())
    known_low = known_high = np.zeros((), np.int64)
    own = "shortest" if method == "mid-p" and np.count_nonzero(corpus.labelled < corpus.sizes) == 1 else method
    strata = zip(outcomes(corpus), corpus.sizes, corpus.labelled, strict=True)
    for h, ((k, pmf), size, n) in enumerate(strata):
        lower, upper = stratum_limits(k, np.full_like(k, n), np.full_like(k, size), LEVEL, own)  # type: ignore[arg-type]
        shape = (-1,) + (1,) * (len(corpus.sizes) - 1 - h)
        centre = size * (k / n)
        estimate = estimate + centre.reshape(shape)
        spread = size * (k / n) * (1 - k / n) * (size / n - 1)
        variance, n_spread = variance + spread.reshape(shape), n_spread + (spread > 0).reshape(shape)
        below = below + ((centre - lower) ** 2).reshape(shape)
        above = above + ((upper - centre) ** 2).reshape(shape)
        weight = weight * pmf.reshape(shape)
        known_low, known_high = known_low + k.reshape(shape), known_high + (size - n + k).reshape(shape)
    # Rounded as in `estimate_total`.
    slack = 1e-9 * estimate
    lower, upper = estimate - np.sqrt(below), estimate + np.sqrt(above)
    several = n_spread > 1
    mean, spread, n = estimate[several], variance[several], corpus.n_documents
    lower[several] = np.minimum(lower[several], gamma_limit(mean, spread, LEVEL, method))
    upper[several] = np.maximum(upper[several], n - gamma_limit(n - mean, spread, LEVEL, method))
    low = np.maximum(np.ceil(lower - slack), known_low)
    high = np.minimum(np.floor(upper + slack), known_high)
    covered = (low <= corpus.total) & (corpus.total <= high)
    return float(weight[covered].sum()), float((weight * (high - low)).sum())


def labels_alone(corpus: Corpus) -> tuple[float, float]:
    """Coverage and mean width of the exact interval of a simple random sample, without P."""
    simple = Corpus(
        corpus.n_documents,
        corpus.share,
        corpus.quality,
        corpus.n_labels,
        corpus.p,
        corpus.truth,
        np.array([corpus.n_documents]),
        np.array([corpus.total]),
        np.array([corpus.n_labels]),
    )
    return exact_figures(simple, "exact")


def joined_part(seed: int) -> pd.DataFrame:
    """Coverage and width of the joined methods, and of labels alone, in every cell."""
    rows = []
    for corpus in corpora(seed):
        coverage, width = labels_alone(corpus)
        rows.append({**corpus.row(), "method": "labels alone", "coverage": coverage, "width": width, "alone": width})
        for method in JOINED:
            figures = dict(zip(("coverage", "width"), exact_figures(corpus, method), strict=True))
            rows.append({**corpus.row(), "method": method, **figures, "alone": width})
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
    for corpus in (each for each in corpora(seed) if each.n_labels in (100, 500)):
        rng = np.random.default_rng([seed, corpus.n_documents, corpus.n_labels])
        _, alone = labels_alone(corpus)
        found = {"jeffreys": jeffreys_figures(corpus, n_draws, rng)}
        if corpus.n_documents <= 20_000:
            found["difference, normal"] = normal_figures(corpus, n_draws, rng, tuned=False)
            found["PPI++, normal"] = normal_figures(corpus, n_draws, rng, tuned=True)
        for method, (coverage, width) in found.items():
            rows.append({**corpus.row(), "method": method, "coverage": coverage, "width": width, "alone": alone})
    return pd.DataFrame(rows)


def guaranteed_part(seed: int, n_draws: int) -> pd.DataFrame:
    """Coverage and width of the guaranteed method, on a coarse grid of totals, in some of the cells."""
    rows = []
    settings = itertools.product((300, 20_000), (0.01, 0.15), list(QUALITIES)[::3], (50, 200))
    wanted = set(settings)
    names = ("n_documents", "share", "quality", "n_labels")
    chosen = [each for each in corpora(seed) if tuple(getattr(each, name) for name in names) in wanted]
    for corpus in chosen:
        rng = np.random.default_rng([seed, corpus.n_documents, corpus.n_labels])
        drawn, counts = np.unique(stratified_draws(corpus, n_draws, rng), axis=0, return_counts=True)
        limits = np.array(
            [guaranteed_limits(k, corpus.labelled, corpus.sizes, 1 - LEVEL, steps=60, values=180) for k in drawn]
        )
        covered = (limits[:, 0] <= corpus.total) & (corpus.total <= limits[:, 1])
        joined = [estimate_total(k, corpus.labelled, corpus.sizes).width for k in drawn]
        row = {"coverage": float(counts[covered].sum() / n_draws), "alone": labels_alone(corpus)[1]}
        width = float((limits[:, 1] - limits[:, 0]) @ counts / n_draws)
        default = float(np.array(joined) @ counts / n_draws)
        rows.append({**corpus.row(), "method": "guaranteed", **row, "width": width, "default": default})
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
    table = table.assign(ratio=table["width"] / table["alone"], useful=table["auc"] >= USEFUL)
    grouped = table.groupby(keys, sort=False)
    useful = table[table["useful"]].groupby(keys, sort=False)["ratio"].median()
    return pd.DataFrame(
        {
            "cells": grouped.size(),
            "mean coverage": grouped["coverage"].mean(),
            "lowest": grouped["coverage"].min(),
            "below .93": grouped["coverage"].apply(lambda values: (values < 0.93).sum()),
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
    parser.add_argument("--only", choices=["joined", "simulated", "guaranteed"], help="one part alone")
    parser.add_argument("--draws", type=int, default=100, help="samples of each cell of the simulated methods")
    parser.add_argument("--seed", type=int, default=0, help="of the corpora")
    parser.add_argument("--save", metavar="FILE", help="CSV of all cells")
    arguments = parser.parse_args()
    started, tables = time.process_time(), []
    if arguments.only in (None, "joined"):
        joined = joined_part(arguments.seed)
        tables.append(joined)
        show("Joined by MOVER, and labels alone: exact coverage", summarised(joined, ["method"]))
        default = joined[joined["method"] == DEFAULT_METHOD]
        for column in ("n_documents", "share", "quality", "n_labels"):
            show(f"The default by {column}", summarised(default, [column]))
    if arguments.only in (None, "simulated"):
        tables.append(simulated_part(arguments.seed, arguments.draws))
        show(f"Simulated, {arguments.draws} samples of each cell", summarised(tables[-1], ["method"]))
        compare_with_ppi_py()
    if arguments.only in (None, "guaranteed"):
        found = guaranteed_part(arguments.seed, _GUARANTEED)
        tables.append(found)
        show(f"Guaranteed, {_GUARANTEED} samples of each of some cells", summarised(found, ["method"]))
        print(f"median width / width of the default: {(found['width'] / found['default']).median():.3f}")
    print(f"\n{time.process_time() - started:.0f} seconds of processor time")
    if arguments.save:
        pd.concat(tables).to_csv(arguments.save, index=False)


if __name__ == "__main__":
    main()
