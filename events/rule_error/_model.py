"""Precision and misses of a rule without labels, from those of rules in a reference class.

A rule's precision is the probability that a reader confirms a document that it counts. Its misses are the documents
that it does not count and a reader does, relative to those that it counts. Recall follows: precision / (precision +
misses). The logit of the precision of an event and actor in a corpus (a cell) is a sum of normal effects: a mean, and
effects of the kind of actor, the corpus, the event and the actor in the corpus, the cell, and of each period in it. The
logarithm of the misses has the same model, with its own parameters. Confirmed documents are binomial, missed ones
Poisson. The model is a Gaussian process over the cells, whose covariance says how much two cells share. Given the
standard deviations of the effects, the Laplace approximation of the posterior is a normal distribution; the standard
deviations are integrated out by importance sampling.

References
----------
Rasmussen & Williams (2006), Algorithms 3.1 and 3.2, for the Laplace approximation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats, Ints, pd
from corefsample.errors import InputError, shown
from corefsample.files._paths import PathLike

KINDS: Final = ("named", "class noun", "country", "nobody", "any")
NUMBERS: Final = ("n_documents", "sum_p", "n_yes", "n_above", "yes_above", "yes_below")
CELL: Final = ("corpus", "event", "actor", "kind", "preset", "pipeline")
COLUMNS: Final = (*CELL, "period", *NUMBERS)
NO_RULE_ERROR: Final = "none"  # in place of a path
AUDITED: Final = "audited-reference.csv"
AUDIT: Final = "audit"  # corpus of the user's audits
_MOST_DOCUMENTS: Final = 10**9
N_POINTS: Final = 64  # of the standard deviations, in each round of importance sampling
N_ROUNDS: Final = 4
RATE_SHAPE: Final = 1.0  # of the gamma distribution of an actor's rate over periods; 1: exponential
# By effect the columns that two cells have in common if they share it.
EFFECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": ("kind",),
    "corpus": ("corpus",),
    "event": ("corpus", "event"),
    "actor": ("corpus", "actor"),
    "cell": CELL,
    "period": (),
}
Family = Literal["binomial", "poisson"]


# --- the reference class -----------------------------------------------------------------------------------


def read_reference(path: PathLike | None = None, audits: Sequence[PathLike] = ()) -> pd.DataFrame:
    """Read a table of rules whose documents were read by people.

    Parameters
    ----------
    path
        A CSV file with the columns of the result; by default the table of the package.
    audits
        Further files of this form: those that `corefsample audit estimate` writes, or folders with one.

    Returns
    -------
    pandas.DataFrame
        corpus, event, actor; kind of the actor, one of `KINDS`; preset, pipeline; period (empty without dates); and
        whole numbers of documents: n_documents, n_yes (a reader says yes), n_above (P above .5), yes_above and
        yes_below (of those with P above .5 and the others a reader says yes); sum_p, the sum of P.

    Raises
    ------
    InputError
        If a column is missing, a kind is unknown, or numbers contradict each other.
    """
    paths = [files("events.data").joinpath("rule_reference.csv") if path is None else Path(path)]
    tables = []
    for source in (*paths, *map(reference_file, audits)):
        try:
            text = source.read_text(encoding="utf-8")
            table = pd.read_csv(StringIO(text), dtype=dict.fromkeys((*CELL, "period"), str), keep_default_na=False)
        except FileNotFoundError:
            raise InputError("file must exist, got none", place=str(source)) from None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read as a reference table: {error}", place=str(source)) from None
        tables.append(checked_reference(table, str(source)))
    return pd.concat(tables, ignore_index=True)


def reference_file(audit: PathLike) -> Path:
    """Path of an audit's rows for the reference class."""
    path = Path(audit)
    return path / AUDITED if path.is_dir() else path


