"""Validation of documents before counting: date, tokens, language, doc_id and the recalibration of their scores."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument, is_another_parse
from corefsample.errors import InputError, ParameterError, shown
from corefsample.languages._language import declared_language, differ
from corefsample.posterior._posterior import CorpusRecalibration

DUPLICATE = "doc_id must be unique in the corpus, got it again"
_AT_ONCE = 64  # documents that come one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Conditions that a document must meet to be counted together with the documents before it.

    Attributes
    ----------
    needs
        Names of the fields that a document must have, out of "date", "tokens" and "gold".
    purpose
        Noun that says in error messages what these fields are required for.
    language
        Code of the language of the rules and the lexicon; with None, documents of every language are accepted.
    """

    needs: tuple[str, ...] = ("date", "tokens")
    purpose: str = "events"
    language: str | None = None

    def faults(
        self,
        batch: DocumentBatch,
        recalibration: CorpusRecalibration | None = None,
        counted: Collection[str] = (),
        repeated: Collection[str] = (),
        invalid: Collection[int] = (),
    ) -> dict[int, Fault]:
        """Why documents of a batch cannot be counted, by row.

        Parameters
        ----------
        batch
            The documents to check.
        recalibration
            Recalibration of the corpus, which determines the scores that are valid; by default all scores are.
        counted
            The doc_ids of the documents that were counted before.
        repeated
            The doc_ids that another input file contains too; all documents with them are rejected.
        invalid
            Rows that are rejected for another reason; a later document may have the doc_id of such a row.

        Raises
        ------
        InputError
            If all scores of the corpus must have the same kind of recalibration, and those of a document do not.
        """
        faults = self._missing(batch)
        seen = set[str]()
        for row, doc_id in ((row, batch.doc_ids[row]) for row in batch.firsts.tolist()):
            if doc_id in seen or doc_id in repeated or doc_id in counted:
                faults[row] = Fault(DUPLICATE)
            if (reason := batch.parses_fault(row)) is not None:
                faults[row] = Fault(reason)
            if row not in invalid:
                seen.add(doc_id)
        accepted: set[str | None] = set()  # metadata of many documents are the same
        for row, text in enumerate(batch.table.column("metadata").to_pylist()):
            if row not in faults and text not in accepted:
                fault = self._language_fault(batch, row) if text and '"lang' in text else None
                fault = fault or _scores_fault(batch, row, recalibration)
                if fault is None:
                    accepted.add(text)
                else:
                    faults[row] = fault
        return faults

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

    def _language_fault(self, batch: DocumentBatch, row: int) -> Fault | None:
        declared = declared_language(batch.metadata(row))
        if self.language is None or not differ(self.language, declared):
            return None
        hint = f"give rules and a lexicon of {declared}: docs/languages.md says how to write them"
        return Fault(f"language must be that of the rules and the lexicon ({self.language}), got {declared}", hint)


def _scores_fault(batch: DocumentBatch, row: int, recalibration: CorpusRecalibration | None) -> Fault | None:
    if recalibration is None or recalibration.keeps_scores:
        return None
    try:
        recalibration.for_scores(batch.metadata(row))
    except ParameterError as error:
        if recalibration.requires_agreement:
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
        hint = "its attribute `document` is one" if hasattr(document, "document") else None
        raise ParameterError(f"must be a ScoredDocument, got {shown(document)}", parameter="document", hint=hint)
    return document


def batches_of(documents: Iterable[ScoredDocument] | Iterable[DocumentBatch]) -> Iterator[DocumentBatch]:
    """Documents in batches; an error of the iterable comes after the documents before it."""
    waiting: list[ScoredDocument] = []
    try:
        for item in documents:
            if isinstance(item, DocumentBatch):
                yield from _batch(waiting)
                yield item
            else:
                document = require_document(item)
                if len(waiting) >= _AT_ONCE and not is_another_parse(document, waiting[-1]):
                    yield from _batch(waiting)
                waiting.append(document)
    except Exception:
        yield from _batch(waiting)
        raise
    yield from _batch(waiting)


def _batch(waiting: list[ScoredDocument]) -> Iterator[DocumentBatch]:
    """Yield the waiting documents as one batch, if there are any, and empty the list."""
    if waiting:
        batch = DocumentBatch.of(waiting)
        waiting.clear()
        yield batch
