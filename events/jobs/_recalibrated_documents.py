"""Reading documents whose scores are to be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from corefsample.documents import DocumentBatch, Rejected, ScoredDocument
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from corefsample.recalibration import Recalibration
from events.jobs._gold_documents import Progress

__all__ = ["RecalibratedDocuments"]


class RecalibratedDocuments:
    """Documents of pre-scored mention files with their scores mended, as a stream; iterate once.

    Parameters
    ----------
    inputs
        Files, globs, or "-"; one that is missing is told at once.
    on_rejected
        Called with each bad document, which is then left out; None: the first one raises.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Attributes
    ----------
    stream
        What is read.
    n_also_fitted
        Documents so far that the fit has seen.
    """

    def __init__(
        self, inputs: list[str], on_rejected: Callable[[Rejected], None] | None, on_progress: Progress | None
    ) -> None:
        self.n_also_fitted = 0
        self._on_progress = on_progress
        self._recalibration = Recalibration()
        self.stream = DocumentStream(inputs, on_rejected=on_rejected, inspect=self._overflowing)

    def _overflowing(self, batch: DocumentBatch) -> dict[int, str]:
        """Rows with a score that the temperature would make infinite."""
        indptr, _, scores = batch.candidates
        with np.errstate(over="ignore"):
            places = np.flatnonzero(~np.isfinite(scores / self._recalibration.temperature))
        mentions = np.searchsorted(indptr, places, side="right") - 1
        rows = np.searchsorted(batch.mentions[0], mentions, side="right") - 1
        temperature = self._recalibration.temperature
        return {
            int(row): f"scores must stay finite over the temperature {temperature:.4g}, got {float(scores[place])}"
            for row, place in zip(rows, places, strict=True)
        }

    def under(self, recalibration: Recalibration, fitted: Iterable[str]) -> Iterator[ScoredDocument]:
        """The documents under a recalibration; `fitted` are the doc_ids that it was fitted to.

        Raises
        ------
        InputError
            At a bad document, or where there is none at all.
        """
        self._recalibration = recalibration
        seen = set(fitted)
        n_documents = 0
        for batch in self.stream:
            for row in range(len(batch)):
                self.n_also_fitted += batch.doc_ids[row] in seen
                yield recalibration.apply_document(batch.document(row))
            n_documents += len(batch)
            if self._on_progress is not None:
                self._on_progress(self.stream.bytes_read, self.stream.total_bytes, n_documents)
        if not n_documents:
            raise InputError(f"{', '.join(self.stream.paths)}: a corpus must hold at least one document, got none")
