"""Calibration of the probabilities of properties of parses over a treebank, and the temperature with the best score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._lazy import pd
from corefsample._results import HtmlTable, ShortRepr, fields_of
from corefsample.calibration._binning import block_bin_pairs
from corefsample.calibration._draws import Interval
from corefsample.calibration._error import binned_error
from corefsample.calibration._intervals import bootstrap_interval
from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.errors import InputError, ParameterError
from corefsample.parses._pairs import ParsePairs

N_BINS = 10
LEAST = 0.01  # smaller shares of samples are left out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PropertyCalibration(ShortRepr):
    """Calibration of one property of sampled parses.

    Attributes
    ----------
    name
        Name of the property: a key of `properties_of`, or "role paths".
    error
        Root mean square distance of the mean probability and the share confirmed, over ten bins of equal width.
    by_document
        Confidence interval of the true error, from resampled documents; None if there is only one document.
    largest_gap
        Largest distance over the bins between the mean probability of a bin and its share confirmed, in [0, 1].
    curve
        Mean probability and share confirmed of each bin.
    n_documents
        Number of documents with such a property.
    share_found
        Share of the properties in the treebank that some sample has.
    """

    name: str
    error: float
    by_document: Interval | None
    largest_gap: float
    curve: ReliabilityCurve
    n_documents: int
    share_found: float

    @property
    def n_pairs(self) -> int:
        """Number of properties of tokens with a probability of at least 0.01."""
        return self.curve.bins.n_pairs

    @property
    def mean_q(self) -> float:
        """Mean probability."""
        return float(self.curve.bins.sum_q.sum() / self.n_pairs)

    @property
    def share_true(self) -> float:
        """Share that the treebank confirms."""
        return float(self.curve.bins.sum_y.sum() / self.n_pairs)


@dataclass(frozen=True, slots=True, eq=False)
class ParseCalibration(HtmlTable):
    """Calibration of sampled parses.

    Attributes
    ----------
    properties
        One for each property with at least ten pairs.
    """

    properties: tuple[PropertyCalibration, ...]

    def __getitem__(self, name: str) -> PropertyCalibration:
        for calibration in self.properties:
            if calibration.name == name:
                return calibration
        raise KeyError(name)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per property.

        Columns: property, n_documents, n_pairs, mean_q, share_true, error, lower, upper (by document), largest_gap,
        share_found.
        """
        return pd.DataFrame(
            [
                {
                    "property": each.name,
                    **fields_of(each, "n_documents", "n_pairs", "mean_q", "share_true", "error"),
                    **fields_of(each.by_document, "lower", "upper"),
                    **fields_of(each, "largest_gap", "share_found"),
                }
                for each in self.properties
            ]
        )

    def curves_frame(self) -> pd.DataFrame:
        """Tidy table, one row per property and bin: property, and the columns of `ReliabilityCurve.to_frame`."""
        frames = {each.name: each.curve.to_frame() for each in self.properties}
        return pd.concat(frames, names=["property", None]).reset_index(0).reset_index(drop=True)


