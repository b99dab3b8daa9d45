"""The posterior of a scored Doc, ``doc._.coref``, in terms of its spans, from any scores."""

from __future__ import annotations

import datetime
import hashlib
import numbers
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

import corefsample as cs
from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints32, pd
from corefsample._random import share_error
from corefsample.errors import ParameterError, shown
from corefsample.spacy_bridge._state import Content, content_of, store
from corefsample.spacy_bridge.documents import mention_rows, spans_of_mentions, tokens_of_doc, word_offsets

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, SpanGroup

    from corefsample.coreference._clusterings import ClusteringSamples
    from corefsample.summaries._expected_losses import Loss

ClusteringName = Literal["map", "binder", "vi", "vi-bound", "b3", "lea", "conll"]

CLUSTERING_NAMES: tuple[ClusteringName, ...] = get_args(ClusteringName)


def component_groups(spans_key: str) -> re.Pattern[str]:
    """Names of the groups of spans that the component writes, and replaces when it scores a Doc again."""
    return re.compile(rf"{re.escape(spans_key)}_(map|clusters_\d+|sample_\d+)")


def require_text(name: str, value: object) -> None:
    """Raise if a value is not a string, or is empty."""
    if not isinstance(value, str) or not value:
        raise ParameterError(f"must be a string that is not empty, got {value!r}", parameter=name)


Members = Literal["any", "all", "together"]
MEMBERS: tuple[Members, ...] = ("any", "all", "together")


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

    def __float__(self) -> float:
        return self.probability


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpanAntecedents:
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
        return pd.DataFrame({"mention": self.mentions, **span_columns(self.spans), "probability": self.probs})


def span_columns(spans: Sequence[Span]) -> dict[str, Any]:
    """Columns of a table of spans: start, end (tokens of the Doc) and text."""
    return {
        "start": np.array([span.start for span in spans], np.int64),
        "end": np.array([span.end for span in spans], np.int64),
        "text": [span.text for span in spans],
    }


def span_antecedents(distribution: cs.AntecedentDistribution, mention: int, spans: Sequence[Span]) -> SpanAntecedents:
    """Return the distribution over one mention's antecedents; `spans` are those of all mentions."""
    candidates, probs = distribution.row(mention)
    order = np.lexsort((-candidates, -probs))
    candidates, probs = candidates[order], probs[order]
    for array in (candidates, probs):
        array.flags.writeable = False
    candidate_spans = tuple(spans[k] for k in candidates.tolist())
    return SpanAntecedents(spans[mention], candidate_spans, candidates, probs, float(distribution.new_probs[mention]))


def mention_frame(distribution: cs.AntecedentDistribution, spans: Sequence[Span], map_labels: Ints32) -> pd.DataFrame:
    """Tidy table of all mentions, as `DocPosterior.to_frame` describes."""
    rows = [span_antecedents(distribution, i, spans) for i in range(len(spans))]
    return pd.DataFrame(
        {
            "mention": np.arange(len(spans)),
            **span_columns(spans),
            "new_prob": np.array([row.new_prob for row in rows], np.float64),
            "antecedent": pd.array([int(row.mentions[0]) if row.spans else None for row in rows], "Int64"),
            "antecedent_prob": np.array([row.probs[0] if row.spans else 0.0 for row in rows], np.float64),
            "map_entity": map_labels,
        }
    )


def join_share(labels: Ints32, mention: int, cluster: list[int], members: Members) -> JoinProbability:
    """Share of the samples in which a mention joins a cluster; see `DocPosterior.join_probability`.

    Parameters
    ----------
    labels
        int32 (n_mentions, n_samples).
    """
    entities = labels[cluster]
    linked = entities == labels[mention]
    if members == "any":
        return _share(linked.any(axis=0))
    if members == "all":
        return _share(linked.all(axis=0))
    together = (entities == entities[0]).all(axis=0)
    if not together.any():
        raise ParameterError(
            f"must be one entity in at least one sample, got none of {labels.shape[1]} samples", parameter="cluster"
        )
    return _share(linked[0, together])


def _share(hits: Bools) -> JoinProbability:
    """Share of the samples that hit, with its Monte Carlo standard error."""
    n_samples = len(hits)
    share = float(np.mean(hits))
    return JoinProbability(share, share_error(share, n_samples), n_samples)


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
        return tuple(spans_of_mentions(self.doc, self._content.mentions))

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
        if mention.doc is not self.doc:
            rule = "must be a span of this Doc"
            raise ParameterError(f"{rule}, got one of another: {shown(mention.text)}", parameter="mention")
        position = self._content.number(mention)
        if position is None:
            tokens = f"tokens [{mention.start}, {mention.end}]: {shown(mention.text)}"
            raise ParameterError(f"must be one of those scored, got {tokens}", parameter="mention")
        return position

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
        return span_antecedents(self.distribution, self.number(mention), self.mentions)

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
        if isinstance(clustering, str):
            _checks.choice("clustering", clustering, CLUSTERING_NAMES)
            content = self._content
            return content.map_labels if clustering == "map" else content.estimate(cast("Loss", clustering))
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
        _checks.choice("members", members, MEMBERS)
        i = self.number(mention)
        members_of_cluster = sorted({self.number(each) for each in cluster} - {i})
        if not members_of_cluster:
            raise ParameterError("must have a mention other than the one that joins, got none", parameter="cluster")
        if len(members_of_cluster) == 1:
            return JoinProbability(float(self.link_marginals[i, members_of_cluster[0]]), 0.0, 0)
        return join_share(self.samples.labels.T, i, members_of_cluster, members)

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
        return mention_frame(self.distribution, self.mentions, self.labels("map"))


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


# --- scores computed elsewhere ----------------------------------------------------------------------------


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
    from corefsample.recalibration._model import document_kinds

    _checks.spacy_doc(doc)
    if spans_key is None and sample_groups:
        raise ParameterError(f"must be 0 where spans_key is None, got {sample_groups!r}", parameter="sample_groups")
    if spans_key is not None:
        require_text("spans_key", spans_key)
    _checks.seed(seed)
    _checks.at_most("sample_groups", _checks.whole("sample_groups", sample_groups, 0), _checks.n_samples(n_samples, 1))
    document = _document(doc, scored, mentions)
    _require_same_words(doc, document)
    drawn: dict[str, Any] = {}
    if document.tokens is not None:
        drawn["recalibrated"] = CorpusRecalibration(seed=seed).for_scores(document.metadata)
        drawn["kinds"] = document_kinds(document)
    store(doc, document, seed=seed, n_samples=n_samples, **drawn)
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
    if document.tokens is not None and list(document.tokens.text) != words:
        pairs = zip(document.tokens.text, words, strict=False)
        unlike = next((t for t, (word, doc_word) in enumerate(pairs) if word != doc_word), None)
        if unlike is None:
            rule = f"tokens must be the {len(words)} words of doc, got {len(document.tokens)}"
            raise ParameterError(rule, place=location)
        rule = f"tokens.text[{unlike}] must be the word {shown(words[unlike])} of doc"
        raise ParameterError(f"{rule}, got {shown(document.tokens.text[unlike])}", place=location)
    outside = np.flatnonzero(document.mentions[:, 1] > len(words))
    if outside.size:
        rule = f"mentions[{outside[0]}] must lie in the {len(words)} words of doc"
        raise ParameterError(f"{rule}, got {document.mentions[outside[0]].tolist()}", place=location)
