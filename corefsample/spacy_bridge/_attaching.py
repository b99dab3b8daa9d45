"""Scores computed elsewhere, attached to a Doc as its posterior."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import corefsample as cs
from corefsample import _checks
from corefsample._checks import shown
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._posterior import DocPosterior, posterior_of
from corefsample.spacy_bridge._settings import Settings, component_groups
from corefsample.spacy_bridge._state import store
from corefsample.spacy_bridge.documents import word_offsets

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span


def doc_id_of(doc: Doc) -> str:
    """Return the identifier that samples of a Doc depend on: ``doc.user_data["doc_id"]``, or a digest of its text.

    Raises
    ------
    ParameterError
        If ``doc.user_data["doc_id"]`` is not a non-empty string.
    """
    doc_id = doc.user_data.get("doc_id")
    if doc_id is None:  # different texts get different ids, so that their samples are independent
        digest = hashlib.blake2b(doc.text.encode("utf-8", "surrogatepass"), digest_size=16)
        return f"text-{digest.hexdigest()}"
    if not isinstance(doc_id, str) or not doc_id:
        raise ParameterError(f"doc.user_data['doc_id'] must be a non-empty string, got {doc_id!r}")
    return doc_id


def set_posterior(
    doc: Doc,
    scored: cs.ScoredDocument | cs.AntecedentDistribution,
    *,
    mentions: Sequence[Span] | npt.ArrayLike | None = None,
    n_samples: int = 1000,
    seed: int = 0,
    spans_key: str | None = "coref",
    sample_groups: int = 0,
) -> DocPosterior:
    """Attach existing scores, from a file or another system, to a Doc. Nothing is scored again.

    Parameters
    ----------
    doc
        Doc with the words that were scored; tokens of whitespace are ignored. It needs no parse.
    scored
        A document, as read from a file or made by `corefsample.adapters`; samples then depend on its doc_id, and are
        those in which events are counted. Or a distribution, with `mentions`; samples then depend on
        ``doc.user_data["doc_id"]``, or on a digest of the text if that is not set.
    mentions
        The mentions of a distribution: spans of `doc`, or rows of start, end and head in offsets of its words; by
        start, then longest first.
    n_samples, seed, sample_groups
        Number of clusterings to draw, seed of the draws in [0, 2**64), and number of sampled clusterings that are
        written as groups of spans.
    spans_key
        Prefix of the names of the groups of spans that are written. If None, no groups are written.

    Returns
    -------
    DocPosterior
        Posterior of the Doc, which is also available as ``doc._.coref``.

    Raises
    ------
    ParameterError
        If the document has other words, the mentions are not those of the distribution, or an option breaks its rule.
        The Doc is then unchanged.
    """
    from corefsample.posterior._posterior import CorpusRecalibration
    from corefsample.recalibration._model import Recalibration, document_kinds

    _checks.spacy_doc(doc)
    if spans_key is None and sample_groups:
        raise ParameterError(f"must be 0 where spans_key is None, got {sample_groups!r}", parameter="sample_groups")
    Settings(
        n_samples=n_samples,
        seed=seed,
        spans_key="coref" if spans_key is None else spans_key,
        sample_groups=sample_groups,
    )
    document = _document(doc, scored, mentions)
    _require_same_words(doc, document)
    drawn: dict[str, Any] = {}
    if document.tokens is not None:
        drawn["recalibrated"] = CorpusRecalibration(seed=seed).for_scores(document.metadata)
        drawn["kinds"] = document_kinds(document)
    drawn |= {"recalibration": Recalibration.applied_to(document.metadata), "seed": seed, "n_samples": n_samples}
    store(doc, document.mentions, document.antecedents, doc_id=document.doc_id, **drawn)
    posterior = posterior_of(doc)
    if spans_key is not None:
        write_groups(posterior, spans_key, sample_groups)
    return posterior


def write_groups(posterior: DocPosterior, spans_key: str, sample_groups: int) -> None:
    """Write the component's groups of spans, and remove those of an earlier run."""
    doc, pattern = posterior.doc, component_groups(spans_key)
    for key in [key for key in doc.spans if pattern.fullmatch(key)]:
        del doc.spans[key]
    posterior.add_clustering("map", key=f"{spans_key}_map")
    posterior.add_clusters("map", prefix=f"{spans_key}_clusters")
    for sample in range(sample_groups):
        posterior.add_clustering(sample, key=f"{spans_key}_sample_{sample}")


def _document(doc: Doc, scored: Any, mentions: Any) -> cs.ScoredDocument:
    from corefsample.spacy_bridge.documents import mention_rows

    if isinstance(scored, cs.ScoredDocument):
        if mentions is not None:
            raise ParameterError("must be left out where scored is a document, which has its own", parameter="mentions")
        return scored
    if not isinstance(scored, cs.AntecedentDistribution):
        raise ParameterError(
            f"must be a ScoredDocument or an AntecedentDistribution, got {type(scored).__name__}",
            parameter="scored",
        )
    if mentions is None:
        raise ParameterError("is required where scored is a distribution", parameter="mentions")
    return cs.ScoredDocument(doc_id_of(doc), mention_rows(doc, mentions), scored)


def _require_same_words(doc: Doc, document: cs.ScoredDocument) -> None:
    """Raise if a document has other words, or if one without tokens has mentions past the end of the Doc."""
    words = [doc[i].text for i in word_offsets(doc).tolist()]
    location = f"doc_id {document.doc_id!r}"
    if document.tokens is None:
        outside = np.flatnonzero(document.mentions[:, 1] > len(words))
        if outside.size:
            row = document.mentions[outside[0]].tolist()
            raise ParameterError(
                f"mentions[{outside[0]}] must lie in the {len(words)} words of doc, got {row}", place=location
            )
        return
    for t, (word, doc_word) in enumerate(zip(document.tokens.text, words, strict=False)):
        if word != doc_word:
            raise ParameterError(
                f"tokens.text[{t}] must be the word {shown(doc_word)} of doc, got {shown(word)}", place=location
            )
    if len(document.tokens) != len(words):
        raise ParameterError(
            f"tokens must be the {len(words)} words of doc, got {len(document.tokens)}", place=location
        )
