"""The posterior of a scored Doc, ``doc._.coref``, in terms of its spans, and how it is stored in the Doc.

Doc.user_data has numbers, strings and bytes, which spaCy can serialise. Samples and marginals are not stored: they
follow from the distribution, the seed and the doc_id, and are computed once per Doc, at their first use.
"""

from __future__ import annotations

import datetime
import io
import numbers
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

import corefsample as cs
from corefsample import _checks
from corefsample._arrays import Bytes, Floats, HtmlTable, Ints32, Result, pd
from corefsample._random import monte_carlo_errors
from corefsample.errors import ParameterError, shown
from corefsample.spacy_bridge.documents import tokens_of_doc, word_offsets

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, SpanGroup

    from corefsample.coreference._clusterings import ClusteringSamples
    from corefsample.posterior._posterior import DrawnRecalibration
    from corefsample.summaries._expected_losses import Loss

ClusteringName = Literal["map", "binder", "vi", "vi-bound", "b3", "lea", "conll"]
Members = Literal["any", "all", "together"]

CLUSTERING_NAMES: tuple[ClusteringName, ...] = get_args(ClusteringName)
MEMBERS: tuple[Members, ...] = get_args(Members)
KEY = "corefsample"
VERSION = 2
_PLACE = f"doc.user_data[{KEY!r}]"


def require_text(name: str, value: object) -> None:
    """Raise if a value is not a string, or is empty."""
    _checks.require(name, isinstance(value, str) and value, "must be a string that is not empty", repr(value))


# --- what a Doc stores -------------------------------------------------------------------------------------


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
    entry: Any = doc.user_data.get(KEY)
    rule, hint = "must have been scored by the component corefsample", "a DocBin keeps it with store_user_data=True"
    _checks.require("doc", entry is not None, rule, "one without its posterior", hint=hint)
    content = _CACHE.get(doc)
    if content is not None and content.entry is entry and content.n_tokens == len(doc):
        return content
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
    same = len(offsets) == state.n_words and _words_hash(doc, offsets) == state.words
    rule = f"must have the words that were scored ({state.n_words})"
    _checks.require("doc", same, rule, f"others ({len(offsets)})", hint="score the Doc again")
    mentions.flags.writeable = False
    outside = ((mentions < 0) | (mentions > len(offsets))).any()
    if len(mentions) != distribution.n_mentions or outside or (mentions[:, 0] >= mentions[:, 1]).any():
        raise ParameterError("mentions must be rows of start, end, head, got others", place=_PLACE)
    content = Content(entry, state, offsets, len(doc), mentions, distribution, arrays["draws"], arrays["kinds"])
    _CACHE[doc] = content
    return content


