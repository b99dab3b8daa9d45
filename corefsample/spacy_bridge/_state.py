"""What a scored Doc stores: numbers, strings and bytes in Doc.user_data, which spaCy can serialise.

Samples and marginals are not stored: they follow from the distribution, the seed and the doc_id, and are computed once
per Doc, at their first use.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
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
VERSION = 2
_PLACE = f"doc.user_data[{KEY!r}]"


class State(msgspec.Struct):
    """The entry of Doc.user_data, whose words are those that were scored.

    The arrays are an npz file: mentions, indptr, antecedents and scores of the distribution and, if its recalibration
    has draws, their parameters `draws`, and the `kinds` of the mentions.
    """

    version: int
    doc_id: str
    seed: int
    n_samples: int
    n_words: int
    words: int
    recalibration: str
    arrays: bytes


@dataclass(eq=False)
class Content:
    """The posterior of one Doc, and what was computed from it; it keeps the Doc's words, not the Doc.

    Attributes
    ----------
    entry, state
        The entry of Doc.user_data from which this was read, and its fields.
    offsets
        int32 (n_words,): the place in the Doc of each word.
    n_tokens
        Length of the Doc.
    mentions
        int32 (n_mentions, 3), read-only: start, end and head in offsets of words.
    distribution
        Distribution over the antecedents of these mentions.
    draws, kinds
        Parameters of the draws of the recalibration, (n_draws, n_parameters), and kinds of the mentions; empty without
        draws.
    estimates
        Labels of the point estimates computed so far, by loss.
    """

    entry: dict[str, Any]
    state: State
    offsets: Ints32
    n_tokens: int
    mentions: Ints32
    distribution: cs.AntecedentDistribution
    draws: Floats
    kinds: Bytes
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
        return self.sampled(self.state.doc_id)

    def sampled(self, doc_id: str) -> ClusteringSamples:
        """Clusterings that depend on this doc_id."""
        from corefsample.posterior._posterior import DocumentPosterior, DrawnRecalibration

        draws = tuple(map(cs.Recalibration.from_vector, self.draws))
        recalibrated = DrawnRecalibration(cs.Recalibration(), draws) if draws else None
        posterior = DocumentPosterior(doc_id, self.distribution, recalibrated, self.kinds)
        return posterior.clusterings(n_samples=self.state.n_samples, seed=self.state.seed)

    @cached_property
    def map_labels(self) -> Ints32:
        """The clustering of likeliest antecedents, read-only."""
        labels = cs.map_clustering(self.distribution)
        labels.flags.writeable = False
        return labels

    def estimate(self, loss: Loss) -> Ints32:
        """Clustering with the smallest expected loss that the search finds, read-only; computed once per loss."""
        if loss not in self.estimates:
            # With draws, exact marginals are not those of the samples.
            arguments = (self.samples, None) if len(self.draws) else (self.distribution, self.samples)
            self.estimates[loss] = cs.summaries.point_estimate(arguments[0], loss=loss, samples=arguments[1]).labels
        return self.estimates[loss]


# Keyed weakly by Doc, so that an entry is removed with its Doc.
_CACHE: WeakKeyDictionary[Doc, Content] = WeakKeyDictionary()


def _words_hash(doc: Doc, offsets: Ints32) -> int:
    return zlib.crc32("\n".join(doc[i].text for i in offsets.tolist()).encode("utf-8", "surrogatepass"))


def store(
    doc: Doc,
    document: cs.ScoredDocument,
    *,
    seed: int,
    n_samples: int,
    recalibrated: DrawnRecalibration | None = None,
    kinds: Bytes | None = None,
) -> None:
    """Store the posterior in Doc.user_data.

    Parameters
    ----------
    document
        Mentions, in offsets of words, and their distribution; its metadata name the recalibrations of the scores.
    recalibrated
        Draws relative to these, if their uncertainty is known.
    kinds
        Kinds of the mentions, which draws need.
    """
    offsets, rows, arrays = word_offsets(doc), document.antecedents, io.BytesIO()
    drawn: dict[str, Any] = {}
    if recalibrated is not None and kinds is not None:
        drawn = {"draws": np.array([draw.vector() for draw in recalibrated.draws]), "kinds": kinds}
    lists = {name: getattr(rows, name) for name in ("indptr", "antecedents", "scores")}
    np.savez(arrays, mentions=document.mentions, **lists, **drawn)
    recalibration = cs.Recalibration.applied_to(document.metadata)
    words = len(offsets), _words_hash(doc, offsets)
    state = State(VERSION, document.doc_id, seed, n_samples, *words, recalibration, arrays.getvalue())
    doc.user_data[KEY] = msgspec.structs.asdict(state)


def content_of(doc: Doc) -> Content:
    """Read the posterior of a scored Doc; it is read again only when it has changed.

    Raises
    ------
    ParameterError
        If the Doc has none, or one of another version, of other words, or with invalid content.
    """
    entry = doc.user_data.get(KEY)
    if entry is None:
        raise ParameterError(
            "must have been scored by the component corefsample, got one without its posterior",
            parameter="doc",
            hint="a DocBin keeps it with store_user_data=True",
        )
    posterior = _CACHE.get(doc)
    if posterior is None or posterior.entry is not entry or posterior.n_tokens != len(doc):
        posterior = _CACHE[doc] = _read(doc, entry)
    return posterior


def _read(doc: Doc, entry: Any) -> Content:
    version = entry.get("version") if isinstance(entry, dict) else type(entry).__name__
    if version != VERSION:
        raise ParameterError(f"{_PLACE} must be of version {VERSION}, got {version!r}", hint="score the Doc again")
    try:
        state = msgspec.convert(entry, State)
        with np.load(io.BytesIO(state.arrays)) as stored:
            arrays = {"draws": np.zeros((0, 0)), "kinds": np.zeros(0, np.uint8), **stored}
        mentions = arrays["mentions"].reshape(-1, 3)
        distribution = cs.AntecedentDistribution.from_csr(arrays["indptr"], arrays["antecedents"], arrays["scores"])
    except (msgspec.ValidationError, ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ParameterError(f"must be as it was stored, got: {error}", place=_PLACE) from None
    offsets = word_offsets(doc)
    if len(offsets) != state.n_words or _words_hash(doc, offsets) != state.words:
        raise ParameterError(
            f"must have the words that were scored ({state.n_words}), got others ({len(offsets)})",
            parameter="doc",
            hint="score the Doc again",
        )
    mentions.flags.writeable = False
    outside = ((mentions < 0) | (mentions > len(offsets))).any()
    if len(mentions) != distribution.n_mentions or outside or (mentions[:, 0] >= mentions[:, 1]).any():
        raise ParameterError("mentions must be rows of start, end, head, got others", place=_PLACE)
    return Content(entry, state, offsets, len(doc), mentions, distribution, arrays["draws"], arrays["kinds"])
