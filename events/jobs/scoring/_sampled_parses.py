"""Parses of an article drawn from a pipeline's parser, as alternatives with their numbers of samples."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Ints
from corefsample.documents import Tokens
from corefsample.errors import ParameterError
from corefsample.spacy_bridge import ParseSampler
from corefsample.spacy_bridge.documents import tokens_of_doc
from events.jobs.scoring._parsing import article_texts, joined, unparsable_text
from events.news import Article

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_ATTRIBUTES = ("HEAD", "DEP", "SENT_START", "POS", "LEMMA", "TAG", "MORPH")
_PROBE = "They left."


def parse_sampler(pipeline: Language, temperature: float | None) -> ParseSampler:
    """A sampler of a pipeline's parses; raise if they cannot be sampled."""
    try:
        sampler = ParseSampler(pipeline, temperature=temperature)
        sampler.samples(pipeline.make_doc(_PROBE), 1)
        return sampler
    except ParameterError as error:
        parameter = "parse_temperature" if error.parameter == "temperature" else "pipeline"
        raise ParameterError(error.message, parameter=parameter, hint=error.hint) from None


def sampled_articles(
    article: Article,
    sampler: ParseSampler,
    n_parses: int,
    *,
    headline: bool = True,
    paragraphs: str = "blank-line",
) -> list[tuple[int, Tokens]]:
    """Parse an article, and draw parses of it.

    Paragraphs are parsed and sampled apart: sample s of the article has sample s of each. Sentences are those of the
    pipeline's own parse.

    Parameters
    ----------
    article, headline, paragraphs
        As of `parsed_article`.
    sampler
        As of `parse_sampler`.
    n_parses
        Number of samples, at least 1.

    Returns
    -------
    list of (int, Tokens)
        The pipeline's own parse first, and the different ones among the samples in the order of the draws, each with
        its number of samples; only that of the first may be 0.

    Raises
    ------
    ParameterError
        If the pipeline cannot parse the article.
    """
    texts = article_texts(article, headline=headline, paragraphs=paragraphs)
    names = [f"{p} {article.doc_id}" for p in range(len(texts))]
    with unparsable_text():
        every = [_Paragraph(*each) for each in sampler.parsed_texts(texts, n_parses, doc_ids=names)]
    own = (0,) * len(every)
    chosen = Counter({own: 0})  # in the order of the draws
    chosen.update(zip(*(paragraph.samples for paragraph in every), strict=True) if every else [own] * n_parses)
    return [
        (count, joined([paragraph.parses[k] for paragraph, k in zip(every, each, strict=True)]))
        for each, count in chosen.items()
    ]


class _Paragraph:
    """The different parses of a paragraph, the pipeline's own first, and the number of each sample's."""

    def __init__(self, own: Doc, samples: Sequence[Doc]) -> None:
        self.parses = [tokens_of_doc(own)]
        known = {_annotations(own).tobytes(): 0}
        # Without tokens of whitespace, the tokens of a Doc are its words.
        self._has_words_only = len(own) == len(self.parses[0])
        numbers: dict[int, int] = {}  # equal samples are the same Doc
        for doc in samples:
            if id(doc) not in numbers:
                annotations = _annotations(doc)
                numbers[id(doc)] = known.setdefault(annotations.tobytes(), len(known))
                if numbers[id(doc)] == len(self.parses):
                    self.parses.append(self._tokens(doc, own, annotations))
        self.samples = [numbers[id(doc)] for doc in samples]

    def _tokens(self, doc: Doc, own: Doc, annotations: Ints) -> Tokens:
        """As `tokens_of_doc`, but columns that are as in the pipeline's own parse are taken from it."""
        differs = dict(zip(_ATTRIBUTES, (annotations != _annotations(own)).any(axis=0).tolist(), strict=True))
        if differs["SENT_START"] or not self._has_words_only:
            return tokens_of_doc(doc)
        tokens, extra = self.parses[0], dict(self.parses[0].extra)
        offsets = annotations[:, 0]
        columns: dict[str, Any] = {
            "head": np.where(offsets == 0, -1, np.arange(len(doc)) + offsets).astype(np.int32),
            **{
                column: self._texts(doc, annotations, name)
                for name, column in (("DEP", "dep"), ("POS", "upos"), ("LEMMA", "lemma"))
                if differs[name]
            },
        }
        for name, column in (("TAG", "xpos"), ("MORPH", "feats")):
            if differs[name]:
                extra[column] = [text or "_" for text in self._texts(doc, annotations, name)]
        return dataclasses.replace(tokens, **columns, extra=extra)

    def _texts(self, doc: Doc, annotations: Ints, name: str) -> list[str]:
        """Texts of an attribute of all tokens, by their numbers in the pipeline's store of strings."""
        numbers = annotations[:, _ATTRIBUTES.index(name)].view(np.uint64).tolist()
        known = {number: str(doc.vocab.strings[number]) if number else "" for number in set(numbers)}
        return [known[number] for number in numbers]


def _annotations(doc: Doc) -> Ints:
    """int64 (n_tokens, 7): the annotations of a Doc as numbers, offsets of heads first."""
    numbers: Ints = np.asfortranarray(doc.to_array(list(_ATTRIBUTES)).view(np.int64))
    return numbers
