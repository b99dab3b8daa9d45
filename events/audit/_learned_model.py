"""Candidates for the probability of a label, their weights by cross-validation, and draws of their posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from events.audit._features import PROBABILITY, Features, clipped_probability
from events.audit._logistic import fit_logistic, sigmoid

ModelName = Literal["as it is", "recalibrated", "regression", "regression with words"]
AS_IT_IS: ModelName = "as it is"
N_FOLDS = 10
_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_OF_RECALIBRATION = (0.3, 3.0, 30.0)


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """The labels of one target, and the folds of all documents.

    Attributes
    ----------
    rows
        int64 (n_labels,): documents with a label of yes or no.
    y, weights
        Labels 0 and 1, and weights that add up to their effective number, (n_labels,).
    folds
        int64 (n_documents,): fold of every document.
    """

    rows: Ints
    y: Floats
    weights: Floats
    folds: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Standardised:
    """Features on the scale on which coefficients are penalised.

    Attributes
    ----------
    z, rises
        As in `Features`, each column with mean 0 and standard deviation 1.
    centre
        float64 (n_features,): the coefficients of P as it is.
    """

    z: Floats
    rises: Bools
    centre: Floats

    @classmethod
    def of(cls, features: Features) -> Standardised:
        """Standardise; a constant column becomes 0."""
        spread = features.matrix.std(axis=0)
        z = (features.matrix - features.matrix.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        centre = np.zeros(len(spread))
        centre[0] = spread[0]  # of the logit of P
        return cls(z, features.rises, centre)

    def first(self, n_columns: int) -> Standardised:
        """The first features alone."""
        return Standardised(self.z[:, :n_columns], self.rises[:n_columns], self.centre[:n_columns])

    def fit(
        self, labelled: Labelled, penalty: float, chosen: Bools | None = None, start: Floats | None = None
    ) -> Floats:
        """Coefficients from the labels, or from some of them."""
        rows, y, weights = labelled.rows, labelled.y, labelled.weights
        if chosen is not None:
            rows, y, weights = rows[chosen], y[chosen], weights[chosen]
        return fit_logistic(self.z[rows], y, weights, penalty, self.rises, centre=self.centre, start=start)

    def predicted(self, beta: Floats, rows: Ints | Bools | slice = slice(None)) -> Floats:
        """P of documents."""
        return sigmoid(beta[0] + self.z[rows] @ beta[1:])


def made_folds(strata: Ints, y: Floats, rows: Ints, n_documents: int, rng: np.random.Generator) -> Ints:
    """Fold of every document; labels of each value and stratum are spread over the folds."""
    folds = rng.permutation(n_documents) % N_FOLDS
    order = np.lexsort((rng.random(len(rows)), strata, y))
    folds[rows[order]] = np.arange(len(rows)) % N_FOLDS
    return folds


def log_losses(y: Floats, p: Floats) -> Floats:
    """-log P(label) of each label."""
    clipped = np.clip(p, 1e-4, 1.0 - 1e-4)
    return -(y * np.log(clipped) + (1.0 - y) * np.log1p(-clipped))


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One way to learn P: features, and how far they are drawn to P as it is.

    Attributes
    ----------
    model
        Its name.
    features, penalty
        The features, and the penalty of their coefficients. P as it is has none: these are of its recalibration.
    cross_fitted
        float64 (n_documents,): P of every document from the labels of other folds.
    losses
        float64 (n_labels,): -log P(label), cross-validated.
    """

    model: ModelName
    features: Standardised
    penalty: float
    cross_fitted: Floats
    losses: Floats


def candidates(
    labelled: Labelled, p: Floats, features: Standardised, words: Standardised | None, *, few: bool
) -> list[Candidate]:
    """Every model with each of its penalties, P as it is first; with few labels no regression.

    Parameters
    ----------
    labelled, p
        The labels, and P of every document as the run has it.
    features, words
        Features without words, of which P comes first, and with them.
    few
        Whether there are too few labels for more than a recalibration.
    """
    first = features.first(len(PROBABILITY))
    tried: list[tuple[ModelName, Standardised, Sequence[float]]] = [("recalibrated", first, _OF_RECALIBRATION)]
    if not few:
        tried.append(("regression", features, _PENALTIES))
        if words is not None:
            tried.append(("regression with words", words, _PENALTIES))
    crossed = [(AS_IT_IS, first, _OF_RECALIBRATION[0], clipped_probability(p))]
    crossed += [
        (model, own, penalty, cross_fitted(labelled, own, penalty))
        for model, own, penalties in tried
        for penalty in penalties
    ]
    return [Candidate(*each, log_losses(labelled.y, each[-1][labelled.rows])) for each in crossed]


