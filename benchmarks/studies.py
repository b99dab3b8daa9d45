"""Run the studies: python benchmarks/studies.py [WHICH ...] [--quick] [--figures FOLDER] [--tables FOLDER].

Of the calibration error (docs/calibration-studies.md): synthetic, coverage, noise; these three by default. They take
about half an hour on one core, --quick about a minute. Also curves: smooth curves and the choice of the bin size, three
minutes; bin-steps: the error by bin size in equal steps; one minute; and default: coverage of the default interval,
three minutes.

Of sampled parses (docs/parses.md): parses; about half an hour. It reads a treebank and two pipelines from ../shared.

Of taggers and classifiers (docs/tagging-studies.md): tagging, newswire, tweets, classification, sparse-tags,
tag-groups, figure1, simulated-claims; a few minutes each. They read corpora from ../shared/data, and say so if one is
missing.

Of what calibration is good for (docs/papers.md): error-types, later; a minute and four minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import curve_study
import error_types
import later_study
import numpy as np
import pandas as pd
import parse_counts
from calibration_studies import (
    INTERVALS,
    Design,
    bin_size_study,
    coverage_study,
    default_study,
    noise_study,
    rejection_study,
    sample_size_study,
    synthetic_pairs,
)
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter
from parse_calibration import missing, parse_tables
from tagger_studies import STUDIES as TAGGER_STUDIES
from tagger_studies.corpora import MissingCorpusError
from tagger_studies.results import Output

from corefsample.calibration._binning import block_bin_pairs
from corefsample.calibration._error import calibration_test, error_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's palette with a marker each, which colour-blind readers can distinguish, also in grey.
INK = {"black": "#000000", "blue": "#0072B2", "vermilion": "#D55E00", "green": "#009E73", "purple": "#CC79A7"}
METHOD_STYLES = {
    "bootstrap inverted": ("blue", "o"),
    "bootstrap pivotal": ("purple", "^"),
    "simulated inverted": ("green", "s"),
    "bootstrap percentile": ("black", "x"),
    "simulated normal": ("vermilion", "D"),
}
METHOD_NAMES = {
    "simulated normal": "Algorithm 2 (simulated normal)",
    "bootstrap inverted": "bootstrap inverted (default)",
}
BOTH_ENDS, SKEWED = Design(alpha=0.5, beta=0.5), Design(alpha=0.1, beta=1.0)
SHAPES = {"Beta(0.5, 0.5)": BOTH_ENDS, "Beta(0.1, 1)": SKEWED}
TRUTHS = {"perfect": {}, "off by .02": {"shift": 0.02}, "off by .1": {"shift": 0.1}}
DEPENDENCE = {"independent pairs": 0.0, "pairs in documents": 0.2}


@dataclass(frozen=True)
class Effort:
    """How much to do: replications of each study, errors drawn in each, pairs of the large example."""

    thesis: int
    coverage: int
    noise: int
    draws: int
    large: int


WHOLE, QUICK = Effort(100, 1000, 100, 1000, 4_300_000), Effort(3, 20, 3, 200, 430_000)


def truth_of(row: pd.Series) -> str:
    if row["temperature"] != 1.0:
        return f"temperature {row['temperature']:g}"
    return f"off by {row['shift']:g}".replace("0.", ".") if row["shift"] else "perfect"


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Add the names that a table is printed with."""
    shapes = [f"Beta({alpha:g}, {beta:g})" for alpha, beta in zip(table["alpha"], table["beta"], strict=True)]
    pairs = {dependence: words for words, dependence in DEPENDENCE.items()}
    return table.assign(q=shapes, truth=table.apply(truth_of, axis=1), pairs=table["dependence"].map(pairs))


def markdown(title: str, table: pd.DataFrame, digits: int = 3) -> None:
    def cell(value: object) -> str:
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    rows = [list(table.columns), ["---"] * table.shape[1], *table.to_numpy(object).tolist()]
    print(f"\n### {title}\n")
    for row in rows:
        print("| " + " | ".join(map(cell, row)) + " |")
    print(flush=True)


def save(figure: Figure, folder: Path | None, name: str) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / name, dpi=150)


