"""Text classification by naive Bayes and logistic regression: a sequence of one tag, with the calls of the taggers."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample._extras import require_extra
from corefsample.errors import ParameterError
from corefsample.tagging._chain import LinearChain
from corefsample.tagging._sentences import Item, LabelledText, TrainedModel, checked_sentences, checked_words, tagset


@dataclass(frozen=True, slots=True, eq=False)
class TextWeights:
    """Scores of a text's labels, linear in which words it has; K labels, V words.

    Attributes
    ----------
    tags
        The labels, in ascending order.
    words
        In ascending order.
    intercepts
        float64 (K,).
    weights
        float64 (V, K): added to the intercepts for each distinct word of the text.
    """

    tags: tuple[str, ...]
    words: tuple[str, ...]
    intercepts: Floats = field(metadata={"axes": ("tags",)})
    weights: Floats = field(metadata={"axes": ("words", "tags")})


class TextClassifier(TrainedModel[TextWeights]):
    """Base of classifiers of texts by the words that they contain; how often a word occurs does not matter.

    Words that occur in fewer than `min_count` texts of training are ignored.
    """

    _content_type = TextWeights
    min_count: int

    def fit(self, texts: Iterable[LabelledText]) -> Self:
        """Train on the texts, and return the model.

        Raises
        ------
        ParameterError
            If there is no text, an item is not a LabelledText, fewer than 2 labels or no word occur, or scikit-learn
            (the extra `tagging`) is missing.
        """
        given = checked_sentences(texts, LabelledText, "texts")
        tags = tagset(given)
        if len(tags) < 2:
            raise ParameterError(f"must have at least 2 labels, got {len(tags)}", parameter="texts")
        counts = Counter(word for text in given for word in set(text.words))
        words = tuple(sorted(word for word, count in counts.items() if count >= self.min_count))
        if not words:
            raise ParameterError(f"must have a word in at least {self.min_count} texts, got none", parameter="texts")
        labels = np.array([tags.index(text.label) for text in given])
        intercepts, weights = self._linear(_matrix(given, words), labels, len(tags))
        return self._with(TextWeights(tags, words, intercepts, weights))

    @abstractmethod
    def _linear(self, matrix: Any, labels: Ints, n_tags: int) -> tuple[Floats, Floats]:
        """Intercepts (K,) and weights (V, K) of a model fitted to a sparse 0/1 matrix (n_texts, V)."""

    def _with(self, weights: TextWeights) -> Self:
        self._content = weights
        self._word_code = {word: code for code, word in enumerate(weights.words)}
        self._transitions = np.zeros((len(weights.tags), len(weights.tags)))  # a text has no neighbours
        return self

    @property
    def weights(self) -> TextWeights:
        """Weights of words; raises before `fit`."""
        return self._fitted()

    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the label of a text, as a chain of one position.

        Raises
        ------
        ParameterError
            Before `fit`, or if there is no word.
        """
        own = self.weights
        codes = sorted({self._word_code[word] for word in checked_words(words) if word in self._word_code})
        scores = own.intercepts + own.weights[codes].sum(axis=0)
        return LinearChain.from_scores(scores[None, :], self._transitions)


class NaiveBayes(TextClassifier):
    """Bernoulli naive Bayes: whether each word occurs is independent of the others, given the label.

    Parameters
    ----------
    pseudocount
        Added to the number of texts of a label with a word, and to those without it; above 0.
    min_count
        Words of fewer texts are ignored; at least 1.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), section 4.1.

    Examples
    --------
    >>> texts = [LabelledText(["good"], "happy"), LabelledText(["bad"], "sad")]
    >>> NaiveBayes().fit(texts).posterior(["good"]).marginals().round(2)  # (2/3)^2 against (1/3)^2
    array([[0.8, 0.2]])
    """

    def __init__(self, *, pseudocount: float = 1.0, min_count: int = 1) -> None:
        self.pseudocount = _checks.above_zero("pseudocount", pseudocount)
        self.min_count = _checks.whole("min_count", min_count, 1)

    def _linear(self, matrix: Any, labels: Ints, n_tags: int) -> tuple[Floats, Floats]:
        library = require_extra("sklearn.naive_bayes", "scikit-learn", "tagging")
        model = library.BernoulliNB(alpha=self.pseudocount).fit(matrix, labels)
        present = model.feature_log_prob_
        absent = np.log1p(-np.exp(present))
        return model.class_log_prior_ + absent.sum(axis=1), (present - absent).T


class LogisticRegression(TextClassifier):
    """L2-regularised logistic regression on which words a text has.

    Parameters
    ----------
    l2
        Coefficient of half the sum of squared weights, above 0; scikit-learn's 1 / C.
    min_count
        Words of fewer texts are ignored; at least 1.
    max_iterations
        Of L-BFGS, at least 1.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), section 4.1.
    """

    def __init__(self, *, l2: float = 1.0, min_count: int = 1, max_iterations: int = 1_000) -> None:
        self.l2 = _checks.above_zero("l2", l2)
        self.min_count = _checks.whole("min_count", min_count, 1)
        self.max_iterations = _checks.whole("max_iterations", max_iterations, 1)

    def _linear(self, matrix: Any, labels: Ints, n_tags: int) -> tuple[Floats, Floats]:
        library = require_extra("sklearn.linear_model", "scikit-learn", "tagging")
        options = {"C": 1.0 / self.l2, "max_iter": self.max_iterations, "tol": 1e-6}
        model = library.LogisticRegression(**options).fit(matrix, labels)
        intercepts, weights = model.intercept_, model.coef_
        if n_tags == 2:  # scikit-learn has one row for two labels: the score of the second
            intercepts, weights = np.append(0.0, intercepts), np.vstack([np.zeros_like(weights), weights])
        return np.asarray(intercepts, np.float64), np.ascontiguousarray(weights.T, np.float64)


def _matrix(texts: Sequence[Item], words: tuple[str, ...]) -> Any:
    """Sparse matrix (n_texts, n_words): 1 where a text has a word."""
    from scipy.sparse import csr_array

    code = {word: place for place, word in enumerate(words)}
    rows: list[list[int]] = [sorted({code[word] for word in text.words if word in code}) for text in texts]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([each for row in rows for each in row], np.int64)
    return csr_array((np.ones(indices.shape[0]), indices, indptr), shape=(len(texts), len(words)))
