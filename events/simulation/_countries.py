"""The countries of simulated news: their names, and when each of them attacks."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from corefsample._arrays import Floats

Episode = tuple[datetime.date, datetime.date, float]


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCountry:
    """A country, or an organisation of states, in simulated news.

    Attributes
    ----------
    code
        Unique among the countries of a simulation.
    name, abbreviation
        "Iraq", "the United States", "the U.S.": words separated by blanks, with the article if it has one.
    adjective, people
        "American", "Americans". The name is used if one of these or the abbreviation is empty.
    rate
        Attacks of this country, relative to those of the others; not negative.
    episodes
        First day, last day and additional rate of each period with more attacks.
    opponents
        Codes of the countries that it attacks; any others if none of them exists.
    since, until
        First and last day on which the country exists, None for no bound.
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


class AttackRates:
    """Rates of attacks of each country, day by day.

    Parameters
    ----------
    countries
        With distinct codes; on each day three exist, an attacker, an opponent and an ally, or more.
    start, end
        First and last day.

    Attributes
    ----------
    rates
        float64 (n_days, n_countries), 0 where a country does not exist.
    """

    def __init__(self, countries: Sequence[SimulatedCountry], start: datetime.date, end: datetime.date) -> None:
        self.countries = tuple(countries)
        self.start = start
        self.n_days = (end - start).days + 1
        self.rates = np.zeros((self.n_days, len(self.countries)))
        for c, country in enumerate(self.countries):
            own = np.full(self.n_days, country.rate)
            for first, last, rate in country.episodes:
                own[self._days(first, last)] += rate
            exists = self._days(country.since, country.until)
            self.rates[exists, c] = own[exists]
        self._cumulative = np.cumsum(self.rates.sum(axis=1))

    def _days(self, first: datetime.date | None, last: datetime.date | None) -> slice:
        begin = 0 if first is None else max((first - self.start).days, 0)
        end = self.n_days if last is None else max((last - self.start).days + 1, 0)
        return slice(begin, end)

    def date(self, day: int) -> datetime.date:
        """Date of a day, numbered from the start."""
        return self.start + datetime.timedelta(days=day)

    def existing(self, date: datetime.date) -> list[SimulatedCountry]:
        """Countries that exist on a day."""
        return [country for country in self.countries if country.exists(date)]

    def attack(self, day_share: float, country_share: float) -> tuple[datetime.date, SimulatedCountry]:
        """Return day and country of an attack at two uniform quantiles in [0, 1) of the rates."""
        day = _place(self._cumulative, day_share)
        return self.date(day), self.countries[_place(np.cumsum(self.rates[day]), country_share)]


def _place(cumulative: Floats, share: float) -> int:
    """Return the place at a share of the total; never one of weight 0."""
    place = int(np.searchsorted(cumulative, share * cumulative[-1], side="right"))
    # share * total may round up to the total, which lies after the last place of positive weight
    return min(place, int(np.searchsorted(cumulative, cumulative[-1], side="left")))


@cache
def default_countries() -> tuple[SimulatedCountry, ...]:
    """Thirty-one countries with invented attacks, in bursts, from 1990 to 1999."""
    content = resources.files("events").joinpath("data", "simulated_countries.csv").read_text(encoding="utf-8")
    return tuple(_country(row) for row in csv.DictReader(content.splitlines()))


def _country(row: dict[str, str]) -> SimulatedCountry:
    return SimulatedCountry(
        **{name: row[name] for name in ("code", "name", "adjective", "people", "abbreviation")},
        rate=float(row["rate"]),
        episodes=tuple(_episode(each) for each in row["episodes"].split()),
        opponents=tuple(row["opponents"].split()),
        since=datetime.date.fromisoformat(row["since"]) if row["since"] else None,
        until=datetime.date.fromisoformat(row["until"]) if row["until"] else None,
    )


def _episode(text: str) -> Episode:
    """Parse first month, last month and rate: 1990-08/1991-02=9."""
    months, _, rate = text.partition("=")
    first, last = (datetime.date.fromisoformat(f"{month}-01") for month in months.split("/"))
    after = datetime.date(last.year + last.month // 12, last.month % 12 + 1, 1)
    return first, after - datetime.timedelta(days=1), float(rate)
