"""Words with gold tags, which models are fitted to, and posteriors beside gold tags."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints, Ints32
from corefsample.errors import CorefsampleError, ParameterError, shown
from corefsample.tagging._chain import LinearChain


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
        object.__setattr__(self, "tags", _texts("tags", self.tags))
        if len(self.tags) != len(self.words):
            numbers = f"{len(self.tags)} for {len(self.words)} words"
            raise ParameterError(f"must be one per word, got {numbers}", parameter="tags")
        if "" in self.tags:
            raise ParameterError(f"must not be empty, got '' at [{self.tags.index('')}]", parameter="tags")


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words as a tuple, or raise unless they are at least one, and text."""
    checked = _texts("words", words)
    if not checked:
        raise ParameterError("must be at least one, got none", parameter="words")
    return checked


def _texts(name: str, values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ParameterError(f"must be a sequence of texts, got {shown(values)}", parameter=name)
    texts = tuple(values)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ParameterError(f"must be text, got {shown(text)} at [{index}]", parameter=name)
    return texts


def checked_sentences(sentences: Iterable[TaggedSentence]) -> list[TaggedSentence]:
    """Return the sentences as a list, or raise unless there is at least one."""
    items = list(_checks.elements("sentences", sentences, TaggedSentence))
    if not items:
        raise ParameterError("must be at least one, got none", parameter="sentences")
    return items


def tagset(sentences: Iterable[TaggedSentence]) -> tuple[str, ...]:
    """All tags of the sentences, in ascending order."""
    return tuple(sorted({tag for sentence in sentences for tag in sentence.tags}))


Content = TypeVar("Content")


class TrainedModel(ABC, Generic[Content]):
    """A model whose constructor takes its parameters by name, and whose fit is a dataclass of names and arrays."""

    _content_type: ClassVar[type[Any]]  # with `tags`, the names of words or attributes, and arrays
    _content: Content | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters().items())})"

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def _fitted(self) -> Content:
        """Fitted content; raises ParameterError before `fit`."""
        if self._content is None:
            raise ParameterError(f"{type(self).__name__} must be fitted before it is used")
        return self._content

    @abstractmethod
    def _with(self, fit: Content) -> Self:
        """Set the fitted content, and compute values that every posterior needs."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags, in the order of a chain's tags; raises ParameterError before `fit`."""
        fitted: Any = self._fitted()
        return tuple(fitted.tags)

    @abstractmethod
    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence."""


def require_rows(indptr: Ints, codes: Ints, n_values: int, n_rows: int, n_tags: int, name: str) -> None:
    """Raise unless arrays describe rows of few tags each: starts that never fall, and tags that exist.

    Parameters
    ----------
    indptr
        int64 (n_rows + 1,): where each row starts, and where the last one ends.
    codes
        int64 (n_values,): tags, in 0 to n_tags - 1.
    name
        Name of `codes` in error messages.
    """
    good = indptr.shape == (n_rows + 1,) and indptr[0] == 0 and indptr[-1] == codes.shape[0] == n_values
    if not good or (np.diff(indptr) < 0).any():
        raise ParameterError(f"must describe {n_rows} rows of {n_values} values", parameter="indptr")
    outside = (codes < 0) | (codes >= n_tags)
    if outside.any():
        raise ParameterError(f"must lie in 0 to {n_tags - 1}, got {codes[outside][0]}", parameter=name)


Unknown = Literal["raise", "outside"]

OUTSIDE = -1  # code of a gold tag that the model does not have


class SequenceModel(Protocol):
    """Interface of a tagger: names of the tags, and a posterior for each sentence."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags, in the order of the tags of a chain."""
        ...

    def posterior(self, words: Sequence[str], /) -> LinearChain:
        """Distribution of the tags of a sentence."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LabelledChain:
    """The posterior of a sentence's tags, and the gold tags.

    Attributes
    ----------
    chain
        Distribution of the tags.
    gold
        int32 (n,): code of each gold tag, or -1 where the model does not have it; read-only.
    doc_id
        Document of the sentence.
    """

    chain: LinearChain
    gold: Ints32
    doc_id: str = ""

    @classmethod
    def from_tags(
        cls,
        chain: LinearChain,
        gold: Sequence[str],
        tags: Sequence[str],
        *,
        doc_id: str = "",
        unknown: Unknown = "raise",
    ) -> LabelledChain:
        """Labelled posterior from names of tags.

        Parameters
        ----------
        chain
            Distribution of the tags of the n words of a sentence.
        gold
            Gold tags, one per word.
        tags
            Distinct names of the chain's tags, in its order.
        doc_id
            Document of the sentence.
        unknown
            Treatment of a gold tag that is not one of `tags`. "raise": it is an error. "outside": it gets the code -1,
            so every event of the model's tags is false there.

        Raises
        ------
        ParameterError
            If a gold tag is unknown and `unknown` is "raise", or the numbers of words or of tags differ from the
            chain's.
        """
        code = tag_codes(tags)
        _checks.choice("unknown", unknown, ("raise", "outside"))
        if len(code) != chain.n_tags:
            raise ParameterError(f"must be as many as the chain has, {chain.n_tags}, got {len(code)}", parameter="tags")
        if len(gold) != chain.n:
            raise ParameterError(f"must be one tag per word ({chain.n}), got {len(gold)}", parameter="gold")
        codes = np.array([code.get(tag, OUTSIDE) for tag in gold], np.int32)
        if unknown == "raise" and (codes == OUTSIDE).any():
            index = int(np.argmin(codes))
            names = shown(", ".join(tags))
            raise ParameterError(
                f"must be tags of the model, {names}, got {gold[index]!r} at [{index}]",
                parameter="gold",
                hint="unknown='outside' counts such tags as events that no model predicts",
            )
        codes.flags.writeable = False
        return cls(chain, codes, doc_id)


def tag_codes(tags: Sequence[str]) -> dict[str, int]:
    """Code of each tag; raises ParameterError if the names are not distinct."""
    codes = {tag: code for code, tag in enumerate(_texts("tags", tags))}
    if len(codes) != len(tags):
        raise ParameterError(f"must be distinct names, got {shown(tags)}", parameter="tags")
    return codes


@runtime_checkable
class LabelledWords(Protocol):
    """Words with gold tags: a `TaggedSentence`, or a text that has one tag."""

    words: Any
    tags: Any
    doc_id: str


def labelled_posteriors(
    model: SequenceModel, sentences: Iterable[TaggedSentence], *, unknown: Unknown = "raise"
) -> Iterator[LabelledChain]:
    """Posteriors of sentences one after another, with the gold tags.

    Parameters
    ----------
    model
        A tagger of this package, or any object with `tags` and `posterior(words)`.
    sentences
        Sentences with gold tags.
    unknown
        Treatment of gold tags that the model does not have, "raise" or "outside": see `LabelledChain.from_tags`.

    Raises
    ------
    ParameterError
        If `model` is not a tagger, an element of `sentences` has no words and tags, a sentence has no word or not one
        tag for each word, or `unknown` is "raise" and the model does not have a gold tag. The error names the number of
        the sentence (from 0) and its document.
    """
    _checks.choice("unknown", unknown, ("raise", "outside"))
    if not hasattr(model, "posterior"):
        raise ParameterError(f"must be a tagger, got {shown(model)}", parameter="model", hint="load_tagger(path)")
    for number, sentence in enumerate(_checks.elements("sentences", sentences, LabelledWords)):
        try:
            chain = model.posterior(sentence.words)
            item = LabelledChain.from_tags(chain, sentence.tags, model.tags, doc_id=sentence.doc_id, unknown=unknown)
        except CorefsampleError as error:
            document = f" of document {sentence.doc_id!r}" if sentence.doc_id else ""
            raise error.at(f"sentence {number}{document}") from None
        yield item
