"""One pass over a corpus: documents are read, scored, and written part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby, islice

from corefsample._log import logger
from corefsample.documents import Rejected
from corefsample.errors import InputError
from corefsample.formats import QuarantineFile
from corefsample.mention_ranking import ScoringTally
from events.jobs import DocumentInputs
from events.jobs.scoring._engines import Engine, in_order
from events.jobs.scoring._parts import FinishedPart, Parts
from events.jobs.scoring._workers import Scored, Scorer, Task, add_tally
from events.news import TextTally

DOCUMENTS_A_TASK = 8
TASKS_A_PART = 16

Progress = Callable[[int, int, int], None]


def documents_per_part() -> int:
    """Number of documents read for each part but the last."""
    return DOCUMENTS_A_TASK * TASKS_A_PART


@dataclass(slots=True)
class ScoringResult:
    """Counts of one pass over the documents.

    Attributes
    ----------
    tally
        Counts of the scored documents.
    texts
        Counts of their texts by what is wrong with them.
    n_resumed
        Scored documents from an earlier run.
    n_rejected, reasons
        Number of bad documents, and the messages of the first three.
    """

    tally: ScoringTally = field(default_factory=ScoringTally)
    texts: TextTally = field(default_factory=TextTally)
    n_resumed: int = 0
    n_rejected: int = 0
    reasons: list[str] = field(default_factory=list)


def score_corpus(
    inputs: DocumentInputs,
    scorer: Scorer,
    parts: Parts,
    *,
    engine: Engine,
    on_rejected: QuarantineFile | None,
    on_progress: Progress | None,
) -> ScoringResult:
    """Score all documents that no finished part contains, and write them as parts.

    Raises
    ------
    InputError
        If a document is bad and `on_rejected` is None, the inputs differ from those of the finished parts, or there
        is no good document.
    """
    result = ScoringResult()
    with closing(in_order(_tasks(inputs, parts), scorer, engine)) as outcomes:
        for number, outcomes_of_part in groupby(outcomes, key=lambda outcome: outcome[0].part):
            part, n_read = Scored(), 0
            for task, scored in outcomes_of_part:
                if task.n_resumed is not None:
                    known = _known_part(inputs, parts, task)
                    add_tally(result.tally, known.tally)
                    result.texts.add(known.texts)
                    result.n_resumed += known.tally.n_documents
                rejected = parts.rejected(number) if task.n_resumed is not None else scored.rejected
                _reject(rejected, result, on_rejected)
                n_read += len(task.items)
                part.add(scored)
                if on_progress is not None:
                    n_done = result.tally.n_documents + len(part.documents)
                    on_progress(task.bytes_read, inputs.total_bytes, n_done)
            if n_read:
                parts.add(number, n_read, part)
                add_tally(result.tally, part.tally)
                is_first = not result.texts.n_texts
                result.texts.add(part.texts)
                if is_first and n_read == documents_per_part():
                    _warn_early(part.texts)
    if not result.tally.n_documents:
        quarantined = f", {result.n_rejected} rejected, first: {result.reasons[0]}" if result.n_rejected else ""
        rule = "a corpus must have at least one document"
        raise InputError(f"{rule}, got none{quarantined}", place=", ".join(inputs.paths))
    return result


def _warn_early(texts: TextTally) -> None:
    """Say after the first part, before a long run is done, that most texts have no upper case."""
    if texts.n_lower_case > texts.n_texts / 2:
        rule = "of the first texts have no upper-case letter; taggers and parsers of English need upper case"
        logger("score").warning("%s of %s %s", texts.n_lower_case, texts.n_texts, rule)


def _tasks(inputs: DocumentInputs, parts: Parts) -> Iterator[Task]:
    """Cut the corpus into parts, always at the same documents, and these into tasks."""
    documents = iter(inputs)
    number = 0
    while True:
        known = parts.finished.get(number)
        if known is not None:
            n_read = sum(1 for _ in islice(documents, known.n_read))
            yield Task(number, (), inputs.bytes_read, n_read)
            if known.n_read < documents_per_part():
                return
        else:
            for _ in range(TASKS_A_PART):
                items = list(islice(documents, DOCUMENTS_A_TASK))
                if not items:
                    return
                yield Task(number, items, inputs.bytes_read)
        number += 1


def _known_part(inputs: DocumentInputs, parts: Parts, task: Task) -> FinishedPart:
    part = parts.finished[task.part]
    if part.n_read != task.n_resumed:
        rule = "inputs must not change during a run"
        raise InputError(f"{rule}, got other documents than before", place=", ".join(inputs.paths))
    return part


def _reject(documents: Sequence[Rejected], result: ScoringResult, on_rejected: QuarantineFile | None) -> None:
    for rejected in documents:
        if on_rejected is None:
            raise rejected.error()
        on_rejected(rejected)
        result.n_rejected += 1
        if len(result.reasons) < 3:
            result.reasons.append(rejected.message())
