"""The documents of annotated corpora that a model is to be trained on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from corefsample.documents import Rejected, Tokens
from corefsample.errors import InputError, ParameterError
from corefsample.formats import QuarantineFile
from corefsample.mention_ranking import gold_entities
from corefsample.syntax import neutral_parse
from events.jobs import DocumentInputs, ReadDocument
from events.jobs.training._selection import Selection

if TYPE_CHECKING:
    from events.jobs.training._options import TrainOptions

__all__ = ["GoldDocument", "TrainingCorpus"]

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int, int], None]


class GoldDocument(Protocol):
    """What training asks of a document."""

    @property
    def doc_id(self) -> str:
        """Name of the document."""

    @property
    def tokens(self) -> Tokens | None:
        """Its words with their parse."""

    @property
    def mentions(self) -> Any:
        """int32 (n_mentions, 3): start, end and head of each mention."""


class TrainingCorpus:
    """The documents of annotated files that have gold and are wanted.

    Parameters
    ----------
    inputs, options, on_rejected, on_progress
        As of `events.jobs.training.run_train`.
    selection
        Which documents are wanted.

    Attributes
    ----------
    inputs
        What is read.
    documents
        Those to train on, once they are read.
    n_without_gold, n_not_selected
        Documents left out.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        options: TrainOptions,
        selection: Selection,
        on_rejected: QuarantineFile | None,
        on_progress: Progress | None,
    ) -> None:
        self.inputs = DocumentInputs(inputs, entity_fields=options.entity_fields)
        text = self.inputs.first_of("news")
        if text is not None:
            rule = "a corpus must be annotated to train on (.conllu, .conll, scored mentions with gold)"
            raise InputError(f"{text}: {rule}, got text")
        self.documents: list[GoldDocument] = []
        self.n_without_gold = self.n_not_selected = 0
        self._options, self._selection = options, selection
        self._on_rejected, self._on_progress = on_rejected, on_progress

    def read(self) -> None:
        """Take in all files."""
        with_gold: Counter[str] = Counter()
        of_file: Counter[str] = Counter()
        for found in self.inputs:
            if isinstance(found, Rejected):
                self._reject(found)
                continue
            of_file[found.source] += 1
            gold = gold_entities(found.document)  # type: ignore[arg-type]
            if gold is None or all(entity is None for entity in gold):
                self.n_without_gold += 1
                continue
            with_gold[found.source] += 1
            self._take(found)
            if self._on_progress is not None:
                self._on_progress(self.inputs.bytes_read, self.inputs.total_bytes, of_file.total())
        for path in self.inputs.paths:
            if not with_gold[path]:
                rule = "a corpus must have annotated entities to train on"
                raise InputError(f"{path}: {rule}, got none in {of_file[path]} documents")
        if not self.documents:
            self._selection.require_known_keys()
            rule = f"where must leave documents to train on ({self._selection})"
            raise InputError(f"{', '.join(self.inputs.paths)}: {rule}, got none of {self.n_not_selected}")

    def _take(self, found: ReadDocument) -> None:
        document: Any = found.document
        if not self._selection.holds(document.doc_id, document.metadata):
            self.n_not_selected += 1
            return
        try:
            if document.tokens is None:
                raise ParameterError("tokens must be there to train on, got none")
            neutral_parse(document.tokens, self._options.scheme)
        except ParameterError as error:
            self._reject(found.rejected(str(error)))
            return
        self.documents.append(document)

    def _reject(self, rejected: Rejected) -> None:
        if self._on_rejected is None:
            raise InputError(rejected.message())
        self._on_rejected(rejected)
