"""Candidates for the probability of a label, with words as features or without, weighted by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from corefsample._extras import require_extra
from corefsample.errors import ParameterError
from events.audit._features import PROBABILITY, Features, clipped_probability
from events.audit._logistic import LogisticRegression, sigmoid

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

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

    def regression(self, labelled: Labelled, penalty: float, chosen: Bools | slice = slice(None)) -> LogisticRegression:
        """Of the labels, or of some of them."""
        x, y, weights = self.z[labelled.rows[chosen]], labelled.y[chosen], labelled.weights[chosen]
        return LogisticRegression(x, y, weights, penalty, self.rises, self.centre)

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
        beta = features.regression(labelled, penalty, of_labels != fold).fitted(beta)
        inside = labelled.folds == fold
        p[inside] = features.predicted(beta, inside)
    return p


_MOST_WORDS = 20_000
_LEAST_DOCUMENTS = 3  # that have a word
_SCALE = 5.0  # of a row of length 1: a penalty of 3 is then that of C = 8 in scikit-learn
_N_NAMED = 20


class TextFeatures:
    """tf-idf of the words of every document.

    Attributes
    ----------
    matrix
        float32 (n_documents, n_words), sparse.

    Raises
    ------
    ParameterError
        If scikit-learn is missing, or no word is in three documents.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        library = require_extra("sklearn.feature_extraction.text", "scikit-learn", "tagging")
        vectorizer = library.TfidfVectorizer(
            sublinear_tf=True, min_df=_LEAST_DOCUMENTS, max_features=_MOST_WORDS, dtype=np.float32
        )
        try:
            self.matrix: csr_matrix = vectorizer.fit_transform(texts)
        except ValueError as error:
            rule = f"must have a word in {_LEAST_DOCUMENTS} documents"
            raise ParameterError(f"{rule}, got none: {error}", parameter="texts") from None
        self._names: list[str] = vectorizer.get_feature_names_out().tolist()

    def rotated(self, rows: Ints) -> RotatedText:
        """Columns that span the labelled rows: a ridge penalty on them is that on the words themselves."""
        _, values, axes = np.linalg.svd(self.matrix[rows].toarray().astype(np.float64), full_matrices=False)
        kept = axes[values > 1e-6 * values.max(initial=0.0)]
        return RotatedText(_SCALE * np.asarray(self.matrix @ kept.T), kept, self._names)


@dataclass(frozen=True, slots=True, eq=False)
class RotatedText:
    """Words in the space of the labelled documents.

    Attributes
    ----------
    columns
        float64 (n_documents, n_axes).
    axes
        float64 (n_axes, n_words).
    names
        The words.
    """

    columns: Floats
    axes: Floats
    names: Sequence[str]

    def joined(self, features: Standardised) -> Standardised:
        """Features, and then words."""
        n = self.columns.shape[1]
        return Standardised(
            np.column_stack([features.z, self.columns]),
            np.concatenate([features.rises, np.zeros(n, np.bool_)]),
            np.concatenate([features.centre, np.zeros(n)]),
        )

    def words(self, coefficients: Floats) -> tuple[tuple[str, float], ...]:
        """The words with the largest coefficients, from coefficients of features and of axes."""
        of_words = _SCALE * (coefficients[-len(self.axes) :] @ self.axes)
        largest = np.argsort(-np.abs(of_words), kind="stable")[:_N_NAMED]
        return tuple((self.names[i], float(of_words[i])) for i in largest.tolist())
