"""Candidates for the probability of a label, averaged by cross-validation, and a test of their errors over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


def standardised(features: Features, words: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Features on the scale on which coefficients are penalised, after a column of ones; then columns of words.

    Returns
    -------
    z
        float64 (n_documents, n_columns): each feature with mean 0 and standard deviation 1, or 0 if it is constant.
    lowest
        float64 (n_columns,): 0 where a coefficient must not be negative, else minus infinity.
    centre
        float64 (n_columns,): the coefficients of P as it is, to which the penalty draws.
    """
    spread = features.matrix.std(axis=0)
    scaled = (features.matrix - features.matrix.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    z = np.column_stack([np.ones(len(scaled)), scaled, scaled[:, :0] if words is None else words])
    lowest, centre = np.full(z.shape[1], -np.inf), np.zeros(z.shape[1])
    lowest[1 : 1 + len(spread)][features.rises] = 0.0
    centre[1] = spread[0]  # of the logit of P
    return z, lowest, centre


@dataclass(frozen=True, slots=True, eq=False)
class LabelRegression:
    """Logistic regressions of the labels of one target on the first columns of its features.

    Coefficients have an L2 penalty, and may be bound to be at least 0.

    Attributes
    ----------
    rows
        int64 (n_labels,): documents with a label of yes or no.
    y, weights
        Labels 0 and 1, and weights that add up to their effective number, (n_labels,).
    folds
        int64 (n_documents,): fold of every document.
    z, lowest, centre
        See `standardised`.
    """

    rows: Ints
    y: Floats
    weights: Floats
    folds: Ints
    z: Floats
    lowest: Floats
    centre: Floats

    def fitted(self, n_columns: int, penalty: float, subset: Bools | slice = slice(None)) -> Floats:
        """Coefficients with the smallest penalised loss of some labels, within their bounds: (n_columns,)."""
        from scipy.optimize import Bounds, minimize

        x, y, weights = self.z[self.rows[subset], :n_columns], self.y[subset], self.weights[subset]
        centre, penalties = self.centre[:n_columns], _penalties(n_columns, penalty)

        def loss(beta: Floats) -> tuple[float, Floats]:
            logits, distance = x @ beta, beta - centre
            value = weights @ (np.logaddexp(0.0, logits) - y * logits) + 0.5 * penalties @ distance**2
            return float(value), x.T @ (weights * (sigmoid(logits) - y)) + penalties * distance

        bounds = Bounds(self.lowest[:n_columns], np.inf)
        return np.asarray(minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds).x)

    def draws(self, n_columns: int, penalty: float, n_draws: int, rng: np.random.Generator) -> Floats:
        """Coefficients drawn from the normal distribution at the mode, cut off at their bounds."""
        x, mode = self.z[self.rows, :n_columns], self.fitted(n_columns, penalty)
        p = sigmoid(x @ mode)
        hessian = (x.T * (self.weights * p * (1.0 - p))) @ x + np.diag(_penalties(n_columns, penalty))
        draws = rng.multivariate_normal(mode, np.linalg.inv(hessian), n_draws)
        return np.maximum(draws, self.lowest[:n_columns])

    def cross_fitted(self, n_columns: int, penalty: float) -> Floats:
        """P of every document from the labels of other folds."""
        p = np.empty(len(self.z))
        for fold in range(N_FOLDS):
            beta = self.fitted(n_columns, penalty, self.folds[self.rows] != fold)
            inside = self.folds == fold
            p[inside] = sigmoid(self.z[inside, :n_columns] @ beta)
        return p


