"""Tables of a run with the error of its rules: intervals of what readers would count, beside those of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from corefsample._arrays import Floats, Ints
from corefsample._lazy import pd
from events.counting._counts import CountsOfRules
from events.counting._tables import RULE_ENDS, Columns
from events.rule_error._counts import error_generator, reader_probability, true_counts
from events.rule_error._model import Cell, RuleErrorModel
from events.rule_error._table import kind_of, reference_summary

READER: Final = ("reader_probability", "reader_lower", "reader_upper")  # columns of the evidence
_MOST_DRAWS = 1000
_FEWEST_DRAWS = 200
_DRAWS_AND_PERIODS = 200_000  # of one count, about
_GRID = np.linspace(0.0, 1.0, 101)  # P of documents, between which reader probabilities are interpolated


@dataclass(frozen=True, slots=True, eq=False)
class RunTables:
    """Tables of a run: of its counts, with or without the error of its rules.

    Attributes
    ----------
    table, totals, compared
        Tables of counts by period, of totals over all documents, and of comparisons (None without). With the error of
        rules they have the columns `RULE_ENDS`: a central interval of the number of documents in which readers see the
        event, at the level of the table.
    schema
        Schema of `table` in files.
    reference
        What the reference class of rules says: see `reference_summary`; None without the error of rules.
    readers
        By event and codes of the columns of roles, float64 (3, 101): probability that a reader sees the event and its
        interval, for P of 0 to 1.
    """

    table: pd.DataFrame
    totals: pd.DataFrame
    compared: pd.DataFrame | None
    schema: pa.Schema
    reference: dict[str, Any] | None
    readers: Mapping[tuple[str, ...], Floats]

    @classmethod
    def without_error(cls, counts: CountsOfRules, compared: Sequence[str]) -> Self:
        """The tables of counts as they are."""
        return cls(counts.to_frame(), counts.totals(), counts.compare(compared), counts.schema(), None, {})

    def with_readers(self, evidence: pa.Table) -> pa.Table:
        """The evidence with the columns `READER`, if the tables have the error of rules."""
        if self.reference is None:
            return evidence
        roles = Columns.of_roles(self.table.columns)
        p = evidence["probability"].to_numpy()
        values = np.zeros((len(READER), len(p)))
        names = zip(*(evidence[name].to_pylist() for name in ("event", *roles)), strict=True)
        rows: dict[tuple[str, ...], list[int]] = {}
        for row, name in enumerate(names):
            rows.setdefault(name, []).append(row)
        for name, chosen in rows.items():
            for value, curve in zip(values, self.readers[name], strict=True):
                value[chosen] = np.interp(p[chosen], _GRID, curve)
        for column, value in zip(READER, values, strict=True):
            evidence = evidence.append_column(column, pa.array(value))
        return evidence


def tables_with_error(
    counts: CountsOfRules,
    model: RuleErrorModel,
    kinds: Mapping[str, str],
    *,
    seed: int,
    compared: Sequence[str] = (),
) -> RunTables:
    """Add intervals of what readers would count to the tables of counts.

    Parameters
    ----------
    counts
        The counts of all rules.
    model
        Error of rules.
    kinds
        Kinds of the actors by code: see `kind_of`.
    seed
        Of the draws of the error; those of one count do not depend on the others.
    compared
        Names of two actors that are compared, or none.

    Notes
    -----
    The draws of one actor are a joint draw of all periods. The errors of two actors are drawn independently, which
    makes the interval of a difference wider if they err alike.
    """
    corpus = model.corpus_of({code for each in counts.of_rules for key in each.events() for code in key})
    ends: list[Floats] = [np.zeros((2, 0))]
    totals: list[Floats] = []
    readers: dict[tuple[str, ...], Floats] = {}
    drawn: dict[tuple[str, str], Ints] = {}
    for each in counts.of_rules:
        periods = [period.number for period in each.all_periods()]
        n_docs = np.array([each.tally.documents(number) for number in periods], np.int64)
        n_draws = int(np.clip(_DRAWS_AND_PERIODS // max(len(periods), 1), _FEWEST_DRAWS, _MOST_DRAWS))
        for key in each.events():
            roles = key.cells(each.columns, counts.roles)
            actor = key.name if each.columns else roles[counts.roles[0]]
            sampled = np.stack([each.tally.cell(key, number).by_sample for number in periods], axis=1)
            sampled = sampled[np.arange(n_draws) % len(sampled)]
            rng = error_generator(seed, each.event, actor)
            error = model.draws(Cell(kind_of(actor, kinds), each.event, actor, corpus), n_draws, rng)
            true = true_counts(sampled, n_docs, error, rng)
            ends.append(_interval(true, each.level))
            totals.append(_interval(true.sum(axis=1), each.level))
            drawn[each.event, key.name] = true
            probabilities = reader_probability(_GRID, sampled, n_docs, error, rng)
            readers[each.event, *roles.values()] = np.vstack(
                [probabilities.mean(axis=0), _interval(probabilities, each.level)]
            )
    return RunTables(
        _with_ends(counts.to_frame(), np.concatenate(ends, axis=1)),
        _with_ends(counts.totals(), np.reshape(totals, (-1, 2)).T),
        _compared(counts, compared, drawn),
        counts.schema(rule_error=True),
        reference_summary(model.table),
        readers,
    )


def _interval(draws: Floats | Ints, level: float) -> Floats:
    """Ends of the central interval of the draws in each column: float64 (2, ...)."""
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    return np.asarray(np.quantile(draws, tails, axis=0, method="inverted_cdf"), np.float64)


def _with_ends(table: pd.DataFrame, ends: Floats) -> pd.DataFrame:
    return table.assign(**dict(zip(RULE_ENDS, ends, strict=True)))


def _compared(
    counts: CountsOfRules, actors: Sequence[str], drawn: Mapping[tuple[str, str], Ints]
) -> pd.DataFrame | None:
    """The comparisons with intervals of the difference that readers would count."""
    table = counts.compare(actors)
    if table is None:
        return None
    ends = [np.zeros((2, 0))]
    for each in counts.of_rules:
        if each.has(actors[0]) and each.has(actors[1]):
            n_periods = len(each.periods())
            first, second = (drawn.get((each.event, name), np.zeros((1, n_periods)))[:, :n_periods] for name in actors)
            ends.append(_interval(first - second, each.level))
    return _with_ends(table, np.concatenate(ends, axis=1))
