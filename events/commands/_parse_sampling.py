"""Sampled parses of a treebank's documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from spacy.language import Language

from corefsample._arrays import Floats
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import STRING_COLUMNS, Tokens
from corefsample.errors import ParameterError
from corefsample.parses import parse_samples
from corefsample.parses._pairs import ParsePairs, gold_score, parse_pairs
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import document_schemes, fitting_schemes
from events.rules._rules import Rule
from events.runs.scoring._parsing import doc_of_words


@dataclass(frozen=True, slots=True, eq=False)
class TreebankDocument:
    """A document of a treebank, or its beginning.

    Attributes
    ----------
    doc_id
        Of the document.
    tokens
        Words with the treebank's parse.
    """

    doc_id: str
    tokens: Tokens

    @classmethod
    def of(cls, document: AnnotatedDocument, n_words: int | None = None) -> Self:
        """The document, or as many of its first sentences as have at most n_words words, but at least one."""
        tokens = document.tokens
        if n_words is None or len(tokens) <= n_words:
            return cls(document.doc_id, tokens)
        ends = np.flatnonzero(np.diff(tokens.sent)) + 1
        fitting = int(np.searchsorted(ends, n_words, side="right"))
        end = int(ends[max(fitting - 1, 0)]) if len(ends) else len(tokens)
        columns = {name: getattr(tokens, name)[:end] for name in (*STRING_COLUMNS, "head", "sent")}
        return cls(document.doc_id, Tokens(**columns, extra={name: list(v)[:end] for name, v in tokens.extra.items()}))


def schemes_of(documents: Sequence[TreebankDocument], pipeline: Language) -> tuple[str, str]:
    """Dependency schemes of a treebank and of a pipeline's parser; the same one where both may be.

    Raises
    ------
    InputError
        If the labels of the treebank fit no scheme.
    ParameterError
        If those of the parser fit none.
    """
    try:
        of_treebank = document_schemes({label for document in documents for label in document.tokens.dep})
    except ParameterError as error:
        raise error.as_input_error("treebank") from None
    parts = {part for label in pipeline.pipe_labels.get("parser", ()) for part in label.split("||")}
    of_parser = fitting_schemes(parts)
    if not of_parser:
        raise ParameterError("must have a parser with labels of a known scheme, got others", parameter="pipeline")
    shared = [scheme for scheme in of_treebank if scheme in of_parser]
    return (shared[0], shared[0]) if shared else (of_treebank[0], of_parser[0])


@dataclass(frozen=True, slots=True, eq=False)
class TreebankParses:
    """Sampled parses of treebank documents by a pipeline, which gets the treebank's words.

    Attributes
    ----------
    pipeline
        With a transition parser.
    schemes
        As of `schemes_of`.
    n_samples, seed
        As for `corefsample.parses.parse_samples`.
    gold_sentences
        Whether the pipeline gets the treebank's sentences, too; else those of its usual parse are kept.
    on_document
        Called after each document that is parsed.
    """

    pipeline: Language
    schemes: tuple[str, str]
    n_samples: int
    seed: int
    gold_sentences: bool
    on_document: Callable[[], None]

    def scores(self, documents: Sequence[TreebankDocument], temperatures: Sequence[float], by: str) -> Floats:
        """Score of each document at each temperature, as of `gold_score`: float64 (n_documents, n_temperatures)."""
        table = np.empty((len(documents), len(temperatures)))
        for d, document in enumerate(documents):
            for t, temperature in enumerate(temperatures):
                samples = self._samples(document, temperature)
                table[d, t] = gold_score(document.tokens, samples, schemes=self.schemes, by=by)
        return table

    def pairs(self, document: TreebankDocument, temperature: float, rule: Rule) -> Mapping[str, ParsePairs]:
        """Prediction-label pairs of a document's properties."""
        samples = self._samples(document, temperature)
        return parse_pairs(document.tokens, samples, schemes=self.schemes, roles=rule.roles, upos=rule.upos)

    def _samples(self, document: TreebankDocument, temperature: float) -> list[Tokens]:
        docs = parse_samples(
            self.pipeline,
            doc_of_words(document.tokens, self.pipeline, in_sentences=self.gold_sentences),
            self.n_samples,
            temperature=temperature,
            seed=self.seed,
            doc_id=document.doc_id,
        )
        docs_by_id = {id(doc): doc for doc in docs}  # equal parses are one Doc
        distinct = {key: tokens_of_doc(doc) for key, doc in docs_by_id.items()}
        self.on_document()
        return [distinct[id(doc)] for doc in docs]
