"""What the posterior of a Doc says about one mention: its antecedents, and the probability that it joins a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import corefsample as cs
from corefsample._arrays import Bools, Floats, Ints32
from corefsample._checks import shown
from corefsample._lazy import pd
from corefsample._monte_carlo import share_error
from corefsample._results import ShortRepr
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from spacy.tokens import Span

Members = Literal["any", "all", "together"]
MEMBERS: tuple[Members, ...] = ("any", "all", "together")


@dataclass(frozen=True, slots=True, repr=False)
class JoinProbability(ShortRepr):
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
