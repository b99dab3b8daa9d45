"""Tagged sentences, hidden Markov models, and the part and the files that all taggers share.

A model file is NumPy's .npz; loading runs no code from it. Its "header" is a JSON text: format, version, kind, features
(version of the attributes of conditional random fields), parameters (of the constructor), tags and texts. The arrays
have the names of the fields of `FittedTags`.
"""

import inspect
import io
import json
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.errors import InputError, ParameterError, shown
from corefsample.files._atomic import write_bytes
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, parsed_json
from corefsample.tagging._chain import LinearChain

FORMAT = "corefsample tagging model"
VERSION = 3
FEATURES_VERSION = 1  # of the attributes of conditional random fields, which are texts in model files
_KINDS = {"hidden Markov model": "HiddenMarkovModel", "conditional random field": "ConditionalRandomField"}
_INTEGERS, _NUMBERS = ("indptr", "codes"), ("values", "transitions", "starts", "ends")  # arrays of `FittedTags`
# AttributeError: a single array.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, AttributeError, TypeError)


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """The words of a sentence, with one gold tag each.

    Attributes
    ----------
    words
        Words of the sentence, at least one.
    tags
        Gold tag of each word, not empty.
    doc_id
        Document of the sentence; intervals of calibration errors resample documents.

    Raises
    ------
    ParameterError
        If the sentence is empty, the numbers of words and tags differ, or a word or tag is not text.

    Examples
    --------
    >>> TaggedSentence("the dog barks".split(), ["DET", "NOUN", "VERB"]).tags
    ('DET', 'NOUN', 'VERB')
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    doc_id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", checked_words(self.words))
        object.__setattr__(self, "tags", tuple(_checks.elements("tags", self.tags, str)))
        numbers = f"{len(self.tags)} for {len(self.words)} words"
        _checks.require("tags", len(self.tags) == len(self.words), "must be one per word", numbers)
        if "" in self.tags:
            raise ParameterError(f"must not be empty, got '' at [{self.tags.index('')}]", parameter="tags")


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words as a tuple, or raise unless they are at least one, and text."""
    texts = tuple(_checks.elements("words", words, str))
    _checks.require("words", texts, "must be at least one", "none")
    return texts


def checked_sentences(sentences: Iterable[TaggedSentence]) -> tuple[list[TaggedSentence], tuple[str, ...]]:
    """Return the sentences as a list, and their tags in ascending order; raise unless there is a sentence."""
    items = list(_checks.elements("sentences", sentences, TaggedSentence))
    _checks.require("sentences", items, "must be at least one", "none")
    return items, tuple(sorted({tag for sentence in items for tag in sentence.tags}))


@dataclass(frozen=True, slots=True, eq=False)
class FittedTags:
    """What a model learnt of K tags and V texts: counts of a hidden Markov model, or weights of a random field.

    Attributes
    ----------
    tags
        Names of the tags, in ascending order.
    texts
        Words that the model knows, in ascending order, or attributes of words.
    indptr, codes, values
        int64 (V + 1,), int64 (n,), float64 (n,): tags of each text that have a count or weight, and these.
    transitions
        float64 (K, K): count or weight of each pair of neighbours, row before column.
    starts, ends
        float64 (K,): number of sentences that begin, and that end, with each tag; 0 for weights.
    """

    tags: tuple[str, ...]
    texts: tuple[str, ...]
    indptr: Ints
    codes: Ints
    values: Floats
    transitions: Floats
    starts: Floats
    ends: Floats


