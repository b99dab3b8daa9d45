"""The study `curves` of benchmarks/studies.py: smooth reliability curves and the choice of the bin size.

Simulated pairs whose true curve is known, and for the figure a tagger of newspaper text (docs/calibration-studies.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from calibration_studies import Design, SyntheticPairs, synthetic_pairs
from matplotlib.figure import Figure
from smooth_curves import SmoothCurve, smooth_curve
from tagger_studies import corpora
from tagger_studies.results import measured

from corefsample._arrays import Bools, Floats
from corefsample.calibration import reliability_curve
from corefsample.calibration._binning import default_bin_size
from corefsample.calibration._error import binned_error
from corefsample.plots import reliability_axes
from corefsample.tagging import HiddenMarkovModel

N_PAIRS, FEW_PAIRS = 20_000, 2000
BOTH_ENDS, SKEWED, EVEN = {"alpha": 0.5, "beta": 0.5}, {"alpha": 0.1, "beta": 1.0}, {"alpha": 1.0, "beta": 1.0}


class Bent(Design):
    """Predictions whose true probabilities bend smoothly around them: too low up to one half, too high above it."""

    def true_probs(self, q: Floats) -> Floats:
        return np.asarray(q + 0.1 * np.sin(2.0 * np.pi * q))


class Power(Design):
    """Predictions that are too high, most of all near zero: the true probability is q^1.4."""

    def true_probs(self, q: Floats) -> Floats:
        return np.asarray(q**1.4)


TRUTHS: dict[str, Callable[..., Design]] = {
    "perfect": Design,
    "temperature 2": lambda **options: Design(temperature=2.0, **options),
    "bent": Bent,
    "off by .1": lambda **options: Design(shift=0.1, **options),
}


def coverage(n_replications: int) -> pd.DataFrame:
    """How often the band of few pairs contains the true curve, whole or in part."""
    rows = []
    for dependence, words in ((0.0, "independent"), (0.1, "in documents")):
        for truth, made in {"perfect": Design, "q^1.4": Power, "bent": Bent}.items():
            design = made(**EVEN, dependence=dependence)
            curves = []
            for seed in range(n_replications):
                pairs = synthetic_pairs(FEW_PAIRS, design, seed=seed)
                documents = pairs.documents if dependence else None
                curves.append(held(smooth_curve(pairs.q, pairs.y, documents=documents), design))
            inside = np.array([each.mean() for each in curves])
            means = {"band holds": np.mean(inside == 1.0), "part of the curve held": inside.mean()}
            rows.append({"pairs": words, "truth": truth, **means})
    return pd.DataFrame(rows)


def held(curve: SmoothCurve, design: Design) -> Bools:
    """At which places the band contains the true share."""
    truth = design.true_probs(curve.q)
    return np.asarray((curve.lower <= truth) & (truth <= curve.upper))


def tables(n_replications: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Coverage and distances of curves, and errors in bins of the chosen size, by design."""
    curves, errors = [], []
    for shape, options in (("Beta(0.5, 0.5)", BOTH_ENDS), ("Beta(0.1, 1)", SKEWED)):
        for dependence, words in ((0.0, "independent"), (0.2, "in documents")):
            for truth, made in TRUTHS.items():
                design = made(**options, dependence=dependence)
                found = [one(synthetic_pairs(N_PAIRS, design, seed=seed), design) for seed in range(n_replications)]
                table = pd.DataFrame(found)
                key = {"pairs": words, "q": shape, "truth": truth}
                of_curves = ["band holds", "part of the curve held", "width", "smooth", "bins", "chosen bins"]
                means = table[of_curves].mean().to_dict()
                curves.append({**key, "bandwidth": table["bandwidth"].median(), **means})
                of_errors = ["true", "default, plain", "chosen, plain", "default, debiased", "chosen, debiased"]
                means = table[of_errors].mean().to_dict()
                errors.append({**key, "bin size": int(table["bin size"].median()), **means})
    return pd.DataFrame(curves), pd.DataFrame(errors)


def one(pairs: SyntheticPairs, design: Design) -> dict[str, Any]:
    """What one set of pairs gives."""
    curve = smooth_curve(pairs.q, pairs.y, documents=pairs.documents)
    inside = held(curve, design)
    row: dict[str, Any] = {
        "bandwidth": curve.bandwidth,
        "bin size": curve.bin_size,
        "band holds": bool(inside.all()),
        "part of the curve held": inside.mean(),
        "width": (curve.upper - curve.lower).mean(),
        "smooth": rms(np.interp(pairs.q, curve.q, curve.share) - pairs.p),
        "true": pairs.true_error,
    }
    for name, errors, size in (
        ("bins", "default", default_bin_size(N_PAIRS)),
        ("chosen bins", "chosen", curve.bin_size),
    ):
        bins = reliability_curve(pairs.q, pairs.y, bin_size=size).bins
        row[name] = rms(bins.mean_y[np.searchsorted(bins.q_max, pairs.q)] - pairs.p)
        row[f"{errors}, plain"] = binned_error(bins)
        row[f"{errors}, debiased"] = binned_error(bins, debiased=True)
    return row


def rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def figure() -> Figure:
    """Simulated pairs with their true curve, and NN of a hidden Markov model on newspaper text."""
    drawn = Figure(figsize=(9.4, 4.4), layout="constrained")
    left, right = drawn.subplots(1, 2)
    design = Bent(**SKEWED, dependence=0.1)
    pairs = synthetic_pairs(N_PAIRS, design, seed=3)
    draw(left, "simulated, skewed: the true curve is dotted", pairs.q, pairs.y, pairs.documents)
    grid = np.linspace(0.0, 1.0, 201)
    left.plot(grid, design.true_probs(grid), color="black", linewidth=1.0, linestyle=(0, (1, 1.2)))
    split = corpora.split_by_document(corpora.wsj_sentences())
    found = measured(HiddenMarkovModel(pseudocount=0.01).fit(split.train), split.test).pairs.of("NN")
    draw(right, "NN, hidden Markov model", found.q, found.y, found.documents)
    return drawn


def draw(ax: Any, title: str, q: Any, y: Any, documents: Any) -> SmoothCurve:
    reliability_axes(ax, {title: reliability_curve(q, y, documents=documents, bin_size=1000)})
    smooth = smooth_curve(q, y, documents=documents)
    ax.fill_between(smooth.q, smooth.lower, smooth.upper, color="C1", alpha=0.18, linewidth=0)
    ax.plot(smooth.q, smooth.share, color="C1", linewidth=1.4)
    ax.set_title(title, loc="left", fontsize=10)
    print(f"{title}: bandwidth {smooth.bandwidth:g}, bin size {smooth.bin_size}")
    return smooth
