"""Precision and recall of a rule that nobody has checked, from those of rules in a reference class.

The logit of the precision of an event and actor in a corpus (a cell) is a sum of normal effects: a mean, and effects of
the kind of actor, the corpus, the event and the actor in the corpus, the cell, and of each period in it. Recall has the
same model, with its own parameters. The numbers of documents are binomial. The model is a Gaussian process over the
cells, whose covariance says how much two cells share. Given the standard deviations of the effects, the Laplace
approximation of the posterior is a normal distribution; the standard deviations are integrated out by importance
sampling.

References
----------
Rasmussen & Williams (2006), Algorithms 3.1 and 3.2, for the Laplace approximation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints
from corefsample._lazy import pd
from events.rule_error._table import CELL, KINDS, read_reference

N_POINTS: Final = 48  # of the standard deviations, in each round of importance sampling
N_ROUNDS: Final = 4
N_STEPS: Final = 5  # of Newton's method
NODES: Final = np.linspace(-3.2, 3.2, 15)  # of the effects of periods, in standard deviations
_LOG_WEIGHTS: Final = -0.5 * NODES**2 - np.log(np.exp(-0.5 * NODES**2).sum())
# By effect the columns that two cells have in common if they share it.
EFFECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": ("kind",),
    "corpus": ("corpus",),
    "event": ("corpus", "event"),
    "actor": ("corpus", "actor"),
    "cell": CELL,
    "period": (),
}


@dataclass(frozen=True, slots=True)
class Prior:
    """Scales of the model, on the logit scale.

    Attributes
    ----------
    mean, sd
        Of the normal prior of the common mean.
    kind, corpus, event, actor, cell, period
        Scales of the half-normal priors of the standard deviations of the effects.
    """

    mean: float = 0.5
    sd: float = 1.0
    kind: float = 0.5
    corpus: float = 1.5
    event: float = 1.0
    actor: float = 0.5
    cell: float = 0.5
    period: float = 0.5

    @property
    def scales(self) -> Floats:
        """Of the standard deviations, in the order of `EFFECTS`."""
        return np.array([getattr(self, name) for name in EFFECTS])


@dataclass(frozen=True, slots=True)
class Cell:
    """A rule and actor in a corpus.

    Attributes
    ----------
    kind
        Of the actor: one of `KINDS`.
    event, actor
        Name and code, as in tables.
    corpus
        Name of a corpus of the reference class; "": another corpus.
    """

    kind: str
    event: str = ""
    actor: str = ""
    corpus: str = ""

    def __post_init__(self) -> None:
        _checks.choice("kind", self.kind, KINDS)


@dataclass(frozen=True, slots=True, eq=False)
class RuleError:
    """Draws of the error of one rule and actor.

    Attributes
    ----------
    precision, recall
        float64 (n_draws,): logits of the probability that a reader confirms a document that the rule counts, and that
        the rule counts a document in which a reader sees the event.
    precision_sd, recall_sd
        float64 (n_draws,): standard deviations of both logits from period to period.
    """

    precision: Floats
    recall: Floats
    precision_sd: Floats
    recall_sd: Floats

    def __len__(self) -> int:
        return len(self.precision)

    def chosen(self, draws: Ints) -> RuleError:
        """Some of the draws, by number."""
        return RuleError(self.precision[draws], self.recall[draws], self.precision_sd[draws], self.recall_sd[draws])


@dataclass(frozen=True, slots=True, eq=False)
class _Share:
    """Posterior of the logits of a share (precision or recall) in the cells of a table.

    Attributes
    ----------
    cells
        Columns of `EFFECTS` of the cells.
    sds
        float64 (n_points, n_effects): standard deviations of the effects.
    weights
        float64 (n_points,): posterior probabilities of the points.
    gradient, curvature
        float64 (n_points, n_cells): derivative of the log likelihood at the mode, and the negative of its second.
    inverse
        float64 (n_points, n_cells, n_cells): inverse of 1 + root(curvature) covariance root(curvature).
    log_evidence
        float64 (n_points,): logarithm of the marginal likelihood.
    """

    prior: Prior
    cells: pd.DataFrame
    sds: Floats
    weights: Floats
    gradient: Floats
    curvature: Floats
    inverse: Floats
    log_evidence: Floats

    def draws(self, cell: Cell, n_draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Logits of a new cell, and the standard deviations from period to period."""
        variances = self.sds**2
        alike = self.cells.assign(kind=cell.kind, event=cell.event, actor=cell.actor, corpus=cell.corpus, preset="")
        covariance = self.prior.sd**2 + variances @ _shared(self.cells, alike).T
        mean = self.prior.mean + (covariance * self.gradient).sum(axis=1)
        scaled = covariance * np.sqrt(self.curvature)
        explained = np.einsum("qc,qcd,qd->q", scaled, self.inverse, scaled)
        own = variances[:, list(EFFECTS).index("cell")]
        effects = variances[:, :-1].sum(axis=1) - own
        variance = own + np.maximum(self.prior.sd**2 + effects - explained, 0.0)
        point = rng.choice(len(self.weights), n_draws, p=self.weights)
        return mean[point] + np.sqrt(variance[point]) * rng.standard_normal(n_draws), self.sds[point, -1]


