"""One pass over a corpus: documents are read, scored, and kept part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from corefsample.documents import Rejected
from corefsample.errors import InputError
from corefsample.formats import QuarantineFile
from corefsample.mention_ranking import ScoringTally
from events.jobs import DocumentInputs
from events.jobs.scoring._parts import FinishedPart, Parts
from events.jobs.scoring._workers import Scored, Scorer, Task, add_tally, in_order

__all__ = ["ScoringJob", "documents_a_part"]

DOCUMENTS_A_TASK = 8
TASKS_A_PART = 16

Progress = Callable[[int, int, int], None]


def documents_a_part() -> int:
    """Documents read for each part but the last: with it, where parts begin."""
    return DOCUMENTS_A_TASK * TASKS_A_PART


@dataclass(eq=False)
class ScoringJob:
    """One pass over the documents: read, score, and keep in parts.

    Attributes
    ----------
    tally
        What scoring came to.
    n_resumed
        Documents that an earlier run had scored.
    n_rejected, reasons
        Bad documents, and the first three with their places.
    """

    read: DocumentInputs
    scorer: Scorer
    parts: Parts
    on_rejected: QuarantineFile | None
    on_progress: Progress | None
    jobs: int
    tally: ScoringTally = field(default_factory=ScoringTally)
    n_resumed: int = 0
    n_rejected: int = 0
    reasons: list[str] = field(default_factory=list)
    _part: Scored = field(default_factory=Scored)
    _n_read: int = 0

    def run(self) -> None:
        """Score all documents that no finished part has."""
        number = 0
        with closing(in_order(self._tasks(), self.scorer, self.jobs)) as results:
            for task, scored in results:
                if task.part != number:
                    self._finish_part(number)
                    number = task.part
                if task.n_known:
                    self._take_known(task)
                else:
                    self._take(task, scored)
                if self.on_progress is not None:
                    done = self.tally.n_documents + len(self._part.documents)
                    self.on_progress(task.bytes_read, self.read.total_bytes, done)
        self._finish_part(number)
        if not self.tally.n_documents:
            aside = f", {self.n_rejected} set aside, first: {self.reasons[0]}" if self.n_rejected else ""
            names = ", ".join(self.read.paths)
            raise InputError(f"{names}: a corpus must hold at least one document, got none{aside}")

    def _tasks(self) -> Iterator[Task]:
        """Cut the corpus into parts, always at the same documents, and these into tasks."""
        items = iter(self.read)
        part = 0
        while True:
            known = self.parts.finished(part)
            if known is not None:
                n_read = sum(1 for _ in islice(items, known.n_read))
                yield Task(part, (), self.read.bytes_read, n_read)
            for _ in range(0 if known is not None else TASKS_A_PART):
                chunk = list(islice(items, DOCUMENTS_A_TASK))
                if not chunk:
                    return
                yield Task(part, chunk, self.read.bytes_read)
            if known is not None and known.n_read < documents_a_part():
                return
            part += 1

    def _take_known(self, task: Task) -> None:
        part = self.parts.finished(task.part)
        if part is None or part.n_read != task.n_known:
            raise InputError(
                f"{', '.join(self.read.paths)}: inputs must stay as they are during a run, got them changed"
            )
        for rejected in self.parts.rejected(task.part):
            self._reject(rejected)
        add_tally(self.tally, part.tally)
        self.n_resumed += part.tally.n_documents

    def _take(self, task: Task, scored: Scored) -> None:
        for rejected in scored.rejected:
            self._reject(rejected)
        self._n_read += len(task.items)
        self._part.documents += scored.documents
        self._part.rejected += scored.rejected
        add_tally(self._part.tally, scored.tally)

    def _reject(self, rejected: Rejected) -> None:
        if self.on_rejected is None:
            raise rejected.error()
        self.on_rejected(rejected)
        self.n_rejected += 1
        if len(self.reasons) < 3:
            self.reasons.append(rejected.message())

    def _finish_part(self, number: int) -> None:
        if self._n_read:
            part = FinishedPart(self._n_read, self._part.tally, self._part.rejected)
            self.parts.add(number, self._part.documents, part)
            add_tally(self.tally, part.tally)
        self._part, self._n_read = Scored(), 0
