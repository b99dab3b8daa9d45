"""Options that the fits to documents with gold share."""

from __future__ import annotations

from dataclasses import dataclass

from corefsample import _checks
from corefsample.documents import ON_ERROR
from corefsample.links import UNANNOTATED, Unannotated
from corefsample.recalibration import MISSING
from corefsample.syntax import scheme_names
from events.queries import ROLES


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How recalibrations are fitted and judged.

    Attributes
    ----------
    n_folds
        Folds of the cross-validation behind the reported scores, from 2 to the number of documents with gold.
    n_samples
        Clusterings per document, for the queries; at least 2.
    seed
        Seed of folds, bootstrap and samples, in [0, 2**64).
    role, scheme
        As for `events.queries.match_queries`.
    unannotated, missing
        As for `corefsample.recalibration.RecalibrationFitter`.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    n_folds: int = 5
    n_samples: int = 1000
    seed: int = 0
    role: str = "subject"
    scheme: str | None = None
    unannotated: Unannotated = "skip"
    missing: str = "skip"
    on_error: str = "stop"

    def __post_init__(self) -> None:
        _checks.whole("n_folds", self.n_folds, 2)
        _checks.n_samples(self.n_samples, 2)
        _checks.seed(self.seed)
        _checks.choice("role", self.role, ROLES)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        _checks.choice("unannotated", self.unannotated, UNANNOTATED)
        _checks.choice("missing", self.missing, MISSING)
        _checks.choice("on_error", self.on_error, ON_ERROR)
