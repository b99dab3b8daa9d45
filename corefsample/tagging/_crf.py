"""Linear-chain conditional random fields, trained by CRFsuite."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample._extras import require_extra
from corefsample.errors import ParameterError
from corefsample.tagging._chain import LinearChain
from corefsample.tagging._crfsuite_file import CrfWeights, read_crfsuite
from corefsample.tagging._features import FEATURES
from corefsample.tagging._sentences import TaggedSentence, checked_sentences, checked_words, tagset
from corefsample.tagging._sparse_rows import require_rows

Features = Literal["basic", "advanced"]


@dataclass(frozen=True, slots=True, eq=False)
class LinearWeights:
    """Weights of attributes and of transitions; K tags, A attributes.

    Attributes
    ----------
    tags
        In ascending order.
    attributes
        Texts, (A,).
    indptr, codes, weights
        int64 (A + 1,), int64 (n,), float64 (n,): tags of each attribute that have a weight, and the weights.
    transitions
        float64 (K, K): weight of each pair of neighbours, row before column.
    """

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    indptr: Ints
    codes: Ints
    weights: Floats
    transitions: Floats

    def __post_init__(self) -> None:
        n_tags = len(self.tags)
        if self.transitions.shape != (n_tags, n_tags):
            found = self.transitions.shape
            raise ParameterError(f"must have shape {(n_tags, n_tags)}, got {found}", parameter="transitions")
        self.transitions.flags.writeable = False  # so that chains share it
        require_rows(self.indptr, self.codes, self.weights.shape[0], len(self.attributes), n_tags, "codes")
        for name in ("weights", "transitions"):
            if not np.isfinite(getattr(self, name)).all():
                raise ParameterError("must be finite", parameter=name)

    @classmethod
    def of_crfsuite(cls, found: CrfWeights) -> LinearWeights:
        """Weights of a CRFsuite model, with the tags in ascending order."""
        order = sorted(range(len(found.tags)), key=found.tags.__getitem__)
        place = np.argsort(order)
        indptr = np.searchsorted(found.source, np.arange(len(found.attributes) + 1))
        tags = tuple(found.tags[code] for code in order)
        transitions = found.transitions[np.ix_(order, order)]
        return cls(tags, found.attributes, indptr, place[found.target], found.weight, transitions)


class ConditionalRandomField:
    """Linear-chain conditional random field, trained by CRFsuite's L-BFGS.

    The score of a tag sequence is the sum of the weights of its transitions, and of the attributes of each word with
    its tag. Weights that CRFsuite does not have, of attributes and transitions that do not occur in training, are 0.

    Parameters
    ----------
    features
        "basic": the word alone, so that with transitions the model knows what a hidden Markov model knows.
        "advanced": also its neighbours up to two words away, shape, length, prefixes and suffixes.
    l2
        Coefficient of the sum of squared weights, at least 0; CRFsuite's c2.
    max_iterations
        Of L-BFGS, at least 1; None: until it converges.
    min_count
        Attributes that occur less often in training with a tag are left out; at least 0. CRFsuite's feature.minfreq.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.

    References
    ----------
    Nguyen & O'Connor (2015), section 4.2; Nguyen's thesis, section 4.1.2, for the advanced features; Okazaki (2007),
    CRFsuite.
    """

    def __init__(
        self,
        *,
        features: Features = "basic",
        l2: float = 1.0,
        max_iterations: int | None = None,
        min_count: int = 0,
    ) -> None:
        self.features: str = _checks.choice("features", features, tuple(FEATURES))
        self.l2 = _checks.at_least_zero("l2", l2)
        self.max_iterations = None if max_iterations is None else _checks.whole("max_iterations", max_iterations, 1)
        self.min_count = _checks.whole("min_count", min_count, 0)
        self._weights: LinearWeights | None = None

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("features", "l2", "max_iterations", "min_count"))
        return f"ConditionalRandomField({own})"

    def fit(self, sentences: Iterable[TaggedSentence]) -> ConditionalRandomField:
        """Train on the sentences, and return the model; the same sentences give the same model.

        Raises
        ------
        ParameterError
            If there is no sentence, an item is not a TaggedSentence, or python-crfsuite (the extra `tagging`) is
            missing.
        """
        given = checked_sentences(sentences, TaggedSentence)
        content = self._trained(given)
        found = read_crfsuite(content)
        missing = set(tagset(given)) - set(found.tags)
        if missing:
            raise ParameterError(f"must keep every tag, got none of {min(missing)!r} trained", parameter="sentences")
        return self._with(LinearWeights.of_crfsuite(found))

    def _trained(self, sentences: Sequence[TaggedSentence]) -> bytes:
        """Content of the CRFsuite model file."""
        crfsuite = require_extra("pycrfsuite", "python-crfsuite", "tagging")
        trainer = crfsuite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"c1": 0.0, "c2": self.l2, "feature.minfreq": float(self.min_count)})
        if self.max_iterations is not None:
            trainer.set_params({"max_iterations": self.max_iterations})
        for sentence in sentences:
            trainer.append(FEATURES[self.features](sentence.words), [_label(tag) for tag in sentence.tags])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            trainer.train(path)
            with open(path, "rb") as stream:
                return stream.read()

    def _with(self, weights: LinearWeights) -> ConditionalRandomField:
        self._weights = weights
        self._attribute_code = {text: code for code, text in enumerate(weights.attributes)}
        return self

    @property
    def weights(self) -> LinearWeights:
        """Weights of attributes and transitions; raises before `fit`."""
        if self._weights is None:
            raise ParameterError("ConditionalRandomField must be fitted before it is used")
        return self._weights

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags, in the order of a chain's; raises before `fit`."""
        return self.weights.tags

    def emission_scores(self, words: Sequence[str]) -> Floats:
        """Sum of the weights of each word's attributes: float64 (n_words, n_tags).

        Raises
        ------
        ParameterError
            Before `fit`, or if there is no word.
        """
        weights = self.weights
        attributes = FEATURES[self.features](checked_words(words))
        scores = np.zeros((len(attributes), len(weights.tags)))
        for row, texts in zip(scores, attributes, strict=True):
            for text in texts:
                code = self._attribute_code.get(text)
                if code is not None:
                    entries = slice(weights.indptr[code], weights.indptr[code + 1])
                    row[weights.codes[entries]] += weights.weights[entries]
        return scores

    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence given its words.

        Raises
        ------
        ParameterError
            Before `fit`, or if there is no word.
        """
        return LinearChain.from_scores(self.emission_scores(words), self.weights.transitions)


def _label(tag: str) -> str:
    if "\0" in tag:
        raise ParameterError(f"must not contain a zero byte, got {tag!r}", parameter="tags")
    return tag
