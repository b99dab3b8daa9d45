"""The work of scoring: a few documents at a time, in this process or in several, in the order of the corpus."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any

from corefsample.coreference import AntecedentDistribution
from corefsample.documents import AnnotatedDocument, Rejected, ScoredDocument
from corefsample.errors import CorefsampleError, ParameterError
from corefsample.mention_ranking import (
    AntecedentModel,
    MentionSource,
    ScoringTally,
    english_model,
    load_model,
    score_documents,
)
from corefsample.recalibration import Recalibration
from events.jobs import ReadDocument
from events.news import Article

__all__ = ["Scored", "Scorer", "Settings", "Task", "in_order"]

_AHEAD = 3  # tasks a process, waiting or done, while the first is awaited


@dataclass(frozen=True, slots=True)
class Settings:
    """What a document's scores depend on besides the document.

    Attributes
    ----------
    model
        File of the model; None: the English one of the package.
    pipeline
        Name of a spaCy pipeline, for articles.
    mentions, min_prob, scheme
        As of `corefsample.mention_ranking.score_documents`.
    headline, paragraphs
        As of `events.jobs.scoring._parsing.parsed_article`.
    recalibration
        What scores go through in the end, or None.
    """

    model: str | None = None
    pipeline: str | None = None
    mentions: MentionSource = "annotated"
    min_prob: float = 1e-4
    scheme: str | None = None
    headline: bool = True
    paragraphs: str = "blank-line"
    recalibration: Recalibration | None = None


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
        How far the inputs were read.
    n_known
        Documents of a part that an earlier run finished; then there are no items.
    """

    part: int
    items: Sequence[ReadDocument | Rejected]
    bytes_read: int = 0
    n_known: int = 0


@dataclass(slots=True)
class Scored:
    """What became of a task: scored documents and bad ones, each in order, and the counts of the good ones."""

    documents: list[ScoredDocument] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    tally: ScoringTally = field(default_factory=ScoringTally)


class Scorer:
    """Scores documents of every kind; each result depends on the settings and its document alone.

    Raises
    ------
    InputError, ParameterError
        If the model or the pipeline cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.model: AntecedentModel = english_model() if settings.model is None else load_model(settings.model)
        self.pipeline: Any = None
        if settings.pipeline is not None:
            from events.jobs.scoring._parsing import load_pipeline

            self.pipeline = load_pipeline(settings.pipeline, settings.scheme)

    def score(self, items: Sequence[ReadDocument | Rejected]) -> Scored:
        """Score documents one by one; those that cannot be scored are rejected."""
        done = Scored()
        for item in items:
            if isinstance(item, Rejected):
                done.rejected.append(item)
                continue
            try:
                document = self._scored(item.document, done.tally)
            except ParameterError as error:
                done.rejected.append(item.rejected(error))
            else:
                done.documents.append(document)
        return done

    def _scored(self, read: AnnotatedDocument | ScoredDocument | Article, tally: ScoringTally) -> ScoredDocument:
        settings = self.settings
        document = self._parsed(read) if isinstance(read, Article) else read
        tried = ScoringTally()
        (scored,) = score_documents(
            self.model,
            [document],
            mentions="parse" if isinstance(read, Article) else settings.mentions,
            min_prob=settings.min_prob,
            scheme=settings.scheme,
            tally=tried,
        )
        if settings.recalibration is not None:
            scored = settings.recalibration.apply_document(scored)
        add_tally(tally, tried)
        return scored

    def _parsed(self, article: Article) -> ScoredDocument:
        """The document of an article, without mentions yet."""
        from events.jobs.scoring._parsing import article_metadata, parsed_article

        settings = self.settings
        tokens = parsed_article(article, self.pipeline, headline=settings.headline, paragraphs=settings.paragraphs)
        nothing = AntecedentDistribution.from_lists([], [])
        metadata = article_metadata(article)
        return ScoredDocument(article.doc_id, [], nothing, article.date, tokens, None, metadata)  # type: ignore[arg-type]


def add_tally(total: ScoringTally, more: ScoringTally) -> None:
    """Add counts to others."""
    for name in ScoringTally.__dataclass_fields__:
        setattr(total, name, getattr(total, name) + getattr(more, name))


def in_order(tasks: Iterator[Task], scorer: Scorer, jobs: int) -> Generator[tuple[Task, Scored]]:
    """Work on tasks and yield what became of them, in their order.

    With one job, or one task, all is done in this process; else in `jobs` processes, each with a model and a pipeline
    of its own.

    Raises
    ------
    CorefsampleError
        If a process ends before its work.
    """
    first = list(islice(tasks, 2))
    tasks = chain(first, tasks)
    if jobs == 1 or len(first) < 2:
        for task in tasks:
            yield task, scorer.score(task.items)
        return
    # New processes, not copies of this one: threads of libraries do not survive in a copy.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(scorer.settings,))
    waiting: deque[tuple[Task, Future[Scored] | None]] = deque()
    try:
        for task in tasks:
            waiting.append((task, pool.submit(_work, task.items) if task.items else None))
            while len(waiting) > _AHEAD * jobs or (waiting and _is_done(waiting[0][1])):
                yield _taken(waiting)
        while waiting:
            yield _taken(waiting)
    except BrokenProcessPool:
        raise CorefsampleError(
            "a process ended before its work was done (out of memory, perhaps: fewer jobs need less)"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _is_done(future: Future[Scored] | None) -> bool:
    return future is None or future.done()


def _taken(waiting: deque[tuple[Task, Future[Scored] | None]]) -> tuple[Task, Scored]:
    task, future = waiting.popleft()
    return task, Scored() if future is None else future.result()


_scorers: list[Scorer] = []  # the one of a worker process


def _begin(settings: Settings) -> None:
    """Prepare a worker process: the interrupt of a terminal is for the process that gives out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _scorers.append(Scorer(settings))


def _work(items: Sequence[ReadDocument | Rejected]) -> Scored:
    return _scorers[0].score(items)
