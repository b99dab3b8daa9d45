"""Options that the fits to documents with gold share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from corefsample.errors import InputError, ParameterError
from events import _shared_options as shared
from events._options import declared, option

if TYPE_CHECKING:
    from corefsample.documents._scored import ScoredDocument

Form = Literal["global", "kinds"]
_FEWEST_DOMAINS = 3


@declared
class FitOptions(shared.Scheme, shared.Unannotated, shared.Seed, shared.OnError):
    """How recalibrations are fitted and judged.

    Attributes
    ----------
    form
        global: a temperature and a NEW bias. kinds: offsets by kind of mention and antecedent too.
    domains
        Field that names each document's kind of text, for --form kinds: the fit then knows how much kinds of
        text differ. [default: genre, where all have it]
    n_folds
        Folds of the cross-validated scores.
    n_samples
        Clusterings per document.
    missing
        Mentions without a gold antecedent among their candidates: skip them, or use the lowest candidate
        instead.
    role
        Role of the pronoun at the verb, in queries.
    seed
        Same seed, same folds, refits and samples.
    """

    form: Form = "global"
    domains: str | None = option(default=None, metavar="FIELD")
    n_folds: int = option(default=5, at_least=2)
    n_samples: int = shared.samples(1000, at_least=2)
    missing: Literal["skip", "floor"] = "skip"
    role: Literal["subject", "object", "passive_subject", "passive_agent"] = "subject"

    def _check(self) -> None:
        super()._check()
        if self.domains is not None and self.form != "kinds":
            raise ParameterError(f"are for the form 'kinds', got {self.form!r}", parameter="domains")

    def domains_of(self, documents: Sequence[ScoredDocument], place: str) -> dict[str, str] | None:
        """Domain of each document by doc_id, or None where they are not known or not used.

        Raises
        ------
        InputError
            If a field was asked for that a document lacks.
        """
        from corefsample.recalibration._uncertain import DOMAIN_FIELD

        if self.form != "kinds":
            return None
        field = self.domains or DOMAIN_FIELD
        found = {each.doc_id: str(each.metadata[field]) for each in documents if field in each.metadata}
        missing = [each.doc_id for each in documents if each.doc_id not in found]
        if missing and self.domains is not None:
            rule = f"documents with gold must have the field {field} (domains)"
            raise InputError(f"{rule}, got none for doc_id {missing[0]!r}", place=place)
        return None if missing or len(set(found.values())) < _FEWEST_DOMAINS else found
