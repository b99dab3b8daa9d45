"""Words of documents as features: tf-idf, turned so that the labelled documents have as few columns as there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample._extras import require_extra
from corefsample.errors import ParameterError
from events.audit._learned_model import Standardised

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

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
