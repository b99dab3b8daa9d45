"""Linear-chain conditional random fields: attributes of words, training by CRFsuite, and weights in full precision.

`Tagger.info()` of python-crfsuite prints weights with six decimals; sums of some twenty of them are then wrong in the
sixth digit. CRFsuite's file, which is read here instead, contains them as 64-bit floats: a header, 20 bytes per
feature, and two tables of texts.
"""

import os
import struct
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._lazy import require_extra
from corefsample.errors import InputError
from corefsample.tagging._chain import LinearChain
from corefsample.tagging._taggers import FittedTags, TaggedSentence, TrainedModel, checked_sentences, checked_words

Features = Literal["basic", "advanced"]
_HEADER = struct.Struct("<4sI4s9I")
_TABLE = struct.Struct("<4s5I")
_RECORD = struct.Struct("<2I")
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_CHUNK_HEADER = 12  # of the features: "FEAT", size, number
_VERSION = 100
_STATE, _TRANSITION = 0, 1


def read_crfsuite(data: bytes) -> FittedTags:
    """Weights of a CRFsuite model file (crf1d, version 100), with the tags in ascending order; 0 where it has none.

    Raises
    ------
    InputError
        If it is of another kind or version.
    """
    fields = _HEADER.unpack_from(data)
    magic, _, kind, version, _, n_tags, n_attributes, at_features, at_tags, at_attributes = fields[:10]
    if (magic, kind, version) != (b"lCRF", b"FOMC", _VERSION):
        raise InputError(f"must be a CRFsuite model of version {_VERSION}, got {magic!r}, {kind!r}, {version}")
    texts, attributes = _texts(data, at_tags, n_tags), _texts(data, at_attributes, n_attributes)
    _, _, n_features = struct.unpack_from("<4s2I", data, at_features)
    features = np.frombuffer(data, _FEATURE, n_features, at_features + _CHUNK_HEADER)
    tags = tuple(sorted(texts))
    code = np.array([tags.index(text) for text in texts])
    transitions = np.zeros((n_tags, n_tags))
    pairs = features[features["kind"] == _TRANSITION]
    transitions[code[pairs["source"]], code[pairs["target"]]] = pairs["weight"]
    states = features[features["kind"] == _STATE]
    states = states[np.lexsort((states["target"], states["source"]))]
    indptr = np.searchsorted(states["source"], np.arange(n_attributes + 1))
    weights = states["weight"].astype(np.float64)
    no_ends = np.zeros(n_tags)
    return FittedTags(tags, attributes, indptr, code[states["target"]], weights, transitions, no_ends, no_ends)


def _texts(data: bytes, start: int, n: int) -> tuple[str, ...]:
    """Texts of a constant quark database (CQDB), by their ids, through its table of offsets by id."""
    *_, offsets_at = _TABLE.unpack_from(data, start)
    texts = []
    for offset in np.frombuffer(data, "<u4", n, start + offsets_at).tolist():
        _, length = _RECORD.unpack_from(data, start + offset)
        first = start + offset + _RECORD.size
        texts.append(data[first : first + length - 1].decode())  # the length counts the final zero byte
    return tuple(texts)