# --- the posterior in terms of spans -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class JoinProbability(HtmlTable):
    """Probability that a mention joins a cluster, with its Monte Carlo error.

    Attributes
    ----------
    probability
        Probability that the mention joins the cluster, in [0, 1].
    mc_se
        Monte Carlo standard error of the probability; 0 where the probability is exact. Where all samples
        agree, it is a bound: the distance to the 95% one-sided confidence limit, 1 - 0.05 ** (1 / n_samples), about
        3 / n_samples.
    n_samples
        Number of samples behind the probability; 0 where it is exact.
    """

    probability: float
    mc_se: float
    n_samples: int

    @property
    def exact(self) -> bool:
        """True if the probability was computed without sampling."""
        return self.n_samples == 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpanAntecedents(Result):
    """Distribution over the antecedents of one mention: likeliest first, the nearest first among equal ones.

    Attributes
    ----------
    span
        The mention.
    spans
        Its candidate antecedents.
    mentions
        int32 (n_candidates,), read-only: number of each candidate among the mentions of the Doc.
    probs
        float64 (n_candidates,) in [0, 1], read-only: probability of each candidate.
    new_prob
        P(NEW): the probability that the mention is the first of its entity.
    """

    span: Span
    spans: tuple[Span, ...]
    mentions: Ints32
    probs: Floats
    new_prob: float

    def __repr__(self) -> str:
        likeliest = [f"{shown(span.text)}: {prob:.3f}" for span, prob in zip(self.spans[:3], self.probs, strict=False)]
        more = [f"{len(self.spans) - 3} more"] if len(self.spans) > 3 else []
        candidates = ", ".join([f"NEW: {self.new_prob:.3f}", *likeliest, *more])
        return f"SpanAntecedents({shown(self.span.text)}, {candidates})"

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per candidate: mention, start, end (tokens of the Doc), text, probability; no NEW."""
        return pd.DataFrame({"mention": self.mentions, **_span_columns(self.spans), "probability": self.probs})


def _span_columns(spans: Sequence[Span]) -> dict[str, Any]:
    """Columns of a table of spans: start, end (tokens of the Doc) and text."""
    return {
        "start": np.array([span.start for span in spans], np.int64),
        "end": np.array([span.end for span in spans], np.int64),
        "text": [span.text for span in spans],
    }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocPosterior(HtmlTable):
    """The posterior over the entity clusterings of one scored Doc.

    Where a method takes a mention, it is a span of this Doc, in offsets of its tokens (whitespace at its ends is
    ignored), or the number of a mention. If several mentions have the same span, the span means the first of them.

    Where a method takes a clustering, it is "map", a loss of `corefsample.summaries.point_estimate` such as "binder"
    (the clustering with the smallest expected loss), the number of a sample, or an array of n_mentions integers, equal
    for the mentions of one entity.

    Attributes
    ----------
    doc
        The Doc, as the component left it.
    """

    doc: Doc
    _content: Content

    def __repr__(self) -> str:
        return (
            f"DocPosterior(doc_id={self.doc_id!r}, n_mentions={self.n_mentions}, "
            f"n_samples={self.n_samples}, seed={self.seed})"
        )

    # --- what was scored -----------------------------------------------------------------------------------

    @property
    def doc_id(self) -> str:
        """Identifier on which, with the seed, samples depend: ``doc.user_data["doc_id"]``, or a digest of the text."""
        return self._content.state.doc_id

    @property
    def seed(self) -> int:
        """Seed of the samples."""
        return self._content.state.seed

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self._content.state.n_samples

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return self.distribution.n_mentions

    @property
    def distribution(self) -> cs.AntecedentDistribution:
        """Distribution over the antecedents of the mentions."""
        return self._content.distribution

    @property
    def mentions(self) -> tuple[Span, ...]:
        """All mentions, by start, then longest first."""
        offsets = self._content.offsets.tolist()
        rows = self._content.mentions[:, :2].tolist()
        return tuple(self.doc[offsets[start] : offsets[end - 1] + 1] for start, end in rows)

    def number(self, mention: Span | int) -> int:
        """Index of a mention in `mentions`.

        Raises
        ------
        ParameterError
            If `mention` is not a mention of this Doc.
        """
        from spacy.tokens import Span

        if isinstance(mention, numbers.Integral) and not isinstance(mention, bool):
            number = _checks.whole("mention", mention, 0)
            _checks.at_most("mention", number, self.n_mentions - 1)
            return number
        if not isinstance(mention, Span):
            raise ParameterError(f"must be a span or a number, got {type(mention).__name__}", parameter="mention")
        other = f"one of another: {shown(mention.text)}"
        _checks.require("mention", mention.doc is self.doc, "must be a span of this Doc", other)
        span = np.searchsorted(self._content.offsets, (mention.start, mention.end))
        equal = np.flatnonzero((self._content.mentions[:, :2] == span).all(axis=1))
        tokens = f"tokens [{mention.start}, {mention.end}]: {shown(mention.text)}"
        _checks.require("mention", equal.size, "must be one of those scored", tokens)
        return int(equal[0])

    def scored_document(
        self,
        *,
        doc_id: str | None = None,
        date: datetime.date | None = None,
        gold: Sequence[int | str | None] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> cs.ScoredDocument:
        """Make the document that the rest of the library reads: writers, events, calibration.

        Parameters
        ----------
        doc_id
            Id of the document. By default, the `doc_id` of this posterior.
        date, gold, metadata
            Date, annotated entities of the mentions, and metadata of the document: see `ScoredDocument`. By default,
            the document has none. Recalibrations of the scores are added to the metadata.
        """
        from corefsample.documents._scored import RECALIBRATION_FIELD

        applied = self._content.state.recalibration
        metadata = {**({RECALIBRATION_FIELD: applied} if applied else {}), **(metadata or {})}
        name = self.doc_id if doc_id is None else doc_id
        fields = self._content.mentions, self.distribution, date, tokens_of_doc(self.doc), gold, metadata
        return cs.ScoredDocument(name, *fields)

    # --- exact ---------------------------------------------------------------------------------------------

    @property
    def link_marginals(self) -> Floats:
        """P(two mentions belong to one entity), exact: float64 (n_mentions, n_mentions), read-only."""
        return self._content.marginals

    def link_probability(self, a: Span | int, b: Span | int) -> float:
        """P(two mentions belong to one entity), exact.

        Raises
        ------
        ParameterError
            If `a` or `b` is not a mention of this Doc.
        """
        return float(self.link_marginals[self.number(a), self.number(b)])

    def antecedents(self, mention: Span | int) -> SpanAntecedents:
        """List a mention's candidate antecedents with their probabilities, and that of NEW.

        Raises
        ------
        ParameterError
            If `mention` is not a mention of this Doc.
        """
        i, spans = self.number(mention), self.mentions
        candidates, probs = self._likeliest_first(i)
        candidate_spans = tuple(spans[k] for k in candidates.tolist())
        return SpanAntecedents(spans[i], candidate_spans, candidates, probs, float(self.distribution.new_probs[i]))

    def _likeliest_first(self, i: int) -> tuple[Ints32, Floats]:
        """Candidate antecedents of a mention and their probabilities; the nearest first among equal ones."""
        candidates, probs = self.distribution.row(i)
        order = np.lexsort((-candidates, -probs))
        return candidates[order], probs[order]

    # --- clusterings ---------------------------------------------------------------------------------------

    @property
    def samples(self) -> ClusteringSamples:
        """The clusterings drawn: those of `sample_clusterings` with this distribution, seed and doc_id.

        If the uncertainty of the recalibration is known, each sample has a draw of it, as in counts of events.
        """
        return self._content.samples

    def labels(self, clustering: np.typing.ArrayLike | ClusteringName = "map") -> Ints32:
        """Label the entities of a clustering.

        Returns
        -------
        array of shape (n_mentions,), int32, read-only
            The first mention of each mention's entity.

        Raises
        ------
        ParameterError
            If there is no such sample, or the number of labels is not that of mentions.
        """
        if isinstance(clustering, str):
            _checks.choice("clustering", clustering, CLUSTERING_NAMES)
            content = self._content
            return content.map_labels if clustering == "map" else content.estimate(cast("Loss", clustering))
        if isinstance(clustering, numbers.Integral) and not isinstance(clustering, bool):
            sample, rule = int(clustering), f"must be a sample from 0 to below {self.n_samples}"
            _checks.require("clustering", 0 <= sample < self.n_samples, rule, sample)
            labels: Ints32 = self.samples.labels[sample]
            return labels
        from corefsample.coreference._clusterings import canonical_labels

        labels = canonical_labels(clustering, name="clustering", n_mentions=self.n_mentions)
        labels.flags.writeable = False
        return labels

    def entity_names(self, clustering: np.typing.ArrayLike | ClusteringName = "map") -> tuple[str, ...]:
        """Name the entities of a clustering so that a name means the same entity in all clusterings of this Doc.

        The entities of "map" are E1, E2, ... by first mention. An entity of another clustering gets the name of the
        entity of "map" with which it shares most mentions. Each name is used once; the largest overlap is served first,
        the earlier one among equal overlaps. An entity without such a name is named by its first mention: M12 begins
        at mention 12.

        Returns
        -------
        tuple of str
            The name of each mention's entity.

        Raises
        ------
        ParameterError
            As `labels`.
        """
        labels = self.labels(clustering).tolist()
        overlaps = Counter(zip(self._content.map_labels.tolist(), labels, strict=True))
        unused_numbers = {first: n for n, first in enumerate(sorted({first for first, _ in overlaps}), start=1)}
        names: dict[int, str] = {}
        # The largest overlap first; among equal ones the earlier entity of "map", then of the other clustering.
        for map_entity, entity in sorted(overlaps, key=lambda pair: (-overlaps[pair], pair)):
            if map_entity in unused_numbers and entity not in names:
                names[entity] = f"E{unused_numbers.pop(map_entity)}"
        return tuple(names.get(first, f"M{first}") for first in labels)

    def clusters(
        self, clustering: np.typing.ArrayLike | ClusteringName = "map", *, min_size: int = 1
    ) -> tuple[tuple[Span, ...], ...]:
        """Entities of a clustering by first mention, each with its mentions in order.

        Parameters
        ----------
        min_size
            Entities of fewer mentions are left out.
        """
        _checks.whole("min_size", min_size, 1)
        members: dict[int, list[Span]] = {}
        for span, label in zip(self.mentions, self.labels(clustering).tolist(), strict=True):
            members.setdefault(label, []).append(span)
        return tuple(tuple(spans) for spans in members.values() if len(spans) >= min_size)

    def join_probability(
        self, mention: Span | int, cluster: Iterable[Span | int], *, members: Members = "any"
    ) -> JoinProbability:
        """P(a mention joins a cluster).

        Parameters
        ----------
        mention
            The mention that joins.
        cluster
            Mentions, such as a SpanGroup's; the mention that joins is not counted among them.
        members
            "any": the mention's entity contains at least one of them. "all": it contains all of them. "together": it
            contains all of them, given that they are one entity.

        Returns
        -------
        JoinProbability
            The exact link marginal if the cluster is one mention. Otherwise a share of the samples: of all, or for
            "together" of those in which the cluster is one entity.

        Raises
        ------
        ParameterError
            If there is no other mention in the cluster, or for "together" no sample has it in one entity.
        """
        _checks.choice("members", members, MEMBERS)
        i = self.number(mention)
        members_of_cluster = sorted({self.number(each) for each in cluster} - {i})
        _checks.require("cluster", members_of_cluster, "must have a mention other than the one that joins", "none")
        if len(members_of_cluster) == 1:
            return JoinProbability(float(self.link_marginals[i, members_of_cluster[0]]), 0.0, 0)
        labels = self.samples.labels.T
        entities = labels[members_of_cluster]
        linked = entities == labels[i]
        if members == "together":
            together = (entities == entities[0]).all(axis=0)
            rule = "must be one entity in at least one sample"
            _checks.require("cluster", together.any(), rule, f"none of {self.n_samples} samples")
            hits = linked[0, together]
        else:
            hits = linked.any(axis=0) if members == "any" else linked.all(axis=0)
        mc_se = float(monte_carlo_errors(hits.sum(), len(hits)))
        return JoinProbability(float(hits.mean()), mc_se, len(hits))

    # --- spans ---------------------------------------------------------------------------------------------

    def add_clustering(self, clustering: np.typing.ArrayLike | ClusteringName = "map", *, key: str) -> SpanGroup:
        """Write a clustering as one group of spans, ``doc.spans[key]``.

        The group has all mentions, in order; the label of each is its entity's name, as `entity_names` gives it.
        """
        require_text("key", key)
        return self._write_group(key, self._labelled_spans(clustering), clustering)

    def add_clusters(
        self, clustering: np.typing.ArrayLike | ClusteringName = "map", *, prefix: str, min_size: int = 2
    ) -> tuple[SpanGroup, ...]:
        """Write each entity as a group of spans: ``doc.spans[f"{prefix}_1"]`` and so on, by first mention.

        The attribute "entity" of a group is the entity's name, as `entity_names` gives it.

        Parameters
        ----------
        min_size
            Entities of fewer mentions are left out.
        """
        require_text("prefix", prefix)
        _checks.whole("min_size", min_size, 1)
        members: dict[str, list[Span]] = {}
        for span in self._labelled_spans(clustering):
            members.setdefault(span.label_, []).append(span)
        entities = [(name, spans) for name, spans in members.items() if len(spans) >= min_size]
        return tuple(
            self._write_group(f"{prefix}_{number}", spans, clustering, entity=name)
            for number, (name, spans) in enumerate(entities, start=1)
        )

    def _labelled_spans(self, clustering: Any) -> list[Span]:
        """Copies of the mentions, labelled with the names of their entities."""
        from spacy.tokens import Span

        named = zip(self.mentions, self.entity_names(clustering), strict=True)
        return [Span(self.doc, span.start, span.end, label=name) for span, name in named]

    def _write_group(self, key: str, spans: list[Span], clustering: Any, **attributes: Any) -> SpanGroup:
        """Write spans as a group, whose attribute "clustering" is a name or a sample's number; absent for an array."""
        from spacy.tokens import SpanGroup

        attrs: dict[str, Any] = {}
        if isinstance(clustering, str) or np.ndim(clustering) == 0:
            attrs["clustering"] = clustering if isinstance(clustering, str) else int(clustering)
        self.doc.spans[key] = SpanGroup(self.doc, name=key, spans=spans, attrs=attrs | attributes)
        group: SpanGroup = self.doc.spans[key]
        return group

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention.

        mention, start, end (tokens of the Doc), text, new_prob, antecedent (the likeliest candidate, <NA> if there is
        none), antecedent_prob, map_entity (the first mention of its entity in the clustering "map").
        """
        rows = [self._likeliest_first(i) for i in range(self.n_mentions)]
        return pd.DataFrame(
            {
                "mention": np.arange(self.n_mentions),
                **_span_columns(self.mentions),
                "new_prob": self.distribution.new_probs,
                "antecedent": pd.array([int(mentions[0]) if mentions.size else None for mentions, _ in rows], "Int64"),
                "antecedent_prob": np.array([probs[0] if probs.size else 0.0 for _, probs in rows], np.float64),
                "map_entity": self._content.map_labels,
            }
        )


def posterior_of(doc: Doc) -> DocPosterior:
    """Posterior of a scored Doc; the same as ``doc._.coref``.

    Raises
    ------
    ParameterError
        If the Doc was not scored, or its words have changed since.
    """
    return DocPosterior(doc, content_of(doc))