_N_RESAMPLES = 1000


def model_weights(labelled: Labelled, found: Sequence[Candidate], rng: np.random.Generator) -> Floats:
    """Weights by which candidates are averaged: the mean, over resampled labels, of how likely each makes the labels.

    A single best candidate would be chosen by chance where several are about as good.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), "Using stacking to average Bayesian predictive distributions", Bayesian
    Analysis 13, section 3.4 (Pseudo-BMA+).
    """
    shares = rng.dirichlet(np.ones(len(labelled.rows)), _N_RESAMPLES) * labelled.weights
    shares *= labelled.weights.sum() / shares.sum(axis=1, keepdims=True)
    scores = -shares @ np.array([each.losses for each in found]).T
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights: Floats = (likely / likely.sum(axis=1, keepdims=True)).mean(axis=0)
    weights[weights < _LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


_LEAST_WEIGHT = 0.02


def cross_fitted(labelled: Labelled, features: Standardised, penalty: float) -> Floats:
    """P of every document from the labels of other folds."""
    p = np.empty(len(features.z))
    of_labels = labelled.folds[labelled.rows]
    beta = None
    for fold in range(N_FOLDS):
        beta = features.fit(labelled, penalty, of_labels != fold, beta)
        inside = labelled.folds == fold
        p[inside] = features.predicted(beta, inside)
    return p


_THINNING = 3  # steps of the chain for each draw
_INTERCEPT = 1e-4  # precision of the prior of the intercept


def posterior_draws(
    labelled: Labelled, features: Standardised, penalty: float, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Draws of the coefficients from their posterior, whose prior is the penalty; those bound to rise are at least 0.

    Elliptical slices of the normal distribution at the mode, each accepted by the exact posterior: a normal
    approximation alone gives P near 0 far too much room upwards, where no label says yes.

    Returns
    -------
    float64 (n_draws, 1 + n_features)

    References
    ----------
    Nishihara, Murray & Adams (2014), "Parallel MCMC with generalized elliptical slice sampling", JMLR 15, section 3.
    """
    x = np.column_stack([np.ones(len(labelled.rows)), features.z[labelled.rows]])
    y, weights = labelled.y, labelled.weights
    bound = np.concatenate([[False], features.rises])
    centre = np.concatenate([[0.0], features.centre])
    precision = np.concatenate([[_INTERCEPT], np.full(len(features.centre), penalty)])
    mode = features.fit(labelled, penalty)
    p = sigmoid(x @ mode)
    hessian = (x.T * (weights * p * (1.0 - p))) @ x + np.diag(precision)
    spread = np.linalg.inv(np.linalg.cholesky(hessian)).T  # of the normal distribution: its covariance's root
    root = np.linalg.cholesky(hessian).T

    def log_ratio(beta: Floats) -> float:
        """Log posterior less that of the normal distribution."""
        if (beta[bound] < 0.0).any():
            return -np.inf
        z = x @ beta
        log_posterior = -float(weights @ (np.logaddexp(0.0, z) - y * z) + 0.5 * precision @ (beta - centre) ** 2)
        return log_posterior + 0.5 * float(((root @ (beta - mode)) ** 2).sum())

    beta, value = mode.copy(), log_ratio(mode)
    draws = np.empty((n_draws, len(mode)))
    for step in range(n_draws * _THINNING):
        other = spread @ rng.standard_normal(len(mode))
        least = value + np.log(rng.random())
        angle = 2.0 * np.pi * rng.random()
        low, high = angle - 2.0 * np.pi, angle
        while True:
            tried = mode + (beta - mode) * np.cos(angle) + other * np.sin(angle)
            ratio = log_ratio(tried)
            if ratio > least or high - low < 1e-12:
                break
            low, high = (angle, high) if angle < 0.0 else (low, angle)
            angle = low + (high - low) * rng.random()
        if ratio > least:
            beta, value = tried, ratio
        draws[step // _THINNING] = beta
    return draws
