"""Recalibration while counting: clusterings under draws of an uncertain recalibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from corefsample._arrays import Bytes, Ints32
from corefsample.coreference import AntecedentDistribution, map_clustering, sample_clusterings
from corefsample.documents import Tokens
from corefsample.mention_ranking.features import mention_kinds
from corefsample.recalibration import (
    Recalibration,
    SampleShare,
    UncertainRecalibration,
    Uncertainty,
    applied_to,
    mixture_labels,
)

N_DRAWS = 50  # of a recalibration; more samples than draws share each of them


@dataclass(frozen=True, slots=True, eq=False)
class CountedRecalibration:
    """What documents are recalibrated with while they are counted.

    Attributes
    ----------
    recalibration
        The fit, for the likeliest antecedents.
    draws
        Recalibrations of the samples, in order: see `mixture_labels`.
    uncertainty
        "none", "fit" or "domain".
    source
        Where they come from.
    """

    recalibration: Recalibration
    draws: tuple[Recalibration, ...]
    uncertainty: Uncertainty
    source: UncertainRecalibration

    @classmethod
    def of(cls, uncertain: UncertainRecalibration, uncertainty: Uncertainty | None, seed: int) -> Self:
        """Draw from a recalibration; by default with all the uncertainty that it has."""
        chosen = uncertain.widest if uncertainty is None else uncertainty
        return cls(uncertain.recalibration, uncertain.sampled(chosen, N_DRAWS, seed=seed), chosen, uncertain)

    def for_scores(self, metadata: Mapping[str, Any]) -> CountedRecalibration:
        """What one document is recalibrated with, according to the recalibrations that its metadata name.

        Scores that had this recalibration already get its uncertainty alone: each draw replaces the fit.

        Raises
        ------
        ParameterError
            If the scores had others than those to which it was fitted.
        """
        if not self.source.is_in(applied_to(metadata)):
            return self
        return _without_fit(self)

    def kinds(self, tokens: Tokens, mentions: Ints32) -> Bytes | None:
        """Kinds of mentions, if a draw needs them."""
        needed = any(each.offsets is not None for each in (self.recalibration, *self.draws))
        return mention_kinds(tokens, mentions) if needed else None


@lru_cache(maxsize=8)
def _without_fit(recalibrated: CountedRecalibration) -> CountedRecalibration:
    """The same for scores that had the fit already."""
    fit = recalibrated.recalibration
    draws = tuple(draw.relative_to(fit) for draw in recalibrated.draws)
    return CountedRecalibration(Recalibration(), draws, recalibrated.uncertainty, recalibrated.source)


def clustering_labels(
    antecedents: AntecedentDistribution,
    recalibrated: CountedRecalibration | None,
    kinds: Bytes | None,
    *,
    n_samples: int,
    seed: int,
    doc_id: str,
    first_sample: int = 0,
    share: SampleShare | None = None,
) -> tuple[Ints32, Ints32]:
    """Sampled clusterings, and the one of the likeliest antecedents: int32 (n_mentions, n_samples) and (n_mentions,).

    Parameters
    ----------
    antecedents
        Of the document's first mentions.
    recalibrated, kinds
        The recalibration and the kinds of all mentions, or None to leave the scores as they are.
    n_samples, seed, doc_id, first_sample
        As for `corefsample.coreference.sample_clusterings`.
    share
        Which of the document's samples these are; None: all of them.
    """
    if recalibrated is None:
        samples = sample_clusterings(
            antecedents, n_samples=n_samples, seed=seed, doc_id=doc_id, first_sample=first_sample
        )
        return samples.labels.T, map_clustering(antecedents)
    own = None if kinds is None else kinds[: antecedents.n_mentions]
    labels = mixture_labels(
        recalibrated.draws,
        antecedents,
        own,
        n_samples=n_samples,
        seed=seed,
        doc_id=doc_id,
        first_sample=first_sample,
        share=share,
    )
    return labels, map_clustering(recalibrated.recalibration.apply(antecedents, own))