def _shared(cells: pd.DataFrame, others: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether each cell and the other in the same row share an effect: bool (n_cells, n_effects)."""
    same: dict[str, Bools] = {name: cells[name].to_numpy() == others[name].to_numpy() for name in CELL}
    no_period = np.zeros(len(cells), np.bool_)
    return np.stack(
        [np.logical_and.reduce([same[name] for name in names]) if names else no_period for names in EFFECTS.values()], 1
    )


@dataclass(frozen=True, slots=True, eq=False)
class RuleErrorModel:
    """Posterior of the errors of rules, given a reference class.

    Attributes
    ----------
    table
        The reference class.
    """

    table: pd.DataFrame
    _precision: _Share
    _recall: _Share

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
        recall, recall_sd = self._recall.draws(cell, n_draws, rng)
        return RuleError(precision, recall, precision_sd, recall_sd)

    def corpus_of(self, actors: Collection[str]) -> str:
        """Corpus of the reference class with most of the named actors of a run; "" if there is none."""
        named = self.table[(self.table["kind"] == "named") & self.table["actor"].isin(list(actors))]
        return str(named.groupby("corpus")["actor"].nunique().idxmax()) if len(named) else ""


def fit_rule_error(table: pd.DataFrame, prior: Prior = Prior()) -> RuleErrorModel:
    """Fit the model to a reference class.

    Parameters
    ----------
    table
        See `read_reference`; it may be empty, and the posterior is then the prior.
    prior
        Scales of the priors.
    """
    return RuleErrorModel(table, *(_fitted(table, "yes_above", trials, prior) for trials in ("n_above", "n_yes")))


@lru_cache(maxsize=4)
def reference_model(path: str | None = None) -> RuleErrorModel:
    """Model of the package's reference class, or of the table in a file; kept in memory."""
    return fit_rule_error(read_reference(path))


def _fitted(table: pd.DataFrame, hits: str, trials: str, prior: Prior) -> _Share:
    """Posterior of the share of hits among trials: points from a normal distribution that follows their weights."""
    table = table[table[trials] > 0]
    cells = table.drop_duplicates(list(CELL))
    n, k = (table[name].to_numpy(np.float64) for name in (trials, hits))
    rows = _Rows(table.groupby(list(CELL), sort=False).ngroup().to_numpy().astype(np.int64), k, n, len(cells))
    normal = _quasi_normal(len(EFFECTS))
    mean, sd = np.log(prior.scales) - 0.4, np.full(len(EFFECTS), 0.8)
    k, n = (np.bincount(rows.cell, weights=numbers, minlength=len(cells)) for numbers in (k, n))
    start = np.log((k + 0.5) / (n - k + 0.5)) - prior.mean
    for tempering in np.linspace(1.0 / N_ROUNDS, 1.0, N_ROUNDS):
        logs = mean + sd * normal
        share, centred = _laplace(cells, rows, np.exp(logs), prior, start)
        log_prior = (logs - 0.5 * (share.sds / prior.scales) ** 2).sum(axis=1)
        log_weights = share.log_evidence + log_prior + 0.5 * (normal**2).sum(axis=1)
        weights = np.exp(tempering * (log_weights - log_weights.max()))
        weights /= weights.sum()
        start = weights @ centred
        mean = weights @ logs
        sd = np.sqrt(weights @ (logs - mean) ** 2 + 0.04)
    return dataclasses.replace(share, weights=weights)


def _laplace(cells: pd.DataFrame, rows: _Rows, sds: Floats, prior: Prior, start: Floats) -> tuple[_Share, Floats]:
    """Laplace approximation for each point of standard deviations, and its modes, relative to the prior mean."""
    n = len(cells)
    pairs = np.indices((n, n)).reshape(2, -1)
    shared = _shared(cells.iloc[pairs[0]], cells.iloc[pairs[1]])
    covariance = prior.sd**2 + (sds**2 @ shared.T).reshape(len(sds), n, n)
    centred = np.tile(start, (len(sds), 1))
    for _ in range(N_STEPS):
        log_likelihood, gradient, curvature = rows.derivatives(prior.mean + centred, sds[:, -1])
        root = np.sqrt(curvature)
        inverse = np.asarray(np.linalg.inv(np.eye(n) + root[:, :, None] * covariance * root[:, None, :]), np.float64)
        target = curvature * centred + gradient
        projected = root * np.einsum("qcd,qd->qc", covariance, target)
        slope = target - root * np.einsum("qcd,qd->qc", inverse, projected)
        centred = centred + np.clip(np.einsum("qcd,qd->qc", covariance, slope) - centred, -1.0, 1.0)
    log_evidence = log_likelihood - 0.5 * (slope * centred).sum(axis=1) + 0.5 * np.linalg.slogdet(inverse)[1]
    return _Share(prior, cells, sds, np.ones(len(sds)), slope, curvature, inverse, log_evidence), centred


def _quasi_normal(n: int) -> Floats:
    """Points of a standard normal distribution, float64 (N_POINTS, n), spread evenly (Roberts 2018)."""
    from scipy.special import ndtri

    ratio = 2.0
    for _ in range(30):  # root of x**(n + 1) = x + 1, the generalised golden ratio
        ratio = (1.0 + ratio) ** (1.0 / (n + 1))
    uniform = (0.5 + np.outer(np.arange(1, N_POINTS + 1), ratio ** -np.arange(1.0, n + 1))) % 1.0
    return np.asarray(ndtri(uniform))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Binomial rows of a table.

    Attributes
    ----------
    cell
        int64 (n_rows,): cell of each row.
    hits, trials
        float64 (n_rows,): numbers of documents.
    n_cells
        Number of cells.
    """

    cell: Ints
    hits: Floats
    trials: Floats
    n_cells: int

    def derivatives(self, logits: Floats, period_sds: Floats) -> tuple[Floats, Floats, Floats]:
        """Log likelihood without the effects of periods, which rows do not share.

        Parameters
        ----------
        logits
            float64 (n_points, n_cells).
        period_sds
            float64 (n_points,): standard deviations of the effects of periods.

        Returns
        -------
        array of shape (n_points,), and two of (n_points, n_cells)
            The log likelihood, its gradient, and the negative of its second derivative.
        """
        z = logits[:, self.cell, None] + (period_sds[:, None] * NODES)[:, None, :]  # points, rows, nodes
        share = 1.0 / (1.0 + np.exp(-z))
        log_share = np.log(share)
        terms = self.hits[:, None] * log_share + (self.trials - self.hits)[:, None] * (log_share - z) + _LOG_WEIGHTS
        top = terms.max(axis=2, keepdims=True)
        terms = np.exp(terms - top)
        total = terms.sum(axis=2, keepdims=True)
        slope = self.hits[:, None] - self.trials[:, None] * share
        gradient = (terms / total * slope).sum(axis=2)
        second = (terms / total * (slope**2 - self.trials[:, None] * share * (1.0 - share))).sum(axis=2)
        of_cell = np.eye(self.n_cells)[self.cell]
        curvature = np.maximum((gradient**2 - second) @ of_cell, 1e-9)
        return (np.log(total) + top)[:, :, 0].sum(axis=1), gradient @ of_cell, curvature
