"""Events of one document: matches and sampled clusterings in, probabilities and their Monte Carlo errors out."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._monte_carlo import agreement_bound
from corefsample.coreference import AntecedentDistribution, canonical_labels, map_clustering, sample_clusterings
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from events.counting import _kernels
from events.matching import MentionMatches

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DocumentEvents",
    "Predicate",
    "evaluate_clustering",
    "evaluate_matches",
    "evaluate_predicate",
    "monte_carlo_errors",
]

Predicate = Callable[[ScoredDocument, npt.NDArray[np.int32]], Mapping[str, npt.ArrayLike]]


def monte_carlo_errors(n_hits: npt.ArrayLike, n_samples: int) -> npt.NDArray[np.float64]:
    """Monte Carlo standard error of the share n_hits / n_samples.

    Where all samples agree the usual sqrt(p (1 - p) / n) would be 0. There the value is a bound instead: the
    distance to the 95% one-sided confidence limit, 1 - 0.05 ** (1 / n), about 3 / n.

    Parameters
    ----------
    n_hits
        int, any shape, in [0, n_samples].
    n_samples
        At least 1.
    """
    hits = np.asarray(n_hits)
    share = hits / n_samples
    bound = agreement_bound(n_samples)
    errors: npt.NDArray[np.float64] = np.where(
        (hits == 0) | (hits == n_samples), bound, np.sqrt(share * (1.0 - share) / n_samples)
    )
    return errors


@dataclass(frozen=True, slots=True, eq=False)
class DocumentEvents:
    """Which events one document holds, by sample.

    Attributes
    ----------
    doc_id, date
        The document.
    keys
        The events that some clustering could hold: country codes ("AAA>BBB" for two roles), or a predicate's own.
    hits
        uint8 (n_keys, n_samples): whether the event holds in the sample.
    one_best
        bool (n_keys,): whether it holds in the likeliest-antecedent clustering.
    matches
        What the rule saw, None for a predicate.
    instance_hits
        int64 (n_instances, n_keys): samples in which an instance makes the event; None for a predicate.
    description_hits
        int64 (n_descriptions,): samples in which a description belongs to an entity that makes an event.
    """

    doc_id: str
    date: datetime.date
    keys: tuple[str, ...]
    hits: npt.NDArray[np.uint8]
    one_best: npt.NDArray[np.bool_]
    matches: MentionMatches | None = None
    instance_hits: npt.NDArray[np.int64] | None = None
    description_hits: npt.NDArray[np.int64] | None = None

    @property
    def n_samples(self) -> int:
        """Number of sampled clusterings."""
        return int(self.hits.shape[1])

    @property
    def n_hits(self) -> npt.NDArray[np.int64]:
        """int64 (n_keys,): samples in which each event holds."""
        counts: npt.NDArray[np.int64] = self.hits.sum(axis=1, dtype=np.int64)
        return counts

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """float64 (n_keys,): share of samples in which each event holds."""
        return self.n_hits / self.n_samples

    @property
    def mc_errors(self) -> npt.NDArray[np.float64]:
        """float64 (n_keys,): see `monte_carlo_errors`."""
        return monte_carlo_errors(self.n_hits, self.n_samples)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a possible event: doc_id, date, country, probability, mc_se, n_samples, one_best."""
        import pandas as pd

        return pd.DataFrame(
            {
                "doc_id": [self.doc_id] * len(self.keys),
                "date": [self.date] * len(self.keys),
                "country": list(self.keys),
                "probability": self.probabilities,
                "mc_se": self.mc_errors,
                "n_samples": self.n_samples,
                "one_best": self.one_best,
            }
        )


def evaluate_matches(
    antecedents: AntecedentDistribution,
    matches: MentionMatches,
    doc_id: str,
    date: datetime.date,
    *,
    n_samples: int = 1000,
    seed: int = 0,
) -> DocumentEvents:
    """Sample a document's clusterings and evaluate the rule's event in each.

    An entity counts for a country if that is the only one its mentions are described as (Nguyen & O'Connor 2015,
    section 6.1, the function f).

    Parameters
    ----------
    antecedents
        Distribution over antecedents of the document.
    matches
        From `events.matching.match_document`.
    doc_id, date
        The document; doc_id and seed fix the samples.
    n_samples
        At least 1.
    seed
        In [0, 2**64).
    """
    # Mentions after the last one that matters can neither describe nor act, nor change the labels before them.
    last = max(int(part.max(initial=-1)) for part in (matches.described_mentions, matches.instances))
    relevant = antecedents.first_mentions(last + 1)
    sampled = sample_clusterings(relevant, n_samples=n_samples, seed=seed, doc_id=doc_id).labels.T
    hits, instance_hits, description_hits = _evaluated(sampled, matches)
    one_best, _, _ = _evaluated(np.ascontiguousarray(map_clustering(relevant)[:, None]), matches)
    return DocumentEvents(
        doc_id=doc_id,
        date=date,
        keys=_keys(matches),
        hits=hits,
        one_best=one_best[:, 0].astype(np.bool_),
        matches=matches,
        instance_hits=instance_hits,
        description_hits=description_hits,
    )


