"""Exact probabilities of one document's entities: link marginals by entity, their number, and a set as one entity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32, Result, pd
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import entity_count_pmf, link_marginals, map_clustering
from corefsample.documents._scored import ScoredDocument, Unannotated, gold_codes
from corefsample.summaries._expected_losses import point_estimate

EntitySource = Literal["map", "gold", "binder", "vi-bound"]
ENTITY_SOURCES: tuple[EntitySource, ...] = ("map", "gold", "binder", "vi-bound")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentLinks(Result):
    """Mentions of one document in the order of their entities, with the probability of each link.

    Arrays are read-only.

    Attributes
    ----------
    doc_id
        The document.
    source
        Entities by which the mentions are sorted: "map", "gold", "binder" or "vi-bound".
    mentions
        int32 (n_mentions,): the mentions' indices in the document, entity by entity, entities by their first mention.
    texts
        Words of each of these mentions; "mention 7" if the document has no tokens.
    entities
        int64 (n_mentions,): entity of each, ascending from 0.
    marginals
        float64 (n_mentions, n_mentions) in [0, 1]: exact probability that two of these mentions corefer.
    """

    doc_id: str
    source: EntitySource
    mentions: Ints32
    texts: tuple[str, ...]
    entities: Ints
    marginals: Floats

    @property
    def n_mentions(self) -> int:
        """Number of mentions in the table."""
        return int(self.mentions.shape[0])

    @property
    def bounds(self) -> Ints:
        """Where each entity begins, and the end of the last: int64 (n_entities + 1,)."""
        return np.searchsorted(self.entities, np.arange(int(self.entities.max(initial=-1)) + 2))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per pair of mentions.

        Columns: doc_id; first, second (indices in the document, first < second); first_text, second_text;
        first_entity, second_entity; probability.
        """
        a, b = np.triu_indices(self.n_mentions, 1)
        swapped = self.mentions[a] > self.mentions[b]
        first, second = np.where(swapped, b, a), np.where(swapped, a, b)
        texts = np.array(self.texts, object)
        return pd.DataFrame(
            {
                "doc_id": self.doc_id,
                "first": self.mentions[first],
                "second": self.mentions[second],
                "first_text": texts[first],
                "second_text": texts[second],
                "first_entity": self.entities[first],
                "second_entity": self.entities[second],
                "probability": self.marginals[first, second],
            }
        )


def document_links(
    document: ScoredDocument, *, by: EntitySource = "map", smallest: int = 1, unannotated: Unannotated = "skip"
) -> DocumentLinks:
    """List a document's mentions entity by entity, with the exact probability of each link.

    Parameters
    ----------
    document
        Document; it needs gold if `by` is "gold", and tokens if the texts of mentions should be their words.
    by
        Entities to sort by: "map" (the default), those of every mention's likeliest antecedent
        (`corefsample.map_clustering`), "gold", or "binder" or "vi-bound", the point estimates under these losses
        (`point_estimate`).
    smallest
        Mentions whose entity has fewer mentions than this, at least 1, are left out; by default none are.
    unannotated
        Treatment of mentions without a gold entity: "skip" (the default) takes their pairs as unknown; "single" treats
        each as a separate entity.

    Returns
    -------
    DocumentLinks
        Mentions that are not left out, and their links; there may be no mentions.

    Raises
    ------
    ParameterError
        If `document` is not a ScoredDocument, `by` or `unannotated` is unknown, `smallest` is below 1, or gold is
        missing and `by` is "gold".

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> spans = [[0, 1, 0], [1, 2, 1], [2, 3, 2]]
    >>> antecedents = AntecedentDistribution.from_lists([[], [], [0]], [[], [], [3.0]])
    >>> document_links(ScoredDocument("d", spans, antecedents)).mentions.tolist()
    [0, 2, 1]
    """
    require_document(document)
    _checks.choice("by", by, ENTITY_SOURCES)
    _checks.whole("smallest", smallest, 1)
    labels: np.typing.NDArray[np.integer[Any]]
    if by == "gold":
        labels = gold_codes(document, unannotated)
    elif by == "map":
        labels = map_clustering(document.antecedents)
    else:
        labels = point_estimate(document.antecedents, loss=by).labels
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    mentions = np.flatnonzero((labels >= 0) & (sizes[labels] >= smallest))
    # Labels and gold codes both ascend by first mention, so the sort puts entities in that order.
    order = mentions[np.argsort(labels[mentions], kind="stable")]
    _, entities = np.unique(labels[order], return_inverse=True)
    texts = tuple(
        f"mention {mention}" if document.tokens is None else document.mention_text(mention)
        for mention in order.tolist()
    )
    marginals = link_marginals(document.antecedents)[np.ix_(order, order)]
    return DocumentLinks(document.doc_id, by, order.astype(np.int32), texts, entities.astype(np.int64), marginals)


