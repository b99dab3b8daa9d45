"""Counts and tables of a run with the error of its rules: intervals of what readers would count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corefsample._arrays import Floats, Ints, Ints32, pd
from corefsample._random import document_key
from events.counts._event_counts import CountsOfRules
from events.evidence._columns import RULE_ENDS, group_columns, role_columns
from events.rule_error._labelled_strata import expected_width_of_total
from events.rule_error._model import Cell, RuleError, RuleErrorModel

READER: Final = ("reader_probability", "reader_lower", "reader_upper")  # columns of the evidence
_N_LABELS = 100  # of an audit whose width is expected
_MOST_DRAWS = 1000
_FEWEST_DRAWS = 200
_DRAWS_AND_PERIODS = 200_000  # of one count, about
_GRID = np.linspace(0.0, 1.0, 101)  # P of documents, between which reader probabilities are interpolated


def error_generator(seed: int, event: str, actor: str) -> np.random.Generator:
    """Generator of all random numbers for the error of a count; other counts do not change it."""
    return np.random.Generator(np.random.Philox(key=document_key(seed, f"rule error\0{event}\0{actor}")))


def true_counts(counts: npt.ArrayLike, n_docs: npt.ArrayLike, error: RuleError, rng: np.random.Generator) -> Ints:
    """Draw the numbers of documents in which a reader sees the event, given those that the rule counts.

    Each draw thins the counted documents by the precision of its period, and adds missed ones among the others, in
    proportion to `miss_exposure`.

    Parameters
    ----------
    counts
        int (n_draws, n_periods): documents with the event in a sampled clustering of every document.
    n_docs
        int (n_periods,): documents of each period.
    error
        With n_draws draws.
    rng
        Source of randomness: see `error_generator`.

    Returns
    -------
    int64 (n_draws, n_periods)
        Their sums over periods are draws of the total.
    """
    confirmed, missed = _confirmed_and_missed(np.asarray(counts, np.int64), np.asarray(n_docs, np.int64), error, rng)
    return confirmed + missed


def reader_probability(
    probabilities: npt.ArrayLike,
    counts: npt.ArrayLike,
    n_docs: npt.ArrayLike,
    error: RuleError,
    rng: np.random.Generator,
) -> Floats:
    """Draw the probability that a reader sees the event, for documents with some P of the samples.

    Parameters
    ----------
    probabilities
        float (n,): P of the documents.
    counts, n_docs, error, rng
        As in `true_counts`.

    Returns
    -------
    float64 (n_draws, n)
        A mixture: of the precision with weight P, and of the share of missed documents among those that the rule does
        not count. The mean over draws is the probability, and quantiles are its interval.
    """
    p = np.asarray(probabilities, np.float64)
    counts, n_docs = np.asarray(counts, np.int64), np.asarray(n_docs, np.int64)
    _, missed = _confirmed_and_missed(counts, n_docs, error, rng)
    miss = missed.sum(axis=1) / np.maximum(n_docs.sum() - counts.sum(axis=1), 1)
    return np.outer(_probability(error.precision), p) + np.outer(miss, 1.0 - p)


def _confirmed_and_missed(counts: Ints, n_docs: Ints, error: RuleError, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Documents of each draw and period that a reader confirms, and that the rule does not count."""
    precision = _probability(error.precision[:, None] + error.precision_sd[:, None] * rng.standard_normal(counts.shape))
    misses = np.exp(error.misses[:, None] + error.misses_sd[:, None] * rng.standard_normal(counts.shape))
    confirmed = rng.binomial(counts, precision)
    not_counted = n_docs - counts
    share = np.minimum(misses * RuleError.miss_exposure(counts, n_docs) / np.maximum(not_counted, 1), 1.0)
    return confirmed, rng.binomial(not_counted, share)


