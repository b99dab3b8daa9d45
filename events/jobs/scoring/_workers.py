"""The work of scoring: a few documents at a time, in this process or in several, in the order of the corpus."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any

from corefsample._processes import begin_worker
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import AnnotatedDocument, Rejected, ScoredDocument
from corefsample.errors import CorefsampleError, ParameterError, ParameterHint
from corefsample.mention_ranking import AntecedentModel, ScoringTally, english_model, load_model, score_documents
from events.jobs import ReadDocument
from events.jobs.scoring._options import ScoreOptions
from events.jobs.scoring._parsing import article_metadata, load_pipeline, parsed_article
from events.jobs.scoring._recalibration import load_recalibration
from events.news import Article

_QUEUED_PER_PROCESS = 3  # tasks submitted for each process while the first result is awaited


@dataclass(frozen=True, slots=True)
class Task:
    """Some documents that belong to one part of the run.

    Attributes
    ----------
    part
        Number of the part, from 0.
    items
        Documents read, and bad ones.
    bytes_read
        Bytes of the inputs read so far.
    n_resumed
        Number of documents skipped because an earlier run finished the part, which then has no items; else None.
    """

    part: int
    items: Sequence[ReadDocument | Rejected]
    bytes_read: int = 0
    n_resumed: int | None = None


@dataclass(slots=True)
class Scored:
    """Scored documents and rejected ones, each in order, and the counts of the scored ones."""

    documents: list[ScoredDocument] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    tally: ScoringTally = field(default_factory=ScoringTally)

    def add(self, other: Scored) -> None:
        """Append the documents of another result."""
        self.documents += other.documents
        self.rejected += other.rejected
        add_tally(self.tally, other.tally)


class Scorer:
    """Scores documents of every kind; each result depends on the options and its document alone.

    Raises
    ------
    InputError, ParameterError
        If the model, the pipeline or the recalibration cannot be used.
    """

    def __init__(self, options: ScoreOptions) -> None:
        self.options = options
        self.model: AntecedentModel = english_model() if options.model is None else load_model(options.model)
        self.pipeline: Any = None if options.pipeline is None else load_pipeline(options.pipeline, options.scheme)
        self.recalibration = None if options.recalibration is None else load_recalibration(options.recalibration)

    def score(self, items: Sequence[ReadDocument | Rejected]) -> Scored:
        """Score documents one by one; those that cannot be scored are rejected."""
        result = Scored()
        for item in items:
            if isinstance(item, Rejected):
                result.rejected.append(item)
                continue
            tally = ScoringTally()
            try:
                document = self._scored(item.document, tally)
            except ParameterError as error:
                result.rejected.append(item.rejected(error))
            else:
                result.documents.append(document)
                add_tally(result.tally, tally)
        return result

    def _scored(self, document: AnnotatedDocument | ScoredDocument | Article, tally: ScoringTally) -> ScoredDocument:
        is_text = isinstance(document, Article)
        (scored,) = score_documents(
            self.model,
            [self._parsed(document) if isinstance(document, Article) else document],
            mentions="parse" if is_text or self.options.mentions == "parse" else "annotated",
            min_prob=self.options.min_prob,
            scheme=self.options.scheme,
            tally=tally,
        )
        return scored if self.recalibration is None else self.recalibration.apply_document(scored)

    def _parsed(self, article: Article) -> ScoredDocument:
        """Parse an article to a document without mentions."""
        options = self.options
        tokens = parsed_article(article, self.pipeline, headline=options.headline, paragraphs=options.paragraphs)
        return ScoredDocument(
            doc_id=article.doc_id,
            mentions=[],  # type: ignore[arg-type]
            antecedents=AntecedentDistribution.from_lists([], []),
            date=article.date,
            tokens=tokens,
            metadata=article_metadata(article),
        )


def add_tally(total: ScoringTally, more: ScoringTally) -> None:
    """Add counts to others."""
    for name in ScoringTally.__dataclass_fields__:
        setattr(total, name, getattr(total, name) + getattr(more, name))


def in_order(tasks: Iterator[Task], scorer: Scorer, jobs: int) -> Generator[tuple[Task, Scored]]:
    """Work on tasks and yield their results in the order of the tasks.

    With one job, or one task, everything is done in this process; else in `jobs` processes, each with its own model
    and pipeline.

    Raises
    ------
    CorefsampleError
        If a process is killed.
    """
    first = list(islice(tasks, 2))
    tasks = chain(first, tasks)
    if jobs == 1 or len(first) < 2:
        for task in tasks:
            yield task, scorer.score(task.items)
        return
    # Spawned processes, because the threads of libraries do not survive in a forked one.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(scorer.options,))
    waiting: deque[tuple[Task, Future[Scored]]] = deque()
    try:
        for task in tasks:
            waiting.append((task, pool.submit(_work, task.items)))
            while len(waiting) > _QUEUED_PER_PROCESS * jobs or (waiting and waiting[0][1].done()):
                yield _first_result(waiting)
        while waiting:
            yield _first_result(waiting)
    except BrokenProcessPool:
        hint = ParameterHint("jobs", "needs less memory with a smaller number")
        raise CorefsampleError("a process ended before its work was done, perhaps out of memory", hint=hint) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _first_result(waiting: deque[tuple[Task, Future[Scored]]]) -> tuple[Task, Scored]:
    task, future = waiting.popleft()
    return task, future.result()


_scorers: list[Scorer] = []  # the single scorer of a worker process


def _begin(options: ScoreOptions) -> None:
    """Prepare a worker process."""
    begin_worker()
    _scorers.append(Scorer(options))


def _work(items: Sequence[ReadDocument | Rejected]) -> Scored:
    return _scorers[0].score(items)