def require_document(value: object) -> None:
    """Raise if `value` is not a ScoredDocument (its distribution is often passed by mistake)."""
    has_distribution = isinstance(value, AntecedentDistribution)
    _checks.instance("document", value, ScoredDocument, "pass the document itself" if has_distribution else None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EntityCountDistribution(Result):
    """Posterior distribution of the number of entities in one document.

    Attributes
    ----------
    doc_id
        The document.
    pmf
        float64 (n_mentions + 1,) in [0, 1], read-only: entry c is P(c entities).
    mean, sd
        Mean and standard deviation of this distribution.
    map_count
        Number of entities by every mention's likeliest antecedent.
    gold_count
        Number of annotated entities; None without gold, or if the entity of a mention is unknown.
    """

    doc_id: str
    pmf: Floats
    mean: float
    sd: float
    map_count: int
    gold_count: int | None

    @property
    def n_mentions(self) -> int:
        """Number of mentions, which is the largest possible number of entities."""
        return int(self.pmf.shape[0]) - 1

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per number of entities: doc_id, n_entities, probability."""
        return pd.DataFrame({"doc_id": self.doc_id, "n_entities": np.arange(self.pmf.size), "probability": self.pmf})


def entity_count_posterior(document: ScoredDocument, *, unannotated: Unannotated = "skip") -> EntityCountDistribution:
    """Distribution of the number of entities in a document, exactly, and the counts in the MAP clustering and in gold.

    An entity is counted by its first mention, so the number is a sum of independent Bernoulli(P(a_i = NEW)).

    Parameters
    ----------
    document
        Document; the gold count needs its gold.
    unannotated
        Treatment of a mention without a gold entity: "skip" (the default) treats its entity as unknown,
        without a gold count; "single" treats it as an entity of its own.

    Raises
    ------
    ParameterError
        If `document` is not a ScoredDocument, or `unannotated` is neither "skip" nor "single".

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    >>> posterior = entity_count_posterior(ScoredDocument("d", [[0, 1, 0], [1, 2, 1]], antecedents))
    >>> posterior.pmf.tolist(), posterior.mean, posterior.map_count
    ([0.0, 0.5, 0.5], 1.5, 2)
    """
    require_document(document)
    new = document.antecedents.new_probs
    gold_count = None
    if document.gold is not None:
        codes = gold_codes(document, unannotated)
        gold_count = None if (codes < 0).any() else len(np.unique(codes))
    return EntityCountDistribution(
        doc_id=document.doc_id,
        pmf=entity_count_pmf(document.antecedents),
        mean=float(new.sum()),
        sd=float(np.sqrt((new * (1.0 - new)).sum())),
        map_count=len(np.unique(map_clustering(document.antecedents))),
        gold_count=gold_count,
    )


def cluster_probability(antecedents: AntecedentDistribution, mentions: Iterable[int]) -> float:
    """Probability that a set of mentions is one entity to which no other mention belongs, exactly.

    The set is one entity if its first mention is NEW, each other one links into it, and no mention outside does: a
    product over the mentions of the document.

    Parameters
    ----------
    antecedents
        Distribution over the antecedents of one document.
    mentions
        Mentions of the set, at least one, without repetition.

    Raises
    ------
    ParameterError
        If the set is empty, or contains a mention twice or one that the document does not have.

    Examples
    --------
    >>> links = AntecedentDistribution.from_lists([[], [0], [1]], [[], [0.0], [0.0]])
    >>> cluster_probability(links, [0, 1])
    0.25
    """
    AntecedentDistribution.require(antecedents)
    _checks.require("mentions", isinstance(mentions, Iterable), "must be a list of mentions", mentions)
    indices = [*mentions]
    members = np.sort(_checks.integers("mentions", np.asarray(indices) if indices else np.empty(0, np.int64)))
    n = antecedents.n_mentions
    good = len(members) and members[0] >= 0 and members[-1] < n and (np.diff(members) != 0).all()
    _checks.require("mentions", good, f"must be at least one mention from 0 to below {n}, each once", indices)
    inside = np.zeros(n, bool)
    inside[members] = True
    owners = np.repeat(np.arange(n), np.diff(antecedents.indptr))
    into = np.bincount(owners, np.where(inside[antecedents.antecedents], antecedents.probs, 0.0), n)
    # Of candidates outside, so that a small probability is not the difference of two large ones.
    around = np.bincount(owners, np.where(inside[antecedents.antecedents], 0.0, antecedents.probs), n)
    factors = np.where(inside, into, around + antecedents.new_probs)
    factors[members[0]] = antecedents.new_probs[members[0]]
    return min(float(np.prod(factors)), 1.0)