def _probability(logit: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


@dataclass(frozen=True, slots=True, eq=False)
class CountTables:
    """Tables of counts, with or without the error of rules.

    Attributes
    ----------
    table, totals, compared
        Tables of counts by period, of totals over all documents, and of comparisons (None without). With the error of
        rules they have the columns `RULE_ENDS`: a central interval of the number of documents in which readers see the
        event, at the level of the table.
    samples
        Sampled counts: see `events.counts._event_counts.CountsOfRules.samples`.
    schema
        Schema of `table` in files.
    reference
        What the reference class of rules says: see `RuleErrorModel.summary`; None without the error of rules.
    readers
        By event and codes of the columns of roles, float64 (3, 101): probability that a reader sees the event and its
        interval, for P of 0 to 1.
    """

    table: pd.DataFrame
    totals: pd.DataFrame
    compared: pd.DataFrame | None
    samples: pa.Table
    schema: pa.Schema
    reference: dict[str, Any] | None = None
    readers: Mapping[tuple[str, ...], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: CountsOfRules, compared: Sequence[str]) -> Self:
        """The tables of counts as they are."""
        return cls(counts.to_frame(), counts.totals(), counts.compare(compared), counts.samples(), counts.schema())

    def with_readers(self, evidence: pa.Table) -> pa.Table:
        """The evidence with the columns `READER`, if the tables have the error of rules."""
        if self.reference is None:
            return evidence
        roles = role_columns(self.table.columns)
        p = evidence["probability"].to_numpy()
        values = np.full((len(READER), len(p)), np.nan)
        keys = pd.MultiIndex.from_arrays([evidence[name].to_pylist() for name in ("event", *roles)])
        codes, names = keys.factorize()
        for number, name in enumerate(names):
            if name in self.readers:  # not without any evidence in the corpus
                rows = codes == number
                values[:, rows] = [np.interp(p[rows], _GRID, curve) for curve in self.readers[name]]
        for column, value in zip(READER, values, strict=True):
            evidence = evidence.append_column(column, pa.array(value, from_pandas=True))
        return evidence


def tables_with_error(
    tables: CountTables, model: RuleErrorModel, kinds: Mapping[str, str], *, seed: int
) -> CountTables:
    """Add intervals of what readers would count to the tables of a run.

    Parameters
    ----------
    tables
        The tables without the error of rules.
    model
        Error of rules.
    kinds
        Kinds of the actors by code: see `kind_of`.
    seed
        Seed of the draws of the error; those of one count do not depend on the others.

    Notes
    -----
    The draws of one actor are a joint draw of all periods. The errors of two actors are drawn independently: the
    interval of a difference is too wide where they have the same errors. Groups of documents share the error of an
    actor.
    """
    roles = list(role_columns(tables.table.columns))
    by = list(group_columns(tables.table.columns))
    n_groups = len(tables.table[by].drop_duplicates()) if by else 1
    corpus = model.corpus_of({code for name in roles for code in tables.table[name].unique()})
    comparisons = tables.compared
    compared_actors = set() if comparisons is None else {*comparisons["first"], *comparisons["second"]}
    by_cell = _by_cell(tables.samples, [*roles, *by])
    table, ends_of_totals = tables.table.assign(**dict.fromkeys(RULE_ENDS, 0.0)), []
    readers: dict[tuple[str, ...], Floats] = {}
    drawn: dict[tuple[str, ...], pd.DataFrame] = {}
    largest, expected = 0.0, dict[str, Any]()
    for names, rows in table.groupby(["event", *roles, *by], sort=False):
        event, *values = map(str, names)
        codes, group = values[: len(roles)], values[len(roles) :]
        level, actor = float(rows["level"].iloc[0]), _actor_name(codes)
        n_draws = int(np.clip(_DRAWS_AND_PERIODS // (len(rows) * n_groups), _FEWEST_DRAWS, _MOST_DRAWS))
        sampled = np.zeros((n_draws, len(rows)), np.int64)
        for column, period in enumerate(rows["period"]):
            counts = by_cell.get((event, *values, period))
            if counts is not None:
                sampled[:, column] = np.resize(counts, n_draws)
        n_docs = rows["n_docs"].to_numpy(np.int64)
        rng = error_generator(seed, event, actor)
        error = model.draws(Cell.of(event, actor, corpus, kinds), n_draws, rng)
        true = true_counts(sampled, n_docs, error, rng)
        table.loc[rows.index, list(RULE_ENDS)] = _interval(true, level).T
        ends_of_totals.append(_interval(true.sum(axis=1), level))  # in the order of the rows of totals
        if rows["mean"].sum() > largest and n_docs.sum() > _N_LABELS:
            largest = float(rows["mean"].sum())
            width = expected_width_of_total(largest, int(n_docs.sum()), _N_LABELS, error, level)
            expected = {"event": event, "actor": actor, "width_after": width, "n_labels": _N_LABELS}
            expected |= dict(zip(("lower", "upper"), ends_of_totals[-1].tolist(), strict=True))
        if actor in compared_actors:
            drawn[(event, actor, *group)] = pd.DataFrame(true, columns=rows["period"])
        probabilities = reader_probability(_GRID, sampled, n_docs, error, rng)
        readers[event, *codes] = np.vstack([probabilities.mean(axis=0), _interval(probabilities, level)])
    schema = pa.schema([*tables.schema, *((name, pa.float64()) for name in RULE_ENDS)], tables.schema.metadata)
    totals = tables.totals.assign(**dict(zip(RULE_ENDS, np.reshape(ends_of_totals, (-1, 2)).T, strict=True)))
    compared, reference = _compared(comparisons, drawn, by), {**model.summary(), **expected}
    return CountTables(table, totals, compared, tables.samples, schema, reference, readers)


def _by_cell(samples: pa.Table, roles: Sequence[str]) -> dict[tuple[str, ...], Ints32]:
    """Sampled counts by event, codes of the roles and period."""
    names = zip(*(samples[name].to_pylist() for name in ("event", *roles, "period")), strict=True)
    counts = samples["counts"].combine_chunks().flatten().to_numpy().reshape(len(samples), -1) if len(samples) else []
    return dict(zip(names, counts, strict=True))


def _actor_name(codes: Sequence[str]) -> str:
    """Name of an actor or several, without roles that the event does not have."""
    last = max((i for i, code in enumerate(codes) if code), default=0)
    return ">".join(code or "-" for code in codes[: last + 1])


def _interval(draws: Floats | Ints, level: float) -> Floats:
    """Ends of the central interval of the draws in each column: float64 (2, ...)."""
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    return np.asarray(np.quantile(draws, tails, axis=0, method="inverted_cdf"), np.float64)


def _compared(
    comparisons: pd.DataFrame | None, drawn: Mapping[tuple[str, ...], pd.DataFrame], by: Sequence[str]
) -> pd.DataFrame | None:
    """The comparisons with intervals of the difference that readers would count."""
    if comparisons is None:
        return None
    table = comparisons.assign(**dict.fromkeys(RULE_ENDS, 0.0))
    for row, (event, period, *actors, level) in enumerate(
        table[["event", "period", "first", "second", "level"]].itertuples(index=False, name=None)
    ):
        group = table[by].iloc[row].tolist() if by else []
        keys = [(event, actor, *group) for actor in actors]
        first, second = (drawn[key][period].to_numpy() if key in drawn else 0 for key in keys)
        table.loc[row, list(RULE_ENDS)] = _interval(np.atleast_1d(first - second), level)
    return table
