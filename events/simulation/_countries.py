"""Countries of simulated news, and the rates of their attacks over time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec
import numpy as np

from corefsample._arrays import Floats

Episode = tuple[datetime.date, datetime.date, float]


class SimulatedCountry(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A country, or an organisation of states, in simulated news.

    Attributes
    ----------
    code
        Code of the country, unique among the countries of a simulation.
    name
        Name of the country, with its article if it has one, as "Iraq" and "the United States".
    adjective
        Adjective of the country, as "American"; by default, the name is used instead.
    people
        Plural noun for the people of the country, as "Americans"; by default, the name is used instead.
    abbreviation
        Short name with its article, as "the U.S."; by default, the name is used instead.
    rate
        Rate of the country's attacks relative to other countries, at least 0.
    episodes
        First day, last day and additional rate of each period with more attacks.
    opponents
        Codes of the countries that the country attacks; if none of them exists, it attacks any other country.
    since, until
        First and last day on which the country exists; None is no bound.
    """

    code: str
    name: str
    adjective: str = ""
    people: str = ""
    abbreviation: str = ""
    rate: float = 0.1
    episodes: tuple[Episode, ...] = ()
    opponents: tuple[str, ...] = ()
    since: datetime.date | None = None
    until: datetime.date | None = None

    def exists(self, day: datetime.date) -> bool:
        """Whether the country exists on a day."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


def attack_rates(countries: Sequence[SimulatedCountry], start: datetime.date, end: datetime.date) -> Floats:
    """Rate of attacks of each country on each day, 0 while it does not exist: float64 (n_days, n_countries).

    Parameters
    ----------
    countries
        Countries with distinct codes, of which at least three (an attacker, an opponent, an ally) exist on every day.
    start, end
        First and last day of the news.
    """
    rates = np.zeros(((end - start).days + 1, len(countries)))

    def days(first_day: datetime.date | None, last_day: datetime.date | None) -> slice:
        begin = 0 if first_day is None else max((first_day - start).days, 0)
        return slice(begin, len(rates) if last_day is None else max((last_day - start).days + 1, 0))

    for c, country in enumerate(countries):
        country_rates = np.full(len(rates), country.rate)
        for first_day, last_day, rate in country.episodes:
            country_rates[days(first_day, last_day)] += rate
        exists = days(country.since, country.until)
        rates[exists, c] = country_rates[exists]
    return rates


def quantile_index(weights: Floats, share: float) -> int:
    """Index at which cumulative weights exceed a share in [0, 1) of their total; its weight is positive."""
    cumulative = np.cumsum(weights)
    index = int(np.searchsorted(cumulative, share * cumulative[-1], side="right"))
    # share * total may round up to the total, which lies after the last index of positive weight
    return min(index, int(np.searchsorted(cumulative, cumulative[-1], side="left")))


@cache
def default_countries() -> tuple[SimulatedCountry, ...]:
    """Thirty-one countries with invented attacks, in bursts, from 1990 to 1999."""
    data = resources.files("events").joinpath("data", "simulated_countries.yaml").read_bytes()
    return msgspec.yaml.decode(data, type=tuple[SimulatedCountry, ...])