class ConditionalRandomField(TrainedModel):
    """Linear-chain conditional random field, trained by CRFsuite's L-BFGS.

    The score of a tag sequence is the sum of the weights of its transitions, and of the attributes of each word with
    its tag. Weights that CRFsuite does not have, of attributes and transitions that do not occur in training, are 0.

    Parameters
    ----------
    features
        "basic" (the default): the word alone, so that with transitions the model knows what a hidden Markov model
        knows.
        "advanced": also its neighbours up to two words away, shape, length, prefixes and suffixes.
    l2
        Coefficient of the sum of squared weights, at least 0, by default 1; CRFsuite's c2.
    max_iterations
        Maximum number of iterations of L-BFGS, at least 1. By default, training continues until it converges.

    Raises
    ------
    ParameterError
        If `features` is neither "basic" nor "advanced", or a number is below its least value.

    References
    ----------
    Nguyen & O'Connor (2015), section 4.2; Nguyen's thesis, section 4.1.2, for the advanced features; Okazaki (2007),
    CRFsuite.
    """

    def __init__(self, *, features: Features = "basic", l2: float = 1.0, max_iterations: int | None = None) -> None:
        self.features: str = _checks.choice("features", features, tuple(FEATURES))
        self.l2 = _checks.at_least_zero("l2", l2)
        self.max_iterations = None if max_iterations is None else _checks.whole("max_iterations", max_iterations, 1)

    def fit(self, sentences: Iterable[TaggedSentence]) -> Self:
        """Train on the sentences, and return the model; the same sentences give the same model.

        Raises
        ------
        ParameterError
            If there is no sentence, an item is not a TaggedSentence, or python-crfsuite (the extra `tagging`) is
            missing.
        """
        training, tags = checked_sentences(sentences)
        for tag in tags:
            _checks.require("tags", "\0" not in tag, "must not contain a zero byte", repr(tag))
        crfsuite = require_extra("pycrfsuite", "python-crfsuite", "tagging")
        trainer = crfsuite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"c1": 0.0, "c2": self.l2})
        if self.max_iterations is not None:
            trainer.set_params({"max_iterations": self.max_iterations})
        for sentence in training:
            trainer.append(FEATURES[self.features](sentence.words), sentence.tags)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            trainer.train(path)
            with open(path, "rb") as stream:
                return self._with(read_crfsuite(stream.read()))

    def _with(self, fitted: FittedTags) -> Self:
        fitted.transitions.flags.writeable = False  # so that chains share it
        return super()._with(fitted)

    def emission_scores(self, words: Sequence[str]) -> Floats:
        """Sum of the weights of the attributes of `words`: float64 (n_words, n_tags).

        Parameters
        ----------
        words
            Words of one sentence, at least one.

        Raises
        ------
        ParameterError
            If the model is not fitted, `words` is empty, or a word is not text.
        """
        attributes = FEATURES[self.features](checked_words(words))
        return self._added(np.zeros((len(attributes), len(self.tags))), attributes)

    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence given its words.

        Parameters
        ----------
        words
            Words of one sentence, at least one.

        Raises
        ------
        ParameterError
            If the model is not fitted, `words` is empty, or a word is not text.
        """
        return LinearChain.from_scores(self.emission_scores(words), self.fitted.transitions)


# An attribute is a text such as "w=dog"; each word has several, and a model has one weight per attribute and tag. Model
# files have these texts, so `FEATURES_VERSION` must change with any of them.
_AFFIX = 4  # longest prefix and suffix
_LONG = 10  # words of at least as many characters share one length
_RUN = 4  # longest run of one class of characters that a shape counts


def basic_attributes(words: Sequence[str]) -> list[list[str]]:
    """The word itself: with transitions between tags, all that a hidden Markov model knows too."""
    return [[f"w={_clean(word)}"] for word in words]


def advanced_attributes(words: Sequence[str]) -> list[list[str]]:
    """The word, its neighbours up to two words away, shape, length, prefixes and suffixes."""
    clean = [_clean(word) for word in words]
    lower = ["<2>", "<1>", *(word.lower() for word in clean), "</1>", "</2>"]
    rows = []
    for position, word in enumerate(clean):
        before_2, before, form, after, after_2 = lower[position : position + 5]
        affixes = range(1, min(len(form), _AFFIX) + 1)
        attributes = [
            f"w={word}",
            f"lower={form}",
            f"-1={before}",
            f"-2={before_2}",
            f"+1={after}",
            f"+2={after_2}",
            f"-1,0={before} {form}",
            f"0,+1={form} {after}",
            f"shape={shape(word)}",
            f"classes={''.join(kind for kind, _ in groupby(map(_class, word)))}",
            f"length={min(len(word), _LONG)}",
        ]
        attributes += [f"prefix={form[:length]}" for length in affixes]
        rows.append(attributes + [f"suffix={form[-length:]}" for length in affixes])
    return rows


def shape(word: str) -> str:
    """Classes of a word's characters, runs cut to four: "Xxxx" of "Monday", "dd-X" of "24-F"."""
    return "".join(kind * min(len(list(run)), _RUN) for kind, run in groupby(map(_class, word)))


def _class(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character


def _clean(word: str) -> str:
    """A word that CRFsuite, which ends texts at a zero byte, can store as UTF-8."""
    return word.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


FEATURES: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "basic": basic_attributes,
    "advanced": advanced_attributes,
}
