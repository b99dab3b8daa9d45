"""Posterior of counts: documents' events summed by period, actor and group.

Given each document's P(event) the documents are independent, so a period's count is Poisson-binomial: mean sum(p),
variance sum(p (1 - p)), and exact quantiles. The paper's normal interval, and the counts of documents that share draws
of a recalibration, are those of the sums over documents in each sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Ints32, fields_of, pd
from corefsample.coreference._kernels import poisson_binomial
from corefsample.errors import ParameterError, shown
from corefsample.posterior._posterior import N_DRAWS
from events.counts import _credible_intervals as credible_intervals
from events.counts._occurrences import Occurrences, indices
from events.evidence import _columns

Interval = Literal["quantile", "hdi", "normal"]
_CELL_COLUMNS = ("mean", "mean_mc_se", "sd", "lower", "upper", "one_best", "mean_named")  # columns


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventCounts(HtmlTable):
    """Posterior of the number of documents with an event, by actor and period.

    The intervals cover the uncertainty of coreference (which mentions belong to one entity) and, depending on
    `uncertainty`, that of the recalibration of the scores. Parses, lexicon, rule and the choice of documents are
    assumed to be correct, and the antecedent probabilities to be calibrated.

    If the events come from a predicate that returns numbers, the count is the sum of the documents' numbers.

    Methods take the code of an actor; for two roles they take "AAA>BBB" or a tuple of two codes, with "-" in the text
    or "" in the tuple for no actor.

    Attributes
    ----------
    occurrences
        The evidence: which event is possible in which document, and in how many samples it is true.
    event
        Name of the rule.
    by
        Names of the columns of the documents by which the counts are grouped.
    level
        Probability that each credible interval has, in (0, 1).
    interval
        "quantile" (central, integer ends), "hdi" (shortest, integer ends) or "normal": mean +- z times the standard
        deviation of the per-sample counts, as in Nguyen & O'Connor (2015, section 6.2); its ends can be negative.

    Raises
    ------
    ParameterError
        On construction, if `level` is not in (0, 1) or `interval` is not a kind of interval.
    """

    occurrences: Occurrences
    event: str
    by: tuple[str, ...] = ()
    level: float = 0.95
    interval: Interval = "quantile"
    cells: Cells = field(init=False)

    def __post_init__(self) -> None:
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.choice("interval", self.interval, get_args(Interval))
        object.__setattr__(self, "cells", Cells(self.occurrences, self.event))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that hold the codes of the rule's roles in tables."""
        return tuple(self.occurrences.settings.columns[self.event])

    @property
    def uncertainty(self) -> str | None:
        """Uncertainty of the recalibration that the samples include; None without.

        With "fit" and "domain", all documents share the draws of the recalibration and are not independent, so
        distributions are those of the sampled counts.
        """
        return self.occurrences.settings.uncertainty

    @property
    def n_samples(self) -> int:
        """Number of samples per document."""
        return self.occurrences.settings.n_samples

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.occurrences.periods)

    def __repr__(self) -> str:
        periods = self.periods()
        span = f"{periods[0].label} to {periods[-1].label}" if periods else "no period"
        names = [key.name for key in self.events()]
        return (
            f"EventCounts({self.n_documents:,} documents, {span}, {len(names)} actors)\n"
            f"  actors: {shown(', '.join(names))}\n"
            f"  {100 * self.level:g}% {self.interval} intervals from {self.n_samples:,} samples per document"
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row for each actor and period, including periods without documents.

        The periods are those of the bulk of the documents. `occurrences.outside` says which documents have dates far
        from all others; totals have these too.

        Returns
        -------
        pandas.DataFrame
            event (name of the rule); `actor`, and `target` of rules with two roles; period
            ("1999Q2", and "undated" of documents without a date, which are in no period); period_start (timestamp of
            its first day); n_docs (documents in the period); mean and sd of the
            count (sd of the Poisson-binomial distribution; among the samples if documents share draws of a
            recalibration); mean_mc_se (Monte Carlo standard error of the mean: root of the documents' summed
            squares, where a bound replaces an error of zero); lower, upper, level and interval of the
            credible interval; n_samples; one_best (the count by the likeliest antecedents alone); for rules with
            default actors mean_named (the mean count of documents in which the text names the actor, or in which the
            event has no actor). With groups of documents, their columns follow period_start, and every group has all
            periods.
        """
        return self.rows(self.events(), self.listed_periods())

    def totals(self) -> pd.DataFrame:
        """Table of the totals over all periods and documents without a date, one row for each actor.

        Returns
        -------
        pandas.DataFrame
            event, the columns of roles, n_docs (documents of the corpus), mean, sd, lower, upper, level and one_best:
            see `to_frame`; sd and the interval are those of the sampled totals.
        """
        keys, n_groups = self.events(), len(self.occurrences.groups)
        key_of_cell = indices(self.cells.keys, keys)[self.cells.key]
        row_of_cell = np.where(key_of_cell < 0, -1, key_of_cell * n_groups + self.cells.group)
        sampled = np.zeros((len(keys) * n_groups, self.n_samples), np.int32)
        np.add.at(sampled, row_of_cell[self.cells.has_evidence], self.cells.by_sample)
        n_docs = np.bincount(self.occurrences.group_of, minlength=n_groups).tolist()
        rows = []
        for number, counts in enumerate(sampled):
            key, group = keys[number // n_groups], number % n_groups
            cells = row_of_cell == number
            lower, upper = self._ends_of(counts, credible_intervals.sample_shares(counts))
            rows.append(
                {
                    "event": self.event,
                    **key.values(self.columns),
                    **dict(zip(self.by, self.occurrences.groups[group], strict=True)),
                    "n_docs": n_docs[group],
                    "mean": math.fsum(self.cells.mean[cells]),
                    "sd": float(np.std(counts)),
                    "lower": lower,
                    "upper": upper,
                    "level": self.level,
                    "one_best": int(self.cells.one_best[cells].sum()),
                }
            )
        names = ["event", *self.columns, *self.by, "n_docs", "mean", "sd", "lower", "upper", "level", "one_best"]
        table = pd.DataFrame(rows, columns=names)
        ends = {} if rows else dict.fromkeys(("lower", "upper"), "float" if self.interval == "normal" else "int64")
        return table.astype({"n_docs": "int64", "mean": "float", "sd": "float", "one_best": "int64", **ends})

    def rows(self, keys: Sequence[_columns.EventKey], periods: Sequence[_columns.Period]) -> pd.DataFrame:
        """Rows of `to_frame` for the events with these keys, with or without evidence, in these periods."""
        roles, groups = [key.values(self.columns) for key in keys], self.occurrences.groups
        numbers = [period.number for period in periods]
        row, column_of_cell = (
            indices(self.cells.keys, keys)[self.cells.key],
            indices(self.cells.period.tolist(), numbers),
        )
        cells = np.flatnonzero((row >= 0) & (column_of_cell >= 0))
        shape = len(keys), len(groups), len(periods)
        values = np.zeros((len(_CELL_COLUMNS), *shape))  # most cells of a long table are zeros
        values[:, row[cells], self.cells.group[cells], column_of_cell[cells]] = self._cell_values(cells)
        n_docs = np.zeros(shape[1:], np.int64)
        column_of_document = indices(self.occurrences.periods.tolist(), numbers)
        listed = column_of_document >= 0
        np.add.at(n_docs, (self.occurrences.group_of[listed], column_of_document[listed]), 1)
        _, group, period = (each.ravel() for each in np.indices(shape))
        columns: dict[str, Any] = {
            "event": self.event,
            **{
                name: np.repeat(np.array([each[name] for each in roles], object), len(groups) * len(periods))
                for name in self.columns
            },
            "period": np.array([each.label for each in periods], object)[period],
            "period_start": np.array([each.start for each in periods], _columns.TIMESTAMP)[period],
            **{name: np.array([each[g] for each in groups], object)[group] for g, name in enumerate(self.by)},
            "n_docs": np.broadcast_to(n_docs, shape).ravel(),
            **dict(zip(_CELL_COLUMNS, values.reshape(len(_CELL_COLUMNS), -1), strict=True)),
            **fields_of(self, "level", "interval", "n_samples", "uncertainty"),
        }
        types = self.column_types(self.columns)
        table = pd.DataFrame(columns, index=range(len(group)), columns=list(types))
        return table.astype({name: _columns.PANDAS_TYPES[kind] for name, kind in types.items()})

    def not_counted(self) -> Ints:
        """Documents with P of at most one half, by the co-occurrence of words and names.

        Returns
        -------
        int64 (n_totals, n_periods + 1, 3)
            For each row of `totals`, each period of `to_frame`, and the documents outside of these periods: documents
            with words and names in one sentence, in one document, and others.
        """
        occurrences, keys, n_groups = self.occurrences, self.events(), len(self.occurrences.groups)
        listed = [period.number for period in self.listed_periods()]
        columns = indices(occurrences.periods.tolist(), listed)
        shape = n_groups, len(listed) + 1
        strata = occurrences.group_of * shape[1] + np.where(columns < 0, len(listed), columns)
        key_of_row = indices(occurrences.keys, [(self.event, key) for key in keys])[occurrences.key]
        cells = key_of_row * (shape[0] * shape[1]) + strata[occurrences.document]
        is_above = 2 * occurrences.n_hits > self.n_samples

        def numbers(rows: Bools) -> Ints:
            counted = np.bincount(cells[rows & (key_of_row >= 0)], minlength=len(keys) * shape[0] * shape[1])
            return counted.reshape(len(keys), *shape)

        n_docs = np.bincount(strata, minlength=shape[0] * shape[1]).reshape(shape)
        in_document, in_sentence = (numbers(~is_above & (occurrences.cooccurrence == each)) for each in (0, 1))
        others = n_docs - numbers(is_above) - in_sentence - in_document
        return np.stack([in_sentence, in_document, others], axis=-1).reshape(-1, shape[1], 3)

    def column_types(self, roles: Sequence[str]) -> dict[str, pa.DataType]:
        """Columns of the table with their types, if `roles` are the columns of roles."""
        defaults, recalibrated = self.occurrences.settings.has_defaults, self.uncertainty is not None
        return _columns.count_columns(roles, by=self.by, recalibrated=recalibrated, defaults=defaults)

    def _cell_values(self, cells: Ints) -> Floats:
        """Values of the columns `_CELL_COLUMNS` of some cells: float64 (7, n_cells)."""
        all_cells, settings = self.cells, self.occurrences.settings
        values = np.zeros((len(_CELL_COLUMNS), len(cells)))
        values[0], values[1] = all_cells.mean[cells], np.sqrt(all_cells.variance_of_mean[cells])
        values[2] = np.sqrt(all_cells.variance[cells])
        values[5], values[6] = all_cells.one_best[cells], all_cells.n_named[cells] / self.n_samples
        with_evidence = np.flatnonzero(all_cells.has_evidence[cells])  # the count is 0 in the others
        if self.interval != "normal" and not settings.is_shared:
            for index in with_evidence.tolist():
                values[3:5, index] = self._ends_of(None, all_cells.pmf(int(cells[index])))
            return values
        of_evidence = np.cumsum(all_cells.has_evidence) - 1  # rows of sampled counts
        for index in with_evidence.tolist():
            cell = int(cells[index])
            counts = all_cells.by_sample[of_evidence[cell]]
            if settings.is_shared:
                values[2, index] = np.std(counts)
                values[1, index] = max(values[1, index], _error_of_draws(counts))
            pmf = credible_intervals.sample_shares(counts) if settings.is_shared else all_cells.pmf(cell)
            values[3:5, index] = self._ends_of(counts, pmf)
        return values

    def _ends_of(self, by_sample: np.typing.NDArray[np.integer] | None, pmf: Floats) -> tuple[float, float]:
        """Ends of the credible interval of a count: "normal" uses its samples, other kinds its distribution."""
        if self.interval == "normal":
            from scipy.special import ndtri

            assert by_sample is not None
            half = float(ndtri((1.0 + self.level) / 2.0)) * float(np.std(by_sample))
            mean = float(np.mean(by_sample))
            return mean - half, mean + half
        interval = credible_intervals.hdi_interval if self.interval == "hdi" else credible_intervals.quantile_interval
        return interval(pmf, self.level)

    def events(self) -> list[_columns.EventKey]:
        """Events with any evidence, sorted by their names."""
        with_evidence = np.unique(self.cells.key[self.cells.has_evidence | (self.cells.one_best > 0)])
        return sorted((self.cells.keys[key] for key in with_evidence), key=lambda key: key.name)

    def periods(self) -> list[_columns.Period]:
        """Every period from the first of the bulk of the documents to the last, or of all documents on request."""
        return self.occurrences.calendar.periods(self.occurrences.span)

    def listed_periods(self) -> list[_columns.Period]:
        """Every period of tables, followed by the period "undated" if there are documents without a date."""
        is_undated = bool((self.occurrences.periods == _columns.NO_PERIOD).any())
        return [*self.periods(), *(self.occurrences.calendar.periods([_columns.NO_PERIOD]) if is_undated else [])]

    def period(self, label: str) -> _columns.Period:
        """Return the period with a label ("1999Q2", "undated"), or raise ParameterError."""
        numbers = sorted({*self.occurrences.periods.tolist(), *self.occurrences.span})
        periods = {period.label: period for period in self.occurrences.calendar.periods(numbers)}
        if not isinstance(label, str) or label not in periods:
            labels = [period.label for period in self.periods()]
            rule = f"from {labels[0]} to {labels[-1]}" if labels else "of a corpus with documents"
            raise ParameterError(f"must be one {rule}, got {label!r}", parameter="period")
        return periods[label]

    def key(self, actor: str | Sequence[str], *, parameter: str = "actor") -> _columns.EventKey:
        """Key of an actor that can be counted; raises a ParameterError that names `parameter` for any other actor."""
        key = _columns.EventKey.of(actor) if self.columns else _columns.EventKey()
        if not self.has(key):
            names = ", ".join(each.name for each in self.events()) or "none"
            raise ParameterError(f"must be one that is counted ({names}), got {key.name!r}", parameter=parameter)
        return key

    def has(self, actor: str | _columns.EventKey) -> bool:
        """Whether an actor can be counted, with or without evidence."""
        key = actor if isinstance(actor, _columns.EventKey) else _columns.EventKey.of(actor)
        settings = self.occurrences.settings
        if self.event in settings.outcomes:
            return key.name in settings.outcomes[self.event]
        if key in self.cells.keys or not settings.kinds:
            return True
        return len(key) == len(self.columns) and settings.kinds.keys() >= {*key}

    def pmf(self, actor: str | Sequence[str], period: str) -> Floats:
        """Distribution of one count: float64 (n + 1,), entry k is P(count = k).

        Raises
        ------
        ParameterError
            If the actor cannot be counted, or the counts have no such period.
        """
        key, number = self.key(actor), self.period(period).number
        if key not in self.cells.keys:
            return np.ones(1)
        is_cell = (self.cells.key == self.cells.keys.index(key)) & (self.cells.period == number)
        if not self.occurrences.settings.is_shared:
            rows = np.concatenate([self.cells.rows_of(int(cell)) for cell in np.flatnonzero(is_cell)] or [is_cell[:0]])
            return self.cells.pmf_of(rows.astype(np.int64))
        return credible_intervals.sample_shares(self.cells.sampled(np.where(is_cell, 0, -1), 1)[0])

    def compare(self, first: str | Sequence[str], second: str | Sequence[str]) -> pd.DataFrame:
        """Compare the counts of two actors in each period, by each document's joint distribution of both events.

        An actor that can be counted but has no event has a count of zero.

        Parameters
        ----------
        first, second
            Codes of the two actors, such as "YUG" and "IRQ".

        Returns
        -------
        pandas.DataFrame
            event; period; period_start (timestamp); first; second; p_first_greater, p_equal, p_second_greater;
            mean_difference (first - second); lower, upper and level of its central credible interval.

        Raises
        ------
        ParameterError
            If both actors are the same, or one of them cannot be counted.
        """
        keys = self.key(first, parameter="first"), self.key(second, parameter="second")
        names = tuple(key.name for key in keys)
        if keys[0] == keys[1]:
            raise ParameterError(f"must be another actor than first, got {names[1]!r} twice", parameter="second")
        documents, exclusive, differences = self.cells.joint(*keys)
        group_of, period_of = self.occurrences.group_of[documents], self.occurrences.periods[documents]
        rows = []
        for group, values in enumerate(self.occurrences.groups):
            for period in self.periods():
                here = (group_of == group) & (period_of == period.number)
                if differences is not None:
                    by_sample = differences[here].sum(axis=0)
                    least, mean = int(by_sample.min()), float(by_sample.mean())
                    pmf = credible_intervals.sample_shares(by_sample - least)
                else:
                    first_only, second_only = exclusive[:, here] / self.n_samples
                    least, mean = -len(first_only), float(first_only.sum() - second_only.sum())
                    pmf = credible_intervals.difference_pmf(first_only, second_only)
                compared = self._compared(pmf, least)
                shares, ends = compared[:3], compared[3:]
                rows.append((self.event, period.label, period.start, *values, *names, *shares, mean, *ends, self.level))
        columns = [*_columns.COMPARISON_COLUMNS[:3], *self.by, *_columns.COMPARISON_COLUMNS[3:]]
        table = pd.DataFrame(rows, columns=columns)
        return table.assign(period_start=np.array(table["period_start"].tolist(), _columns.TIMESTAMP))

    def _compared(self, pmf: Floats, least: int) -> list[float]:
        """P(above 0), P(0), P(below 0) and interval of a difference whose values begin at `least`."""
        signs = np.sign(np.arange(len(pmf)) + least)
        shares = [min(float(pmf[signs == sign].sum()), 1.0) for sign in (1, 0, -1)]
        return [*shares, *(end + least for end in credible_intervals.quantile_interval(pmf, self.level))]

    def compare_periods(self, first: str, second: str) -> pd.DataFrame:
        """Compare the counts of two periods, for each actor.

        Parameters
        ----------
        first, second
            Labels of the periods, such as "1999Q1" and "1999Q2".

        Returns
        -------
        pandas.DataFrame
            event; columns of roles; first; second; n_docs_first and n_docs_second, documents of the periods;
            p_first_greater, p_equal, p_second_greater; mean_difference (first - second); lower, upper and level of its
            central credible interval.

        Raises
        ------
        ParameterError
            If the periods are the same, or one of them is not in the tables.
        """
        keys, cells, groups = self.events(), self.cells, self.occurrences.groups
        numbers = {period.label: period.number for period in self.listed_periods()}
        for label in (first, second):
            _checks.choice("compare_periods", label, tuple(numbers))
        if first == second:
            raise ParameterError(f"must be two periods, got {first!r} twice", parameter="compare_periods")
        rows = []
        for key, group in ((key, group) for key in keys for group in range(len(groups))):
            k = cells.keys.index(key)
            same = (cells.key == k) & (cells.group == group)
            of_periods = [np.flatnonzero(same & (cells.period == numbers[label])) for label in (first, second)]
            mean = math.fsum(cells.mean[of_periods[0]]) - math.fsum(cells.mean[of_periods[1]])
            if self.occurrences.settings.is_shared:
                sampled = [cells.sampled(np.isin(np.arange(len(same)), each) - 1, 1)[0] for each in of_periods]
                least = -int(sampled[1].max())
                pmf = credible_intervals.sample_shares(sampled[0] - sampled[1] - least)
            else:
                pmfs = [cells.pmf(int(each[0])) if len(each) else np.ones(1) for each in of_periods]
                least, pmf = 1 - len(pmfs[1]), np.convolve(pmfs[0], pmfs[1][::-1])
            in_group = self.occurrences.periods[self.occurrences.group_of == group]
            n_docs = [int((in_group == numbers[label]).sum()) for label in (first, second)]
            shares, ends = (compared := self._compared(pmf, least))[:3], compared[3:]
            names = (*key.values(self.columns).values(), *groups[group])
            rows.append((self.event, *names, first, second, *n_docs, *shares, mean, *ends, self.level))
        columns = ["event", *self.columns, *self.by, "first", "second", "n_docs_first", "n_docs_second"]
        return pd.DataFrame(rows, columns=[*columns, *_columns.COMPARISON_COLUMNS[5:]])


@dataclass(frozen=True, slots=True, eq=False)
class CountsOfRules:
    """The counts of several rules, and the tables of all of them.

    Attributes
    ----------
    of_rules
        Posterior counts of each rule.
    roles
        Names of the columns that hold the codes of roles, for all rules together.
    """

    of_rules: tuple[EventCounts, ...]
    roles: tuple[str, ...]

    def schema(self) -> pa.Schema:
        """Schema of `to_frame` in files."""
        return pa.schema(list(self.of_rules[0].column_types(self.roles).items()), _columns.TABLE_METADATA)

    def to_frame(self) -> pd.DataFrame:
        """Table of the counts of all rules; the actor is `*` in the rows of a rule without roles."""
        return self._joined([counts.to_frame() for counts in self.of_rules], self.schema().names)

    def totals(self) -> pd.DataFrame:
        """Table of the totals of all rules: see `EventCounts.totals`."""
        tables = [counts.totals() for counts in self.of_rules]
        return self._joined(tables, ["event", *self.roles, *tables[0].columns[1 + len(self.of_rules[0].columns) :]])

    def _joined(self, tables: Sequence[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
        """One table with the rows of all rules' tables, and the columns of the roles of all rules."""
        anybody = [{} if counts.columns else _columns.EventKey().cells((), self.roles) for counts in self.of_rules]
        filled = [table.assign(**roles) for table, roles in zip(tables, anybody, strict=True)]
        joined = pd.concat(filled, ignore_index=True).reindex(columns=columns)
        return joined.fillna(dict.fromkeys(self.roles, ""))

    def compare_periods(self, periods: Sequence[str]) -> pd.DataFrame | None:
        """Comparisons of two periods, for the actors of all rules; None if `periods` is empty."""
        if not periods:
            return None
        tables = [counts.compare_periods(*periods) for counts in self.of_rules]
        return self._joined(tables, ["event", *self.roles, *tables[0].columns[1 + len(self.of_rules[0].columns) :]])

    def compare(self, actors: Sequence[str]) -> pd.DataFrame | None:
        """Comparisons of two actors, for each rule that can count both; None if `actors` is empty.

        Raises
        ------
        ParameterError
            If no rule can count both actors.
        """
        if not actors:
            return None
        comparable = [counts for counts in self.of_rules if counts.has(actors[0]) and counts.has(actors[1])]
        if not comparable:
            rule = "must name two actors that one of the events can have"
            raise ParameterError(f"{rule}, got {' '.join(actors)}", parameter="compare")
        return pd.concat([counts.compare(*actors) for counts in comparable], ignore_index=True)

    def not_counted(self) -> Ints:
        """Documents with P of at most one half, for each row of `totals`: see `EventCounts.not_counted`."""
        return np.concatenate([counts.not_counted() for counts in self.of_rules])

    def samples(self) -> pa.Table:
        """Sampled counts of each actor and period in which some document has an event with P > 0.

        Returns
        -------
        pyarrow.Table
            event; a column for each role; period; counts, a list of n_samples: entry s is the count in the s-th sampled
            clustering of every document, under the draw of the recalibration that they share in it.
        """
        rows, sampled = [], [np.zeros(0, np.int32)]
        for counts in self.of_rules:
            cells = counts.cells
            periods = counts.occurrences.calendar.periods(cells.period)
            listed = np.flatnonzero(cells.has_evidence)
            sampled.append(cells.by_sample.ravel())
            for cell in listed.tolist():
                values = cells.keys[cells.key[cell]].cells(counts.columns, self.roles)
                values |= zip(counts.by, counts.occurrences.groups[cells.group[cell]], strict=True)
                rows.append({"event": counts.event, **values, "period": periods[cell].label})
        names = ("event", *self.roles, *self.of_rules[0].by, "period")
        flat = np.concatenate(sampled)
        offsets = np.arange(len(rows) + 1) * (len(flat) // max(len(rows), 1))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat))
        texts = [pa.array([row[name] for row in rows], pa.string()) for name in names]
        return pa.table([*texts, lists], names=[*names, "counts"], metadata=_columns.TABLE_METADATA)


class Cells:
    """Sums over the documents of one event by actor, group and period.

    Parameters
    ----------
    occurrences
        The evidence.
    event
        Name of the event.

    Attributes
    ----------
    keys
        Actors of the event, sorted.
    key, group, period
        int64 (n_cells,): actors, as an index in `keys`, group and number of the period of each cell.
    has_evidence
        bool (n_cells,): whether some document has P > 0.
    mean, variance, variance_of_mean
        float64 (n_cells,): sums of the documents' probabilities (or means of their numbers), of their variances, and of
        the squares of their Monte Carlo errors.
    one_best, n_named
        int64 (n_cells,): documents with the event in the likeliest clustering, and samples with named actors or without
        an actor.
    """

    def __init__(self, occurrences: Occurrences, event: str) -> None:
        self._occurrences = occurrences
        event_of = np.array([name == event for name, _ in occurrences.keys], np.bool_)
        self.keys = [key for name, key in occurrences.keys if name == event]
        is_row = event_of[occurrences.key] & occurrences.is_possible if len(event_of) else np.zeros(0, np.bool_)
        rows = np.flatnonzero(is_row)
        documents = occurrences.document[rows]
        first = int(np.argmax(event_of)) if len(event_of) else 0
        values = occurrences.key[rows] - first, occurrences.group_of[documents], occurrences.periods[documents]
        # Documents in an order that does not depend on that of the rows, so that sums are the same in each bit.
        order = np.lexsort((occurrences.squared_error[rows], occurrences.n_hits[rows], *values[::-1]))
        self._rows = rows[order]
        in_order = np.stack([each[order] for each in values])
        starts = np.flatnonzero((np.diff(in_order, prepend=-1) != 0).any(axis=0))
        if len(starts):
            starts[0] = 0
        self._bounds = np.append(starts, len(rows))
        self.key, self.group, self.period = in_order[:, starts]
        n_samples, n_hits = occurrences.settings.n_samples, occurrences.n_hits[self._rows]
        self.has_evidence = self._sums(n_hits) > 0
        self.mean = self._sums(n_hits) / n_samples
        self.variance = self._sums(occurrences.scaled_variance[self._rows]) / n_samples**2
        self.variance_of_mean = self._sums(occurrences.squared_error[self._rows])
        self.one_best = self._sums(occurrences.one_best[self._rows])
        self.n_named = self._sums(occurrences.n_named[self._rows])

    def _sums(self, values: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
        """Sum over the documents of each cell."""
        return np.add.reduceat(values, self._bounds[:-1]) if len(values) else values

    def rows_of(self, cell: int) -> Ints:
        """Rows of evidence of a cell."""
        return self._rows[self._bounds[cell] : self._bounds[cell + 1]]

    def pmf(self, cell: int) -> Floats:
        """Distribution of the count of a cell, documents being independent: float64 (n + 1,)."""
        return self.pmf_of(self.rows_of(cell))

    def pmf_of(self, rows: Ints) -> Floats:
        """Distribution of the count, or the sum of numbers, of rows of evidence: float64 (n + 1,)."""
        rows = rows[self._occurrences.n_hits[rows] > 0]
        has_number = self._occurrences.has_number[rows]
        n_hits = np.sort(self._occurrences.n_hits[rows[~has_number]])
        pmf = np.empty(len(n_hits) + 1)
        poisson_binomial(n_hits / self._occurrences.settings.n_samples, pmf)
        if not has_number.any():
            return pmf
        return np.convolve(pmf, credible_intervals.sum_pmf(self._occurrences.values(rows[has_number])))

    def sampled(self, positions: Ints, n: int) -> Ints32:
        """Counts by sample, summed over the cells with each position, -1 for none: int32 (n, n_samples)."""
        cells = np.full(len(self._occurrences.n_hits), -1)
        cells[self._rows] = np.repeat(positions, np.diff(self._bounds))
        return self._occurrences.sampled_counts(cells, n)

    @cached_property
    def by_sample(self) -> Ints32:
        """Counts by sample of each cell with evidence: int32 (n, n_samples)."""
        positions = np.where(self.has_evidence, np.cumsum(self.has_evidence) - 1, -1)
        return self.sampled(positions, int(self.has_evidence.sum()))

    def joint(self, first: _columns.EventKey, second: _columns.EventKey) -> tuple[Ints, Ints, Ints | None]:
        """The documents that have one of two events, or both.

        Returns
        -------
        documents
            int64 (n,): positions of the documents.
        exclusive
            int64 (2, n): samples with the first event only, and with the second only; zeros with `differences`.
        differences
            int64 (n, n_samples): number of the first event minus that of the second in each sample, if documents are
            not independent or have numbers; otherwise None.
        """
        occurrences = self._occurrences
        keys = [self.keys.index(key) if key in self.keys else -1 for key in (first, second)]
        key_of_row = np.repeat(self.key, np.diff(self._bounds))
        n_hits = occurrences.n_hits[self._rows]
        rows = [self._rows[(key_of_row == key) & (n_hits > 0)] for key in keys]
        documents = [occurrences.document[each] for each in rows]
        union = np.union1d(*documents)
        settings = occurrences.settings
        exclusive = np.zeros((2, len(union)), np.int64)
        if settings.is_shared or occurrences.has_number[np.concatenate(rows)].any():
            differences = np.zeros((len(union), settings.n_samples), np.int64)
            for sign, event_rows, event_documents in zip((1, -1), rows, documents, strict=True):
                differences[np.searchsorted(union, event_documents)] += sign * occurrences.values(event_rows)
            return union, exclusive, differences
        for alone, event_rows, event_documents in zip(exclusive, rows, documents, strict=True):
            alone[np.searchsorted(union, event_documents)] = occurrences.n_hits[event_rows]
        common, *positions = np.intersect1d(*documents, return_indices=True)
        bits = [occurrences.values(each[position]) for each, position in zip(rows, positions, strict=True)]
        exclusive[:, np.searchsorted(union, common)] -= (bits[0] & bits[1]).sum(axis=1, dtype=np.int64)
        order = np.lexsort(exclusive[::-1])
        return union[order], exclusive[:, order], None


def _error_of_draws(counts: np.typing.NDArray[np.integer]) -> float:
    """Monte Carlo error of the mean of counts that share draws of a recalibration, from the means of the draws."""
    n_draws = min(N_DRAWS, len(counts))
    if n_draws < 2:
        return 0.0
    means = [samples.mean() for samples in np.array_split(counts, n_draws)]
    return float(np.std(means, ddof=1)) / math.sqrt(n_draws)
