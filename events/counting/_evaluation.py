"""Events of one document: their probabilities, with Monte Carlo errors, from matches and sampled clusterings."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._monte_carlo import agreement_bound
from corefsample.coreference import AntecedentDistribution, canonical_labels
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.recalibration import SampleShare
from events.counting._kernel_inputs import Hits, KernelInputs, with_common_descriptions
from events.counting._keys import EventKey, event_key, event_name
from events.counting._recalibrated import CountedRecalibration, clustering_labels
from events.matching import MentionMatches

Predicate = Callable[[ScoredDocument, Ints32], Mapping[str, npt.ArrayLike]]


def monte_carlo_errors(n_hits: npt.ArrayLike, n_samples: int) -> Floats:
    """Monte Carlo standard error of the share n_hits / n_samples.

    If all samples agree, the usual sqrt(p (1 - p) / n) is 0. Then the value is a bound instead: the distance to the
    95% one-sided confidence limit, 1 - 0.05 ** (1 / n), about 3 / n.

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
    errors: Floats = np.where((hits == 0) | (hits == n_samples), bound, np.sqrt(share * (1.0 - share) / n_samples))
    return errors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentEvents:
    """Events of one document in each sample.

    Attributes
    ----------
    doc_id, date
        The document.
    keys
        The possible events: codes of actors, one for each role ("" for no actor), or the names of a predicate.
    hits
        uint8 (n_keys, n_samples): whether the event is true in the sample.
    one_best
        bool (n_keys,): whether it is true in the likeliest-antecedent clustering.
    matches
        Matches of the rule; None for a predicate.
    instance_hits
        int64 (n_instances, n_keys): samples in which an instance makes the event true; None for a predicate.
    description_hits
        int64 (n_descriptions,): samples in which a description belongs to an entity of an event.
    alternatives
        Of a document with several parses, the events in each parse in which one is possible; `matches` are then those
        of the first of these, and the two counts are in the alternatives.
    parse_counts
        int64 (n_parses,): samples with each parse of such a document; None for a document with one parse.
    """

    doc_id: str
    date: datetime.date
    keys: tuple[EventKey, ...]
    hits: Bytes
    one_best: Bools
    matches: MentionMatches | None = None
    instance_hits: Ints | None = None
    description_hits: Ints | None = None
    alternatives: tuple[ParseEvents, ...] = ()
    parse_counts: Ints | None = None
    _n_hits: Ints | None = field(default=None, init=False)  # a sum over all samples, made once

    def __repr__(self) -> str:
        pairs = zip(map(event_name, self.keys), self.probabilities, strict=True)
        shares = ", ".join(f"{name} {share:.3f}" for name, share in pairs if share) or "none with P > 0"
        return f"DocumentEvents({self.doc_id!r}, {self.date}, {self.n_samples:,} samples: {shares})"

    @property
    def n_samples(self) -> int:
        """Number of sampled clusterings."""
        return int(self.hits.shape[1])

    @property
    def n_hits(self) -> Ints:
        """int64 (n_keys,): samples in which each event is true."""
        counts = self._n_hits
        if counts is None:
            counts = np.count_nonzero(self.hits, axis=1).astype(np.int64, copy=False)
            counts.flags.writeable = False
            object.__setattr__(self, "_n_hits", counts)
        return counts

    @property
    def probabilities(self) -> Floats:
        """float64 (n_keys,): share of samples in which each event is true."""
        return self.n_hits / self.n_samples

    @property
    def mc_errors(self) -> Floats:
        """float64 (n_keys,): see `monte_carlo_errors`."""
        return monte_carlo_errors(self.n_hits, self.n_samples)


@dataclass(frozen=True, slots=True, eq=False)
class ParseEvents:
    """Events of a document in the samples that have one of its parses.

    Attributes
    ----------
    parse
        Index of the parse among those of the document.
    samples
        int64 (n,), ascending: the samples with this parse. Empty for a first parse of weight 0.
    events
        The events given this parse, with one sample for each of these, or with one that does not count if there are
        none.
    """

    parse: int
    samples: Ints
    events: DocumentEvents


def evaluate_matches(
    antecedents: AntecedentDistribution,
    matches: MentionMatches,
    doc_id: str,
    date: datetime.date,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    recalibrated: CountedRecalibration | None = None,
    kinds: Bytes | None = None,
) -> DocumentEvents:
    """Sample clusterings of a document and evaluate the event of a rule in each.

    An entity counts for an actor if all its described mentions are described as this actor (Nguyen & O'Connor 2015,
    section 6.1, the function f). If it is described as an inner actor and as others (the police of a country), it
    counts for the inner actor. For a role with classes only descriptions as actors of these classes are considered.

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
    recalibrated, kinds
        A recalibration whose draws share the samples, and the kinds of the document's mentions; None: the scores as
        they are.
    """
    options = {"n_samples": n_samples, "seed": seed, "recalibrated": recalibrated, "kinds": kinds}
    return evaluate_rules(antecedents, [matches], doc_id, date, **options)[0]  # type: ignore[arg-type]


