"""Columns and types that the tables of events share, settings of evidence, and the keys and names of events.

Every table begins with the column `event`, the name of the rule, and the columns of its roles, `actor` and `target`. A
row has the code of an actor in each of these, and an empty text where no actor fills it or its rule has no target.
If another event of the table has actors, the actor of a rule without roles is `*`, any actor or no actor.

The key of an event is the code of its actor, or one code for each role; its name has them joined with ">".
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from corefsample import InputError, ParameterError, _checks
from corefsample._arrays import Ints, pd
from events.rules._format import ANYBODY, CLASS

_NO_ACTOR = "-"  # in names, in place of the empty code


class EventKey(tuple[str, ...]):
    """Codes of an event, one for each role, empty where no actor fills it; none for a rule without roles."""

    __slots__ = ()

    @classmethod
    def of(cls, event: str | Sequence[str]) -> Self:
        """Codes of an event: ("IRQ", "KWT") for "IRQ>KWT", ("IRQ", "") for "IRQ>-"; or those of a sequence."""
        if not isinstance(event, str):
            return cls(_checks.elements("actor", event, str))
        return cls("" if code == _NO_ACTOR else code for code in event.split(">"))

    @property
    def name(self) -> str:
        """Codes joined with ">"; "-" stands for no actor, and "event" for the event of a rule without roles."""
        return ">".join(code or _NO_ACTOR for code in self) if self else "event"

    def values(self, columns: Sequence[str]) -> dict[str, str]:
        """Values of the columns of roles; the keys of a predicate can have more codes than its one column."""
        return dict(zip(columns, self if len(self) == len(columns) else (self.name,), strict=False))

    def cells(self, columns: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
        """Values for the columns `roles` of a table of several events, of which this event has only `columns`.

        If `columns` is empty, the first value is `*`; other roles that the event does not have are empty.
        """
        defaults = dict.fromkeys(roles, "") if columns else {role: "" if r else ANYBODY for r, role in enumerate(roles)}
        return defaults | self.values(columns)


ACTOR = ("actor",)  # the column of rules with one role
TABLE_METADATA = {b"corefsample.table": b"1"}  # version of the tables in Parquet files: see docs/file-formats.md
# Words of a rule and names of actors are in one document or sentence: see `events.matching._screening.Cooccurrence`.
COOCCURRENCES = ("document", "sentence")
RULE_COLUMNS = ("mean_rule", "lower_rule", "upper_rule")  # mean and interval of what readers would count
P_COLUMNS = ("p_first_greater", "p_equal", "p_second_greater")  # of comparisons
TIMESTAMP = "datetime64[ms]"  # of pandas; days from year 1 on, which nanoseconds cannot represent

COMPARISON_COLUMNS = [
    *("event", "period", "period_start", "first", "second", *P_COLUMNS, "mean_difference", "lower", "upper", "level"),
]
PANDAS_TYPES = {pa.string(): "str", pa.int64(): "int64", pa.float64(): "float64", pa.timestamp("ms"): TIMESTAMP}


def count_columns(
    roles: Sequence[str],
    *,
    by: Sequence[str] = (),
    recalibrated: bool = False,
    defaults: bool = False,
    rule_error: bool = False,
) -> dict[str, pa.DataType]:
    """Columns of the table of counts with their types.

    Parameters
    ----------
    roles, by
        Names of the columns of roles, and of the columns of groups of documents, which follow the period.
    recalibrated, defaults, rule_error
        True to add the column `uncertainty` (none, fit or domain), `mean_named`, or the columns `RULE_COLUMNS`.
    """
    text, number, real = pa.string(), pa.int64(), pa.float64()
    return {
        **dict.fromkeys(("event", *roles, "period"), text),
        "period_start": pa.timestamp("ms"),
        **dict.fromkeys(by, text),
        "n_docs": number,
        **(dict.fromkeys(RULE_COLUMNS, real) if rule_error else {}),
        **dict.fromkeys(("mean", "mean_mc_se", "sd", "lower", "upper", "level"), real),
        "interval": text,
        "n_samples": number,
        "one_best": number,
        **({"mean_named": real} if defaults else {}),
        **({"uncertainty": text} if recalibrated else {}),
    }


def role_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Columns of roles among the columns of a table of counts: those before the period."""
    return tuple(name for name in takewhile(lambda name: name != "period", names) if name != "event")


