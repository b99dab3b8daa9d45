"""The paper's Figure 1: bins of equal width against adaptive bins, for one tag whose predictions are skewed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from corefsample.calibration import calibration_error, reliability_curve
from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.plots.style import COLOURS
from corefsample.tagging import HiddenMarkovModel
from corefsample.tagging._labelled import EventPairs
from tagger_studies import corpora
from tagger_studies.results import Output, measured, shown, verdict

TAG = "NN"
BINNINGS = {
    "equal width 0.02": {"n_bins": 50, "strategy": "uniform"},
    "equal width 0.1": {"n_bins": 10, "strategy": "uniform"},
    "adaptive, 1,000 per bin": {"bin_size": 1000},
}


def run(output: Output) -> None:
    """Run the study `figure1`."""
    split = corpora.split_by_document(corpora.wsj_sentences())
    model = HiddenMarkovModel(pseudocount=0.01).fit(split.train)  # chosen on dev by the study `tagging`
    pairs = measured(model, split.test).pairs.of(TAG)
    ends = np.mean((pairs.q < 0.02) | (pairs.q > 0.98))
    output.say(f"{pairs.n:,} predictions of {TAG}, of which {ends:.0%} are below .02 or above .98")
    curves, rows = {}, []
    for name, options in BINNINGS.items():
        curve = reliability_curve(pairs.q, pairs.y, documents=pairs.documents, **options)
        error = calibration_error(pairs.q, pairs.y, documents=pairs.documents, debiased=False, **options)
        widths = curve.upper - curve.lower
        curves[name] = curve
        rows.append(
            {
                "bins": name,
                "number": curve.bins.n_bins,
                "smallest bin": int(curve.bins.n.min()),
                "median width of intervals": float(np.median(widths)),
                "widest interval": float(widths.max()),
                "CalibErr": shown(error.estimate, (error.lower, error.upper)),
            }
        )
    table = pd.DataFrame(rows)
    output.table("figure1", f"Bins of {TAG}, intervals by document", table, 3)
    widths = table["median width of intervals"]
    widest = table["widest interval"]
    here = f"median width {', '.join(f'{each:.3f}' for each in widths)}"
    output.claim(
        "adaptive bins have narrower intervals", "figure 1 (b), (c) against (d)", here, verdict(widths.idxmin() == 2)
    )
    here = f"widest {', '.join(f'{each:.3f}' for each in widest)}"
    output.claim("the widest interval is the narrowest too", "figure 1", here, verdict(widest.idxmin() == 2))
    output.figure("study-figure1", figure_of(pairs, curves))
    output.write_claims("figure1")


def figure_of(pairs: EventPairs, curves: dict[str, ReliabilityCurve]) -> Figure:
    figure = Figure(figsize=(12.0, 3.4), layout="constrained")
    panels = figure.subplots(1, 1 + len(curves))
    panels[0].hist(pairs.q, bins=50, color=COLOURS[0])
    panels[0].set_yscale("log")
    panels[0].set_ylabel("number of words")
    panels[0].set_title(f"predictions of {TAG}", loc="left", fontsize=10)
    for ax, (name, curve) in zip(panels[1:], curves.items(), strict=True):
        drawn(ax, curve)
        ax.set_title(name, loc="left", fontsize=10)
    panels[1].set_ylabel(f"share of {TAG}")
    for ax in panels:
        ax.set_xlabel("prediction")
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def drawn(ax: Axes, curve: ReliabilityCurve) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.9, linestyle=(0, (4, 2)))
    x = curve.bins.mean_q
    ax.vlines(x, curve.lower, curve.upper, color=COLOURS[1], linewidth=1.0)
    ax.plot(x, curve.bins.mean_y, "o", color=COLOURS[1], markersize=3.5)
