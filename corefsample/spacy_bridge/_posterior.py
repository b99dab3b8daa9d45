"""What doc._.coref gives: the posterior of a scored Doc, asked for by spans."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._questions import clustering_labels, entity_names, mention_number
from corefsample.spacy_bridge._results import (
    MEMBERS,
    JoinProbability,
    Members,
    SpanAntecedents,
    antecedent_law,
    join_share,
    mention_table,
)
from corefsample.spacy_bridge._state import Content, content_of

if TYPE_CHECKING:
    import pandas as pd
    from spacy.tokens import Doc, Span, SpanGroup

    from corefsample.coreference import AntecedentDistribution, ClusteringSamples
    from corefsample.documents import ScoredDocument

__all__ = ["DocPosterior", "posterior_of"]

Labels = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocPosterior:
    """The posterior over the entity clusterings of one scored Doc.

    Where a method takes a mention, it is a span of this Doc, in offsets of its tokens (whitespace at its ends does not
    count), or the number of a mention. Of mentions with one span, the span means the first.

    Where a method takes a clustering, it is "map", the number of a sample, or n_mentions whole numbers, equal for the
    mentions of one entity.

    Attributes
    ----------
    doc
        The Doc, as the component left it.
    """

    doc: Doc
    _content: Content

    def __repr__(self) -> str:
        return f"DocPosterior(doc_id={self.doc_id!r}, n_mentions={self.n_mentions}, n_samples={self.n_samples})"

    # --- what was scored -----------------------------------------------------------------------------------

    @property
    def doc_id(self) -> str:
        """What samples are drawn by, besides the seed: ``doc.user_data["doc_id"]``, else a digest of the text."""
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
    def distribution(self) -> AntecedentDistribution:
        """Distribution over the antecedents of the mentions."""
        return self._content.distribution

    @property
    def mentions(self) -> tuple[Span, ...]:
        """Every mention, by start, then longest first."""
        from corefsample.spacy_bridge.documents import spans_of_mentions

        return tuple(spans_of_mentions(self.doc, self._content.mentions))

    def number(self, mention: Span | int) -> int:
        """Place of a mention among `mentions`.

        Raises
        ------
        ParameterError
            If it is no mention of this Doc.
        """
        return mention_number(self._content, self.doc, mention)

    def scored_document(
        self,
        *,
        doc_id: str | None = None,
        date: datetime.date | None = None,
        gold: Sequence[int | str | None] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ScoredDocument:
        """Make the document that everything else here reads: writers, events, calibration.

        Parameters
        ----------
        doc_id
            None: the one that samples are drawn by.
        date, gold, metadata
            As of `ScoredDocument`.
        """
        from corefsample.spacy_bridge.documents import scored_document_of_doc

        name = self.doc_id if doc_id is None else doc_id
        return scored_document_of_doc(
            self.doc, self._content.mentions, self.distribution, doc_id=name, date=date, gold=gold, metadata=metadata
        )

    # --- exact ---------------------------------------------------------------------------------------------

    @property
    def link_marginals(self) -> npt.NDArray[np.float64]:
        """P(two mentions belong to one entity), exact: float64 (n_mentions, n_mentions), read-only."""
        return self._content.marginals

    def link_probability(self, a: Span | int, b: Span | int) -> float:
        """P(two mentions belong to one entity), exact.

        Raises
        ------
        ParameterError
            If one is no mention of this Doc.
        """
        return float(self.link_marginals[self.number(a), self.number(b)])

    def antecedents(self, mention: Span | int) -> SpanAntecedents:
        """List a mention's candidate antecedents with their probabilities, and that of NEW.

        Raises
        ------
        ParameterError
            If it is no mention of this Doc.
        """
        return antecedent_law(self.distribution, self.number(mention), self.mentions)

    # --- clusterings ---------------------------------------------------------------------------------------

    @property
    def samples(self) -> ClusteringSamples:
        """The clusterings drawn: those of `sample_clusterings` with this distribution, seed and doc_id."""
        return self._content.samples

    def labels(self, clustering: npt.ArrayLike | Literal["map"] = "map") -> Labels:
        """Label the entities of a clustering.

        Returns
        -------
        array of shape (n_mentions,), int32, read-only
            The first mention of each mention's entity.

        Raises
        ------
        ParameterError
            If there is no such sample, or the labels are not as many as the mentions.
        """
        return clustering_labels(self._content, clustering)

    def entity_names(self, clustering: npt.ArrayLike | Literal["map"] = "map") -> tuple[str, ...]:
        """Name the entities of a clustering, so that one name means the same entity in all clusterings of this Doc.

        The entities of "map" are E1, E2, ... by first mention. An entity of another clustering has the name of the
        entity of "map" with which it shares most mentions; each name goes to one entity, the largest overlap first, of
        equal ones the earlier. An entity that is left without is named by its first mention: M12 begins at mention 12.

        Returns
        -------
        tuple of str
            The name of each mention's entity.

        Raises
        ------
        ParameterError
            As `labels`.
        """
        return tuple(entity_names(self._content.map_labels, self.labels(clustering)))

    def clusters(
        self, clustering: npt.ArrayLike | Literal["map"] = "map", *, min_size: int = 1
    ) -> tuple[tuple[Span, ...], ...]:
        """Entities of a clustering, each with its mentions in order, by first mention.

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
            The one that joins.
        cluster
            Mentions, such as a SpanGroup's; the one that joins does not count among them.
        members
            "any": the mention's entity holds at least one of them. "all": it holds every one of them. "together": it
            holds every one of them, given that they are of one entity.

        Returns
        -------
        JoinProbability
            Exact, the link marginal, where one mention is given. Else a share of the samples: of all, or by "together"
            of those that have the cluster in one entity.

        Raises
        ------
        ParameterError
            If there is no other mention in the cluster, or by "together" no sample has it in one entity.
        """
        _checks.choice("members", members, MEMBERS)
        i = self.number(mention)
        others = sorted({self.number(each) for each in cluster} - {i})
        if not others:
            raise ParameterError("cluster must have a mention other than the one that joins, got none")
        if len(others) == 1:
            return JoinProbability(float(self.link_marginals[i, others[0]]), 0.0, 0)
        return join_share(self.samples.labels.T, i, others, members)

    # --- spans ---------------------------------------------------------------------------------------------

    def add_clustering(self, clustering: npt.ArrayLike | Literal["map"] = "map", *, key: str) -> SpanGroup:
        """Write a clustering as one group of spans, ``doc.spans[key]``.

        The group has every mention, in order; its label is its entity, as `entity_names` has it.
        """
        from corefsample.spacy_bridge._groups import add_clustering

        return add_clustering(self, clustering, key)

    def add_clusters(
        self, clustering: npt.ArrayLike | Literal["map"] = "map", *, prefix: str, min_size: int = 2
    ) -> tuple[SpanGroup, ...]:
        """Write a clustering as a group of spans an entity: ``doc.spans[f"{prefix}_1"]`` and on, by first mention.

        Their attribute "entity" is the entity's name, as `entity_names` has it.

        Parameters
        ----------
        min_size
            Entities of fewer mentions are left out.
        """
        from corefsample.spacy_bridge._groups import add_clusters

        return add_clusters(self, clustering, prefix, min_size)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a mention.

        mention, start, end (tokens of the Doc), text, new_prob, antecedent (the likeliest candidate, <NA> where there
        is none), antecedent_prob, map_entity (the first mention of its entity in the clustering "map").
        """
        spans = self.mentions
        return mention_table(
            spans, [antecedent_law(self.distribution, i, spans) for i in range(len(spans))], self.labels("map")
        )


def posterior_of(doc: Doc) -> DocPosterior:
    """Posterior of a scored Doc; the same as ``doc._.coref``.

    Raises
    ------
    ParameterError
        If the Doc was not scored, or its words are not those that were.
    """
    return DocPosterior(doc, content_of(doc))