def evaluate_clustering(matches: MentionMatches, labels: npt.ArrayLike) -> tuple[str, ...]:
    """Events that hold in one clustering, the annotated one say.

    Parameters
    ----------
    matches
        From `events.matching.match_document`.
    labels
        int (n_mentions,): mentions with the same label form an entity.

    Returns
    -------
    tuple of str
        Country codes ("AAA>BBB" for two roles), sorted.
    """
    hits, _, _ = _evaluated(canonical_labels(labels)[:, None], matches)
    return tuple(key for key, holds in zip(_keys(matches), hits[:, 0], strict=True) if holds)


def _keys(matches: MentionMatches) -> tuple[str, ...]:
    return tuple(">".join(codes) for codes in product(matches.countries, repeat=matches.instances.shape[1]))


def _evaluated(
    labels: npt.NDArray[np.int32], matches: MentionMatches
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    n_instances, n_roles = matches.instances.shape
    n_events = len(matches.countries) ** n_roles
    hits = np.zeros((n_events, labels.shape[1]), np.uint8)
    instance_hits = np.zeros((n_instances, n_events), np.int64)
    description_hits = np.zeros(len(matches.described_mentions), np.int64)
    _kernels.evaluate(
        labels,
        matches.described_mentions,
        matches.described_countries,
        matches.instances,
        len(matches.countries),
        hits,
        instance_hits,
        description_hits,
    )
    return hits, instance_hits, description_hits


def evaluate_predicate(
    document: ScoredDocument, predicate: Predicate, *, n_samples: int = 1000, seed: int = 0
) -> DocumentEvents:
    """Sample a document's clusterings and evaluate a user's own predicate in each.

    Parameters
    ----------
    document
        With a date.
    predicate
        Called with the document and labels, int32 (n_samples, n_mentions); returns for each event name a bool
        (n_samples,). It is called once more with the likeliest-antecedent clustering, labels (1, n_mentions).
    n_samples
        At least 1.
    seed
        In [0, 2**64).

    Raises
    ------
    ParameterError
        If the document has no date, or the predicate returns something else.
    """
    if document.date is None:
        raise ParameterError(f"doc_id {document.doc_id!r}: date must be there for events, got none")
    _checks.whole("n_samples", n_samples, 1)
    samples = sample_clusterings(document.antecedents, n_samples=n_samples, seed=seed, doc_id=document.doc_id)
    by_sample = _answers(predicate, document, samples.labels)
    by_best = _answers(predicate, document, map_clustering(document.antecedents)[None, :])
    keys = tuple(sorted({*by_sample, *by_best}))
    hits = np.zeros((len(keys), n_samples), np.uint8)
    one_best = np.zeros(len(keys), np.bool_)
    for e, key in enumerate(keys):
        if key in by_sample:
            hits[e] = by_sample[key]
        if key in by_best:
            one_best[e] = by_best[key][0]
    return DocumentEvents(document.doc_id, document.date, keys, hits, one_best)


def _answers(
    predicate: Predicate, document: ScoredDocument, labels: npt.NDArray[np.int32]
) -> dict[str, npt.NDArray[np.bool_]]:
    returned = predicate(document, labels)
    if not isinstance(returned, Mapping):
        raise ParameterError(f"predicate must return a mapping of names to booleans, got {type(returned).__name__}")
    answers = {}
    for name, values in returned.items():
        array = np.asarray(values)
        if array.shape != (len(labels),) or array.dtype != np.bool_:
            raise ParameterError(
                f"predicate must return bool ({len(labels)},) for {name!r}, got {array.dtype} {array.shape}"
            )
        answers[str(name)] = array
    return answers
