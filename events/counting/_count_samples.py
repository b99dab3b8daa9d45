"""Posterior counts sample by sample: an array with names, for other tools of Bayesian statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from events.counting._counts import EventCounts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CountSamples", "count_samples"]


@dataclass(frozen=True, slots=True, eq=False)
class CountSamples:
    """Draws of the counts of documents with an event; arrays read-only.

    The draws are independent: draw s takes the s-th sampled clustering of every document, so it is one joint draw of
    all countries and periods.

    Attributes
    ----------
    counts
        int32 (n_samples, n_countries, n_periods).
    countries
        Codes of the countries, or pairs of them.
    periods
        Labels of the periods, "1999Q2".
    period_starts
        datetime64[D] (n_periods,): first days.
    n_docs
        int64 (n_periods,): documents of each period.
    one_best
        int64 (n_countries, n_periods): counts by the likeliest antecedents alone.
    """

    counts: npt.NDArray[np.int32]
    countries: tuple[str, ...]
    periods: tuple[str, ...]
    period_starts: npt.NDArray[np.datetime64]
    n_docs: npt.NDArray[np.int64]
    one_best: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.counts, self.period_starts, self.n_docs, self.one_best):
            array.flags.writeable = False

    @property
    def n_samples(self) -> int:
        """Number of draws."""
        return int(self.counts.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a draw, country and period: sample, country, period, period_start (date), count."""
        import pandas as pd

        n_samples, n_countries, n_periods = self.counts.shape
        starts = np.array(self.period_starts.tolist(), object)  # dates, as the table of counts has them
        return pd.DataFrame(
            {
                "sample": np.repeat(np.arange(n_samples), n_countries * n_periods),
                "country": np.tile(np.repeat(np.array(self.countries, object), n_periods), n_samples),
                "period": np.tile(np.array(self.periods, object), n_samples * n_countries),
                "period_start": np.tile(starts, n_samples * n_countries),
                "count": self.counts.ravel(),
            }
        ).astype({"country": "str", "period": "str"})


def count_samples(counts: EventCounts, countries: Sequence[str] | None = None) -> CountSamples:
    """List the sampled counts behind a posterior, zero periods filled.

    Their spread also holds Monte Carlo noise, which the exact laws of `EventCounts` do not have: prefer those where
    they answer the question, and these for what they do not (sums over periods, ratios, trends).

    Parameters
    ----------
    counts
        From `events.EventCounter.counts`. Memory is 4 bytes a draw, country and period.
    countries
        Which, in this order; by default all with evidence, sorted.

    Raises
    ------
    ParameterError
        If a country is unknown or named twice.
    """
    if isinstance(countries, str):
        raise ParameterError(f"countries must be a list of codes, got {countries!r}")
    keys = counts.tally.keys() if countries is None else list(countries)
    for key in keys:
        counts._require(key)
    if len(set(keys)) != len(keys):
        raise ParameterError(f"countries must be named once each, got {_checks.shown(keys)}")
    numbers = counts.tally.periods()
    index = counts.calendar.index(numbers)
    sampled = np.zeros((counts.tally.n_samples, len(keys), len(numbers)), np.int32)
    one_best = np.zeros((len(keys), len(numbers)), np.int64)
    for c, key in enumerate(keys):
        for t, number in enumerate(numbers.tolist()):
            cell = counts.tally.cell(key, number)
            sampled[:, c, t] = cell.by_sample
            one_best[c, t] = cell.one_best
    return CountSamples(
        counts=sampled,
        countries=tuple(keys),
        periods=tuple(index.astype(str).tolist()),
        period_starts=np.array(index.start_time.date, "datetime64[D]"),
        n_docs=np.array([counts.tally.documents(number) for number in numbers.tolist()], np.int64),
        one_best=one_best,
    )
