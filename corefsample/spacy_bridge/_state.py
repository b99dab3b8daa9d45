"""What a scored Doc stores: numbers, strings and bytes in Doc.user_data, which spaCy can serialise.

Samples and marginals are not stored: they follow from the distribution, the seed and the doc_id, and are computed once
per Doc, at their first use.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

import corefsample as cs
from corefsample._arrays import Bytes, Floats, Ints32
from corefsample.errors import ParameterError
from corefsample.spacy_bridge.documents import word_offsets

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

    from corefsample.coreference._clusterings import ClusteringSamples
    from corefsample.posterior._posterior import DrawnRecalibration
    from corefsample.summaries._expected_losses import Loss

KEY = "corefsample"
VERSION = 1
_PLACE = f"doc.user_data[{KEY!r}]"
_ARRAYS = {"mentions": "<i4", "indptr": "<i8", "antecedents": "<i4", "scores": "<f8"}
_FIELDS: dict[str, type] = {
    **dict.fromkeys(("seed", "n_samples", "n_words", "words"), int),
    **dict.fromkeys(("doc_id", "recalibration"), str),
    **dict.fromkeys((*_ARRAYS, "kinds", "draws"), bytes),
}
_OPTIONAL = {"recalibration": "", "kinds": b"", "draws": b""}


@dataclass(eq=False)
class Content:
    """The posterior of one Doc, and what was computed from it; it keeps the Doc's words, not the Doc.

    Attributes
    ----------
    state
        The entry of Doc.user_data from which this was read.
    offsets
        int32 (n_words,): the place in the Doc of each word.
    n_tokens
        Length of the Doc.
    mentions
        int32 (n_mentions, 3), read-only: start, end and head in offsets of words.
    distribution
        Distribution over the antecedents of these mentions.
    estimates
        Labels of the point estimates computed so far, by loss.
    """

    state: dict[str, Any]
    offsets: Ints32
    n_tokens: int
    mentions: Ints32
    distribution: cs.AntecedentDistribution
    estimates: dict[Loss, Ints32] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[tuple[int, int], int]:
        """Number of the first mention of each pair of start and end."""
        firsts: dict[tuple[int, int], int] = {}
        for i, (start, end) in enumerate(self.mentions[:, :2].tolist()):
            firsts.setdefault((start, end), i)
        return firsts

    def number(self, span: Span) -> int | None:
        """Number of the first mention with this span, ignoring whitespace at its ends; None without such a mention."""
        start, end = np.searchsorted(self.offsets, (span.start, span.end)).tolist()
        return self.numbers.get((start, end))

    @cached_property
    def marginals(self) -> Floats:
        """Exact link marginals, read-only."""
        marginals = cs.link_marginals(self.distribution)
        marginals.flags.writeable = False
        return marginals

    @cached_property
    def samples(self) -> ClusteringSamples:
        """The clusterings drawn, by default under the draws of an uncertain recalibration."""
        return self.sampled(self.state["doc_id"])

    def sampled(self, doc_id: str) -> ClusteringSamples:
        """Clusterings that depend on this doc_id."""
        from corefsample.posterior._posterior import DocumentPosterior, DrawnRecalibration
        from corefsample.recalibration._model import N_PARAMETERS

        kinds = np.frombuffer(self.state.get("kinds", b""), np.uint8)
        vectors = np.frombuffer(self.state.get("draws", b"")).reshape(-1, N_PARAMETERS)
        recalibrated = None
        if len(vectors):
            recalibrated = DrawnRecalibration(cs.Recalibration(), tuple(map(cs.Recalibration.from_vector, vectors)))
        posterior = DocumentPosterior(doc_id, self.distribution, recalibrated, kinds)
        return posterior.clusterings(n_samples=self.state["n_samples"], seed=self.state["seed"])

    @cached_property
    def map_labels(self) -> Ints32:
        """The clustering of likeliest antecedents, read-only."""
        labels = cs.map_clustering(self.distribution)
        labels.flags.writeable = False
        return labels

    def estimate(self, loss: Loss) -> Ints32:
        """Clustering with the smallest expected loss that the search finds, read-only; computed once per loss."""
        if loss not in self.estimates:
            is_drawn = bool(self.state.get("draws"))  # then exact marginals are not those of the samples
            arguments = (self.samples, None) if is_drawn else (self.distribution, self.samples)
            self.estimates[loss] = cs.summaries.point_estimate(arguments[0], loss=loss, samples=arguments[1]).labels
        return self.estimates[loss]


# Keyed weakly by Doc, so that an entry is removed with its Doc.
_CACHE: WeakKeyDictionary[Doc, Content] = WeakKeyDictionary()


def _words_hash(doc: Doc, offsets: Ints32) -> int:
    return zlib.crc32("\n".join(doc[i].text for i in offsets.tolist()).encode("utf-8", "surrogatepass"))


def store(
    doc: Doc,
    mentions: Ints32,
    distribution: cs.AntecedentDistribution,
    *,
    doc_id: str,
    seed: int,
    n_samples: int,
    recalibration: str = "",
    recalibrated: DrawnRecalibration | None = None,
    kinds: Bytes | None = None,
) -> None:
    """Store the posterior in Doc.user_data.

    Parameters
    ----------
    mentions
        int32 (n_mentions, 3): start, end and head in offsets of words.
    recalibration
        Recalibrations that the scores have had, as in the metadata of documents; "" for none.
    recalibrated
        Draws relative to these, if their uncertainty is known.
    kinds
        Kinds of the mentions, which draws need.
    """
    offsets = word_offsets(doc)
    arrays: dict[str, Any] = {"mentions": mentions, **{name: getattr(distribution, name) for name in list(_ARRAYS)[1:]}}
    if recalibrated is not None and kinds is not None:
        arrays["draws"] = np.array([draw.vector() for draw in recalibrated.draws])
        arrays["kinds"] = kinds
    doc.user_data[KEY] = {
        "version": VERSION,
        "doc_id": doc_id,
        "seed": seed,
        "n_samples": n_samples,
        "n_words": len(offsets),
        "words": _words_hash(doc, offsets),
        **({"recalibration": recalibration} if recalibration else {}),
        **{name: array.astype(_ARRAYS.get(name, array.dtype)).tobytes() for name, array in arrays.items()},
    }


def content_of(doc: Doc) -> Content:
    """Read the posterior of a scored Doc; it is read again only when it has changed.

    Raises
    ------
    ParameterError
        If the Doc has none, or one of another version, of other words, or with invalid content.
    """
    state = doc.user_data.get(KEY)
    if state is None:
        raise ParameterError(
            "must have been scored by the component corefsample, got one without its posterior",
            parameter="doc",
            hint="a DocBin keeps it with store_user_data=True",
        )
    posterior = _CACHE.get(doc)
    if posterior is None or posterior.state is not state or posterior.n_tokens != len(doc):
        posterior = _CACHE[doc] = _read(doc, state)
    return posterior


def _read(doc: Doc, state: Any) -> Content:
    version = state.get("version") if isinstance(state, dict) else type(state).__name__
    if version != VERSION:
        raise ParameterError(f"{_PLACE} must be of version {VERSION}, got {version!r}", hint="score the Doc again")
    for name, kind in _FIELDS.items():
        value = {**_OPTIONAL, **state}.get(name)
        if not isinstance(value, kind):
            raise ParameterError(f"{name} must be {kind.__name__}, got {type(value).__name__}", place=_PLACE)
    offsets = word_offsets(doc)
    if len(offsets) != state["n_words"] or _words_hash(doc, offsets) != state["words"]:
        raise ParameterError(
            f"must have the words that were scored ({state['n_words']}), got others ({len(offsets)})",
            parameter="doc",
            hint="score the Doc again",
        )
    try:
        arrays = {name: np.frombuffer(state[name], dtype) for name, dtype in _ARRAYS.items()}
        mentions = arrays.pop("mentions").reshape(-1, 3).astype(np.int32)
        distribution = cs.AntecedentDistribution.from_csr(**arrays)
    except ValueError as error:
        raise ParameterError(f"arrays must be as they were stored, got: {error}", place=_PLACE) from None
    mentions.flags.writeable = False
    outside = ((mentions < 0) | (mentions > len(offsets))).any()
    if len(mentions) != distribution.n_mentions or outside or (mentions[:, 0] >= mentions[:, 1]).any():
        raise ParameterError("mentions must be rows of start, end, head, got others", place=_PLACE)
    return Content(state, offsets, len(doc), mentions, distribution)
