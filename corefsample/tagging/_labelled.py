"""Posteriors of sentences beside their gold tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample._checks import shown
from corefsample.errors import CorefsampleError, ParameterError
from corefsample.tagging._chain import LinearChain
from corefsample.tagging._sentences import LabelledText, TaggedSentence

Unknown = Literal["raise", "outside"]
OUTSIDE = -1  # code of a gold tag that the model does not have


class SequenceModel(Protocol):
    """What a tagger of one's own has to have: names of the tags, and a posterior for each sentence."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags, in the order of a chain's."""
        ...

    def posterior(self, words: Sequence[str], /) -> LinearChain:
        """Distribution of the tags of a sentence."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPosterior:
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
    ) -> LabelledPosterior:
        """Labelled posterior from names of tags.

        Parameters
        ----------
        chain
            Of n positions, over the tags.
        gold
            Gold tags, (n,).
        tags
            Distinct names of the chain's tags, in its order.
        doc_id
            Document of the sentence.
        unknown
            What to do with a gold tag that is none of `tags`: "raise", or "outside": it gets the code -1, and every
            event of the model's tags is false there.

        Raises
        ------
        ParameterError
            If a gold tag is unknown, or lengths differ.
        """
        code = tag_codes(tags)
        _checks.choice("unknown", unknown, ("raise", "outside"))
        if len(code) != chain.n_tags:
            raise ParameterError(f"must be as many as the chain has, {chain.n_tags}, got {len(code)}", parameter="tags")
        if len(gold) != chain.n:
            raise ParameterError(f"must be one tag per word ({chain.n}), got {len(gold)}", parameter="gold")
        codes = np.array([code.get(tag, OUTSIDE) for tag in gold], np.int32)
        if unknown == "raise" and (codes == OUTSIDE).any():
            place = int(np.argmin(codes))
            known = shown(", ".join(tags))
            raise ParameterError(
                f"must be tags of the model, {known}, got {gold[place]!r} at [{place}]",
                parameter="gold",
                hint="unknown='outside' counts such tags as events that no model predicts",
            )
        codes.flags.writeable = False
        return cls(chain, codes, doc_id)


def tag_codes(tags: Sequence[str]) -> dict[str, int]:
    """Code of each tag; raise if one is not distinct."""
    codes = {tag: code for code, tag in enumerate(tags)}
    if isinstance(tags, str) or len(codes) != len(tags):
        raise ParameterError(f"must be distinct names, got {shown(tags)}", parameter="tags")
    return codes


def labelled_posteriors(
    model: SequenceModel, sentences: Iterable[TaggedSentence | LabelledText], *, unknown: Unknown = "raise"
) -> Iterator[LabelledPosterior]:
    """Posteriors of sentences (or texts) one after another, with the gold tags.

    Parameters
    ----------
    model
        A tagger or classifier of this package, or any object with `tags` and `posterior(words)`.
    sentences
        With their gold tags.
    unknown
        "raise" or "outside", for gold tags that the model does not have; as of `LabelledPosterior.from_tags`.

    Raises
    ------
    ParameterError
        At the sentence that breaks a rule, with its number (from 0) and its document.
    """
    _checks.choice("unknown", unknown, ("raise", "outside"))
    for number, sentence in enumerate(sentences):
        try:
            chain = model.posterior(sentence.words)
            item = LabelledPosterior.from_tags(
                chain, sentence.tags, model.tags, doc_id=sentence.doc_id, unknown=unknown
            )
        except CorefsampleError as error:
            document = f" of document {sentence.doc_id!r}" if sentence.doc_id else ""
            raise error.at(f"sentence {number}{document}") from None
        yield item


def frequent_tag_pairs(sentences: Iterable[TaggedSentence], n: int) -> list[tuple[str, str]]:
    """The most frequent pairs of gold tags of neighbours, by descending count, then by name.

    Parameters
    ----------
    sentences
        With their gold tags.
    n
        Number of pairs, at least 1; fewer are returned if there are fewer.

    Raises
    ------
    ParameterError
        If n is not a whole number of at least 1.

    Examples
    --------
    >>> sentence = TaggedSentence("it was as it was".split(), ["N", "V", "C", "N", "V"])
    >>> frequent_tag_pairs([sentence], 2)
    [('N', 'V'), ('C', 'N')]
    """
    limit = _checks.whole("n", n, 1)
    counts: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        counts.update(zip(sentence.tags[:-1], sentence.tags[1:], strict=True))
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:limit]
