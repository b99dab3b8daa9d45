"""What the studies share: measures with intervals by document, tables, and the look of figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from corefsample.calibration import calibration_error, reliability_curve
from corefsample.calibration._binning import BlockBins, block_bin_pairs
from corefsample.plots import reliability_axes
from corefsample.tagging import TaggedSentence, event_pairs, labelled_posteriors
from corefsample.tagging._labelled import EventPairs, LabelledChain, SequenceModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from corefsample._arrays import Floats

LEVEL = 0.95
N_DRAWS = 2_000
HOLDS, DOES_NOT_HOLD, NOT_DECIDED = "holds", "does not hold", "not decided"
HALF = 1 / 3, 2 / 3  # a ratio that a source calls "about one half"


@dataclass
class Output:
    """Prints tables, and writes them and the figures to folders, if there are any."""

    figures: Path | None
    tables: Path | None
    quick: bool
    stream: TextIO = field(default_factory=lambda: sys.stdout)
    claims: list[dict[str, str]] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=self.stream, flush=True)

    def table(self, name: str, title: str, table: pd.DataFrame, digits: int = 4) -> None:
        """Print a table as Markdown, and write it as CSV."""

        def cell(value: object) -> str:
            return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

        rows = [list(map(str, table.columns)), ["---"] * table.shape[1], *table.to_numpy(object).tolist()]
        self.say(f"\n### {title}\n")
        for row in rows:
            self.say("| " + " | ".join(map(cell, row)) + " |")
        self.say("")
        if self.tables is not None:
            self.tables.mkdir(parents=True, exist_ok=True)
            table.to_csv(self.tables / f"{name}.csv", index=False)

    def figure(self, name: str, figure: Figure) -> None:
        """Write a figure."""
        if self.figures is not None:
            self.figures.mkdir(parents=True, exist_ok=True)
            figure.savefig(self.figures / f"{name}.png", dpi=130)

    def claim(self, claim: str, paper: str, here: str, verdict: str) -> None:
        """Remember a claim, the paper's figure, ours, and the verdict."""
        self.claims.append({"claim": claim, "paper": paper, "here": here, "verdict": verdict})

    def write_claims(self, name: str) -> None:
        """Print and write the claims so far, and forget them."""
        self.table(f"{name}-claims", "Claims", pd.DataFrame(self.claims))
        self.claims = []


def shown(estimate: float, ends: Sequence[float | None], digits: int = 4) -> str:
    """An estimate with its interval."""
    lower, upper = ends
    return f"{estimate:.{digits}f} [{lower:.{digits}f}, {upper:.{digits}f}]"


@dataclass(frozen=True)
class Measured:
    """A model on some sentences: its posteriors, pairs of all tags, and by document how often it is right."""

    items: list[LabelledChain]
    tags: tuple[str, ...]
    pairs: EventPairs
    totals: Floats  # (n_documents, 4): words, right tags of the likeliest sequence, sum of top marginals, right tops

    @property
    def n_documents(self) -> int:
        return len(self.pairs.doc_ids)

    def accuracy(self) -> str:
        """Share of right tags in the likeliest sequences."""
        return shown(*self.right())

    def right(self) -> tuple[float, tuple[float, float]]:
        return ratio(self.totals[:, 1], self.totals[:, 0], self.n_documents)

    def overconfidence(self) -> str:
        """Mean probability of each word's likeliest tag minus the share of them that are right."""
        return shown(*self.overconfidence_ends())

    def overconfidence_ends(self) -> tuple[float, tuple[float, float]]:
        return ratio(self.totals[:, 2] - self.totals[:, 3], self.totals[:, 0], self.n_documents)

    def error(self, bin_size: int) -> str:
        """Calibration error of all tags, with its interval by document."""
        pairs = self.pairs
        found = calibration_error(pairs.q, pairs.y, documents=pairs.documents, bin_size=bin_size, debiased=False)
        return shown(found.estimate, (found.lower, found.upper))


def measured(model: SequenceModel, sentences: Sequence[Any]) -> Measured:
    """Posteriors of sentences, and what is measured of them."""
    items = list(labelled_posteriors(model, sentences, unknown="outside"))
    pairs = event_pairs(items, model.tags)
    code = {doc_id: number for number, doc_id in enumerate(pairs.doc_ids)}
    totals = np.zeros((len(code), 4))
    for item in items:
        marginals = item.chain.marginals()
        right = (item.chain.map() == item.gold).sum(), (marginals.argmax(axis=1) == item.gold).sum()
        totals[code[item.doc_id]] += item.gold.size, right[0], marginals.max(axis=1).sum(), right[1]
    return Measured(items, model.tags, pairs, totals)


def accuracy(model: SequenceModel, sentences: Sequence[TaggedSentence]) -> float:
    """Share of right tags in the likeliest sequences."""
    items = labelled_posteriors(model, sentences, unknown="outside")
    right = [(item.chain.map() == item.gold) for item in items]
    return float(np.concatenate(right).mean())


