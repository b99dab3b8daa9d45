"""Counts and tables with the error of rules: intervals of what readers would count, with and without labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pyarrow as pa

from corefsample._arrays import Floats, Ints, pd
from corefsample._random import document_key
from corefsample.files._paths import PathLike
from events.counts._event_counts import CountsOfRules
from events.counts._run_tables import run_table
from events.evidence._columns import P_COLUMNS, RULE_COLUMNS, group_columns, role_columns
from events.rule_error._model import CLASSES, PERIOD_SD, Cell, RuleError, RuleErrorModel, kind_of

READER: Final = ("reader_probability", "reader_lower", "reader_upper")  # columns of the evidence
_N_LABELS = 100  # of an audit whose width is expected
_N_SIMULATED = 20  # sets of labels for an expected width
_OF_DIFFERENCE = [*(f"{name}_rule" for name in P_COLUMNS), *RULE_COLUMNS]
_GRID = np.linspace(0.0, 1.0, 11)  # P of documents, between which reader probabilities are interpolated
# Of the logit of the share of yes in a stratum around what precision and misses say; wide, so that labels decide.
STRATUM_SD: Final = 1.0


# --- draws of counts ---------------------------------------------------------------------------------------


def error_generator(seed: int, event: str, actor: str) -> np.random.Generator:
    """Generator of all random numbers for the error of a count; other counts do not change it."""
    return np.random.Generator(np.random.Philox(key=document_key(seed, f"rule error\0{event}\0{actor}")))


def true_counts(
    counts: np.typing.ArrayLike,
    n_docs: np.typing.ArrayLike,
    near: np.typing.ArrayLike,
    error: RuleError,
    rng: np.random.Generator,
) -> Ints:
    """Draw the numbers of documents in which a reader sees the event, given those that the rule counts.

    Each draw thins the counted documents by the precision of its period, and adds missed ones among the others, by
    their classes. Misses are so rare that a Poisson distribution stands for the sum of binomial numbers.

    Parameters
    ----------
    counts
        int (n_draws, n_periods): documents with the event in a sampled clustering of every document.
    n_docs
        int (n_periods,): documents of each period.
    near
        int (n_periods, 2): documents of the first two `CLASSES`, which the rule does not count.
    error
        With n_draws draws.
    rng
        Source of randomness: see `error_generator`.

    Returns
    -------
    int64 (n_draws, n_periods)
        Their sums over periods are draws of the total.
    """
    counts, near, n_docs = np.asarray(counts, np.int64), np.asarray(near), np.asarray(n_docs, np.int64)
    # Counts are nearly the same in all draws, where the number of the other documents is concerned.
    neither = np.maximum(n_docs - counts.mean(axis=0) - near.sum(axis=1), 0.0)
    of_periods = np.exp(PERIOD_SD * rng.standard_normal(counts.shape) - 0.5 * PERIOD_SD**2)  # with a mean of 1
    missed = rng.poisson(probability(error.misses) @ np.column_stack([near, neither]).T * of_periods)
    true = np.minimum(missed, n_docs - counts)
    counted = counts.any(axis=0)
    of_periods = PERIOD_SD * rng.standard_normal((len(counts), int(counted.sum())))
    true[:, counted] += rng.binomial(counts[:, counted], probability(error.precision[:, None] + of_periods))
    return np.asarray(true)


def reader_probability(probabilities: np.typing.ArrayLike, error: RuleError) -> Floats:
    """Draw the probability that a reader sees the event, for documents with some P and of each class.

    Parameters
    ----------
    probabilities
        float (n,): P of the documents.
    error
        Draws of the error.

    Returns
    -------
    float64 (n_draws, n, 3)
        A mixture: of the precision with weight P, and of the misses of the class of documents. The mean over draws is
        the probability, and quantiles are its interval.
    """
    p = np.asarray(probabilities, np.float64)[:, None]
    return probability(error.precision)[:, None, None] * p + probability(error.misses)[:, None] * (1.0 - p)


def probability(logit: Floats) -> Floats:
    """Probability with this logit."""
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


# --- labels ------------------------------------------------------------------------------------------------


def unlabelled_yes(
    sizes: Ints, mean_p: Floats, classes: Floats, labels: Ints, yes: Ints, error: RuleError, rng: np.random.Generator
) -> Ints:
    """Draw the numbers of documents without a label in which a reader sees the event, given labels.

    Draws of the error are weighted by the likelihood of the labels, which is beta-binomial in each stratum.

    Parameters
    ----------
    sizes, mean_p
        Number of documents of each stratum, and their mean P: (n_strata,).
    classes
        float64 (n_strata, 3): shares of the documents that the rule does not count, by `CLASSES`.
    labels, yes
        Number of labels of each stratum, drawn at random, and of those that say yes: (n_strata,).
    error
        Draws before any label; some 20,000 for 100 labels.
    rng
        Source of randomness.

    Returns
    -------
    int64 (n_draws, n_strata)
        Joint draws of all strata: the sum of a row and the number of labels of yes are a draw of the total.
    """
    from scipy.special import betaln

    # Beta distributions with the expected shares, whose logits have standard deviations of about `STRATUM_SD`.
    shares = np.clip(yes_shares(mean_p, classes, error), 1e-6, 1.0 - 1e-6)
    concentration = np.maximum(1.0 / (shares * (1.0 - shares) * STRATUM_SD**2) - 1.0, 1.0)
    a, b, no = shares * concentration, (1.0 - shares) * concentration, labels - yes
    log_likelihood = (betaln(a + yes, b + no) - betaln(a, b)).sum(axis=1)
    weights = np.exp(log_likelihood - log_likelihood.max())
    draws = rng.choice(len(error), len(error), p=weights / weights.sum())
    return np.asarray(rng.binomial(sizes - labels, rng.beta(a[draws] + yes, b[draws] + no)))


def yes_shares(mean_p: np.typing.ArrayLike, classes: np.typing.ArrayLike, error: RuleError) -> Floats:
    """Expected share of yes in each stratum: float64 (n_draws, n_strata).

    Parameters
    ----------
    mean_p, classes
        As in `unlabelled_yes`.
    error
        Draws of the error.
    """
    p, misses = np.asarray(mean_p, np.float64), probability(error.misses) @ np.transpose(classes)
    return np.asarray(np.outer(probability(error.precision), p) + misses * (1.0 - p))


def expected_width(
    sizes: Ints,
    mean_p: Floats,
    classes: Floats,
    labels: Ints,
    error: RuleError,
    rng: np.random.Generator,
    level: float = 0.95,
    earlier: tuple[Ints, Ints] | None = None,
) -> float:
    """Expected width of the interval of a total with labels in strata that are not all drawn yet.

    It is the mean of widths with labels that are drawn from the error, given those that are drawn.

    Parameters
    ----------
    sizes, mean_p, classes, rng
        As in `unlabelled_yes`.
    labels
        int64 (n_strata,): numbers of labels that there would be.
    error
        Draws of the error.
    level
        Probability that the interval has, in (0, 1).
    earlier
        For each stratum, the number of labels that are drawn, and of those that say yes; by default none.
    """
    before, yes = earlier or (np.zeros_like(sizes), np.zeros_like(sizes))
    others, widths = unlabelled_yes(sizes, mean_p, classes, before, yes, error, rng), []
    by_total = np.argsort(others.sum(axis=1), kind="stable")  # draws at even distances in this order stand for all
    for of_draw in others[by_total[(len(others) * (np.arange(_N_SIMULATED) + 0.5) / _N_SIMULATED).astype(np.int64)]]:
        k = yes + rng.hypergeometric(of_draw, sizes - before - of_draw, labels - before)
        draws = unlabelled_yes(sizes, mean_p, classes, labels, k, error, rng)
        widths.append(np.ptp(central_interval(draws.sum(axis=1), level)))
    return float(np.mean(widths))


# --- tables of a run ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CountTables:
    """Tables of counts, with or without the error of rules.

    Attributes
    ----------
    table, totals, compared, compared_periods
        Tables of counts by period, of totals over all documents, and of comparisons of actors and of periods (None
        without). With the error of
        rules they have the columns `RULE_COLUMNS`: the expected number of documents in which readers see the event, and
        its central interval at the level of the table; comparisons have those of the difference, and P of `P_COLUMNS`
        in columns whose names end in "_rule".
    samples
        Sampled counts: see `events.counts._event_counts.CountsOfRules.samples`.
    not_counted
        int64 (n_totals, n_periods + 1, 3): see `events.counts._event_counts.EventCounts.not_counted`.
    schema
        Schema of `table` in files.
    reference
        What the reference class of rules says: see `RuleErrorModel.summary`; None without the error of rules.
    readers
        By event and codes of the columns of roles, float64 (3, n_points, 3): probability that a reader sees the event
        and its interval, for P at `_GRID` and `CLASSES`.
    """

    table: pd.DataFrame
    totals: pd.DataFrame
    compared: pd.DataFrame | None
    compared_periods: pd.DataFrame | None
    samples: pa.Table
    not_counted: Ints
    schema: pa.Schema
    reference: dict[str, Any] | None = None
    readers: Mapping[tuple[str, ...], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: CountsOfRules, compared: Sequence[str], periods: Sequence[str] = ()) -> Self:
        """The tables of counts as they are, with comparisons of two actors and of two periods if there are any."""
        comparisons = counts.compare(compared), counts.compare_periods(periods)
        table, samples, not_counted = counts.to_frame(), counts.samples(), counts.not_counted()
        return cls(table, counts.totals(), *comparisons, samples, not_counted, counts.schema())

    def with_readers(self, evidence: pa.Table) -> pa.Table:
        """The evidence with the columns `READER`, if the tables have the error of rules."""
        if self.reference is None:
            return evidence
        roles = role_columns(self.table.columns)
        p = evidence["probability"].to_numpy()
        values = np.full((len(READER), len(p)), np.nan)
        columns = ["event", *roles, "cooccurrence"]
        frame = evidence.select(columns).to_pandas().fillna({"cooccurrence": CLASSES[-1]})
        for (*name, of_class), rows in frame.groupby(columns, sort=False).indices.items():
            if (key := tuple(map(str, name))) in self.readers:  # not without any evidence in the corpus
                curves = self.readers[key][:, :, CLASSES.index(of_class)]
                values[:, rows] = [np.interp(p[rows], _GRID, curve) for curve in curves]
        for column, value in zip(READER, values, strict=True):
            evidence = evidence.append_column(column, pa.array(value, from_pandas=True))
        return evidence


def reference_event(model: RuleErrorModel, corpus: str, event: str, kin: Mapping[str, str]) -> str:
    """Name of an event in the reference class: its own if the corpus has it, or that of the rule that it extends."""
    is_known = ((model.table["corpus"] == corpus) & (model.table["event"] == event)).any()
    return event if is_known else kin.get(event, event)


def tables_with_error(
    tables: CountTables, model: RuleErrorModel, kinds: Mapping[str, str], kin: Mapping[str, str], *, seed: int
) -> CountTables:
    """Add what readers would count to the tables of a run: expected numbers and intervals.

    Parameters
    ----------
    tables
        The tables without the error of rules.
    model
        Error of rules.
    kinds
        Kinds of the actors by code: see `kind_of`.
    kin
        Shipped rules that the events of the user's own rules extend: see `reference_event`.
    seed
        Seed of the draws of the error; those of one count do not depend on the others.

    Notes
    -----
    The draws of one actor are a joint draw of all periods, and two actors that are compared have joint draws: see
    `joint_counts`. Groups of documents share the error of an actor.
    """
    comparisons, periods, of_periods = tables.compared, tables.compared_periods, list[Floats]()
    table, values_of_rows, of_totals = tables.table, np.zeros((len(RULE_COLUMNS), len(tables.table))), list[Floats]()
    inner_of_rows, readers = table[["lower", "upper"]].to_numpy(np.float64).T, dict[tuple[str, ...], Floats]()
    largest, expected, codes = (False, 0.0), dict[str, Any](), ("event", *role_columns(table.columns))
    of_width: tuple[Floats, RuleError, np.random.Generator, float] | None = None
    n_of_kind = Counter(kinds.values())
    for of_total, rows, (cell, documents, sampled, n_docs, near) in _inputs(tables, model, kinds, kin):
        event, mean, level = str(of_total["event"]), float(of_total["mean"]), float(of_total["level"])
        rng = error_generator(seed, event, cell.actor)
        error = model.draws(cell, documents, len(sampled), rng)
        true = true_counts(sampled, n_docs, near, error, rng)
        values_of_rows[:, rows.index] = mean_and_interval(true[:, : len(rows)], level, inner_of_rows[:, rows.index])
        inner = of_total["lower"], of_total["upper"]
        of_totals.append(mean_and_interval(true.sum(axis=1), level, inner))  # in the order of the rows of totals
        # Named actors first; a class noun of which the lexicon names no member ("police") is an actor like these.
        is_alone = cell.kind == "class noun" and n_of_kind[kinds.get(cell.actor, "")] == 1
        is_actor = is_alone or cell.kind in ("named", "country")
        if (rank := (is_actor, float(of_totals[-1][0]))) > largest and mean > 0.0:
            largest = rank
            expected = {"event": event, "actor": cell.actor, "counted": mean}
            expected |= dict(zip(("mean", "lower", "upper"), of_totals[-1].tolist(), strict=True))
            of_width = (documents, error, rng, level) if n_docs.sum() > _N_LABELS else None
        if periods is not None:
            of_pair, period_of = periods.iloc[len(of_periods)], list(rows["period"])  # in the order of totals
            first, second = (true[:, period_of.index(of_pair[name])] for name in ("first", "second"))
            of_periods.append(_difference(first - second, of_pair))
        readers[tuple(of_total[name] for name in codes)] = mean_and_interval(reader_probability(_GRID, error), level)
    if of_width is not None:  # of the actor that the screen shows, and no other, because it takes long
        documents, error, rng, level = of_width
        # Strata are the counted documents and the classes of the others; labels follow the expected variance.
        sizes, mean_p, classes = np.rint(documents).astype(np.int64), np.eye(4)[0], np.eye(4)[:, 1:]
        share = yes_shares(mean_p, classes, error).mean(axis=0)
        spread = sizes * np.sqrt(share * (1.0 - share))
        labels = np.minimum(np.rint(_N_LABELS * spread / spread.sum()).astype(np.int64), sizes)
        width = expected_width(sizes, mean_p, classes, labels, error, rng, level)
        expected |= {"width_after": width, "n_labels": _N_LABELS}
    table = table.assign(**dict(zip(RULE_COLUMNS, values_of_rows, strict=True)))
    fields, n_before = list(tables.schema), tables.schema.get_field_index("mean")
    fields[n_before:n_before] = [pa.field(name, pa.float64()) for name in RULE_COLUMNS]  # before the rule's count
    schema = pa.schema(fields, tables.schema.metadata)
    totals = tables.totals.assign(**dict(zip(RULE_COLUMNS, np.reshape(of_totals, (-1, 3)).T, strict=True)))
    totals = totals[[name for name in schema.names if name in totals]]
    if comparisons is not None:
        differences = []
        for values, pair in comparisons.groupby(["event", *group_columns(table.columns)], sort=False):
            event, *group = map(str, values)
            names = [(event, str(pair[name].iloc[0]), *group) for name in ("first", "second")]
            drawn = joint_counts(tables, model, kinds, kin, names, seed=seed)
            first, second = (drawn[name].reindex(columns=pair["period"], fill_value=0).to_numpy() for name in names)
            of_rows = zip((first - second).T, pair.iterrows(), strict=True)
            differences += [_difference(each, row) for each, (_, row) in of_rows]
        comparisons = comparisons.assign(**dict(zip(_OF_DIFFERENCE, np.reshape(differences, (-1, 6)).T, strict=True)))
    if periods is not None:
        periods = periods.assign(**dict(zip(_OF_DIFFERENCE, np.reshape(of_periods, (-1, 6)).T, strict=True)))
    reference = {**model.summary(), **expected}
    of_tables = {"table": table[schema.names], "totals": totals, "compared": comparisons, "compared_periods": periods}
    return replace(tables, **of_tables, schema=schema, reference=reference, readers=readers)


class _Input(NamedTuple):
    """What the draws of an actor in a group of documents are made from; a last period may be that outside of tables.

    Attributes
    ----------
    cell
        Rule and actor.
    documents
        See `RuleErrorModel.draws`.
    sampled, n_docs, near
        See `true_counts`.
    """

    cell: Cell
    documents: Floats
    sampled: Ints
    n_docs: Ints
    near: Ints


def _inputs(
    tables: CountTables, model: RuleErrorModel, kinds: Mapping[str, str], kin: Mapping[str, str]
) -> Iterator[tuple[Mapping[Any, Any], pd.DataFrame, _Input]]:
    """Yield each row of totals, its rows by period, and what its draws are made from."""
    roles, by = role_columns(tables.table.columns), group_columns(tables.table.columns)
    corpus = model.corpus_of({code for name in roles for code in tables.table[name].unique()})
    samples, n_groups = tables.samples, len(tables.table[list(by)].drop_duplicates()) if by else 1
    keys = zip(*(samples[name].to_pylist() for name in ("event", *roles, *by)), strict=True)
    counts_of: dict[tuple[str, ...], dict[str, Ints]] = {}
    for key, period, counts in zip(keys, samples["period"].to_pylist(), samples["counts"].to_numpy(), strict=True):
        counts_of.setdefault(key, {})[period] = counts
    totals = tables.totals.to_dict("records")
    for number, (names, rows) in enumerate(tables.table.groupby(["event", *roles, *by], sort=False)):
        event, *values = map(str, names)
        actor = actor_of(values[: len(roles)])
        of_total, of_periods = totals[number], counts_of.get((event, *values), {})
        n_docs, labels = rows["n_docs"].to_numpy(np.int64), rows["period"].tolist()
        if of_total["n_docs"] > n_docs.sum():  # dates far from all others are in totals alone
            n_docs = np.append(n_docs, of_total["n_docs"] - n_docs.sum())
        sampled = np.zeros((int(np.clip(200_000 // (len(rows) * n_groups), 400, 1000)), len(n_docs)), np.int64)
        column_of = {label: column for column, label in enumerate(labels)}
        for period, counts in of_periods.items():
            sampled[:, column_of.get(period, len(labels))] += np.resize(counts, len(sampled))
        near, mean = tables.not_counted[number, : len(n_docs), :-1], float(of_total["mean"])
        documents = np.array([mean, *near.sum(axis=0), max(n_docs.sum() - near.sum() - mean, 0.0)])
        cell = Cell(kind_of(actor, kinds), reference_event(model, corpus, event, kin), actor, corpus)
        yield of_total, rows, _Input(cell, documents, sampled, n_docs, near)


def actor_of(codes: Sequence[str]) -> str:
    """Actors of an event as one text, "IRQ>-", from the columns of roles, of which the last ones may be empty."""
    n_roles = max((i for i, code in enumerate(codes, start=1) if code), default=1)  # that the event has
    return ">".join(code or "-" for code in codes[:n_roles])


def joint_counts(
    tables: CountTables,
    model: RuleErrorModel,
    kinds: Mapping[str, str],
    kin: Mapping[str, str],
    names: Sequence[tuple[str, ...]],
    *,
    seed: int,
) -> dict[tuple[str, ...], pd.DataFrame]:
    """Draw the numbers of documents in which a reader sees the events of several actors, with errors that they share.

    Parameters
    ----------
    tables, model, kinds, kin, seed
        As in `tables_with_error`.
    names
        Event, actor and group of each. An actor without any evidence has none among the documents that the rule counts.

    Returns
    -------
    dict
        By name, draws by period: a row for each draw, and a column for each period of the tables.
    """
    by, periods = list(group_columns(tables.table.columns)), list[str]()
    inputs: dict[tuple[str, ...], _Input] = {}
    of_groups: dict[tuple[str, ...], _Input] = {}  # of any actor
    for of_total, rows, of_actor in _inputs(tables, model, kinds, kin):
        group, periods = tuple(of_total[name] for name in by), rows["period"].tolist()
        of_groups[group] = inputs[str(of_total["event"]), of_actor.cell.actor, *group] = of_actor
    if not inputs:
        return {name: pd.DataFrame(index=range(1)) for name in names}
    drawn_from = []
    for name in names:
        of_group, (event, actor, *_) = of_groups[name[2:]], name
        event = reference_event(model, of_group.cell.corpus, event, kin)
        cell = of_group.cell._replace(kind=kind_of(actor, kinds), event=event, actor=actor)
        documents = np.array([0.0, 0.0, 0.0, of_group.documents.sum()])
        nothing = _Input(cell, documents, 0 * of_group.sampled, of_group.n_docs, 0 * of_group.near)
        drawn_from.append(inputs.get(name, nothing))
    rng = error_generator(seed, names[0][0], " and ".join(map(str, names)))
    cells, documents_of = [each.cell for each in drawn_from], np.array([each.documents for each in drawn_from])
    errors = model.joint_draws(cells, documents_of, len(drawn_from[0].sampled), rng)
    counts = [true_counts(*each[2:], error, rng) for each, error in zip(drawn_from, errors, strict=True)]
    drawn = (pd.DataFrame(of_name[:, : len(periods)], columns=periods) for of_name in counts)
    return dict(zip(names, drawn, strict=True))


def _difference(draws: Ints, compared: pd.Series) -> Floats:
    """Values of `_OF_DIFFERENCE` of a row of comparisons: shares of draws above, at and below 0, mean and interval."""
    interval = mean_and_interval(draws, compared["level"], compared[["lower", "upper"]])
    return np.array([*((np.sign(draws) == sign).mean() for sign in (1, 0, -1)), *interval])


def mean_and_interval(
    draws: Floats | Ints, level: float, inner: np.typing.ArrayLike | pd.Series = (np.inf, -np.inf)
) -> Floats:
    """Mean of the draws in each column, and ends of their central and the inner interval: float64 (3, ...)."""
    (lower, upper), (inner_lower, inner_upper) = central_interval(draws, level), np.asarray(inner, np.float64)
    return np.stack([draws.mean(axis=0), np.minimum(lower, inner_lower), np.maximum(upper, inner_upper)])


def central_interval(draws: Floats | Ints, level: float) -> Floats:
    """Ends of the central interval of the draws in each column, which are draws: float64 (2, ...)."""
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    ranks = np.ceil(np.round(tails * len(draws), 9)).astype(np.int64)  # .025 * 1000 is above 25, which adds a draw
    return np.asarray(np.sort(draws, axis=0)[np.maximum(ranks - 1, 0)], np.float64)


def reader_probabilities(run: PathLike) -> dict[tuple[str, str, str], float]:
    """Probability that a reader sees an event, by doc_id, event and actors; empty without the error of rules."""
    table = run_table(run, "evidence")
    if READER[0] not in table:
        return {}
    roles = table.loc[:, "event":"probability"].iloc[:, 1:-1].astype(str).to_numpy().tolist()
    rows = zip(table["doc_id"], table["event"], map(actor_of, roles), table[READER[0]], strict=True)
    return {(doc_id, event, actor): probability for doc_id, event, actor, probability in rows}
