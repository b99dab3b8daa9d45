"""Scores that were made elsewhere, as the posterior of a Doc."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._groups import write_groups
from corefsample.spacy_bridge._posterior import DocPosterior, posterior_of
from corefsample.spacy_bridge._settings import Settings
from corefsample.spacy_bridge._state import store
from corefsample.spacy_bridge._words import word_offsets

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

    from corefsample.coreference import AntecedentDistribution
    from corefsample.documents import ScoredDocument

__all__ = ["doc_id_of", "set_posterior"]


def doc_id_of(doc: Doc) -> str:
    """Read what the samples of a Doc are drawn by: ``doc.user_data["doc_id"]``, else a digest of its text.

    Raises
    ------
    ParameterError
        If the one that is there is no non-empty string.
    """
    own_id = doc.user_data.get("doc_id")
    if own_id is None:  # texts name themselves, so that the samples of different ones are independent
        digest = hashlib.blake2b(doc.text.encode("utf-8", "surrogatepass"), digest_size=16)
        return f"text-{digest.hexdigest()}"
    if not isinstance(own_id, str) or not own_id:
        raise ParameterError(f"doc.user_data['doc_id'] must be a non-empty string, got {own_id!r}")
    return own_id


def set_posterior(
    doc: Doc,
    scored: ScoredDocument | AntecedentDistribution,
    *,
    mentions: Sequence[Span] | npt.ArrayLike | None = None,
    n_samples: int = 1000,
    seed: int = 0,
    spans_key: str | None = "coref",
    sample_groups: int = 0,
) -> DocPosterior:
    """Put scores that are there already on a Doc, another system's or those of a file: nothing is scored again.

    Parameters
    ----------
    doc
        With the words that were scored, tokens of whitespace left aside. A parse is not needed.
    scored
        A document, as a file or `corefsample.adapters` gives it; samples are drawn by its doc_id, and are those that
        events are counted in. Or the distribution alone, with `mentions`; samples are then drawn by
        ``doc.user_data["doc_id"]``, or by a digest of the text where there is none.
    mentions
        Of a distribution: its mentions, spans of `doc`, or rows of start, end and head in offsets of its words; by
        start, then longest first.
    n_samples, seed, sample_groups
        As of the component.
    spans_key
        As of the component; None writes no groups.

    Returns
    -------
    DocPosterior
        The same as ``doc._.coref`` from now on.

    Raises
    ------
    ParameterError
        If the document is of other words, the mentions are not those of the distribution, or an option breaks its rule.
        The Doc is then as it was.
    """
    if not hasattr(doc, "has_annotation"):
        raise ParameterError(f"doc must be a spaCy Doc, got {type(doc).__name__}")
    if spans_key is None and sample_groups:
        raise ParameterError(f"sample_groups must be 0 where spans_key is None, got {sample_groups!r}")
    options = Settings(
        n_samples=n_samples,
        seed=seed,
        spans_key="coref" if spans_key is None else spans_key,
        sample_groups=sample_groups,
    )
    document = _document(doc, scored, mentions)
    _require_same_words(doc, document)
    store(
        doc,
        document.mentions,
        document.antecedents,
        doc_id=document.doc_id,
        seed=options.seed,
        n_samples=options.n_samples,
    )
    posterior = posterior_of(doc)
    if spans_key is not None:
        write_groups(posterior, options.spans_key, options.sample_groups)
    return posterior


def _document(doc: Doc, scored: Any, mentions: Any) -> ScoredDocument:
    from corefsample.coreference import AntecedentDistribution
    from corefsample.documents import ScoredDocument
    from corefsample.spacy_bridge.documents import mentions_of_spans

    if isinstance(scored, ScoredDocument):
        if mentions is not None:
            raise ParameterError("mentions must be left out where scored is a document, which has its own")
        return scored
    if not isinstance(scored, AntecedentDistribution):
        raise ParameterError(
            f"scored must be a ScoredDocument or an AntecedentDistribution, got {type(scored).__name__}"
        )
    if mentions is None:
        raise ParameterError("mentions must be given where scored is a distribution, got none")
    if len(mentions) and all(hasattr(each, "root") for each in mentions):
        for i, span in enumerate(mentions):
            if span.doc is not doc:
                raise ParameterError(
                    f"mentions[{i}] must be a span of doc, got one of another: {_checks.shown(span.text)}"
                )
        mentions = mentions_of_spans(doc, mentions)
    return ScoredDocument(doc_id_of(doc), mentions, scored)


def _require_same_words(doc: Doc, document: ScoredDocument) -> None:
    """Refuse a document of other words; one without tokens has to lie within those of the Doc."""
    words = [doc[i].text for i in word_offsets(doc).tolist()]
    named = f"doc_id {document.doc_id!r}: "
    if document.tokens is None:
        outside = np.flatnonzero(document.mentions[:, 1] > len(words))
        if outside.size:
            row = document.mentions[outside[0]].tolist()
            raise ParameterError(f"{named}mentions[{outside[0]}] must lie in the {len(words)} words of doc, got {row}")
        return
    theirs = list(document.tokens.text)
    for t, (word, own) in enumerate(zip(theirs, words, strict=False)):
        if word != own:
            raise ParameterError(
                f"{named}tokens.text[{t}] must be the word {_checks.shown(own)} of doc, got {_checks.shown(word)}"
            )
    if len(theirs) != len(words):
        raise ParameterError(f"{named}tokens must be the {len(words)} words of doc, got {len(theirs)}")