def calibrate_parses(
    documents: Iterable[Mapping[str, ParsePairs]],
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> ParseCalibration:
    """Measure the calibration of each property over documents.

    Probabilities below 0.01 are left out: with few samples they are those that no sample has, of which there are very
    many. So is a property with fewer than ten others. The bins are ten of equal width, as most arcs are nearly certain.

    Parameters
    ----------
    documents
        Results of `parse_pairs`, one per document.
    level
        Probability that each interval has, in (0, 1).
    n_resamples
        Number of resamples of the documents for each interval, at least 2.
    seed
        Seed of the resamples, in [0, 2**64).

    Raises
    ------
    InputError
        If no property has ten pairs with a probability of at least 0.01.
    """
    _checks.probability("level", level, below_one=True, above_zero=True)
    _checks.whole("n_resamples", n_resamples, 2)
    rows = list(documents)
    results = []
    for name in dict.fromkeys(name for row in rows for name in row):
        pairs = [(d, row[name]) for d, row in enumerate(rows) if name in row]
        q, y = (np.concatenate([getattr(each, field) for _, each in pairs]) for field in ("q", "y"))
        document = np.concatenate([np.full(len(each.q), d) for d, each in pairs])
        is_likely = q >= LEAST
        if np.count_nonzero(is_likely) < N_BINS:
            continue
        blocks = block_bin_pairs(q[is_likely], y[is_likely], document[is_likely], n_bins=N_BINS, strategy="uniform")
        is_resampled = blocks.n_blocks > 1
        interval = bootstrap_interval(blocks, level=level, n_resamples=n_resamples, seed=seed) if is_resampled else None
        n_gold, n_found = sum(each.n_gold for _, each in pairs), sum(each.n_found for _, each in pairs)
        results.append(
            PropertyCalibration(
                name,
                binned_error(blocks.bins),
                interval,
                binned_error(blocks.bins, norm="max"),
                ReliabilityCurve.of_bins(blocks if is_resampled else blocks.bins, level=level),
                blocks.n_blocks,
                n_found / n_gold if n_gold else 1.0,
            )
        )
    if not results:
        raise InputError(f"parses must have at least {N_BINS} arcs or roles, got fewer")
    return ParseCalibration(tuple(results))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TemperatureFit(ShortRepr):
    """A fitted temperature.

    Attributes
    ----------
    temperature
        Temperature with the highest score.
    lower, upper
        Ends of a percentile bootstrap interval over documents; None if there is only one document.
    level
        Probability that the interval has, in (0, 1).
    temperatures
        float64 (n_temperatures,): temperatures that were tried.
    scores
        float64 (n_temperatures,): score of each temperature, summed over all documents; higher is better.
    """

    temperature: float
    lower: float | None
    upper: float | None
    level: float
    temperatures: Floats
    scores: Floats

    @property
    def is_at_end(self) -> bool:
        """True if the best of the tried temperatures is the lowest or highest, so that one beyond it may be better."""
        return int(np.argmax(self.scores)) in (0, len(self.temperatures) - 1)


def fit_temperature(
    scores: npt.ArrayLike,
    temperatures: Sequence[float],
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> TemperatureFit:
    """Temperature with the highest score, between those that were tried.

    A parabola through the best one and its neighbours, in the logarithm of the temperature, gives the maximum. The
    interval resamples documents.

    Parameters
    ----------
    scores
        Finite numbers, (n_documents, n_temperatures): score of each document at each temperature, such as
        `gold_score`; higher is better.
    temperatures
        Temperatures that were tried: at least 3, ascending, above 0.
    level
        Probability that the interval has, in (0, 1).
    n_resamples
        Number of resamples of the documents for the interval, at least 2.
    seed
        Seed of the resamples, in [0, 2**64).

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    """
    grid = _checks.floats("temperatures", temperatures)
    if len(grid) < 3 or np.any(grid <= 0) or np.any(np.diff(grid) <= 0):
        raise ParameterError(f"must be at least 3, ascending, above 0, got {grid.tolist()}", parameter="temperatures")
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or table.shape[1] != len(grid) or not len(table) or not np.all(np.isfinite(table)):
        rule = f"must be finite numbers (n_documents, {len(grid)}) of at least one document"
        raise ParameterError(f"{rule}, got shape {table.shape}", parameter="scores")
    _checks.probability("level", level, below_one=True, above_zero=True)
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    lower = upper = None
    if len(table) > 1:
        generator = np.random.Generator(np.random.Philox(_checks.seed(seed)))
        weights = generator.multinomial(len(table), np.full(len(table), 1 / len(table)), n_resamples)
        fits = _best(weights @ table, grid)
        lower, upper = (float(end) for end in np.quantile(fits, [(1 - level) / 2, (1 + level) / 2]))
    total = table.sum(axis=0)
    return TemperatureFit(float(_best(total[None], grid)[0]), lower, upper, level, grid, total)


def _best(totals: Floats, grid: Floats) -> Floats:
    """Temperature at the top of a parabola through the highest total of each row and its neighbours."""
    x = np.log(grid)
    middle = np.clip(np.argmax(totals, axis=1), 1, len(x) - 2)
    rows = np.arange(len(totals))
    left, right = x[middle] - x[middle - 1], x[middle + 1] - x[middle]
    fall_left = totals[rows, middle] - totals[rows, middle - 1]
    fall_right = totals[rows, middle] - totals[rows, middle + 1]
    curvature = fall_left * right + fall_right * left
    shift = np.where(
        curvature > 0, (fall_left * right**2 - fall_right * left**2) / (2 * np.where(curvature > 0, curvature, 1)), 0.0
    )
    top = np.clip(x[middle] + shift, x[0], x[-1])
    flat = curvature <= 0  # no top between them: the highest
    top[flat] = x[np.argmax(totals[flat], axis=1)]
    temperatures: Floats = np.exp(top)
    return temperatures
