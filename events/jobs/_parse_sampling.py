"""Sampled parses of a treebank's documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.documents import AnnotatedDocument, Tokens
from corefsample.parses import ParsePairs, gold_log_score, parse_pairs
from corefsample.spacy_bridge import parse_samples
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax import SCHEMES, document_schemes

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from corefsample._arrays import Floats
    from events.rules import Rule

__all__ = ["TreebankParses", "has_labels_of"]


def has_labels_of(pipeline: Language, documents: Sequence[AnnotatedDocument]) -> bool:
    """Whether the labels of a pipeline's parser are of the treebank's dependency scheme."""
    used = {label.partition("||")[0] for labels in map(pipeline.pipe_labels.get, ["parser"]) for label in labels or ()}
    treebank = {scheme for document in documents for scheme in document_schemes(document.tokens.dep)}
    # "dep" is spaCy's own label for arcs without another.
    return any(all(SCHEMES[scheme].reads(label) for label in used - {"dep"}) for scheme in treebank)


class TreebankParses:
    """Sampled parses of treebank documents by a pipeline.

    The pipeline gets the treebank's words.

    Parameters
    ----------
    pipeline
        With a transition parser.
    same_labels
        Whether its labels are of the treebank's scheme.
    n_samples, seed
        As for `corefsample.spacy_bridge.parse_samples`.
    gold_sentences
        Whether the pipeline gets the treebank's sentences, too; else those of its usual parse are kept.
    on_document
        Called after each document that is parsed.
    """

    def __init__(
        self,
        pipeline: Language,
        *,
        same_labels: bool,
        n_samples: int,
        seed: int,
        gold_sentences: bool,
        on_document: Callable[[], None] = lambda: None,
    ) -> None:
        self._pipeline = pipeline
        self._same_labels = same_labels
        self._n_samples, self._seed = n_samples, seed
        self._gold_sentences = gold_sentences
        self._on_document = on_document

    def log_scores(self, documents: Sequence[AnnotatedDocument], temperatures: Sequence[float]) -> Floats:
        """Log likelihood of each document at each temperature: float64 (n_documents, n_temperatures)."""
        table = np.empty((len(documents), len(temperatures)))
        for d, document in enumerate(documents):
            for t, temperature in enumerate(temperatures):
                samples = self._samples(document, temperature)
                table[d, t], _ = gold_log_score(document.tokens, samples, same_labels=self._same_labels)
                self._on_document()
        return table

    def pairs(self, document: AnnotatedDocument, temperature: float, rule: Rule | None) -> Mapping[str, ParsePairs]:
        """Prediction-label pairs of a document's properties."""
        samples = self._samples(document, temperature)
        self._on_document()
        options: dict[str, Any] = {} if rule is None else {"roles": rule.roles, "upos": rule.upos}
        return parse_pairs(document.tokens, samples, same_labels=self._same_labels, **options)

    def _samples(self, document: AnnotatedDocument, temperature: float) -> list[Tokens]:
        docs = parse_samples(
            self._pipeline,
            self._doc(document.tokens),
            self._n_samples,
            temperature=temperature,
            seed=self._seed,
            doc_id=document.doc_id,
        )
        distinct: dict[int, Tokens] = {}
        return [
            distinct.setdefault(id(doc), tokens_of_doc(doc)) if id(doc) not in distinct else distinct[id(doc)]
            for doc in docs
        ]

    def _doc(self, tokens: Tokens) -> Doc:
        from spacy.tokens import Doc

        n_tokens = len(tokens)
        spaces = [bool(space) for space in tokens.extra.get("space_after", [True] * n_tokens)]
        sent_starts: list[bool | int | None] | None = None
        if self._gold_sentences:
            sent_starts = [t == 0 or bool(tokens.sent[t] != tokens.sent[t - 1]) for t in range(n_tokens)]
        return Doc(self._pipeline.vocab, words=list(tokens.text), spaces=spaces, sent_starts=sent_starts)
