"""Candidates for the probability of a label, averaged by cross-validation, and a test of their errors over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats, Ints
from corefsample._extras import require_extra
from corefsample.errors import ParameterError
from events.audit._features import PROBABILITY, Features, clipped_probability

ModelName = Literal["as it is", "recalibrated", "regression", "regression with words"]
AS_IT_IS: ModelName = "as it is"
WITH_WORDS: ModelName = "regression with words"
N_FOLDS = 10
_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_OF_RECALIBRATION = (0.3, 3.0, 30.0)
_OF_INTERCEPT = 1e-4  # so that it stays finite where all labels are alike
_N_RESAMPLES = 1000
_LEAST_WEIGHT = 0.02


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
    """Features on the scale on which coefficients are penalised, after a column of ones.

    Attributes
    ----------
    z
        float64 (n_documents, 1 + n_features): each feature with mean 0 and standard deviation 1.
    lowest
        float64 (1 + n_features,): 0 where a coefficient must not be negative, else minus infinity.
    centre
        float64 (1 + n_features,): the coefficients of P as it is, to which the penalty draws.
    """

    z: Floats
    lowest: Floats
    centre: Floats

    @classmethod
    def of(cls, features: Features) -> Standardised:
        """Standardise; a constant column becomes 0."""
        spread = features.matrix.std(axis=0)
        z = (features.matrix - features.matrix.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        centre = np.zeros(1 + len(spread))
        centre[1] = spread[0]  # of the logit of P
        lowest = np.where(np.append(False, features.rises), 0.0, -np.inf)
        return cls(np.column_stack([np.ones(len(z)), z]), lowest, centre)

    def joined(self, columns: Floats) -> Standardised:
        """With further columns, whose coefficients are drawn to 0."""
        n = columns.shape[1]
        z = np.column_stack([self.z, columns])
        return Standardised(z, np.append(self.lowest, np.full(n, -np.inf)), np.append(self.centre, np.zeros(n)))


@dataclass(frozen=True, slots=True, eq=False)
class LogisticRegression:
    """A logistic regression with weights, an L2 penalty, and coefficients that may be bound to be at least 0.

    Attributes
    ----------
    x, y, weights
        Features after a column of ones, labels and weights: (n, 1 + n_features), (n,), (n,).
    penalty
        Strength with which coefficients are drawn to `centre`; that of the intercept is close to 0.
    lowest, centre
        See `Standardised`.
    """

    x: Floats
    y: Floats
    weights: Floats
    penalty: float
    lowest: Floats
    centre: Floats

    @classmethod
    def of(
        cls, labelled: Labelled, features: Standardised, n_columns: int, penalty: float, chosen: Bools | slice
    ) -> LogisticRegression:
        """Regress chosen labels on the first columns of the features."""
        first = slice(n_columns)
        x = features.z[labelled.rows[chosen], first]
        y, weights = labelled.y[chosen], labelled.weights[chosen]
        return cls(x, y, weights, penalty, features.lowest[first], features.centre[first])

    @property
    def _penalties(self) -> Floats:
        return np.append(_OF_INTERCEPT, np.full(len(self.centre) - 1, self.penalty))

    def _loss(self, beta: Floats) -> tuple[float, Floats]:
        """Negative log likelihood plus half the penalised squared distance from the centre, and its gradient."""
        logits, distance = self.x @ beta, beta - self.centre
        value = self.weights @ (np.logaddexp(0.0, logits) - self.y * logits) + 0.5 * self._penalties @ distance**2
        gradient = self.x.T @ (self.weights * (sigmoid(logits) - self.y)) + self._penalties * distance
        return float(value), gradient

    def fitted(self) -> Floats:
        """The coefficients with the smallest loss within their bounds: float64 (1 + n_features,)."""
        from scipy.optimize import Bounds, minimize

        bounds = Bounds(self.lowest, np.inf)
        found = minimize(self._loss, self.centre, jac=True, method="L-BFGS-B", bounds=bounds)
        return np.asarray(found.x)

    def draws(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Coefficients drawn from the normal distribution at the mode, cut off at their bounds."""
        mode = self.fitted()
        p = sigmoid(self.x @ mode)
        hessian = (self.x.T * (self.weights * p * (1.0 - p))) @ self.x + np.diag(self._penalties)
        return np.maximum(rng.multivariate_normal(mode, np.linalg.inv(hessian), n_draws), self.lowest)


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    from scipy.special import expit

    p: Floats = expit(z)
    return p


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
    n_columns, penalty
        Number of its features with the intercept, and the penalty of their coefficients; of P as it is, those of its
        recalibration, which says how uncertain it is.
    cross_fitted
        float64 (n_documents,): P of every document from the labels of other folds.
    losses
        float64 (n_labels,): -log P(label), cross-validated.
    weight
        Weight in the average.
    """

    model: ModelName
    n_columns: int
    penalty: float
    cross_fitted: Floats
    losses: Floats
    weight: float = 0.0


def weighted_candidates(
    labelled: Labelled,
    p: Floats,
    features: Standardised,
    n_words: int,
    *,
    few: bool,
    rng: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Every model with each of its penalties, P as it is first, with their weights in the average.

    Parameters
    ----------
    labelled, p
        The labels, and P of every document as the run has it.
    features
        The features, of which P comes first and words come last.
    n_words
        Number of columns of words, or 0.
    few
        Whether there are too few labels for more than a recalibration.
    rng
        Generator of the resampled labels.
    """
    n_all = features.z.shape[1]
    tried: list[tuple[ModelName, int, Sequence[float]]] = [("recalibrated", 1 + len(PROBABILITY), _OF_RECALIBRATION)]
    if not few:
        tried.append(("regression", n_all - n_words, _PENALTIES))
        tried += [(WITH_WORDS, n_all, _PENALTIES)] if n_words else []
    fits = [(AS_IT_IS, 1 + len(PROBABILITY), _OF_RECALIBRATION[0], clipped_probability(p))]
    fits += [
        (model, n_columns, penalty, cross_fitted(labelled, features, n_columns, penalty))
        for model, n_columns, penalties in tried
        for penalty in penalties
    ]
    made = [Candidate(*each, log_losses(labelled.y, each[-1][labelled.rows])) for each in fits]
    weights = _model_weights(labelled, np.array([each.losses for each in made]), rng).tolist()
    return tuple(replace(each, weight=weight) for each, weight in zip(made, weights, strict=True))


