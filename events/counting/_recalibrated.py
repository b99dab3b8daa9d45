"""Recalibration while counting: clusterings under draws of an uncertain recalibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from corefsample._arrays import Bytes, Ints32
from corefsample._log import logger
from corefsample.coreference import AntecedentDistribution, map_clustering, sample_clusterings
from corefsample.documents import Tokens
from corefsample.errors import ParameterError, ParameterHint
from corefsample.mention_ranking.features import mention_kinds
from corefsample.recalibration import (
    Recalibration,
    SampleShare,
    UncertainRecalibration,
    Uncertainty,
    applied_to,
    described,
    known_recalibration,
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
        return mention_kinds(tokens, mentions) if self.needs_kinds else None

    @property
    def needs_kinds(self) -> bool:
        """Whether a draw has offsets by kind of mention."""
        return any(each.offsets is not None for each in (self.recalibration, *self.draws))


@lru_cache(maxsize=8)
def _without_fit(recalibrated: CountedRecalibration) -> CountedRecalibration:
    """The same for scores that had the fit already."""
    fit = recalibrated.recalibration
    draws = tuple(draw.relative_to(fit) for draw in recalibrated.draws)
    return CountedRecalibration(Recalibration(), draws, recalibrated.uncertainty, recalibrated.source)


class CorpusRecalibration:
    """What the documents of a corpus are recalibrated with while they are counted.

    Without a recalibration, scores that had the one of the English model of the package get its uncertainty. The first
    document decides; other documents must be like it, because the uncertainty of a count is that of all its documents.

    Parameters
    ----------
    given
        A recalibration to apply, or None.
    uncertainty
        Of this recalibration, or of the one that the scores had; None: all that it has.
    seed
        Of the draws.
    as_scored
        Whether the scores stay as they are, without any uncertainty.

    Raises
    ------
    ParameterError
        If the recalibration lacks the uncertainty.
    """

    def __init__(
        self,
        given: UncertainRecalibration | None = None,
        uncertainty: Uncertainty | None = None,
        seed: int = 0,
        *,
        as_scored: bool = False,
    ) -> None:
        self._chosen, self._seed = uncertainty, seed
        self._given = None if given is None else CountedRecalibration.of(given, uncertainty, seed)
        self._by_scores = given is None and not as_scored and uncertainty != "none"
        self._first: str | None = None  # what the scores of the first document had
        self._known: CountedRecalibration | None = None

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Uncertainty in the counts of the documents so far; None: that of a recalibration was not considered."""
        counted = self._given or self._known
        return self._chosen if counted is None else counted.uncertainty

    @property
    def first(self) -> str:
        """Recalibrations that the scores of the first document had, if they decided; "" otherwise."""
        return self._first or ""

    @property
    def keeps_samples(self) -> bool:
        """Whether counts need the samples, which the documents share."""
        return self._given is not None or self._known is not None

    @property
    def takes_all(self) -> bool:
        """Whether it takes scores with any recalibrations: they stay as they are."""
        return self._given is None and not self._by_scores

    @property
    def takes_alike(self) -> bool:
        """Whether the scores of all documents must be like those of the first."""
        return self._by_scores

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Decide by the metadata of the first document; later calls have no effect.

        Raises
        ------
        ParameterError
            If an uncertainty was chosen, and the recalibration of the scores is not known.
        """
        if not self._by_scores or self._first is not None:
            return
        applied = applied_to(metadata)
        known = known_recalibration(applied)
        if known is not None:
            self._known = CountedRecalibration.of(known, self._chosen, self._seed)
        elif self._chosen is not None:
            rule = "needs a recalibration, or scores that had that of the English model"
            hint = "name the record of their recalibration"
            raise ParameterError(f"{rule}, got {described(applied)}", parameter="uncertainty", hint=hint)
        elif applied:
            _log_unknown(applied)
        self._first = applied

    def for_scores(self, metadata: Mapping[str, Any]) -> CountedRecalibration | None:
        """What one document is recalibrated with, or None, according to the recalibrations that its metadata name.

        Raises
        ------
        ParameterError
            If the scores had others than those to which a given recalibration was fitted; or if they had the one of
            the English model and those of the first document had not, or the reverse.
        """
        if self._given is not None:
            return self._given.for_scores(metadata)
        if not self._by_scores:
            return None
        self.begin(metadata)
        applied = applied_to(metadata)
        if (known_recalibration(applied) is None) != (self._known is None):
            raise unlike_scores(applied, self.first)
        return None if self._known is None else self._known.for_scores(metadata)


@lru_cache(maxsize=64)  # once per process, not for each partition
def _log_unknown(applied: str) -> None:
    logger("counting").info("%s, which is not the English model's: its uncertainty is not counted", described(applied))


def unlike_scores(applied: str, first: str) -> ParameterError:
    """Error for a corpus in which some scores had the recalibration of the English model, and others had not."""
    rule = "must all have had the recalibration of the English model, or none of them"
    found = f"got {described(applied)}, and at first {described(first)}"
    hint = ParameterHint("uncertainty", "none counts all as they are")
    return ParameterError(f"{rule}, {found}", parameter="scores", hint=hint)


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
