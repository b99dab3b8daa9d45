"""Precision and misses of a rule without labels, from those of rules in a reference class.

A rule's precision is the probability that a reader confirms a document that it counts. The documents that it does not
count have three classes (`CLASSES`): a word of the rule and a name of the actor are in one sentence, or both are in the
document, or neither is so. Misses are the probabilities that a reader counts a document of each class.

The logit of the precision of an event and actor in a corpus (a cell) is a sum of normal effects: a mean, and effects of
the kind of actor, the corpus, the event and the actor in the corpus, and the cell. The logits of the misses of the
first two classes have the same model with means of their own; they have all other effects in common. Misses of a class
rise with the ratio of the documents that the rule counts to those of the class, and the precision with their ratio to
the first class: by Bayes' theorem, a logit has the logarithm of the prior odds as a summand, and the counted documents
estimate these with an error. The numbers of documents are binomial, and the posterior is a Gaussian process over the
cells in the Laplace approximation. A few corpora say little about how much corpora and kinds differ, so the standard
deviations of these effects are fixed; those within a corpus have a common factor that is integrated out.

In the last class, the logit of misses relative to the share of counted documents is a mixture of two normal
distributions: the words of the rule cover the question of the readers, or they do not. Cells of one event share it.

References
----------
Rasmussen & Williams (2006), Algorithms 3.1 and 3.2, for the Laplace approximation; Roberts (2018), "The unreasonable
effectiveness of quasirandom sequences", for the points of the draws.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, pd
from corefsample.errors import InputError, shown
from corefsample.files._paths import PathLike
from corefsample.files._reading import sha256
from events.counts._run_tables import verify_table

KINDS: Final = ("named", "class noun", "country", "nobody", "any")
CLASSES: Final = ("sentence", "document", "neither")  # of documents that a rule does not count, with P of .5 or less
N_OF: Final = ("n_sentence", "n_document")
YES_OF: Final = ("yes_sentence", "yes_document", "yes_neither")
NUMBERS: Final = ("n_documents", "sum_p", "n_yes", "n_above", "yes_above", "yes_below", *N_OF, *YES_OF)
CELL: Final = ("corpus", "event", "actor", "kind", "preset", "pipeline")
COLUMNS: Final = (*CELL, "period", *NUMBERS)
NO_RULE_ERROR: Final = "none"  # in place of a path
AUDITED: Final = "audited-reference.csv"
AUDIT_RECORD: Final = "audited.json"
AUDIT: Final = "audit"  # corpus of the user's audits
_MOST_DOCUMENTS: Final = 10**9
# By effect the columns that two cells have in common if they share it.
EFFECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "of_class": ("of_class",),
    "kind": ("kind",),
    "corpus": ("corpus",),
    "event": ("corpus", "event"),
    "actor": ("corpus", "actor"),
    "cell": ("cell",),
}
SCALED: Final = ("event", "actor", "cell")  # effects whose standard deviations have a common factor
FACTORS: Final = 2.0 ** np.linspace(-1.0, 1.0, 5)
PERIOD_SD: Final = 0.3  # of the logits of precision and misses from period to period
# Misses in the last class, relative to the share of counted documents: means and standard deviations of the logits if
# the words of the rule cover the question of the readers, and if they do not; and prior of the share of events where
# they do not, whose mean is 1 / 5.
COVERED: Final = (-3.5, 1.3)
UNCOVERED: Final = (-1.0, 1.0)
N_COVERED: Final = 3
LOGITS: Final = np.linspace(-10.0, 4.0, 141)
_Rows = Mapping[str, npt.NDArray[Any]]


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
        yes_below (of those with P above .5 and the others a reader says yes), n_sentence, n_document, yes_sentence,
        yes_document and yes_neither (those with P of .5 or less by `CLASSES`); sum_p, the sum of P.

    Raises
    ------
    InputError
        If a column is missing, a kind is unknown, numbers contradict each other, or the file of an audit is other than
        `corefsample audit estimate` wrote it.
    """
    paths = [files("events.data").joinpath("rule_reference.csv") if path is None else Path(path)]
    tables = []
    for source in (*paths, *map(reference_file, audits)):
        if source.name == AUDITED and Path(str(source)).with_name(AUDIT_RECORD).is_file():
            verify_table(str(source), AUDIT_RECORD)
        try:
            text = source.read_text(encoding="utf-8")
            table = pd.read_csv(StringIO(text), dtype=dict.fromkeys((*CELL, "period"), str), keep_default_na=False)
        except FileNotFoundError:
            raise InputError("file must exist, got none", place=str(source)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            hint = f"`corefsample audit estimate` writes one, {AUDITED}"
            raise InputError(f"cannot be read as a reference table: {reason}", place=str(source), hint=hint) from None
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
    n_yes, n_above = numbers["n_yes"], numbers["n_above"]
    n_neither = numbers["n_documents"] - n_above - numbers["n_sentence"] - numbers["n_document"]
    sums = numbers["yes_above"] + numbers["yes_below"], numbers[list(YES_OF)].sum(axis=1)
    rules = {
        f"kind must be one of {', '.join(KINDS)}": (table["kind"].isin(KINDS), ["kind"]),
        f"numbers must be whole but for sum_p, and from 0 to {_MOST_DOCUMENTS:,}": (are_whole, list(NUMBERS)),
        "sum_p must be at most n_documents": (numbers["sum_p"] <= numbers["n_documents"], ["sum_p", "n_documents"]),
        "n_yes must be yes_above + yes_below": (n_yes == sums[0], ["n_yes", "yes_above", "yes_below"]),
        f"yes_below must be {' + '.join(YES_OF)}": (numbers["yes_below"] == sums[1], ["yes_below", *YES_OF]),
        **{
            f"{yes} must be at most {name}": (numbers[yes] <= numbers[name], [yes, name])
            for yes, name in zip(("yes_above", *YES_OF), ("n_above", *N_OF), strict=False)
        },
        f"yes_neither must be at most n_documents - n_above - {' - '.join(N_OF)}": (
            numbers["yes_neither"] <= n_neither,
            ["yes_neither", "n_documents", "n_above", *N_OF],
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
    """Prior of the logits of precision, or of misses, by class of documents.

    Attributes
    ----------
    means
        Mean of each class.
    common, of_class
        Standard deviations of what the means of all classes have in common, and of what one alone has.
    kind, corpus
        Standard deviations of the effects of kinds of actors, and of corpora.
    event, actor, cell
        Standard deviations of the effects within a corpus where their common factor is 1.
    slope, slope_sd
        Mean and standard deviation of the coefficient of `log_odds`.
    """

    means: tuple[float, ...]
    common: float = 0.5
    of_class: float = 0.3
    kind: float = 0.3
    corpus: float = 1.0
    event: float = 0.25
    actor: float = 0.25
    cell: float = 0.35
    slope: float = 0.5
    slope_sd: float = 0.2


PRECISION: Final = Prior((0.0,), corpus=0.9)
MISSES: Final = Prior((-2.1, -2.6), kind=0.2, corpus=0.7, event=0.35, slope=0.7)


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
        float64 (n_draws, 3): logit of the probability that a reader counts a document that the rule does not count, by
        `CLASSES`.
    """

    precision: Floats
    misses: Floats

    def __len__(self) -> int:
        return len(self.precision)


class _Posterior:
    """Posterior of the logits of precision, or of misses.

    Parameters
    ----------
    cells
        Numbers of each cell.
    sizes, yes
        Columns with the documents of each cell, by class, and with those that a reader counts.
    relative_to
        By class, the column with the documents to which those that the rule counts are relative in `log_odds`.
    prior
        Prior of the effects.

    Attributes
    ----------
    rows
        Columns of the cells, classes of documents (`of_class`) and `log_odds`, (n_rows,).
    weights
        float64 (n_factors,): posterior probabilities of `FACTORS`.
    slope, root
        float64 (n_factors, n_rows): derivative of the log likelihood at the mode, and the square root of the negative
        of its second.
    inverse
        float64 (n_factors, n_rows, n_rows): inverse of 1 + root covariance root.
    """

    def __init__(
        self, cells: pd.DataFrame, sizes: Sequence[str], yes: Sequence[str], relative_to: Sequence[str], prior: Prior
    ) -> None:
        size, count = (np.concatenate([cells[name].to_numpy(np.float64) for name in names]) for names in (sizes, yes))
        is_used, of_class = size > 0, np.repeat(np.arange(len(sizes)), len(cells))
        columns = {name: np.tile(cells[name].to_numpy(), len(sizes)) for name in (*Cell._fields, "cell")}
        odds = np.concatenate([log_odds(cells["sum_p"], cells[name]) for name in relative_to])
        columns |= {"of_class": of_class, "odds": odds}
        rows = {name: column[is_used] for name, column in columns.items()}
        count, size = count[is_used], size[is_used]
        self.prior, self.rows = prior, rows
        covariance, mean = _covariance(prior, rows, rows), _means(prior, rows)
        effects = np.tile(np.log((count + 0.5) / (size - count + 0.5)) - mean, (len(FACTORS), 1))
        for _ in range(20):  # Newton's method
            share = 1.0 / (1.0 + np.exp(-mean - effects))
            root = np.sqrt(size * share * (1.0 - share))
            inverse = np.linalg.inv(np.eye(len(size)) + root[:, :, None] * covariance * root[:, None, :])
            target = root**2 * effects + count - size * share
            slope = target - root * _times(inverse, root * _times(covariance, target))
            change = np.clip(_times(covariance, slope) - effects, -2.0, 2.0)
            effects = effects + change
            if np.abs(change).max(initial=0.0) < 1e-4:  # the last step converges quadratically
                break
        log_weights = (count * (mean + effects) - size * np.logaddexp(0.0, mean + effects)).sum(axis=1)
        log_weights += 0.5 * (np.linalg.slogdet(inverse)[1] - (slope * effects).sum(axis=1))
        log_weights += np.log(FACTORS) - 0.5 * FACTORS**2  # half-normal, at points that are even on a logarithmic scale
        weights = np.exp(log_weights - log_weights.max())
        self.weights, self.slope, self.root, self.inverse = weights / weights.sum(), slope, root, inverse

    def values(self, cells: Sequence[Cell], odds: Floats, uniform: Floats) -> Floats:
        """Joint values of new cells, float64 (n, n_cells, n_classes), which have as many uniform points and one more.

        The first of the points, float64 (n, 1 + n_cells * n_classes), is that of the common factor. The `log_odds` of
        the cells are float64 (n_cells, n_classes).
        """
        n_classes = len(self.prior.means)
        columns = {name: np.array([getattr(cell, name) for cell in cells]) for name in Cell._fields}
        columns |= {"cell": -1 - np.arange(len(cells))}
        new = {name: np.repeat(values, n_classes) for name, values in columns.items()}
        new |= {"of_class": np.tile(np.arange(n_classes), len(cells)), "odds": np.ravel(odds)}
        covariance = _covariance(self.prior, new, self.rows)
        scaled = covariance * self.root[:, None]
        explained = scaled @ self.inverse @ scaled.transpose(0, 2, 1)
        # The classes of two cells differ by the same effects, so that the covariance of both is singular.
        roots = np.linalg.cholesky(_covariance(self.prior, new, new) - explained + 1e-9 * np.eye(len(new["odds"])))
        means = _means(self.prior, new) + np.einsum("fkr,fr->fk", covariance, self.slope)
        factor = np.searchsorted(self.weights.cumsum()[:-1], uniform[:, 0])
        values = means[factor] + np.einsum("nkl,nl->nk", roots[factor], normal_quantiles(uniform[:, 1:]))
        return np.asarray(values.reshape(len(uniform), len(cells), n_classes))


def _means(prior: Prior, rows: _Rows) -> Floats:
    """Prior means of rows."""
    return np.asarray(np.array(prior.means)[rows["of_class"]] + prior.slope * rows["odds"])


def _covariance(prior: Prior, rows: _Rows, others: _Rows) -> Floats:
    """Prior covariances of rows and others: float64 (n_factors, n_rows, n_others)."""
    same = {name: rows[name][:, None] == others[name] for name in others}
    odds = np.outer(rows["odds"], others["odds"])
    fixed, scaled = prior.common**2 + prior.slope_sd**2 * odds, np.zeros(odds.shape)
    for effect, columns in EFFECTS.items():
        part = scaled if effect in SCALED else fixed
        part += getattr(prior, effect) ** 2 * np.all([same[name] for name in columns], axis=0)
    return np.asarray(fixed + FACTORS[:, None, None] ** 2 * scaled)


def log_odds(counted: npt.ArrayLike, others: npt.ArrayLike) -> Floats:
    """Logarithm of the number of counted documents relative to the others, of which there may be none."""
    return np.asarray(np.log((np.asarray(counted) + 0.5) / (np.asarray(others) + 0.5)))


class RuleErrorModel:
    """Posterior of the errors of rules, given a reference class.

    Parameters
    ----------
    table
        The reference class: see `read_reference`; it may be empty, and the posterior is then the prior.
    precision, misses
        Priors.
    """

    def __init__(self, table: pd.DataFrame, *, precision: Prior = PRECISION, misses: Prior = MISSES) -> None:
        self.table = table
        cells = table.groupby(list(CELL), as_index=False)[list(NUMBERS)].sum()
        cells = cells.assign(cell=range(len(cells)))
        self._neither = dict[tuple[str, str], Floats]()  # likelihoods of `LOGITS` by corpus and event
        of_components = []
        for (corpus, event), rows in cells.groupby(["corpus", "event"]):
            n_above, n_others = rows["n_above"].to_numpy(), (rows["n_documents"] - rows["n_above"]).to_numpy()
            logits = LOGITS[:, None] + log_odds(n_above, n_others)
            log_likelihood = logits @ rows["yes_neither"].to_numpy(np.float64)
            log_likelihood -= np.logaddexp(0.0, logits) @ (n_others - rows[list(N_OF)].sum(axis=1).to_numpy(np.float64))
            likelihood = np.exp(log_likelihood - log_likelihood.max())
            self._neither[str(corpus), str(event)] = likelihood
            of_components.append(_components() @ likelihood)
        shares = np.linspace(0.005, 0.995, 100)
        posterior = (1.0 - shares) ** N_COVERED
        for covered, uncovered in of_components:
            posterior *= (1.0 - shares) * covered + shares * uncovered
            posterior /= posterior.sum()
        self._uncovered = float(posterior @ shares / posterior.sum())
        self._precision = _Posterior(cells, ["n_above"], ["yes_above"], N_OF[:1], precision)
        self._misses = _Posterior(cells, N_OF, YES_OF[:-1], N_OF, misses)

    def draws(self, cell: Cell, documents: npt.ArrayLike, n_draws: int, rng: np.random.Generator) -> RuleError:
        """Draw the error of a rule and actor that are not in the reference class.

        The draws are points that are spread evenly, in random order, so that quantiles hardly depend on `rng`.

        Parameters
        ----------
        cell
            The rule and actor.
        documents
            (4,): number of documents that the rule counts, and of the others by `CLASSES`.
        n_draws
            At least 1.
        rng
            Source of randomness.
        """
        return self._drawn([cell], np.atleast_2d(documents), rng.permutation(_even_points(n_draws, 6)))[0]

    def joint_draws(
        self, cells: Sequence[Cell], documents: npt.ArrayLike, n_draws: int, rng: np.random.Generator
    ) -> list[RuleError]:
        """Draw the errors of several rules and actors, which have in common what the model says that they share.

        Parameters
        ----------
        cells
            The rules and actors.
        documents
            (n_cells, 4): numbers of documents as in `draws`.
        n_draws, rng
            As in `draws`.
        """
        n_events = len({cell.event for cell in cells})
        return self._drawn(cells, documents, rng.random((n_draws, 2 + 3 * len(cells) + n_events)))

    def _drawn(self, cells: Sequence[Cell], documents: npt.ArrayLike, uniform: Floats) -> list[RuleError]:
        """Draws at points of a uniform distribution, float64 (n_draws, 2 + 3 * n_cells + n_events)."""
        counted, sentence, document, neither = np.asarray(documents, np.float64).T
        odds, n_cells = log_odds(counted, [sentence, document]).T, len(cells)
        precision = self._precision.values(cells, odds[:, :1], uniform[:, : n_cells + 1])
        misses = self._misses.values(cells, odds, uniform[:, n_cells + 1 : 3 * n_cells + 2])
        elsewhere_odds = log_odds(counted, sentence + document + neither)
        events = list(dict.fromkeys(cell.event for cell in cells))
        errors = []
        for k, cell in enumerate(cells):
            posterior = np.array([1.0 - self._uncovered, self._uncovered]) @ _components()
            posterior = posterior * self._neither.get((cell.corpus, cell.event), 1.0)
            of_event = uniform[:, 3 * n_cells + 2 + events.index(cell.event)]  # rules of an event share its words
            elsewhere = np.interp(of_event * posterior.sum(), posterior.cumsum() - 0.5 * posterior, LOGITS)
            missed = np.column_stack([misses[:, k], elsewhere + elsewhere_odds[k]])
            errors.append(RuleError(precision[:, k, 0], missed))
        return errors

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


def reference_model(path: str | None = None, audits: tuple[str, ...] = ()) -> RuleErrorModel:
    """Model of the reference class of the package, or of the table in a file, and audits; kept in memory."""
    sources = [*([] if path is None else [Path(path)]), *map(reference_file, audits)]
    return _kept_model(path, audits, tuple(sha256(source) for source in sources if source.is_file()))


@lru_cache(maxsize=4)
def _kept_model(path: str | None, audits: tuple[str, ...], _checksums: tuple[str, ...]) -> RuleErrorModel:
    return RuleErrorModel(read_reference(path, audits))


def _times(matrices: Floats, vectors: Floats) -> Floats:
    """Product of each matrix and its vector."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _components() -> Floats:
    """Prior probabilities of `LOGITS` if words cover the question, and if they do not: float64 (2, n_logits)."""
    means, sds = np.transpose([COVERED, UNCOVERED])
    densities = np.exp(-0.5 * ((LOGITS - means[:, None]) / sds[:, None]) ** 2)
    return np.asarray(densities / densities.sum(axis=1, keepdims=True))


def normal_quantiles(uniform: npt.ArrayLike) -> Floats:
    """Quantiles of the standard normal distribution to 1e-5 within four standard deviations.

    Loading `scipy.special` takes longer than all else that a run with a small corpus does with the error of rules.
    """
    return np.asarray(np.interp(np.asarray(uniform, np.float64), *_normal_distribution()))


@lru_cache(maxsize=1)
def _normal_distribution() -> tuple[Floats, Floats]:
    """Values of the distribution function, and where it has them."""
    points = np.linspace(-6.0, 6.0, 6001)
    return np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in points.tolist()]), points


@lru_cache(maxsize=4)
def _even_points(n: int, n_dimensions: int) -> Floats:
    """Points of a uniform distribution, float64 (n, n_dimensions), spread evenly."""
    ratio = 2.0
    for _ in range(30):  # root of x**(n_dimensions + 1) = x + 1, the generalised golden ratio
        ratio = (1.0 + ratio) ** (1.0 / (n_dimensions + 1))
    return np.asarray((0.5 + np.outer(np.arange(1, n + 1), ratio ** -np.arange(1.0, n_dimensions + 1))) % 1.0)