def _model_weights(labelled: Labelled, losses: Floats, rng: np.random.Generator) -> Floats:
    """Weights by which candidates are averaged: the mean, over resampled labels, of how likely each makes the labels.

    A single best candidate would be chosen by chance where several are about as good.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), "Using stacking to average Bayesian predictive distributions", Bayesian
    Analysis 13, section 3.4 (Pseudo-BMA+).
    """
    shares = rng.dirichlet(np.ones(len(labelled.rows)), _N_RESAMPLES) * labelled.weights
    shares *= labelled.weights.sum() / shares.sum(axis=1, keepdims=True)
    scores = -shares @ losses.T
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights: Floats = (likely / likely.sum(axis=1, keepdims=True)).mean(axis=0)
    weights[weights < _LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


def cross_fitted(labelled: Labelled, features: Standardised, n_columns: int, penalty: float) -> Floats:
    """P of every document from the labels of other folds."""
    p = np.empty(len(features.z))
    of_labels = labelled.folds[labelled.rows]
    for fold in range(N_FOLDS):
        beta = LogisticRegression.of(labelled, features, n_columns, penalty, of_labels != fold).fitted()
        inside = labelled.folds == fold
        p[inside] = sigmoid(features.z[inside, :n_columns] @ beta)
    return p


_MOST_WORDS = 20_000
_LEAST_DOCUMENTS = 3  # that have a word
_N_AXES = 100
_SCALE = 5.0  # of a row of length 1: a penalty of 3 is then that of C = 8 in scikit-learn
_N_NAMED = 20


class TextFeatures:
    """The words of every document: tf-idf, in its largest singular directions.

    Attributes
    ----------
    matrix
        float32 (n_documents, n_words), sparse: tf-idf.
    columns
        float64 (n_documents, n_axes): the features.

    Raises
    ------
    ParameterError
        If scikit-learn is missing, or no word is in three documents.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        text = require_extra("sklearn.feature_extraction.text", "scikit-learn", "words")
        decomposition = require_extra("sklearn.decomposition", "scikit-learn", "words")
        vectorizer = text.TfidfVectorizer(
            sublinear_tf=True, min_df=_LEAST_DOCUMENTS, max_features=_MOST_WORDS, dtype=np.float32
        )
        try:
            self.matrix = vectorizer.fit_transform(texts)
        except ValueError as error:
            rule = f"must have a word in {_LEAST_DOCUMENTS} documents"
            raise ParameterError(f"{rule}, got none: {error}", parameter="texts") from None
        svd = decomposition.TruncatedSVD(min(_N_AXES, *self.matrix.shape), random_state=0)
        self.columns: Floats = _SCALE * svd.fit_transform(self.matrix).astype(np.float64)
        self._axes: Floats = svd.components_
        self._names: list[str] = vectorizer.get_feature_names_out().tolist()

    def words(self, coefficients: Floats) -> dict[str, float]:
        """The words with the largest coefficients, from those of the columns."""
        of_words = _SCALE * (coefficients @ self._axes)
        largest = np.argsort(-np.abs(of_words), kind="stable")[:_N_NAMED]
        return {self._names[i]: float(of_words[i]) for i in largest.tolist()}


_MOST_GROUPS = 4
_LEAST_LABELS = 15  # of a group
_N_SIMULATED = 2000
DRIFT = 4.0  # factor of the odds of yes given P, from the first to the last group, for the power


@dataclass(frozen=True, slots=True)
class PeriodTest:
    """Whether labels of different times agree with P alike.

    Attributes
    ----------
    p_value
        Share of simulated labels whose statistic is at least that of the labels; NaN with labels of one group.
    power
        Probability of a P value below .05 if the odds of yes given P rise evenly to four times from the first group to
        the last: with little power, a high P value says little.
    groups
        First date and number of labels of each group, expected and found yes.
    """

    p_value: float
    power: float
    groups: tuple[tuple[str, int, float, int], ...]


def period_test(dates: npt.NDArray[np.datetime64], y: Floats, p: Floats, *, seed: int = 0) -> PeriodTest:
    """Test whether labels y, given P, depend on their dates.

    The labels are divided by date into up to four groups of about equal numbers. The statistic is the sum over groups
    of (found - expected)^2 / variance, after one shift of all logits of P, so that calibration as a whole is not
    tested. Its distribution is that of labels simulated from the shifted P, each with a shift of its own.

    Parameters
    ----------
    dates, y, p
        Of the labelled documents: dates, labels 0 and 1, and P in (0, 1) that does not know the label.
    seed
        Of the simulation.
    """
    n_groups = min(_MOST_GROUPS, len(y) // _LEAST_LABELS)
    order = np.argsort(dates, kind="stable")
    ranks = np.empty(len(y), np.int64)
    ranks[order] = np.arange(len(y))
    group = ranks * max(n_groups, 1) // max(len(y), 1)
    # Documents of one day stay together: their group is that of the first of them.
    first_rank = np.searchsorted(dates[order], dates, side="left")
    group = group[order][first_rank]
    present, group = np.unique(group, return_inverse=True)
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    logits = np.log(p / (1.0 - p))
    rng = np.random.default_rng(seed)
    fitted = sigmoid(logits + _shift(logits, y[None])[:, None])[0]
    inside = [group == g for g in range(len(present))]
    rows = tuple((str(dates[own].min()), int(own.sum()), float(fitted[own].sum()), int(y[own].sum())) for own in inside)
    if len(present) < 2:
        return PeriodTest(float("nan"), float("nan"), rows)
    observed = _statistic(logits, y[None], group, len(present))[0]
    null = _statistic(logits, _simulated(fitted, rng), group, len(present))
    slope = np.log(DRIFT) * (np.arange(len(present)) / (len(present) - 1) - 0.5)
    drifted = _simulated(sigmoid(np.log(fitted / (1.0 - fitted)) + slope[group]), rng)
    critical = np.quantile(null, 0.95)
    power = float((_statistic(logits, drifted, group, len(present)) > critical).mean())
    return PeriodTest(float((1 + (null >= observed).sum()) / (1 + len(null))), power, rows)


def _simulated(p: Floats, rng: np.random.Generator) -> Floats:
    return (rng.random((_N_SIMULATED, len(p))) < p).astype(np.float64)


def _shift(logits: Floats, y: Floats) -> Floats:
    """For each row of labels the shift of all logits under which as many yes are expected as there are."""
    target = np.clip(y.sum(axis=1), 0.1, y.shape[1] - 0.1)
    # By interpolation: what is expected rises smoothly with the shift.
    shifts = np.linspace(-15.0, 15.0, 601)
    expected = np.array([sigmoid(logits + shift).sum() for shift in shifts])
    return np.asarray(np.interp(target, expected, shifts))


def _statistic(logits: Floats, y: Floats, group: Ints, n_groups: int) -> Floats:
    """Sum over groups of (found - expected)^2 / variance, of each row of labels."""
    p = sigmoid(logits + _shift(logits, y)[:, None])
    found = np.zeros(len(y))
    for g in range(n_groups):
        own = p[:, group == g]
        difference = y[:, group == g].sum(axis=1) - own.sum(axis=1)
        found += difference**2 / np.maximum((own * (1.0 - own)).sum(axis=1), 1e-9)
    return found
