"""Which documents can be counted: their date, tokens, language, doc_id and the kind of their scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from corefsample import _checks
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.languages._language import declared_language, differ
from corefsample.posterior._posterior import CorpusRecalibration
from events.counting._rows import CountedIds

DUPLICATE = "doc_id must be unique in the corpus, got it again"
_AT_ONCE = 64  # documents that come one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Which documents can be counted together with those before them.

    Attributes
    ----------
    needs
        Fields that a document must have: "date", "tokens", "gold".
    purpose
        What these fields are required for, in messages.
    language
        Code of the language of rules and lexicon, None for any.
    recalibration
        Decides by the first document which scores the others must have; None accepts all scores.
    """

    needs: tuple[str, ...] = ("date", "tokens")
    purpose: str = "events"
    language: str | None = None
    recalibration: CorpusRecalibration | None = None

    def faults(
        self, batch: DocumentBatch, counted: CountedIds | Collection[str] | None = None, repeated: Collection[str] = ()
    ) -> dict[int, Fault]:
        """Why documents of a batch cannot be counted, by row.

        Parameters
        ----------
        batch
            Documents.
        counted
            The doc_ids before them; by default, whoever reads the documents has seen to unique ones.
        repeated
            The doc_ids that another file has: all documents with them are rejected.

        Raises
        ------
        InputError
            If the scores of all documents must be alike, and these are not: then no document is wrong, but the corpus.
        ParameterError
            If the scores are not of the kind that an uncertainty needs.
        """
        faults = self._missing(batch)
        if counted is not None:
            seen = set[str]()
            for row, doc_id in enumerate(batch.doc_ids):
                if doc_id in seen or doc_id in counted:
                    faults[row] = Fault(DUPLICATE)
                seen.add(doc_id)
        if repeated:
            again = (row for row, doc_id in enumerate(batch.doc_ids) if doc_id in repeated)
            faults |= dict.fromkeys(again, Fault(DUPLICATE))
        return self._of_metadata(batch, faults)

    def _missing(self, batch: DocumentBatch) -> dict[int, Fault]:
        faults: dict[int, Fault] = {}
        for name in self.needs:
            present = (
                batch.has_tokens
                if name == "tokens"
                else batch.table.column(name).is_valid().to_numpy(zero_copy_only=False)
            )
            verb = "are" if name == "tokens" else "is"
            for row in (~present).nonzero()[0].tolist():
                faults.setdefault(row, Fault(f"{name} {verb} required for {self.purpose}"))
        return faults

    def _of_metadata(self, batch: DocumentBatch, faults: dict[int, Fault]) -> dict[int, Fault]:
        """Add documents of another language, and those with other scores."""
        found = dict(faults)
        begun = False
        accepted: set[str | None] = set()  # metadata of many documents are the same
        for row, text in enumerate(batch.table.column("metadata").to_pylist()):
            if row in faults or text in accepted:
                continue
            fault = self._language_fault(batch, row) if text and '"lang' in text else None
            if self.recalibration is not None and not begun:
                self.recalibration.begin(batch.metadata(row))
                begun = True
            fault = fault or self._scores_fault(batch, row)
            if fault is None:
                accepted.add(text)
            else:
                found[row] = fault
        return found

    def _language_fault(self, batch: DocumentBatch, row: int) -> Fault | None:
        declared = declared_language(batch.metadata(row))
        if self.language is None or not differ(self.language, declared):
            return None
        hint = f"give rules and a lexicon of {declared}: docs/languages.md says how to write them"
        return Fault(f"language must be that of the rules and the lexicon ({self.language}), got {declared}", hint)

    def _scores_fault(self, batch: DocumentBatch, row: int) -> Fault | None:
        recalibration = self.recalibration
        if recalibration is None or recalibration.takes_all:
            return None
        try:
            recalibration.for_scores(batch.metadata(row))
        except ParameterError as error:
            if recalibration.takes_alike:
                raise error.as_input_error(batch.place(row)) from None
            return Fault(f"{error.parameter or ''} {error.message}".strip(), error.hint)
        return None


def require_none(batch: DocumentBatch, faults: dict[int, Fault]) -> None:
    """Raise InputError for the first of the documents that cannot be counted, if there is one."""
    for row, (message, hint) in sorted(faults.items()):
        raise InputError(message, place=batch.place(row), hint=hint)


def require_document(document: object) -> ScoredDocument:
    """Return a document, or raise ParameterError for anything else."""
    if not isinstance(document, ScoredDocument):
        raise ParameterError(f"must be a ScoredDocument, got {_checks.shown(document)}", parameter="document")
    return document


def batches_of(documents: Iterable[ScoredDocument] | Iterable[DocumentBatch]) -> Iterator[DocumentBatch]:
    """Documents in batches; an error of the iterable comes after the documents before it."""
    waiting: list[ScoredDocument] = []
    batch: DocumentBatch | None = None
    error: Exception | None = None
    iterator = iter(documents)
    while error is None:
        try:
            item = next(iterator)
            batch = item if isinstance(item, DocumentBatch) else None
            waiting += [] if isinstance(item, DocumentBatch) else [require_document(item)]
        except Exception as raised:  # the end of the iterable is one, too
            error, batch = raised, None
        if waiting and (error is not None or batch is not None or len(waiting) == _AT_ONCE):
            yield DocumentBatch.of(waiting)
            waiting = []
        if batch is not None:
            yield batch
    if not isinstance(error, StopIteration):
        raise error