def evaluate_rules(
    antecedents: AntecedentDistribution,
    matches: Sequence[MentionMatches],
    doc_id: str,
    date: datetime.date,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    first_sample: int = 0,
    recalibrated: CountedRecalibration | None = None,
    kinds: Bytes | None = None,
    share: SampleShare | None = None,
) -> list[DocumentEvents]:
    """Evaluate the events of several rules in the same samples, each as `evaluate_matches` does.

    `first_sample` is the index of the first one in the document's random stream. With a recalibration the samples are
    divided among its draws; `kinds` are the kinds of the document's mentions, and `share` says which of the document's
    samples these are, if not all.
    """
    # Later mentions are not described, fill no role, and do not change the labels of earlier ones.
    uncertain = [each for each in matches if not _is_certain(each)]
    parts = [part for each in uncertain for part in (each.described_mentions, each.instances)]
    last = max((int(part.max(initial=-1)) for part in parts), default=-1)
    relevant = antecedents.first_mentions(last + 1)
    sampled, best = clustering_labels(
        relevant,
        recalibrated,
        kinds,
        n_samples=n_samples,
        seed=seed,
        doc_id=doc_id,
        first_sample=first_sample,
        share=share,
    )
    likeliest = np.ascontiguousarray(best[:, None])
    found: dict[int, tuple[Hits, Bytes]] = {}  # by matches: in the samples, and the events of the likeliest antecedents
    for each in matches:
        if _is_certain(each):
            certain = _certain(each, n_samples)
            found[id(each)] = certain, certain.events
    for group in with_common_descriptions(uncertain):
        inputs = KernelInputs(group)
        together = zip(group, inputs.evaluated(sampled), inputs.evaluated(likeliest), strict=True)
        found |= {id(each): (hits, one_best.events) for each, hits, one_best in together}
    return [
        DocumentEvents(
            doc_id=doc_id,
            date=date,
            keys=_keys(each),
            hits=hits.events,
            one_best=one_best[:, 0].astype(np.bool_),
            matches=each,
            instance_hits=hits.instances,
            description_hits=hits.descriptions,
        )
        for each, (hits, one_best) in ((each, found[id(each)]) for each in matches)
    ]


def evaluate_clustering(matches: MentionMatches, labels: npt.ArrayLike) -> tuple[EventKey, ...]:
    """Events that are true in one clustering, such as the annotated one.

    Parameters
    ----------
    matches
        From `events.matching.match_document`.
    labels
        int (n_mentions,): mentions with the same label form an entity.

    Returns
    -------
    tuple of tuple of str
        For each event its codes of actors, one for each role; sorted.
    """
    (hits,) = KernelInputs([matches]).evaluated(canonical_labels(labels)[:, None])
    return tuple(key for key, hit in zip(_keys(matches), hits.events[:, 0], strict=True) if hit)


def _keys(matches: MentionMatches) -> tuple[EventKey, ...]:
    return tuple(product(*matches.codes_of_roles))


def _is_certain(matches: MentionMatches) -> bool:
    """Whether the event is the same in every clustering: it is possible, and no actor can fill a role."""
    return matches.possible and (not len(matches.described_mentions) or int(matches.instances.max(initial=-1)) < 0)


def _certain(matches: MentionMatches, n_samples: int) -> Hits:
    """Hits, as of `KernelInputs.evaluated`, of an event that is true without actors in every clustering."""
    n_events = math.prod(map(len, matches.codes_of_roles))
    hits = np.zeros((n_events, n_samples), np.uint8)
    instance_hits = np.zeros((len(matches.instances), n_events), np.int64)
    hits[-1] = 1  # no actor is the last code of each role
    instance_hits[:, -1] = n_samples
    return Hits(hits, instance_hits, np.zeros(len(matches.described_mentions), np.int64))


def evaluate_predicate(
    document: ScoredDocument,
    predicate: Predicate,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    recalibrated: CountedRecalibration | None = None,
    kinds: Bytes | None = None,
) -> DocumentEvents:
    """Sample clusterings of a document and evaluate a user's own predicate in each.

    Parameters
    ----------
    document
        With a date.
    predicate
        Called with the document and labels, int32 (n_samples, n_mentions); returns for each event name a bool
        array (n_samples,). It is called once more with the likeliest-antecedent clustering, labels (1, n_mentions).
    n_samples
        At least 1.
    seed
        In [0, 2**64).
    recalibrated, kinds
        As of `evaluate_rules`.

    Raises
    ------
    ParameterError
        If the document has no date, or the predicate returns anything else.
    """
    if document.date is None:
        raise ParameterError("date is required for events", place=f"doc_id {document.doc_id!r}")
    _checks.n_samples(n_samples, 1)
    sampled, best = clustering_labels(
        document.antecedents, recalibrated, kinds, n_samples=n_samples, seed=seed, doc_id=document.doc_id
    )
    by_sample = _answers(predicate, document, sampled.T)
    by_best = _answers(predicate, document, best[None, :])
    names = sorted({*by_sample, *by_best})
    hits = np.zeros((len(names), n_samples), np.uint8)
    one_best = np.zeros(len(names), np.bool_)
    for e, name in enumerate(names):
        hits[e] = by_sample.get(name, 0)
        one_best[e] = by_best.get(name, [False])[0]
    return DocumentEvents(document.doc_id, document.date, tuple(map(event_key, names)), hits, one_best)


def _answers(predicate: Predicate, document: ScoredDocument, labels: Ints32) -> dict[str, Bools]:
    returned = predicate(document, labels)
    if not isinstance(returned, Mapping):
        found = type(returned).__name__
        raise ParameterError(f"must return a mapping of names to booleans, got {found}", parameter="predicate")
    answers = {}
    for name, values in returned.items():
        array = np.asarray(values)
        if array.shape != (len(labels),) or array.dtype != np.bool_:
            rule = f"must return bool ({len(labels)},) for {name!r}"
            raise ParameterError(f"{rule}, got {array.dtype} {array.shape}", parameter="predicate")
        answers[str(name)] = array
    return answers
