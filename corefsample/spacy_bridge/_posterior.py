"""The posterior of a scored Doc, ``doc._.coref``, in terms of its spans: what was scored, and its clusterings."""

from __future__ import annotations

import datetime
import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

import corefsample as cs
from corefsample import _checks
from corefsample._arrays import Floats, Ints32
from corefsample._lazy import pd
from corefsample._results import HtmlTable
from corefsample.errors import ParameterError
from corefsample.spacy_bridge import _mention_results
from corefsample.spacy_bridge._mention_results import JoinProbability, Members, SpanAntecedents
from corefsample.spacy_bridge._settings import require_text
from corefsample.spacy_bridge._state import Content, content_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, SpanGroup

    from corefsample.coreference._clusterings import ClusteringSamples
    from corefsample.summaries._expected_losses import Loss


ClusteringName = Literal["map", "binder", "vi", "vi-bound", "b3", "lea", "conll"]

CLUSTERING_NAMES: tuple[ClusteringName, ...] = get_args(ClusteringName)


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
        return str(self._content.state["doc_id"])

    @property
    def seed(self) -> int:
        """Seed of the samples."""
        return int(self._content.state["seed"])

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self._content.state["n_samples"])

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
        from corefsample.spacy_bridge.documents import spans_of_mentions

        return tuple(spans_of_mentions(self.doc, self._content.mentions))

    def number(self, mention: Span | int) -> int:
        """Index of a mention in `mentions`.

        Raises
        ------
        ParameterError
            If `mention` is not a mention of this Doc.
        """
        if isinstance(mention, numbers.Integral) and not isinstance(mention, bool):
            index = int(mention)
            if not 0 <= index < self.n_mentions:
                raise ParameterError(f"must be from 0 to below {self.n_mentions}, got {index}", parameter="mention")
            return index
        span: Any = mention
        if not all(hasattr(span, name) for name in ("doc", "start", "end")):
            raise ParameterError(f"must be a span or a number, got {type(span).__name__}", parameter="mention")
        text = _checks.shown(span.text)
        if span.doc is not self.doc:
            raise ParameterError(f"must be a span of this Doc, got one of another: {text}", parameter="mention")
        number = self._content.number(span)
        if number is None:
            raise ParameterError(
                f"must be one of those scored, got tokens [{span.start}, {span.end}]: {text}", parameter="mention"
            )
        return number

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
        from corefsample.spacy_bridge.documents import scored_document_of_doc

        metadata = {**self._recalibrations, **(metadata or {})}
        name = self.doc_id if doc_id is None else doc_id
        return scored_document_of_doc(
            self.doc, self._content.mentions, self.distribution, doc_id=name, date=date, gold=gold, metadata=metadata
        )

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
        return _mention_results.span_antecedents(self.distribution, self.number(mention), self.mentions)

    @property
    def _recalibrations(self) -> dict[str, str]:
        from corefsample.documents._scored import RECALIBRATION_FIELD

        applied = self._content.state.get("recalibration", "")
        return {RECALIBRATION_FIELD: applied} if applied else {}

    # --- clusterings ---------------------------------------------------------------------------------------

    @property
    def samples(self) -> ClusteringSamples:
        """The clusterings drawn: those of `sample_clusterings` with this distribution, seed and doc_id.

        If the uncertainty of the recalibration is known, each sample has a draw of it, as in counts of events.
        """
        return self._content.samples

    def labels(self, clustering: npt.ArrayLike | ClusteringName = "map") -> Ints32:
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
        state = self._content
        if isinstance(clustering, str):
            _checks.choice("clustering", clustering, CLUSTERING_NAMES)
            return state.map_labels if clustering == "map" else state.estimate(cast("Loss", clustering))
        if isinstance(clustering, numbers.Integral) and not isinstance(clustering, bool):
            sample, rule = int(clustering), f"must be a sample from 0 to below {self.n_samples}"
            if not 0 <= sample < self.n_samples:
                raise ParameterError(f"{rule}, got {sample}", parameter="clustering")
            labels: Ints32 = self.samples.labels[sample]
            return labels
        from corefsample.coreference._clusterings import canonical_labels

        labels = canonical_labels(clustering, name="clustering", n_mentions=self.n_mentions)
        labels.flags.writeable = False
        return labels

    def entity_names(self, clustering: npt.ArrayLike | ClusteringName = "map") -> tuple[str, ...]:
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
        return names_by_overlap(self._content.map_labels, self.labels(clustering))

    def clusters(
        self, clustering: npt.ArrayLike | ClusteringName = "map", *, min_size: int = 1
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
        _checks.choice("members", members, _mention_results.MEMBERS)
        i = self.number(mention)
        members_of_cluster = sorted({self.number(each) for each in cluster} - {i})
        if not members_of_cluster:
            raise ParameterError("must have a mention other than the one that joins, got none", parameter="cluster")
        if len(members_of_cluster) == 1:
            return JoinProbability(float(self.link_marginals[i, members_of_cluster[0]]), 0.0, 0)
        return _mention_results.join_share(self.samples.labels.T, i, members_of_cluster, members)

    # --- spans ---------------------------------------------------------------------------------------------

    def add_clustering(self, clustering: npt.ArrayLike | ClusteringName = "map", *, key: str) -> SpanGroup:
        """Write a clustering as one group of spans, ``doc.spans[key]``.

        The group has all mentions, in order; the label of each is its entity's name, as `entity_names` gives it.
        """
        require_text("key", key)
        return self._write_group(key, self._labelled_spans(clustering), clustering)

    def add_clusters(
        self, clustering: npt.ArrayLike | ClusteringName = "map", *, prefix: str, min_size: int = 2
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
        return _mention_results.mention_frame(self.distribution, self.mentions, self.labels("map"))


def posterior_of(doc: Doc) -> DocPosterior:
    """Posterior of a scored Doc; the same as ``doc._.coref``.

    Raises
    ------
    ParameterError
        If the Doc was not scored, or its words have changed since.
    """
    return DocPosterior(doc, content_of(doc))


def names_by_overlap(map_labels: Ints32, labels: Ints32) -> tuple[str, ...]:
    """Name each mention's entity in one clustering after the entities of "map", as `DocPosterior.entity_names` does."""
    overlaps = Counter(zip(map_labels.tolist(), labels.tolist(), strict=True))
    unused_numbers = {first: n for n, first in enumerate(sorted({first for first, _ in overlaps}), start=1)}
    names: dict[int, str] = {}
    # The largest overlap first; among equal ones the earlier entity of "map", then of the other clustering.
    for map_entity, entity in sorted(overlaps, key=lambda pair: (-overlaps[pair], pair)):
        if map_entity in unused_numbers and entity not in names:
            names[entity] = f"E{unused_numbers.pop(map_entity)}"
    return tuple(names.get(first, f"M{first}") for first in labels.tolist())