def checked_reference(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Validate a reference table; raises InputError that names the first row which breaks a rule."""
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise InputError(f"columns must include {missing[0]!r}, got {shown(', '.join(map(str, table)))}", place=source)
    numbers = table[list(NUMBERS)].apply(pd.to_numeric, errors="coerce").fillna(-1)
    integers = numbers.drop(columns="sum_p")
    are_whole = (integers % 1 == 0).all(axis=1) & ((numbers >= 0) & (numbers <= _MOST_DOCUMENTS)).all(axis=1)
    keys = [*CELL, "period"]
    n_yes, n_above, n_below = numbers["n_yes"], numbers["n_above"], numbers["n_documents"] - numbers["n_above"]
    yes_above, yes_below = numbers["yes_above"], numbers["yes_below"]
    rules = {
        f"kind must be one of {', '.join(KINDS)}": (table["kind"].isin(KINDS), ["kind"]),
        f"numbers must be whole but for sum_p, and from 0 to {_MOST_DOCUMENTS:,}": (are_whole, list(NUMBERS)),
        "sum_p must be at most n_documents": (numbers["sum_p"] <= numbers["n_documents"], ["sum_p", "n_documents"]),
        "n_yes must be yes_above + yes_below": (n_yes == yes_above + yes_below, ["n_yes", "yes_above", "yes_below"]),
        "yes_above must be at most n_above": (yes_above <= n_above, ["yes_above", "n_above"]),
        "yes_below must be at most n_documents - n_above": (
            yes_below <= n_below,
            ["yes_below", "n_documents", "n_above"],
        ),
        "a rule, actor and period must have one row": (~table.duplicated(keys), keys),
    }
    for rule, (holds, names) in rules.items():
        if not holds.all():
            row = int(np.flatnonzero(~holds)[0])
            values = ", ".join(f"{name} {shown(str(table[name].iloc[row]))}" for name in names)
            raise InputError(f"{rule}, got {values}", place=f"{source}: row {row + 1}")
    return table.assign(**numbers)[list(COLUMNS)]


def kind_of(actor: str, kinds: Mapping[str, str]) -> str:
    """Kind of an actor in the reference class.

    Parameters
    ----------
    actor
        A code of a lexicon, or several joined with ">", of which the first is used. "-" and "" mean that no actor has a
        name; outcomes such as "*" or "POLICE|ARMY" are of the kind any.
    kinds
        Kinds of the codes, as the lexicon has them. A code that is the name of its kind is a class noun ("rebels").
    """
    code = actor.split(">")[0]
    if code in ("", "-"):
        return "nobody"
    kind = kinds.get(code, "")
    if kind in ("country", "territory", "historic"):
        return "country"
    if kind.casefold() == code.casefold():
        return "class noun"
    return "named" if kind else "any"


# --- the model ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior of the logits of precision, or of the logarithms of misses.

    Attributes
    ----------
    mean, sd
        Mean and standard deviation of the normal prior of the common mean.
    kind, corpus, event, actor, cell, period
        Scales of the half-normal priors of the standard deviations of the effects.
    """

    mean: float
    sd: float
    kind: float
    corpus: float
    event: float
    actor: float
    cell: float
    period: float = 0.5

    @property
    def scales(self) -> Floats:
        """Scales of the standard deviations, in the order of `EFFECTS`."""
        return np.array([getattr(self, name) for name in EFFECTS])


PRECISION: Final = Prior(mean=0.5, sd=1.0, kind=0.5, corpus=1.5, event=0.2, actor=0.5, cell=0.5)
MISSES: Final = Prior(mean=-1.0, sd=0.7, kind=0.5, corpus=0.9, event=0.2, actor=0.3, cell=0.3)


class Cell(NamedTuple):
    """A rule and actor in a corpus.

    Attributes
    ----------
    kind
        Kind of the actor: one of `KINDS`.
    event, actor
        Name and code, as in tables.
    corpus
        Name of a corpus of the reference class; "": another corpus.
    """

    kind: str
    event: str = ""
    actor: str = ""
    corpus: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RuleError:
    """Draws of the error of one rule and actor.

    Attributes
    ----------
    precision
        float64 (n_draws,): logit of the probability that a reader confirms a document that the rule counts.
    misses
        float64 (n_draws,): logarithm of the expected number of documents that the rule does not count and a reader
        does, relative to those that it counts.
    precision_sd, misses_sd
        float64 (n_draws,): standard deviations of both from period to period.
    """

    precision: Floats
    misses: Floats
    precision_sd: Floats
    misses_sd: Floats

    def __len__(self) -> int:
        return len(self.precision)


def miss_exposure(counts: npt.ArrayLike, n_docs: npt.ArrayLike) -> Floats:
    """Divide the documents that a rule counts over periods, to expect missed ones in proportion.

    An actor is about as active in the documents that the rule misses as in those that it counts. So the share of a
    period is its rate, shrunk towards the rate of all periods as a gamma distribution of rates implies.

    Parameters
    ----------
    counts
        (..., n_periods): documents that the rule counts.
    n_docs
        (n_periods,): all documents.

    Returns
    -------
    float64 (..., n_periods)
        Their sum is one half more than that of the counts, so that a rule that counts nothing can miss something.
    """
    counts, n_docs = np.asarray(counts, np.float64), np.asarray(n_docs, np.float64)
    total = counts.sum(axis=-1, keepdims=True) + 0.5
    # At least one document: with none at all there is nothing to divide.
    shares = n_docs * (RATE_SHAPE + counts) / (RATE_SHAPE * max(n_docs.sum(), 1.0) / total + n_docs)
    return np.asarray(total * shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1e-300))