class TrainedModel(ABC):
    """A model whose constructor takes its parameters by name."""

    _fitted_tags: FittedTags | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters().items())})"

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def fitted(self) -> FittedTags:
        """Counts or weights; raises ParameterError before `fit`."""
        if self._fitted_tags is None:
            raise ParameterError(f"{type(self).__name__} must be fitted before it is used")
        return self._fitted_tags

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags, in the order of a chain's tags; raises ParameterError before `fit`."""
        return self.fitted.tags

    def _with(self, fitted: FittedTags) -> Self:
        """Set what the model learnt, and compute values that every posterior needs."""
        self._fitted_tags = fitted
        self._code = {text: code for code, text in enumerate(fitted.texts)}
        return self

    def _added(self, rows: Floats, texts_of_rows: Iterable[Iterable[str]]) -> Floats:
        """Add the values of the known texts of each row, which stands for a word, to its tags."""
        fitted = self.fitted
        for row, texts in zip(rows, texts_of_rows, strict=True):
            for text in texts:
                code = self._code.get(text)
                if code is not None:
                    entries = slice(fitted.indptr[code], fitted.indptr[code + 1])
                    row[fitted.codes[entries]] += fitted.values[entries]
        return rows

    @abstractmethod
    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence."""


class HiddenMarkovModel(TrainedModel):
    """Hidden Markov model: each tag is drawn given the one before it, and each word given its tag.

    Probabilities are the modes of their posteriors under symmetric Dirichlet priors of `pseudocount` + 1, which is the
    same as adding `pseudocount` to every count. With K tags and V known words, and c the pseudocount:

    - first tag t: (number of sentences that begin with t + c) / (number of sentences + c K)
    - t to t', or to the end of the sentence: (count + c) / (count of t + c (K + 1))
    - word w of tag t: (count + c) / (count of t + c (V + 1)).

    Unknown words share one place in the vocabulary, the V + 1st. The count of an unknown word is the pseudocount alone
    with every tag: the word is as likely as a word that did not occur with that tag, and the neighbours decide.

    Parameters
    ----------
    pseudocount
        Number c that is added to every count, above 0. By default 1.

    Raises
    ------
    ParameterError
        If `pseudocount` is not above 0.

    References
    ----------
    Nguyen & O'Connor (2015), section 4.2.1: Dirichlet MAP with one pseudocount for each transition and emission.

    Examples
    --------
    >>> sentence = TaggedSentence(["the", "dog", "barks"], ["DET", "NOUN", "VERB"])
    >>> model = HiddenMarkovModel().fit([sentence])
    >>> [model.tags[code] for code in model.posterior(["the", "cat", "barks"]).map()]
    ['DET', 'NOUN', 'VERB']
    """

    def __init__(self, *, pseudocount: float = 1.0) -> None:
        self.pseudocount = _checks.above_zero("pseudocount", pseudocount)

    def fit(self, sentences: Iterable[TaggedSentence]) -> Self:
        """Count the tags and words of the sentences, and return the model.

        Raises
        ------
        ParameterError
            If there is no sentence, or an item is not a TaggedSentence.
        """
        training, tags = checked_sentences(sentences)
        tag_code = {tag: code for code, tag in enumerate(tags)}
        words = tuple(sorted({word for sentence in training for word in sentence.words}))
        word_code = {word: code for code, word in enumerate(words)}
        (starts, ends), transitions = np.zeros((2, len(tags))), np.zeros((len(tags), len(tags)))
        emissions: Counter[tuple[int, int]] = Counter()
        for sentence in training:
            codes = [tag_code[tag] for tag in sentence.tags]
            starts[codes[0]] += 1
            ends[codes[-1]] += 1
            np.add.at(transitions, (codes[:-1], codes[1:]), 1)
            emissions.update(zip((word_code[word] for word in sentence.words), codes, strict=True))
        keys = sorted(emissions)
        indptr = np.searchsorted([word for word, _ in keys], np.arange(len(words) + 1))
        times = np.array([emissions[key] for key in keys], np.float64)
        emitted_by = np.array([tag for _, tag in keys], np.int64)
        return self._with(FittedTags(tags, words, indptr, emitted_by, times, transitions, starts, ends))

    def _with(self, fitted: FittedTags) -> Self:
        c, n_tags = self.pseudocount, len(fitted.tags)
        n_of_tag = np.bincount(fitted.codes, fitted.values, n_tags)
        self._starts = np.log(fitted.starts + c) - np.log(fitted.starts.sum() + c * n_tags)
        leaving = np.log(fitted.transitions.sum(axis=1) + fitted.ends + c * (n_tags + 1))
        self._transitions = np.log(fitted.transitions + c) - leaving[:, None]
        self._transitions.flags.writeable = False  # so that chains share it
        self._ends = np.log(fitted.ends + c) - leaving
        self._log_totals = np.log(n_of_tag + c * (len(fitted.texts) + 1))
        return super()._with(fitted)

    def emission_scores(self, words: Sequence[str]) -> Floats:
        """Natural log of P(word | tag) for `words`: float64 (n_words, n_tags).

        Parameters
        ----------
        words
            Words of one sentence, at least one.

        Raises
        ------
        ParameterError
            If the model is not fitted, `words` is empty, or a word is not text.
        """
        rows = np.full((len(checked_words(words)), len(self.tags)), self.pseudocount)
        return np.asarray(np.log(self._added(rows, ((word,) for word in words))) - self._log_totals)

    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence given its words; its `log_partition` is log P(words).

        Parameters
        ----------
        words
            Words of one sentence, at least one.

        Raises
        ------
        ParameterError
            If the model is not fitted, `words` is empty, or a word is not text.
        """
        unary = self.emission_scores(words)
        unary[0] += self._starts
        unary[-1] += self._ends
        return LinearChain.from_scores(unary, self._transitions)