def plain(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


# --- the thesis --------------------------------------------------------------------------------------------


def run_synthetic(effort: Effort, folder: Path | None) -> None:
    designs = [replace(shape, shift=shift) for shape in SHAPES.values() for shift in (0.0, 0.1)]
    by_bins = named(bin_size_study(designs, n_replications=effort.thesis))
    by_pairs = named(sample_size_study(designs, n_replications=effort.thesis))
    falls = by_bins.groupby(["q", "truth", "replication"])["mse"].apply(lambda mse: (mse.diff().dropna() <= 0).all())
    print(f"doublings at which the error rose: none in {int(falls.sum())} of {falls.shape[0]} sets of pairs")
    for title, table, key in (
        ("MSE by bin size, 100,000 pairs", by_bins, "bin_size"),
        ("MSE by number of pairs, bins of its square root", by_pairs, "n_pairs"),
    ):
        means = table.pivot_table(index=key, columns=["q", "truth"], values="mse", sort=False)
        means.columns = [f"{q}, {truth}" for q, truth in means.columns]
        markdown(title, means.reset_index(), 6)
    truths = by_bins.groupby(["q", "truth"], sort=False)["true_mse"].mean()
    markdown("True MSE", truths.reset_index(), 6)
    save(thesis_figure(by_bins, by_pairs), folder, "study-bin-size.png")


def run_bin_steps(effort: Effort, folder: Path | None) -> None:
    """Squared error by bin size in steps of 1,000: the thesis's figures 4.8 and 4.9."""
    designs = [replace(shape, shift=shift) for shape in SHAPES.values() for shift in (0.0, 0.1)]
    sizes = range(1000, 50_001, 1000)
    table = named(bin_size_study(designs, bin_sizes=sizes, n_replications=min(effort.thesis, 20)))
    rows = []
    for (q, truth), part in table.groupby(["q", "truth"], sort=False):
        runs = part.pivot_table(index="replication", columns="bin_size", values="mse").to_numpy()
        changes = np.diff(runs, axis=1)
        row = {"q": q, "truth": truth, "true MSE": part["true_mse"].mean()}
        row |= {f"bins of {size:,}": runs[:, size // 1000 - 1].mean() for size in (1000, 10_000, 25_000, 50_000)}
        row["share of steps at which it rose"] = (changes > 0).mean()
        row["largest change in one step"] = np.abs(changes).max(axis=1).mean()
        rows.append(row | {"sets in which it fell from first to last": (runs[:, -1] < runs[:, 0]).mean()})
    markdown("MSE by bin size in steps of 1,000, 100,000 pairs", pd.DataFrame(rows), 5)
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    for ax, truth in zip(figure.subplots(1, 2), ("perfect", "off by .1"), strict=True):
        for (q, part), (colour, marker) in zip(
            table[(table["truth"] == truth) & (table["replication"] == 0)].groupby("q", sort=False),
            (("blue", "o"), ("vermilion", "s")),
            strict=True,
        ):
            style = {"color": INK[colour], "marker": marker, "markersize": 3, "linewidth": 1.0}
            ax.plot(part["bin_size"], part["mse"], label=f"q ~ {q}", **style)
        ax.set_title(truth, loc="left", fontsize=10)
        ax.set_xlabel("bin size (100,000 pairs)")
        ax.set_ylabel("squared calibration error")
        ax.legend(frameon=False, fontsize=9)
        plain(ax)
    save(figure, folder, "study-bin-steps.png")


def thesis_figure(by_bins: pd.DataFrame, by_pairs: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    axes = figure.subplots(1, 2)
    styles = {"perfect": ("blue", "o"), "off by .1": ("vermilion", "s")}
    for ax, table, key in ((axes[0], by_bins, "bin_size"), (axes[1], by_pairs, "n_pairs")):
        for (q, truth), rows in table.groupby(["q", "truth"], sort=False):
            colour, marker = styles[truth]
            means = rows.groupby(key)["mse"].mean()
            line = "-" if q == "Beta(0.5, 0.5)" else (0, (4, 1.5))
            fill = INK[colour] if q == "Beta(0.5, 0.5)" else "white"
            style = {"color": INK[colour], "linestyle": line, "marker": marker, "markerfacecolor": fill}
            ax.plot(means.index, means, markersize=4, linewidth=1.2, label=f"{truth}, q ~ {q}", **style)
            if rows["true_mse"].mean() > 0:
                true = {"color": "0.45", "linewidth": 1.0, "linestyle": line, "zorder": 1}
                ax.axhline(rows["true_mse"].mean(), label=f"true error, q ~ {q}", **true)
        ax.set_yscale("log")
        plain(ax)
    axes[0].set_xscale("log", base=2)
    axes[0].set_xlabel("bin size (100,000 pairs)")
    axes[0].set_ylabel("squared calibration error")
    axes[1].set_xlabel("number of pairs n (bin size: square root of n)")
    axes[1].xaxis.set_major_locator(FixedLocator(range(10_000, 50_001, 10_000)))
    axes[1].xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes[1].yaxis.set_minor_formatter(NullFormatter())
    axes[1].set_ylim(1e-4, 1e-2)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=8.5)
    return figure


# --- coverage ----------------------------------------------------------------------------------------------


def run_coverage(effort: Effort, folder: Path | None) -> None:
    large_example(effort)
    designs = [
        replace(shape, dependence=dependence, **truth)
        for shape in SHAPES.values()
        for truth in TRUTHS.values()
        for dependence in DEPENDENCE.values()
    ]
    options = {"n_replications": effort.coverage, "n_resamples": effort.draws}
    main = named(coverage_study(designs, **options))
    key = ["pairs", "q", "truth", "bin_size"]
    index = [*key, "true_error", "mean_estimate"]
    coverage = main.pivot_table(index=index, columns="method", values="coverage", sort=False)
    markdown("Share of 95% intervals that contain the true error", coverage[list(INTERVALS)].reset_index())
    ends = main[main["method"].isin(["simulated normal", "bootstrap inverted"])]
    columns = [*key, "method", "all_above", "all_below", "contains_estimate", "mean_lower", "mean_upper"]
    markdown("Where they fail, and their mean ends", ends[columns])
    save(coverage_figure(main), folder, "study-coverage.png")
    several_documents(options)
    other_norms(options)
    tests(designs, options)


def run_default(effort: Effort, folder: Path | None) -> None:
    designs = [replace(BOTH_ENDS, **truth) for truth in TRUTHS.values()]
    table = named(default_study(designs, n_replications=min(effort.coverage, 300)))
    columns = ["truth", "method", "true_error", "mean_estimate", "coverage", "contains_estimate"]
    markdown("Default 95% intervals of independent pairs: share that contains the true error", table[columns])


def large_example(effort: Effort) -> None:
    """One large set of perfect pairs, as in the figure of DESIGN section 8."""
    pairs = synthetic_pairs(effort.large, SKEWED, seed=1)
    blocks = block_bin_pairs(pairs.q, pairs.y, pairs.documents, bin_size=5000)
    bins = blocks.bins
    estimate = calibration_test(bins)
    print(f"\n{bins.n_pairs:,} perfect pairs in {bins.n_bins} bins: estimate {estimate.statistic:.4f}, ", end="")
    intervals = [error_interval(bins, method="normal"), error_interval(bins), error_interval(blocks)]
    print("; ".join(f"{each.method} {each.lower:.4f} to {each.upper:.4f}" for each in intervals), end="")
    print(f"; p-value of perfect calibration {estimate.p_value:.2f}", flush=True)


def several_documents(options: dict[str, int]) -> None:
    numbers, spreads = (5, 10, 20, 50, 100, 200), (0.0, 1.0)
    base = replace(BOTH_ENDS, dependence=0.2)
    designs = [
        replace(base, n_documents=number, unevenness=spread, shift=shift)
        for shift in (0.0, 0.1)
        for spread in spreads
        for number in numbers
    ]
    table = named(coverage_study(designs, bin_sizes=[1000], methods=["bootstrap inverted"], **options))
    wide = table.pivot_table(index=["truth", "unevenness"], columns="n_documents", values="coverage", sort=False)
    markdown(
        "Bootstrap inverted: share that contains the truth, by number and unevenness of documents", wide.reset_index()
    )
    perfect = [design for design in designs if design.shift == 0.0]
    table = named(rejection_study(perfect, bin_sizes=[1000], **options))
    table = table[table["method"] == "sign flips"]
    wide = table.pivot_table(index=["truth", "unevenness"], columns="n_documents", values="rejected_05", sort=False)
    markdown("Sign flips: share of perfect pairs rejected at .05", wide.reset_index())


def other_norms(options: dict[str, int]) -> None:
    designs = [replace(BOTH_ENDS, dependence=0.2, **truth) for truth in TRUTHS.values()]
    methods = ["simulated normal", "bootstrap pivotal", "bootstrap percentile"]
    tables = [coverage_study(designs, norm=norm, methods=methods, **options) for norm in ("l1", "max")]
    table = named(pd.concat(tables))
    wide = table.pivot_table(index=["norm", "truth", "bin_size"], columns="method", values="coverage", sort=False)
    markdown("Other norms, pairs in documents: share that contains the truth", wide[methods].reset_index())


def tests(designs: Sequence[Design], options: dict[str, int]) -> None:
    table = named(rejection_study(designs, **options))
    key = ["pairs", "q", "truth", "bin_size"]
    wide = table.pivot_table(index=key, columns="method", values="rejected_05", sort=False)
    markdown("Share of sets of pairs rejected at .05", wide.reset_index())


def coverage_figure(table: pd.DataFrame) -> Figure:
    sizes = sorted(table["bin_size"].unique())
    rows = [(q, truth) for q in SHAPES for truth in TRUTHS]
    figure = Figure(figsize=(10.4, 5.6), layout="constrained")
    axes = figure.subplots(2, len(sizes), sharex=True, sharey=True)
    for line, words in zip(axes, DEPENDENCE, strict=True):
        for ax, size in zip(line, sizes, strict=True):
            part = table[(table["pairs"] == words) & (table["bin_size"] == size)]
            for place, (method, (colour, marker)) in enumerate(METHOD_STYLES.items()):
                coverage = part[part["method"] == method].set_index(["q", "truth"])["coverage"]
                heights = [row + 0.14 * (place - 2) for row in range(len(rows))]
                shape = {"marker": marker, "color": INK[colour], "s": 24, "clip_on": False, "zorder": 3}
                label = METHOD_NAMES.get(method, method)
                ax.scatter([100.0 * coverage[row] for row in rows], heights, label=label, linewidths=1.2, **shape)
            ax.axvline(95.0, color="0.35", linewidth=1.0, linestyle=(0, (4, 1.5)))
            ax.set_title(f"{words}, bins of {size:,}", loc="left", fontsize=10)
            ax.set_yticks(range(len(rows)), [f"{q}, {truth}" for q, truth in rows], fontsize=8.5)
            ax.set_ylim(len(rows) - 0.5, -0.5)
            ax.set_xlim(-1, 101)
            ax.set_xticks([0, 20, 40, 60, 80, 95])
            plain(ax)
    figure.supxlabel("95% intervals that contain the true error, %", fontsize=10)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False, fontsize=8.5)
    return figure


# --- noise of samples --------------------------------------------------------------------------------------


def run_noise(effort: Effort, folder: Path | None) -> None:
    truths = [{}, {"shift": 0.005}, {"shift": 0.02}, {"shift": 0.1}, {"temperature": 2.0}, {"temperature": 0.5}]
    designs = [replace(shape, **truth) for shape in SHAPES.values() for truth in truths]
    table = named(noise_study(designs, n_replications=effort.noise, n_resamples=effort.draws))
    columns = ["q", "truth", "n_samples", "true_error", "binned_error", "naive", "corrected", "corrected_sd"]
    markdown("Naive and split-sample error, 100,000 pairs in bins of 1,000", table[columns], 4)
    columns = ["q", "truth", "n_samples", "naive_rejected", "rejected", "coverage"]
    markdown("Share rejected at .05, and share of intervals that contain the binned error", table[columns])
    save(noise_figure(table), folder, "study-noise.png")


def noise_figure(table: pd.DataFrame) -> Figure:
    truths = list(dict.fromkeys(table["truth"]))
    figure = Figure(figsize=(10.4, 5.2), layout="constrained")
    axes = figure.subplots(2, len(truths), sharex=True, sharey=True)
    for line, q in zip(axes, SHAPES, strict=True):
        for ax, truth in zip(line, truths, strict=True):
            rows = table[(table["q"] == q) & (table["truth"] == truth)]
            ax.axhline(rows["true_error"].iloc[0], color="0.35", linewidth=1.0, linestyle=(0, (4, 1.5)), label="true")
            for name, colour, marker in (("naive", "vermilion", "D"), ("corrected", "blue", "o")):
                style = {"color": INK[colour], "marker": marker, "markersize": 4, "linewidth": 1.2}
                ax.plot(rows["n_samples"], rows[name], label=name, **style)
            ax.set_title(truth, loc="left", fontsize=9.5)
            ax.set_xscale("log")
            plain(ax)
        line[0].set_ylabel(f"calibration error, q ~ {q}", fontsize=8.5)
    figure.supxlabel("samples behind each prediction", fontsize=10)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    return figure


# --- smooth curves -----------------------------------------------------------------------------------------


def run_curves(effort: Effort, folder: Path | None) -> None:
    curves, errors = curve_study.tables(2 if effort is QUICK else 12)
    markdown("Smooth curves: share of bands that hold the whole true curve; RMS distance from it", curves)
    markdown("The band of 2,000 pairs", curve_study.coverage(5 if effort is QUICK else 200))
    markdown("Errors in bins of the default size and of the size with the best held-out log score", errors, 4)
    save(curve_study.figure(), folder, "study-smooth-curves.png")


# --- sampled parses ----------------------------------------------------------------------------------------


def run_parses(effort: Effort, folder: Path | None) -> None:
    if names := missing():
        print(f"Skipped: {', '.join(names)} must be in ../shared.")
        return
    fits, table, bins = parse_tables(quick=effort is QUICK)
    markdown("Temperatures fitted to the dev part, with 95% intervals by document", fits)
    markdown("Calibration on the test part", table, 4)
    for name, frame in bins.items():
        markdown(f"Bins at the fitted temperature: {name}", frame[["n", "mean_q", "mean_y", "lower", "upper"]])
    quick = {"numbers": (1, 10), "n_documents": 6} if effort is QUICK else {"numbers": (1, 10, 100)}
    counts = parse_counts.study(**quick)
    markdown("Counts from words: one parse and several", counts.set_index("parses").T.reset_index(names=""))


STUDIES: dict[str, Callable[[Effort, Path | None], None]] = {
    "synthetic": run_synthetic,
    "coverage": run_coverage,
    "default": run_default,
    "noise": run_noise,
    "curves": run_curves,
    "bin-steps": run_bin_steps,
    "parses": run_parses,
}
CLAIM_STUDIES: dict[str, Callable[[Output], None]] = {
    **TAGGER_STUDIES,
    "error-types": error_types.run,
    "later": later_study.run,
}
BY_DEFAULT = ("synthetic", "coverage", "noise")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", metavar="WHICH", help="one or more studies (see above)")
    parser.add_argument("--quick", action="store_true", help="few replications")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write the figures there")
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="write the tables of the taggers there, as CSV")
    given = parser.parse_args()
    known = [*STUDIES, *CLAIM_STUDIES]
    unknown = [word for word in given.which if word not in known]
    if unknown:
        parser.error(f"WHICH must be one of {', '.join(known)}, got {unknown[0]}")
    for word in given.which or BY_DEFAULT:
        print(f"\n## {word}")
        if word in STUDIES:
            STUDIES[word](QUICK if given.quick else WHOLE, given.figures)
            continue
        try:
            CLAIM_STUDIES[word](Output(given.figures, given.tables, given.quick))
        except MissingCorpusError as error:
            print(f"Skipped: {error}.")


if __name__ == "__main__":
    main()
