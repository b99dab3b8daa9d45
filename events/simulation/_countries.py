"""The countries of simulated news: their words, and when each of them attacks."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError

__all__ = ["SimulatedCountry", "Timeline", "default_countries"]

Episode = tuple[datetime.date, datetime.date, float]

_LEAST_COUNTRIES = 3  # an article needs one that attacks, one that is attacked, one that joins in


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCountry:
    """A country, or an organisation of states, that simulated news can speak of.

    Attributes
    ----------
    code
        Unique among the countries of a simulation.
    name, abbreviation
        "Iraq", "the United States", "the U.S.": words apart by blanks, with the article if it has one.
    adjective, people
        "American", "Americans". Where one of these or the abbreviation is empty the name is used.
    rate
        Attacks of this country, relative to those of the others; not negative.
    episodes
        First day, last day and rate of each time when it attacks more; added to `rate`.
    opponents
        Codes of the countries that it attacks; others if none of them is there.
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
        """Whether there is such a country on a day."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


class Timeline:
    """When each country exists and attacks, day by day.

    Parameters
    ----------
    countries
        With distinct codes; at least three must exist on each day.
    start, end
        First and last day.

    Attributes
    ----------
    rates
        float64 (n_days, n_countries), 0 where a country does not exist.

    Raises
    ------
    ParameterError
        If the countries are too few, share a code, or have a negative rate.
    """

    def __init__(self, countries: Sequence[SimulatedCountry], start: datetime.date, end: datetime.date) -> None:
        self.countries = tuple(countries)
        self.start = start
        self.n_days = (end - start).days + 1
        self.rates = np.zeros((self.n_days, len(self.countries)))
        exist = np.zeros(self.rates.shape, np.bool_)
        codes = [country.code for country in self.countries]
        for c, country in enumerate(self.countries):
            if country.code in codes[:c]:
                raise ParameterError(f"countries must have distinct codes, got {country.code!r} twice")
            for rate in (country.rate, *(rate for _, _, rate in country.episodes)):
                if not 0.0 <= rate < np.inf:
                    raise ParameterError(f"countries: rate of {country.code} must not be negative, got {rate!r}")
            self.rates[:, c] = country.rate
            for first, last, rate in country.episodes:
                self.rates[self._days(first, last), c] += rate
            exist[self._days(country.since, country.until), c] = True
        self.rates[~exist] = 0.0
        fewest = int(np.argmin(exist.sum(axis=1)))
        if (n_there := int(exist[fewest].sum())) < _LEAST_COUNTRIES:
            raise ParameterError(
                f"countries must be at least {_LEAST_COUNTRIES} on every day, got {n_there} on {self.date(fewest)}"
            )
        self._until_day = np.cumsum(self.rates.sum(axis=1))

    def _days(self, first: datetime.date | None, last: datetime.date | None) -> slice:
        begin = 0 if first is None else max((first - self.start).days, 0)
        end = self.n_days if last is None else max((last - self.start).days + 1, 0)
        return slice(begin, end)

    def date(self, day: int) -> datetime.date:
        """Date of a day, counted from the start."""
        return self.start + datetime.timedelta(days=day)

    @property
    def has_attacks(self) -> bool:
        """Whether some country attacks on some day."""
        return bool(self._until_day[-1] > 0.0)

    def attack(self, day_share: float, country_share: float) -> tuple[datetime.date, SimulatedCountry]:
        """Day and country of an attack, by rate, at two uniform quantiles in [0, 1)."""
        day = _place(self._until_day, day_share)
        return self.date(day), self.countries[_place(np.cumsum(self.rates[day]), country_share)]


def _place(cumulative: npt.NDArray[np.float64], share: float) -> int:
    """Where a share of the total lies; never a place of weight 0."""
    place = int(np.searchsorted(cumulative, share * cumulative[-1], side="right"))
    # share * total may round up to the total itself, past the last place of any weight
    return min(place, int(np.searchsorted(cumulative, cumulative[-1], side="left")))


# code | name | adjective | people | abbreviation | rate | episodes (months=rate) | opponents | exists
_DEFAULT = """
AFG | Afghanistan | Afghan | Afghans | | .1 | 1992-04/1992-12=1 1996-08/1997-06=1 | PAK IRN |
ARM | Armenia | Armenian | Armenians | | .05 | 1992-01/1994-05=.6 | AZE |
AZE | Azerbaijan | Azerbaijani | Azerbaijanis | | .05 | 1992-01/1994-05=.4 | ARM |
CAN | Canada | Canadian | Canadians | | .01 | | |
CHN | China | Chinese | | | .02 | | IND |
DEU | Germany | German | Germans | | .01 | | |
ECU | Ecuador | Ecuadorean | Ecuadoreans | | .02 | 1995-01/1995-03=2 | PER |
ERI | Eritrea | Eritrean | Eritreans | | .02 | 1998-05/1998-06=2 1999-02/1999-06=2 | ETH | 1993-05-24/
ETH | Ethiopia | Ethiopian | Ethiopians | | .05 | 1998-05/1998-06=3 1999-02/1999-06=3 | ERI |
FRA | France | French | | | .02 | | |
GBR | Britain | British | Britons | the U.K. | .05 | 1991-01/1991-02=2 1998-12/1998-12=2 1999-03/1999-06=1 | IRQ YUG |
HRV | Croatia | Croatian | Croatians | | .05 | 1991-08/1992-01=1.5 1995-05/1995-08=5 | YUG |
IND | India | Indian | Indians | | .1 | 1999-05/1999-07=3 | PAK |
IRN | Iran | Iranian | Iranians | | .1 | | IRQ |
IRQ | Iraq | Iraqi | Iraqis | | .3 | 1990-08/1991-02=11 1991-03/1991-05=5 1996-08/1996-10=4 1998-12/1998-12=7 | KWT |
ISR | Israel | Israeli | Israelis | | 1.4 | 1993-07/1993-08=7 1996-04/1996-06=7 | LBN SYR |
KOR | South Korea | South Korean | South Koreans | | .02 | | PRK |
KWT | Kuwait | Kuwaiti | Kuwaitis | | .02 | 1990-08/1991-02=.5 | IRQ |
LBN | Lebanon | Lebanese | | | .1 | 1990-01/1990-10=1 | ISR |
PAK | Pakistan | Pakistani | Pakistanis | | .1 | 1999-05/1999-07=2 | IND |
PER | Peru | Peruvian | Peruvians | | .05 | 1995-01/1995-03=2 | ECU |
PRK | North Korea | North Korean | North Koreans | | .02 | 1996-09/1996-10=1 | KOR |
RUS | Russia | Russian | Russians | | .2 | 1994-12/1995-09=6 1996-01/1996-08=4 1999-09/1999-12=9 | AFG | 1991-12-26/
RWA | Rwanda | Rwandan | Rwandans | | .05 | 1994-04/1994-07=3 1996-10/1997-04=1.5 | |
SOM | Somalia | Somali | Somalis | | .1 | 1993-06/1993-10=2 | USA |
SUN | the Soviet Union | Soviet | Soviets | the U.S.S.R. | .3 | 1991-01/1991-01=1 | AFG | /1991-12-25
SYR | Syria | Syrian | Syrians | | .1 | 1990-08/1990-10=1 | LBN ISR |
TUR | Turkey | Turkish | Turks | | .2 | 1992-10/1992-11=5 1995-03/1995-05=6 1997-05/1997-07=5 | IRQ SYR |
USA | the United States | American | Americans | the U.S. | .4 | 1991-01/1991-02=14 1993-06/1993-10=4 \
1998-08/1998-08=5 1998-12/1998-12=14 1999-03/1999-06=8 | IRQ YUG SOM |
X-NATO | NATO | | | | .02 | 1995-08/1995-09=8 1999-03/1999-06=12 | YUG |
YUG | Yugoslavia | Yugoslav | Yugoslavs | | .1 | 1991-06/1992-06=5 1998-03/1998-10=4 1999-01/1999-06=8 | HRV X-NATO |
"""


@cache
def default_countries() -> tuple[SimulatedCountry, ...]:
    """Thirty-one countries with invented attacks, in bursts, from 1990 to 1999."""
    return tuple(_country(line) for line in _DEFAULT.strip().splitlines())


def _country(line: str) -> SimulatedCountry:
    code, name, adjective, people, abbreviation, rate, episodes, opponents, exists = (
        field.strip() for field in line.split("|")
    )
    since, _, until = exists.partition("/")
    return SimulatedCountry(
        code=code,
        name=name,
        adjective=adjective,
        people=people,
        abbreviation=abbreviation,
        rate=float(rate),
        episodes=tuple(_episode(each) for each in episodes.split()),
        opponents=tuple(opponents.split()),
        since=datetime.date.fromisoformat(since) if since else None,
        until=datetime.date.fromisoformat(until) if until else None,
    )


def _episode(text: str) -> Episode:
    """Days of an episode given in months: 1990-08/1991-02=9."""
    months, _, rate = text.partition("=")
    first, last = (datetime.date.fromisoformat(f"{month}-01") for month in months.split("/"))
    after = datetime.date(last.year + last.month // 12, last.month % 12 + 1, 1)
    return first, after - datetime.timedelta(days=1), float(rate)