# --- intervals by document ---------------------------------------------------------------------------------


def resamples(n_documents: int, n_draws: int = N_DRAWS) -> Floats:
    """How often each document is in each resample: (n_draws, n_documents)."""
    rng = np.random.default_rng(0)
    return rng.multinomial(n_documents, np.full(n_documents, 1.0 / n_documents), n_draws).astype(float)


def ends_of(draws: Floats) -> tuple[float, float]:
    """Percentile interval."""
    tail = (1.0 - LEVEL) / 2.0
    lower, upper = np.quantile(draws, [tail, 1.0 - tail])
    return float(lower), float(upper)


def ratio(numerators: Floats, denominators: Floats, n_documents: int) -> tuple[float, tuple[float, float]]:
    """Ratio of two sums over documents, with its percentile interval."""
    weights = resamples(n_documents)
    estimate = float(numerators.sum() / denominators.sum())
    return estimate, ends_of((weights @ numerators) / (weights @ denominators))


def difference_of_shares(
    numerators: Floats, denominators: Floats, others: Floats, other_denominators: Floats
) -> tuple[float, tuple[float, float]]:
    """One ratio of sums over documents minus another of the same documents, with its percentile interval."""
    weights = np.vstack((np.ones(len(numerators)), resamples(len(numerators))))
    gaps = (weights @ numerators) / (weights @ denominators) - (weights @ others) / (weights @ other_denominators)
    return float(gaps[0]), ends_of(gaps[1:])


def blocks_of(pairs: EventPairs, bin_size: int) -> BlockBins:
    """Sums by document and bin; all documents have a row."""
    return block_bin_pairs(pairs.q, pairs.y, pairs.documents, bin_size=min(bin_size, pairs.n))


def errors(blocks: BlockBins, weights: Floats) -> Floats:
    """Calibration error (RMS) of each resample, in bins that stay the same."""
    n, residual = weights @ blocks.n, weights @ (blocks.sum_q - blocks.sum_y)
    return np.sqrt((residual**2 / np.maximum(n, 1.0)).sum(axis=1) / n.sum(axis=1))


def difference(one: BlockBins, other: BlockBins) -> tuple[float, tuple[float, float]]:
    """Error of one minus that of the other on the same documents, with its interval, reflected about the estimate."""
    n = one.n.shape[0]
    whole = np.ones((1, n))
    estimate = float((errors(one, whole) - errors(other, whole))[0])
    weights = resamples(n)
    lower, upper = ends_of(errors(one, weights) - errors(other, weights))
    return estimate, (2 * estimate - upper, 2 * estimate - lower)


def holds(ends: tuple[float, float], below_zero: bool) -> str:
    """Whether a difference has the claimed sign, by its interval."""
    lower, upper = ends
    if (upper < 0.0) if below_zero else (lower > 0.0):
        return HOLDS
    return DOES_NOT_HOLD if (lower > 0.0 if below_zero else upper < 0.0) else NOT_DECIDED


def verdict(good: object) -> str:
    """The verdict on a claim that has no interval, or whose interval was compared before."""
    return HOLDS if good else DOES_NOT_HOLD


def squared_ratio(one: BlockBins, other: BlockBins) -> tuple[str, str]:
    """Squared error of one over that of the other, and the verdict on "about one half".

    The thesis reports the squared error (its CalibMSE), the paper the root of it. The verdict is by intervals of the
    differences of the squared errors, one of them multiplied by the ends of `HALF`.
    """
    whole, weights = np.ones((1, one.n.shape[0])), resamples(one.n.shape[0])
    squares = [[errors(each, rows) ** 2 for each in (one, other)] for rows in (whole, weights)]
    (a, b), (drawn_a, drawn_b) = squares
    estimate = float((a / b)[0])
    contrasts = []
    for factor in HALF:
        lower, upper = ends_of(drawn_a - factor * drawn_b)
        centre = float((a - factor * b)[0])
        contrasts.append((2 * centre - upper, 2 * centre - lower))
    inside = {holds(contrasts[0], False), holds(contrasts[1], True)}
    found = inside.pop() if len(inside) == 1 else DOES_NOT_HOLD if DOES_NOT_HOLD in inside else NOT_DECIDED
    return shown(estimate, ends_of(drawn_a / drawn_b), 3), found


# --- figures -----------------------------------------------------------------------------------------------


def curves_figure(pairs: Mapping[str, Any], bin_size: int) -> Figure:
    """One panel per model with its reliability curve; pairs have q, y and documents."""
    figure = Figure(figsize=(4.1 * len(pairs), 4.0), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(pairs), sharex=True, sharey=True))
    for ax, (name, each) in zip(panels, pairs.items(), strict=True):
        curve = reliability_curve(each.q, each.y, bin_size=bin_size, documents=each.documents)
        reliability_axes(ax, {name: curve})
        ax.set_title(name, loc="left", fontsize=10)
    return figure
