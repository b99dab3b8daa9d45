"""Answers of the posterior of a Doc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from corefsample._monte_carlo import agreement_bound
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd
    from spacy.tokens import Span

    from corefsample.coreference import AntecedentDistribution

__all__ = ["MEMBERS", "JoinProbability", "Members", "SpanAntecedents", "antecedent_law", "join_share", "mention_table"]

Members = Literal["any", "all", "together"]
MEMBERS: tuple[Members, ...] = ("any", "all", "together")


@dataclass(frozen=True, slots=True)
class JoinProbability:
    """Probability that a span joins a cluster, and how sure the figure is.

    Attributes
    ----------
    probability
        In [0, 1].
    mc_se
        Monte Carlo standard error; 0 where the probability is exact. Where all samples agree it is a bound: the
        distance to the 95% one-sided confidence limit, 1 - 0.05 ** (1 / n_samples), about 3 / n_samples.
    n_samples
        Samples that it is a share of; 0 where it is exact.
    """

    probability: float
    mc_se: float
    n_samples: int

    @property
    def exact(self) -> bool:
        """Whether no sampling was needed."""
        return self.n_samples == 0

    def __float__(self) -> float:
        return self.probability


@dataclass(frozen=True, slots=True, eq=False)
class SpanAntecedents:
    """The law of one mention's antecedent, likeliest first; of equal ones the nearest first. Arrays are read-only.

    Attributes
    ----------
    span
        The mention.
    spans
        Its candidate antecedents.
    mentions
        int32 (n_candidates,): their numbers.
    probs
        float64 (n_candidates,) in [0, 1]: P(antecedent).
    new_prob
        P(NEW): that the mention is the first of its entity.
    """

    span: Span
    spans: tuple[Span, ...]
    mentions: npt.NDArray[np.int32]
    probs: npt.NDArray[np.float64]
    new_prob: float

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a candidate: mention, start, end (tokens of the Doc), text, probability; NEW is none."""
        import pandas as pd

        columns = {
            "mention": self.mentions,
            "start": np.array([span.start for span in self.spans], np.int64),
            "end": np.array([span.end for span in self.spans], np.int64),
            "text": [span.text for span in self.spans],
        }
        return pd.DataFrame({**columns, "probability": self.probs})


def antecedent_law(distribution: AntecedentDistribution, mention: int, spans: Sequence[Span]) -> SpanAntecedents:
    """Read the law of one mention's antecedent; spans are those of all mentions."""
    candidates, probs = distribution.row(mention)
    order = np.lexsort((-candidates, -probs))
    candidates, probs = candidates[order], probs[order]
    for array in (candidates, probs):
        array.flags.writeable = False
    chosen = tuple(spans[k] for k in candidates.tolist())
    return SpanAntecedents(spans[mention], chosen, candidates, probs, float(distribution.new_probs[mention]))


def join_share(labels: npt.NDArray[np.int32], mention: int, cluster: list[int], members: Members) -> JoinProbability:
    """Share of the samples in which a mention joins a cluster; see `DocPosterior.join_probability`.

    Parameters
    ----------
    labels
        int32 (n_mentions, n_samples).
    """
    inside = labels[cluster]
    linked = inside == labels[mention]
    if members == "any":
        return _share(linked.any(axis=0))
    if members == "all":
        return _share(linked.all(axis=0))
    together = (inside == inside[0]).all(axis=0)
    if not together.any():
        raise ParameterError(
            f"cluster must be of one entity in some sample to be given, got none of {labels.shape[1]} samples"
        )
    return _share(linked[0, together])


def _share(hits: npt.NDArray[np.bool_]) -> JoinProbability:
    """Share of the samples that hit, with its Monte Carlo standard error."""
    n_samples = len(hits)
    share = float(np.mean(hits))
    if share in (0.0, 1.0):
        return JoinProbability(share, agreement_bound(n_samples), n_samples)
    return JoinProbability(share, float(np.sqrt(share * (1.0 - share) / n_samples)), n_samples)


def mention_table(
    spans: Sequence[Span], laws: Sequence[SpanAntecedents], map_labels: npt.NDArray[np.int32]
) -> pd.DataFrame:
    """Put together the table of `DocPosterior.to_frame`."""
    import pandas as pd

    return pd.DataFrame(
        {
            "mention": np.arange(len(spans)),
            "start": np.array([span.start for span in spans], np.int64),
            "end": np.array([span.end for span in spans], np.int64),
            "text": [span.text for span in spans],
            "new_prob": np.array([law.new_prob for law in laws], np.float64),
            "antecedent": pd.array([int(law.mentions[0]) if len(law.mentions) else None for law in laws], "Int64"),
            "antecedent_prob": np.array([law.probs[0] if len(law.probs) else 0.0 for law in laws], np.float64),
            "map_entity": map_labels,
        }
    )
