"""Texts with labels, and classifiers of scikit-learn on which words a text has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from corefsample.tagging import LinearChain


@dataclass(frozen=True)
class LabelledText:
    """The words of a text, with one gold label: a sequence of a single tag."""

    words: tuple[str, ...]
    label: str
    doc_id: str = ""

    @property
    def tags(self) -> tuple[str]:
        return (self.label,)


class TextClassifier:
    """An estimator of scikit-learn on which words a text has, with the calls of a tagger."""

    def __init__(self, estimator: Any, *, min_count: int = 1) -> None:
        self.estimator = estimator
        self.vectorizer = CountVectorizer(analyzer=tuple, binary=True, min_df=min_count, dtype=np.float64)

    def __repr__(self) -> str:
        return repr(self.estimator)

    def fit(self, texts: Iterable[LabelledText]) -> Self:
        texts = list(texts)
        matrix = self.vectorizer.fit_transform([text.words for text in texts])
        self.estimator.fit(matrix, [text.label for text in texts])
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self.estimator.classes_)

    def posterior(self, words: Sequence[str]) -> LinearChain:
        scores = self.estimator.predict_log_proba(self.vectorizer.transform([words]))
        return LinearChain.from_scores(scores, np.zeros((len(self.tags), len(self.tags))))