@dataclass(frozen=True, slots=True, eq=False)
class _Posterior:
    """Posterior of the logits of precision, or of the logarithms of misses, in the cells of a table.

    Attributes
    ----------
    prior
        Prior of the effects.
    cells
        Columns of `EFFECTS` of the cells.
    sds
        float64 (n_points, n_effects): standard deviations of the effects.
    weights
        float64 (n_points,): posterior probabilities of the points.
    slope, root
        float64 (n_points, n_cells): derivative of the log likelihood at the mode, and the square root of the negative
        of its second.
    inverse
        float64 (n_points, n_cells, n_cells): inverse of 1 + root covariance root.
    """

    prior: Prior
    cells: pd.DataFrame
    sds: Floats
    weights: Floats
    slope: Floats
    root: Floats
    inverse: Floats

    def draws(self, cell: Cell, n_draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw the value of a new cell, and the standard deviations from period to period."""
        variances = self.sds**2
        alike = self.cells.assign(**cell._asdict(), preset="")
        covariance = self.prior.sd**2 + variances @ _shared(self.cells, alike).T
        mean = self.prior.mean + (covariance * self.slope).sum(axis=1)
        scaled = covariance * self.root
        explained = np.einsum("qc,qcd,qd->q", scaled, self.inverse, scaled)
        of_cell = variances[:, list(EFFECTS).index("cell")]
        effects = variances[:, :-1].sum(axis=1) - of_cell
        variance = of_cell + np.maximum(self.prior.sd**2 + effects - explained, 0.0)
        point = rng.choice(len(self.weights), n_draws, p=self.weights)
        return mean[point] + np.sqrt(variance[point]) * rng.standard_normal(n_draws), self.sds[point, -1]


def _shared(cells: pd.DataFrame, partners: pd.DataFrame) -> Bools:
    """Whether each cell and the partner in the same row share an effect: bool (n_cells, n_effects)."""
    same = {name: cells[name].to_numpy() == partners[name].to_numpy() for name in CELL}
    same["none"] = np.zeros(len(cells), np.bool_)  # periods
    return np.stack([np.all([same[name] for name in names or ("none",)], axis=0) for names in EFFECTS.values()], 1)


@dataclass(frozen=True, slots=True, eq=False)
class RuleErrorModel:
    """Posterior of the errors of rules, given a reference class.

    Attributes
    ----------
    table
        The reference class.
    """

    table: pd.DataFrame
    _precision: _Posterior
    _misses: _Posterior

    def draws(self, cell: Cell, n_draws: int, rng: np.random.Generator) -> RuleError:
        """Draw the error of a rule and actor that are not in the reference class.

        Parameters
        ----------
        cell
            The rule and actor.
        n_draws
            At least 1.
        rng
            Source of randomness.
        """
        precision, precision_sd = self._precision.draws(cell, n_draws, rng)
        misses, misses_sd = self._misses.draws(cell, n_draws, rng)
        return RuleError(precision, misses, precision_sd, misses_sd)

    def summary(self) -> dict[str, Any]:
        """Summarise the reference class for a sentence.

        Returns
        -------
        dict
            n_events, n_corpora: event types and corpora; ratio_lower, ratio_upper: the least and the greatest ratio of
            the documents in which readers saw an event to the sum of P, of cells with a sum of at least 5; NaN without
            such.
        """
        cells = self.table.groupby(list(CELL))[["sum_p", "n_yes"]].sum()
        cells = cells[cells["sum_p"] >= 5.0]
        ratios = cells["n_yes"] / cells["sum_p"]
        return {
            "n_events": len(self.table[["corpus", "event"]].drop_duplicates()),
            "n_corpora": int(self.table["corpus"].nunique()),
            "ratio_lower": float(ratios.min()),
            "ratio_upper": float(ratios.max()),
        }

    def corpus_of(self, actors: Collection[str]) -> str:
        """Corpus of the reference class like that of a run: audits, or the one with most of its named actors."""
        if AUDIT in set(self.table["corpus"]):
            return AUDIT
        named = self.table[(self.table["kind"] == "named") & self.table["actor"].isin(list(actors))]
        return str(named.groupby("corpus")["actor"].nunique().idxmax()) if len(named) else ""


def fit_rule_error(table: pd.DataFrame, *, precision: Prior = PRECISION, misses: Prior = MISSES) -> RuleErrorModel:
    """Fit the model to a reference class.

    Parameters
    ----------
    table
        See `read_reference`; it may be empty, and the posterior is then the prior.
    precision, misses
        The priors.
    """
    exposure, n_above = np.zeros(len(table)), table["n_above"].to_numpy(np.float64)
    for rows in table.groupby(list(CELL)).indices.values():
        counts, n_docs = (table[name].to_numpy(np.float64)[rows] for name in ("sum_p", "n_documents"))
        exposure[rows] = miss_exposure(counts, n_docs)
    of_precision = _fitted(table, "binomial", "yes_above", n_above, precision)
    return RuleErrorModel(table, of_precision, _fitted(table, "poisson", "yes_below", exposure, misses))


@lru_cache(maxsize=4)
def reference_model(path: str | None = None, audits: tuple[str, ...] = ()) -> RuleErrorModel:
    """Model of the reference class of the package, or of the table in a file, and audits; kept in memory."""
    return fit_rule_error(read_reference(path, audits))


def _fitted(table: pd.DataFrame, family: Family, column: str, size: Floats, prior: Prior) -> _Posterior:
    """Posterior given the rows of a table: points from normal distributions that follow the weights of the last.

    Parameters
    ----------
    table, column
        Reference class, and the column with the documents that are confirmed, or missed.
    family, size
        Distribution of these documents in a row, and its trials (binomial) or exposure (Poisson).
    prior
        Prior of the effects.
    """
    used = size > 0
    table, size = table[used], size[used]
    cells, count = table.drop_duplicates(list(CELL)), table[column].to_numpy(np.float64)
    cell_of = table.groupby(list(CELL), sort=False).ngroup().to_numpy().astype(np.int64)
    pairs = np.indices((len(cells), len(cells))).reshape(2, -1)
    shared = _shared(cells.iloc[pairs[0]], cells.iloc[pairs[1]])
    normal = _quasi_normal(len(EFFECTS))
    centre, spread = np.log(prior.scales) - 0.4, np.full(len(EFFECTS), 0.8)
    for tempering in np.linspace(1.0 / N_ROUNDS, 1.0, N_ROUNDS):
        logs = centre + spread * normal
        sds = np.exp(logs)
        covariance = prior.sd**2 + (sds**2 @ shared.T).reshape(len(sds), len(cells), len(cells))
        log_evidence, *approximation = _laplace(family, cell_of, count, size, covariance, sds[:, -1:] ** 2, prior.mean)
        log_prior = (logs - 0.5 * (sds / prior.scales) ** 2).sum(axis=1)
        log_weights = log_evidence + log_prior + 0.5 * (normal**2).sum(axis=1)
        weights = np.exp(tempering * (log_weights - log_weights.max()))
        weights /= weights.sum()
        centre = weights @ logs
        spread = np.sqrt(weights @ (logs - centre) ** 2 + 0.04)
    return _Posterior(prior, cells, sds, weights, *approximation)


def _laplace(
    family: Family,
    cell_of: Ints,
    count: Floats,
    size: Floats,
    covariance: Floats,
    period_variance: Floats,
    mean: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Laplace approximation for each point of standard deviations, effects of periods included, by Newton's method.

    Parameters
    ----------
    family
        Distribution of the counts: effects are logits of a probability, or logarithms of a rate.
    cell_of, count, size
        Cell, count, and trials or exposure of each row, (n_rows,).
    covariance
        float64 (n_points, n_cells, n_cells): of the effects of cells.
    period_variance
        float64 (n_points, 1): of the effects of periods.
    mean
        Mean of all effects.

    Returns
    -------
    log_evidence, slope, root, inverse
        Logarithm of the marginal likelihood (n_points,), and as in `_Posterior`.
    """
    identity = np.eye(covariance.shape[1])
    of_cells = identity[cell_of]  # a product with it sums rows by cell

    def distribution(effects: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean and variance of each count, and the part of the log likelihood that does not depend on the count."""
        if family == "poisson":
            rate = size * np.exp(effects)
            return rate, rate, rate
        share = 1.0 / (1.0 + np.exp(-effects))
        return size * share, size * share * (1.0 - share), size * np.logaddexp(0.0, effects)

    # Newton's method begins at what each cell alone suggests; one half more makes its numbers positive.
    count_of_cell, size_of_cell = ((values @ of_cells)[cell_of] + 0.5 for values in (count, size))
    others = size_of_cell if family == "poisson" else size_of_cell - count_of_cell + 0.5
    effects = np.tile(np.log(count_of_cell / others) - mean, (len(covariance), 1))  # points, rows
    for _ in range(10):
        expected, information, _ = distribution(mean + effects)
        score = count - expected
        damping = 1.0 + period_variance * information
        root = np.sqrt((information / damping) @ of_cells)
        inverse = np.asarray(np.linalg.inv(identity + root[:, :, None] * covariance * root[:, None, :]), np.float64)
        target = ((information * effects + score) / damping) @ of_cells
        slope = target - root * _times(inverse, root * _times(covariance, target))
        cell_effects = _times(covariance, slope)
        period_effects = period_variance * (information * (effects - cell_effects[:, cell_of]) + score) / damping
        change = np.clip(cell_effects[:, cell_of] + period_effects - effects, -2.0, 2.0)
        effects = effects + change
        if np.abs(change).max(initial=0.0) < 1e-6:  # the last step converges quadratically
            break
    _, _, normaliser = distribution(mean + effects)
    log_evidence = (count * (mean + effects) - normaliser).sum(axis=1)
    log_evidence -= 0.5 * ((slope * cell_effects).sum(axis=1) + (period_effects**2 / period_variance).sum(axis=1))
    log_evidence += 0.5 * (np.linalg.slogdet(inverse)[1] - np.log(damping).sum(axis=1))
    return log_evidence, slope, root, inverse


def _times(matrices: Floats, vectors: Floats) -> Floats:
    """Product of each matrix, float64 (n_points, n, n), and its vector."""
    return np.asarray(np.einsum("qcd,qd->qc", matrices, vectors))


def _quasi_normal(n: int) -> Floats:
    """Points of a standard normal distribution, float64 (N_POINTS, n), spread evenly (Roberts 2018)."""
    from scipy.special import ndtri

    ratio = 2.0
    for _ in range(30):  # root of x**(n + 1) = x + 1, the generalised golden ratio
        ratio = (1.0 + ratio) ** (1.0 / (n + 1))
    uniform = (0.5 + np.outer(np.arange(1, N_POINTS + 1), ratio ** -np.arange(1.0, n + 1))) % 1.0
    return np.asarray(ndtri(uniform))
