"""Options that the fits to documents with gold share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corefsample import _checks
from corefsample.documents import ON_ERROR, ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.links import UNANNOTATED, Unannotated
from corefsample.recalibration import DOMAIN_FIELD, FORMS, MISSING, Form
from corefsample.syntax import scheme_names
from events.queries import ROLES

_FEWEST_DOMAINS = 3


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
    form, unannotated, missing
        As for `corefsample.recalibration.RecalibrationFitter`.
    domains
        Field of the documents that names their domain, such as genre, for the form "kinds"; None: "genre" where every
        document with gold has it.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    n_folds: int = 5
    n_samples: int = 1000
    seed: int = 0
    role: str = "subject"
    scheme: str | None = None
    form: Form = "global"
    domains: str | None = None
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
        _checks.choice("form", self.form, FORMS)
        if self.domains is not None and self.form != "kinds":
            raise ParameterError(f"are for the form 'kinds', got {self.form!r}", parameter="domains")
        _checks.choice("unannotated", self.unannotated, UNANNOTATED)
        _checks.choice("missing", self.missing, MISSING)
        _checks.choice("on_error", self.on_error, ON_ERROR)

    def domains_of(self, documents: Sequence[ScoredDocument], place: str) -> dict[str, str] | None:
        """Domain of each document by doc_id, or None where they are not known or not used.

        Raises
        ------
        InputError
            If a field was asked for that a document lacks.
        """
        if self.form != "kinds":
            return None
        field = self.domains or DOMAIN_FIELD
        found = {each.doc_id: str(each.metadata[field]) for each in documents if field in each.metadata}
        missing = [each.doc_id for each in documents if each.doc_id not in found]
        if missing and self.domains is not None:
            rule = f"documents with gold must have the field {field} (domains)"
            raise InputError(f"{rule}, got none for doc_id {missing[0]!r}", place=place)
        return None if missing or len(set(found.values())) < _FEWEST_DOMAINS else found