def group_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Columns of groups of documents among the columns of a table of counts: those between period and n_docs."""
    after_period = list(dropwhile(lambda name: name != "period", names))[1:]
    return tuple(name for name in takewhile(lambda name: name != "n_docs", after_period) if name != "period_start")


def row_names(table: pd.DataFrame, *, full: bool | None = None, like: pd.DataFrame | None = None) -> pd.Series[str]:
    """Name of each row of a table of counts: its actors, preceded by its event if the table has several events.

    Parameters
    ----------
    table
        Table of counts, as `EventCounts.to_frame` returns it or as in counts.csv.
    full
        True if names begin with the event; by default they do if the table has more than one event.
    like
        Table that shows which columns of roles each event has, namely those that are not always empty. By default
        `table` itself.
    """
    columns = role_columns(table.columns)
    events = table["event"].astype(str) if "event" in table else pd.Series("event", table.index, dtype=str)
    if full is None:
        full = len(events.unique()) > 1
    event_columns = _columns_of_events(table if like is None else like, columns)
    cells = [table[column].fillna("").astype(str) for column in columns]
    names = []
    for event, *codes in zip(events, *cells, strict=True):
        by_column = dict(zip(columns, codes, strict=True))
        actors = EventKey(by_column[column] for column in event_columns.get(event, columns)).name
        is_alone = not event_columns.get(event, columns)
        names.append(event if is_alone else f"{event}: {actors}" if full else actors)
    return pd.Series(names, table.index, dtype=object)


def _columns_of_events(table: pd.DataFrame, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each event of a table, the columns of roles that are not always empty."""
    if "event" not in table:
        return {}
    filled = {column: table[column].fillna("").astype(str).ne("") for column in columns}
    return {
        str(event): tuple(column for column in columns if filled[column][table["event"] == event].any())
        for event in table["event"].unique()
    }


def shown_name(code: str, names: Mapping[str, str]) -> str:
    """Text for the name of a count: names of actors instead of their codes, and the title of the event if it has one.

    Examples
    --------
    >>> shown_name("attack: IRQ>KWT", {"IRQ": "Iraq", "KWT": "Kuwait"})
    'attack: Iraq > Kuwait'
    >>> shown_name("any: {army}|-", {"{army}": "{army}"})
    'any: any army or no actor named'
    """
    event, colon, actors = code.rpartition(": ")
    code_names = {**names, _NO_ACTOR: "no actor named", ANYBODY: "anyone"}
    alternatives = [
        " > ".join(CLASS.sub(r"any \1", str(code_names.get(code, code))) for code in pattern.split(">"))
        for pattern in actors.split("|")
    ]
    return names.get(event, event) + colon + " or ".join(alternatives)