# --- model files ---------------------------------------------------------------------------------------------


def save_tagger(model: TrainedModel, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a fitted model to a file, which appears under its name when it is complete.

    Parameters
    ----------
    model
        Fitted tagger of this package.
    path
        Path of the new file.
    overwrite
        True if an existing file is replaced; by default it is an error.

    Raises
    ------
    ParameterError
        If the model is not fitted or not a tagger of this package, or the file exists and `overwrite` is false.
    OutputError
        If the file cannot be written.
    """
    kind = next((kind for kind, name in _KINDS.items() if type(model).__name__ == name), None)
    if kind is None or not isinstance(model, TrainedModel):
        raise ParameterError(f"must be one of {', '.join(_KINDS.values())}, got {shown(model)}", parameter="model")
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "features": FEATURES_VERSION,
        "parameters": model._parameters(),
        "tags": model.fitted.tags,
        "texts": model.fitted.texts,
    }
    parts: dict[str, Any] = {name: getattr(model.fitted, name) for name in (*_INTEGERS, *_NUMBERS)}
    parts["header"] = np.array(json.dumps(header))  # ASCII: words may have lone surrogates
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **parts)
    write_bytes(path, buffer.getvalue(), overwrite=overwrite)


def load_tagger(path: PathLike) -> TrainedModel:
    """Read a model file.

    Parameters
    ----------
    path
        Path of a file that `save_tagger` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, is not a model, or is of another version.
    """
    path = _checks.path("path", path)
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as error:
        reason = f"model file must be readable, got: {error.strerror or error}"
        raise InputError(reason, place=path) from None
    except _DAMAGED as error:
        reason = f"must be a {FORMAT}, got an incomplete, damaged or other file: {one_line(error)}"
        raise InputError(reason, place=path) from None
    try:
        return _model(parsed_json(str(arrays.pop("header", "{}")), "header"), arrays)
    except InputError as error:
        raise error.at(path) from None
    except ParameterError as error:
        raise error.as_input_error(path) from None


def _model(header: Any, arrays: dict[str, Any]) -> TrainedModel:
    """Model with checked content."""
    from corefsample import tagging

    header = header if isinstance(header, dict) else {"format": header}
    for name, value in (("format", FORMAT), ("version", VERSION), ("features", FEATURES_VERSION)):
        if header.get(name) != value:
            raise InputError(f"{name} must be {value}, got {shown(header.get(name))}", hint="train the model again")
    kind, parameters, tags, texts = (header.get(name) for name in ("kind", "parameters", "tags", "texts"))
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(f"kind must be one of {', '.join(_KINDS)}, got {shown(kind)}")
    model_class: type[TrainedModel] = getattr(tagging, _KINDS[kind])
    names = list(inspect.signature(model_class).parameters)
    if not isinstance(parameters, dict) or set(parameters) != set(names):
        raise InputError(f"parameters must be {', '.join(names)}, got {shown(parameters)}")
    for name, value, least in (("tags", tags, 1), ("texts", texts, 0)):
        if not isinstance(value, list) or len(value) < least or len({*map(str, value)}) < len(value):
            raise InputError(f"{name} must be a list of distinct texts, at least {least}, got {shown(value)}")
    n, n_tags = arrays.get("codes", np.empty(0)).size, len(tags)
    shapes = (len(texts) + 1,), (n,), (n,), (n_tags, n_tags), (n_tags,), (n_tags,)
    lowest = 0.0 if model_class is HiddenMarkovModel else -np.inf  # of counts, of weights
    for name, shape in zip((*_INTEGERS, *_NUMBERS), shapes, strict=True):
        dtype, bound = (np.int64, 0.0) if name in _INTEGERS else (np.float64, lowest)
        array = arrays.get(name, np.empty(0))
        if array.dtype != dtype or array.shape != shape or not (np.isfinite(array) & (array >= bound)).all():
            rule = f"{name} must be finite {dtype.__name__} of shape {shape}, counts and places at least 0"
            raise InputError(f"{rule}, got {array.dtype} of shape {array.shape}")
    indptr, codes = arrays["indptr"], arrays["codes"]
    if indptr[0] != 0 or indptr[-1] != n or (np.diff(indptr) < 0).any():
        raise InputError(f"indptr must describe {len(texts)} rows of {n} values")
    if (codes >= n_tags).any():
        raise InputError(f"codes must lie in 0 to {n_tags - 1}, got {codes.max()}")
    content = (arrays[name] for name in (*_INTEGERS, *_NUMBERS))
    return model_class(**parameters)._with(FittedTags(tuple(map(str, tags)), tuple(map(str, texts)), *content))