def _penalties(n_columns: int, penalty: float) -> Floats:
    return np.append(_OF_INTERCEPT, np.full(n_columns - 1, penalty))


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    from scipy.special import expit

    return np.asarray(expit(z))


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
    log_score
        Cross-validated weighted mean of -log P(label); lower is better.
    weight
        Weight in the average.
    """

    model: ModelName
    n_columns: int
    penalty: float
    cross_fitted: Floats
    log_score: float
    weight: float


def weighted_candidates(
    regression: LabelRegression, p: Floats, n_features: int, *, few: bool, rng: np.random.Generator
) -> tuple[Candidate, ...]:
    """Every model with each of its penalties, P as it is first, with their weights in the average.

    Parameters
    ----------
    regression, p
        The labels and features, of which P comes first and words come last; and P of every document as the run has it.
    n_features
        Number of features without words.
    few
        Whether there are too few labels for more than a recalibration.
    rng
        Generator of the resampled labels.
    """
    n_of_p, n_columns, n_all = 1 + len(PROBABILITY), 1 + n_features, regression.z.shape[1]
    tried: list[tuple[ModelName, int, float]] = [("recalibrated", n_of_p, penalty) for penalty in _OF_RECALIBRATION]
    if not few:
        tried += [("regression", n_columns, penalty) for penalty in _PENALTIES]
    if not few and n_all > n_columns:
        tried += [(WITH_WORDS, n_all, penalty) for penalty in _PENALTIES]
    fits = [clipped_probability(p), *(regression.cross_fitted(n, penalty) for _, n, penalty in tried)]
    losses = np.array([log_losses(regression.y, fit[regression.rows]) for fit in fits])
    scores = np.average(losses, axis=1, weights=regression.weights).tolist()
    weights = _model_weights(regression.weights, losses, rng).tolist()
    settings = [(AS_IT_IS, n_of_p, _OF_RECALIBRATION[0]), *tried]
    rows = zip(settings, fits, scores, weights, strict=True)
    return tuple(Candidate(*setting, fit, score, weight) for setting, fit, score, weight in rows)


def _model_weights(of_labels: Floats, losses: Floats, rng: np.random.Generator) -> Floats:
    """Weights by which candidates are averaged: the mean, over resampled labels, of how likely each makes the labels.

    A single best candidate would be chosen by chance where several are about as good.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), "Using stacking to average Bayesian predictive distributions", Bayesian
    Analysis 13, section 3.4 (Pseudo-BMA+).
    """
    from scipy.special import softmax

    shares = rng.dirichlet(np.ones(len(of_labels)), _N_RESAMPLES) * of_labels
    shares *= of_labels.sum() / shares.sum(axis=1, keepdims=True)
    weights: Floats = softmax(-shares @ losses.T, axis=1).mean(axis=0)
    weights[weights < _LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


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
DRIFT = 4.0  # factor of the odds of yes given P, from the first to the last group, for the power


@dataclass(frozen=True, slots=True)
class PeriodTest:
    """Test of whether the errors of P are the same in all periods.

    Attributes
    ----------
    p_value
        Probability of a statistic at least as large if errors do not depend on time; NaN with labels of one group.
    power
        Probability of a P value below .05 if the odds of yes given P rise evenly to four times from the first group to
        the last: with little power, a high P value says little.
    groups
        First date of each group, its number of labels, and its expected and observed numbers of yes.
    """

    p_value: float
    power: float
    groups: tuple[tuple[str, int, float, int], ...]


def period_test(dates: npt.NDArray[np.datetime64], y: Floats, p: Floats) -> PeriodTest:
    """Test whether labels y, given P, depend on their dates.

    The labels are divided by date into up to four groups of about equal numbers. The statistic is the sum over groups
    of (found - expected)^2 / variance, after one shift of all logits of P, so that calibration as a whole is not
    tested. It has about a chi-squared distribution with one degree of freedom less than groups; under drift a
    noncentral one.

    Parameters
    ----------
    dates, y
        Dates of the labelled documents, and their labels, 0 or 1.
    p
        P of the labelled documents in (0, 1), learned from the labels of other documents.
    """
    from scipy.special import logit
    from scipy.stats import chi2, ncx2, rankdata

    n_groups = max(1, min(_MOST_GROUPS, len(y) // _LEAST_LABELS))
    ranks = rankdata(dates.astype(np.int64), method="min").astype(np.int64) - 1  # documents of one day stay together
    _, group = np.unique(ranks * n_groups // len(y), return_inverse=True)
    logits = logit(np.clip(p, 1e-6, 1.0 - 1e-6))
    fitted = _shifted(logits, y)
    sums = (np.bincount(group), np.bincount(group, fitted), np.bincount(group, y).astype(int))
    starts = [str(dates[group == g].min()) for g in range(len(sums[0]))]
    rows = tuple(zip(starts, *(values.tolist() for values in sums), strict=True))
    freedom = len(rows) - 1
    if not freedom:
        return PeriodTest(float("nan"), float("nan"), rows)
    slope = np.log(DRIFT) * (np.arange(len(rows)) / freedom - 0.5)
    drifted = sigmoid(logit(fitted) + slope[group])
    critical = chi2.isf(0.05, freedom)
    power = ncx2.sf(critical, freedom, _statistic(drifted, _shifted(logits, drifted), group))
    return PeriodTest(float(chi2.sf(_statistic(y, fitted, group), freedom)), float(power), rows)


def _shifted(logits: Floats, y: Floats) -> Floats:
    """P after the shift of all logits under which as many yes are expected as there are."""
    from scipy.optimize import brentq

    target = np.clip(y.sum(), 0.1, len(y) - 0.1)
    return sigmoid(logits + brentq(lambda shift: sigmoid(logits + shift).sum() - target, -40.0, 40.0))


def _statistic(y: Floats, p: Floats, group: Ints) -> float:
    """Sum over groups of (found - expected)^2 / variance."""
    return float((np.bincount(group, y - p) ** 2 / np.bincount(group, p * (1.0 - p))).sum())
