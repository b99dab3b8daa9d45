"""What the documents of a corpus are recalibrated with: draws of an uncertain recalibration, which they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from corefsample import _checks
from corefsample._log import logger
from corefsample.errors import ParameterError, ParameterHint
from corefsample.recalibration._applied import applied_to, described
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._shipped import known_recalibration
from corefsample.recalibration._uncertain import MixedRecalibrations, UncertainRecalibration, Uncertainty

_DOMAINS = 64  # whose draws are kept
N_DRAWS = 50  # of a recalibration; more samples than draws share each of them


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRecalibration:
    """A recalibration with the draws of it that the samples of a document have.

    Attributes
    ----------
    recalibration
        The fit, for the likeliest antecedents.
    draws
        Recalibrations of the samples, in order: see `corefsample.recalibration.mixture_labels`.
    mixed
        The same as arrays.
    """

    recalibration: Recalibration
    draws: tuple[Recalibration, ...]
    mixed: MixedRecalibrations = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mixed", MixedRecalibrations(self.draws))

    @property
    def needs_kinds(self) -> bool:
        """Whether a draw has offsets by kind of mention."""
        return self.recalibration.offsets is not None or self.mixed.tables is not None


@lru_cache(maxsize=_DOMAINS)
def _drawn(
    source: UncertainRecalibration, uncertainty: Uncertainty, seed: int, domain: str, had_it: bool
) -> DrawnRecalibration:
    """Draws of a recalibration for the documents of one domain, whose scores may have had the fit already."""
    fit, draws = source.recalibration, source.sampled(uncertainty, N_DRAWS, seed=seed, domain=domain)
    if not had_it:
        return DrawnRecalibration(fit, draws)
    return DrawnRecalibration(Recalibration(), tuple(draw.relative_to(fit) for draw in draws))


class CorpusRecalibration:
    """What the documents of a corpus are recalibrated with.

    Without a recalibration, scores that had the one of a model of the package get its uncertainty. The first
    document decides; other documents must be like it, because the uncertainty of a count is that of all its documents.
    Documents share the draws of the fit, and those of one domain (a field of their metadata) the shift of the domain.

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
        self._chosen, self._seed = uncertainty, _checks.seed(seed)
        self._source = given
        self._takes_alike = given is None and not as_scored and uncertainty != "none"
        self._first: str | None = None  # what the scores of the first document had, if they decide
        if given is not None:
            given.sampled(self._uncertainty_of(given), 1)

    def _uncertainty_of(self, source: UncertainRecalibration) -> Uncertainty:
        return source.widest if self._chosen is None else self._chosen

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Uncertainty in the samples of the documents so far; None: that of a recalibration was not considered."""
        return self._chosen if self._source is None else self._uncertainty_of(self._source)

    @property
    def first(self) -> str:
        """Recalibrations that the scores of the first document had, if they decided; "" otherwise."""
        return self._first or ""

    @property
    def is_shared(self) -> bool:
        """Whether the documents share draws, so that counts need the samples."""
        return self._source is not None

    @property
    def takes_alike(self) -> bool:
        """Whether the scores of all documents must be like those of the first."""
        return self._takes_alike

    @property
    def takes_all(self) -> bool:
        """Whether it takes scores with any recalibrations: they stay as they are."""
        return self._source is None and not self._takes_alike

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Decide by the metadata of the first document; later calls have no effect.

        Raises
        ------
        ParameterError
            If an uncertainty was chosen, and the recalibration of the scores is not known.
        """
        if not self._takes_alike or self._first is not None:
            return
        applied = applied_to(metadata)
        known = known_recalibration(applied)
        if known is None and self._chosen is not None:
            rule = "needs a recalibration, or scores that had that of a model of the package"
            hint = "name the record of their recalibration"
            raise ParameterError(f"{rule}, got {described(applied)}", parameter="uncertainty", hint=hint)
        if known is None and applied:
            _log_unknown(applied)
        self._source, self._first = known, applied

    def for_scores(self, metadata: Mapping[str, Any]) -> DrawnRecalibration | None:
        """What one document is recalibrated with, or None, according to its metadata.

        They name the recalibrations that its scores had, and its domain.

        Raises
        ------
        ParameterError
            If the scores had others than those to which a given recalibration was fitted; or if they had the one of
            a model of the package and those of the first document had not, or the reverse.
        """
        if self.takes_all:
            return None
        self.begin(metadata)
        applied = applied_to(metadata)
        # Scores of one model had that of annotated mentions, or that of mentions of the parse.
        source = known_recalibration(applied) if self._takes_alike else self._source
        if (source is None) != (self._source is None):
            raise unlike_scores(applied, self.first)
        if source is None:
            return None
        uncertainty = self._uncertainty_of(source)
        domain = source.domain_of(metadata) if uncertainty == "domain" else ""
        return _drawn(source, uncertainty, self._seed, domain, source.is_in(applied))


@lru_cache(maxsize=64)  # once per process, not for each partition
def _log_unknown(applied: str) -> None:
    logger("counting").info(
        "%s, which is of no model of the package: its uncertainty is not counted", described(applied)
    )


def unlike_scores(applied: str, first: str) -> ParameterError:
    """Error for a corpus in which some scores had the recalibration of a model of the package, and others had not."""
    rule = "must all have had the recalibration of a model of the package, or none of them"
    found = f"got {described(applied)}, and at first {described(first)}"
    hint = ParameterHint("uncertainty", "none counts all as they are")
    return ParameterError(f"{rule}, {found}", parameter="scores", hint=hint)
