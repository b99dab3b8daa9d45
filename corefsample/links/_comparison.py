"""Two scorers of the same documents compared by their link marginals: a paired bootstrap by document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints32, Result, pd
from corefsample.calibration._binning import block_bin_pairs, default_bin_size
from corefsample.calibration._draws import errors_of_sums, multiplicities, rooted
from corefsample.calibration._validation import Norm, checked_level, checked_norm, generator
from corefsample.errors import InputError
from corefsample.links._calibration import LinkTables

LEAST_PROBABILITY = 1e-6  # lower limit in log scores: omitted candidates have probability 0, and some are right
MEASURES = ("calibration error", "log score", "refinement")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairedComparison(Result):
    """Two scorers compared on the same pairs, by resampling the same documents for both; arrays read-only.

    Attributes
    ----------
    measures
        Names of the measures, of which lower values are better: "calibration error" (without the part that chance
        adds), "log score" (mean of -log of the probability of the observed label, in nats) and "refinement".
    first, second
        float64 (n_measures,): value of each measure for the first and for the second scorer.
    difference
        float64 (n_measures,): second - first, negative if the second scorer is better.
    lower, upper
        float64 (n_measures,): ends of the confidence interval of each true difference.
    sd
        float64 (n_measures,): standard deviation of the differences of the resamples.
    n_pairs, n_blocks
        Number of pairs, and of documents that have pairs.
    n_bins
        Number of bins of the first and of the second scorer.
    norm
        Norm of the calibration error: "rms" or "mse".
    level
        Nominal share of the intervals that contain the true difference, in (0, 1).
    n_resamples
        Number of resamples.
    """

    measures: tuple[str, ...]
    first: Floats
    second: Floats
    difference: Floats
    lower: Floats
    upper: Floats
    sd: Floats
    n_pairs: int
    n_blocks: int
    n_bins: tuple[int, int]
    norm: Norm
    level: float
    n_resamples: int

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per measure: measure, first, second, difference, lower, upper, sd."""
        frame = self._columns("first", "second", "difference", "lower", "upper", "sd")
        frame.insert(0, "measure", list(self.measures))
        return frame


def compare_links(
    first: LinkTables,
    second: LinkTables,
    *,
    bin_size: int | None = None,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare the link marginals of two scorers in calibration error, log score and refinement.

    Documents are resampled, the same ones for both scorers, so that what makes documents hard or easy for both cancels;
    the bins stay the same. Chance adds to a measured calibration error, and more to that of a well calibrated scorer.
    Here it is subtracted, as estimated from the scatter of the documents, so an error is smaller than that of
    `calibrate_links`.

    Parameters
    ----------
    first, second
        Link pairs of each scorer, from `corefsample.link_tables`; documents, mentions and gold are the same in both.
    bin_size, norm, level, n_resamples, seed
        Size of the bins, norm of the error ("rms" or "mse"), level of the intervals, number of resamples and seed: see
        `calibrate_links`.

    Raises
    ------
    ParameterError
        If `first` or `second` is no LinkTables, the norm is neither "rms" nor "mse", or another option is out of
        range.
    InputError
        If documents, their mentions or their gold differ, or fewer than 2 documents have a pair.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2, for the interval.
    """
    for name, tables, other in (("first", first, second), ("second", second, first)):
        for table in (tables, other):
            _checks.instance(name, table, LinkTables, "link_tables(documents) makes it")
        missing = [doc_id for doc_id in tables.digests if doc_id not in other.digests]
        if missing:
            rule = "documents with gold must be the same for both scorers"
            raise InputError(f"{rule}, got doc_id {missing[0]!r} only for the {name}")
    for doc_id, digest in first.digests.items():
        if second.digests[doc_id] != digest:
            rule = "mentions and gold must be the same for both scorers, got others"
            raise InputError(rule, place=f"doc_id {doc_id!r}")
    n_documents = len(np.unique(first.documents))
    if n_documents < 2:
        rule = "gold must annotate at least two mentions in each of at least 2 documents"
        raise InputError(f"{rule} to compare scorers, got {n_documents} such documents")
    return compare_scorers(
        (first.q, first.y, first.documents),
        (second.q, second.y, second.documents),
        bin_size=default_bin_size(first.n_pairs) if bin_size is None else bin_size,
        norm=norm,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def compare_scorers(
    *scorers: tuple[Floats, npt.ArrayLike, Ints32],
    bin_size: int,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare two scorers, each the predictions, labels and documents of the same pairs in any order."""
    norm, tail = checked_norm(norm, squared_for="for a paired comparison"), (1.0 - checked_level(level)) / 2.0
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    # By document: pairs, residuals and labels of each bin, and the losses.
    sums: list[Floats] = []
    noises, n_bins = [], []
    for q, y, documents in scorers:
        blocks = block_bin_pairs(q, y, documents, bin_size=bin_size)
        total, residual = blocks.bins.n, blocks.sum_q - blocks.sum_y
        deviations = residual - blocks.n * (residual.sum(axis=0) / total)
        # The squared calibration error that chance adds to the true one.
        noises.append(float((np.square(deviations).sum(axis=0) / total).sum() / total.sum()))
        losses = np.bincount(documents, log_losses(q, y))[np.flatnonzero(np.bincount(documents))]
        sums.append(np.hstack((blocks.n, residual, blocks.sum_y, losses[:, None])))
        n_bins.append(blocks.bins.n_bins)

    def measures(scorer: int, times: Floats, n_noises: int) -> Floats:
        """Measures of resamples with these multiplicities of documents: (n_rows, n_measures).

        The noise is subtracted `n_noises` times from the squared calibration error: all documents have it once,
        resamples twice.
        """
        drawn: Floats = times @ sums[scorer]
        b = n_bins[scorer]
        n, residual, positive, losses = drawn[:, :b], drawn[:, b : 2 * b], drawn[:, 2 * b : 3 * b], drawn[:, -1]
        n_pairs, share = n.sum(axis=1), positive / np.maximum(n, 1.0)  # an empty bin has no positive label
        refinement = (positive * (1.0 - share)).sum(axis=1) / n_pairs
        squared = np.maximum(errors_of_sums(n, residual, norm) - n_noises * noises[scorer], 0.0)
        return np.column_stack((rooted(squared, norm), losses / n_pairs, refinement))

    n_blocks = sums[0].shape[0]
    first, second = (measures(scorer, np.ones((1, n_blocks)), 1)[0] for scorer in (0, 1))
    draws = np.empty((len(MEASURES), n_resamples))
    width = max(n_blocks, *(each.shape[1] for each in sums))
    for rows, times in multiplicities(n_blocks, n_resamples, width, generator(seed)):
        draws[:, rows] = (measures(1, times, 2) - measures(0, times, 2)).T
    # The quantiles of the resamples are reflected about the difference: the basic interval.
    difference, (low, high) = second - first, np.quantile(draws, (tail, 1.0 - tail), axis=1)
    lower, upper, sd = 2.0 * difference - high, 2.0 * difference - low, draws.std(axis=1, ddof=1)
    figures = MEASURES, first, second, difference, lower, upper, sd
    return PairedComparison(*figures, len(scorers[0][0]), n_blocks, (n_bins[0], n_bins[1]), norm, level, n_resamples)


def log_losses(q: Floats, y: npt.ArrayLike) -> Floats:
    """Minus the logarithm of the probability of each observed label, which is at least `LEAST_PROBABILITY`."""
    clipped = np.clip(q, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.asarray(-np.log(np.where(np.asarray(y) == 1, clipped, 1.0 - clipped)))