_KEY = b"corefsample.evidence"


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """What the rows of evidence are about, and how the documents were sampled.

    Attributes
    ----------
    columns
        Names of the columns of roles of each event, by the name of the event.
    n_samples, seed
        Number of samples per document, and seed of the random draws, in [0, 2**64).
    period
        Length of a period: year, quarter, month, week, day, or a pandas alias.
    definitions
        Texts that identify the rules and the lexicon, by "rule" and "lexicon"; empty for a predicate.
    kinds
        Class of each actor that can have an event, by the code of the actor; if empty, any name can have one.
    outcomes
        Patterns of actors with which each outcome is declared, by the name of the outcome.
    has_defaults
        Whether default actors can fill roles.
    is_predicate
        Whether the events are those of a predicate, which may return numbers.
    uncertainty
        Uncertainty of the recalibration that the samples include: "none", "fit" or "domain"; None if scores were used
        without the uncertainty of a recalibration.
    scores
        Recalibration that the metadata of the first document record, if the samples depend on it.
    """

    columns: Mapping[str, Sequence[str]]
    n_samples: int
    seed: int
    period: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_defaults: bool = False
    is_predicate: bool = False
    uncertainty: str | None = None
    scores: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the columns of roles of all events."""
        return tuple(dict.fromkeys(column for columns in self.columns.values() for column in columns))

    @property
    def is_shared(self) -> bool:
        """Whether documents share draws of a recalibration, and are not independent."""
        return self.uncertainty in ("fit", "domain")

    def require_same(self, other: EvidenceSettings) -> None:
        """Raise ParameterError if rule, lexicon, period, seed or number of samples differ."""
        texts, other_texts = (each._compared() for each in (self, other))
        for name in (*texts, *other_texts):
            if texts.get(name) != other_texts.get(name):
                rule = f"must have the same {name} as this counter ({texts.get(name)})"
                raise ParameterError(f"{rule}, got {other_texts.get(name)}", parameter="other")

    def _compared(self) -> dict[str, object]:
        texts = {"events": ", ".join(self.columns), **self.definitions, "period": Calendar(self.period).freq}
        return {**texts, "seed": self.seed, "n_samples": self.n_samples}

    def in_metadata(self, schema: pa.Schema) -> pa.Schema:
        """A schema with these settings in its metadata, and the version of the tables."""
        return schema.with_metadata({**TABLE_METADATA, _KEY: json.dumps(dataclasses.asdict(self)).encode()})

    @classmethod
    def of_schema(cls, schema: pa.Schema, path: str) -> EvidenceSettings:
        """Settings in the metadata of a schema; raises InputError if the table at `path` has none."""
        text = (schema.metadata or {}).get(_KEY)
        if text is None:
            hint = "repeat the run with this version"
            raise InputError("table must be evidence with its settings, got none", place=path, hint=hint)
        return cls(**json.loads(text))


NO_PERIOD = int(np.iinfo(np.int64).min)  # number of the period of a document without a date
UNDATED = "undated"  # its label
_FIRST_DAY = np.datetime64(datetime.date.min, "D")
_NAMES = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D"}


class Period(NamedTuple):
    """One period: its number, its label ("1999Q2") and its first day, None for documents without a date."""

    number: int
    label: str
    start: datetime.date | None


@dataclass(frozen=True, slots=True, repr=False)
class Calendar:
    """The periods of one length.

    Parameters
    ----------
    period
        Length of a period: year, quarter, month, week, day, or a period alias of pandas such as "W-SUN" or "Q-NOV".
        Multiples such as "2Q" are not allowed. By default "quarter".

    Raises
    ------
    ParameterError
        If `period` is neither one of these names nor a pandas alias of a single year, quarter, month, week or day.
    """

    period: str = "quarter"
    freq: str = field(init=False)
    _known: dict[int, Period] = field(init=False, default_factory=dict, compare=False)  # at most those of a table

    def __post_init__(self) -> None:
        alias = _NAMES.get(self.period, self.period)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # pandas warns of deprecated aliases: w, B
                example = pd.Period("2000-01-01", freq=alias)
        except (ValueError, TypeError, AttributeError, Warning):
            example = None
        if example is None or example.freq.n != 1 or example.freqstr[0] not in "YAQMWD":
            rule = f"must be one of {', '.join(_NAMES)} or a pandas alias like W-SUN or Q-NOV"
            raise ParameterError(f"{rule}, got {self.period!r}", parameter="period")
        object.__setattr__(self, "freq", example.freqstr)

    def __repr__(self) -> str:
        return f"Calendar({self.period!r})"

    def numbers(self, dates: np.typing.NDArray[np.datetime64] | Sequence[datetime.date]) -> Ints:
        """Number of the period of each date: int64 (n,); `NO_PERIOD` if the date is missing."""
        days = np.asarray(dates, dtype="datetime64[D]").astype(np.int64)
        periods = _from_ordinals(days, "D").asfreq(self.freq)
        return np.asarray(periods.astype("int64"))

    def index(self, numbers: np.typing.ArrayLike) -> pd.PeriodIndex:
        """Index of the periods with these numbers."""
        return _from_ordinals(np.asarray(numbers, dtype=np.int64), self.freq)

    def periods(self, numbers: np.typing.ArrayLike) -> list[Period]:
        """Return the periods with these numbers.

        Raises
        ------
        ParameterError
            If a period starts before year 1.
        """
        requested = np.asarray(numbers).tolist()
        self._known.setdefault(NO_PERIOD, Period(NO_PERIOD, UNDATED, None))
        unknown = sorted({*requested}.difference(self._known))
        if unknown:
            index = self.index(unknown)
            # As days and not as timestamps, which end in 1677 in pandas 2.
            starts = index.asfreq("D", "START").astype("int64").to_numpy().astype("datetime64[D]")
            if starts[0] < _FIRST_DAY:
                rule = f"must be one whose periods start in year 1 or later, got {self.period!r}"
                raise ParameterError(f"{rule}, with documents in the period from {starts[0]}", parameter="period")
            self._known.update(zip(unknown, map(Period, unknown, index.astype(str), starts.tolist()), strict=True))
        return [self._known[number] for number in requested]


def _from_ordinals(numbers: Ints, freq: str) -> pd.PeriodIndex:
    index: pd.PeriodIndex = pd.PeriodIndex.from_ordinals(numbers, freq=freq)  # type: ignore[attr-defined]
    return index
