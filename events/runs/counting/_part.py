"""A part of a run of `events`: the documents of one file, or of some of its row groups, are counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Self, TextIO

from corefsample._processors import processors
from corefsample.documents import RECALIBRATION_FIELD, Rejected
from corefsample.formats import DocumentStream
from corefsample.posterior import CorpusRecalibration
from events.counting import Definitions, EventCounter, Interval

__all__ = ["QUARANTINE", "Quarantine", "count_part"]

QUARANTINE = "quarantine.jsonl"
_BATCH = 256  # documents; some 20 MB of columns at 130 mentions per document

OnProgress = Callable[[int, int], None]


def count_part(
    source: str,
    row_groups: range | None,
    definitions: Definitions,
    folder: Path,
    *,
    recalibration: CorpusRecalibration,
    scheme: str | None = None,
    period: str = "quarter",
    n_samples: int = 1000,
    seed: int = 0,
    interval: Interval = "quantile",
    compare: Collection[str] = (),
    scores_had: str | None = None,
    excluded: Collection[int] = (),
    on_rejected: Callable[[Rejected], None] | None = None,
    threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> EventCounter:
    """Count the documents of a part; the counter is saved in its folder.

    Parameters
    ----------
    source, row_groups
        The file, or "-", and the row groups of a Parquet file; None: all.
    definitions
        Rules and lexicon, checked.
    folder
        An existing folder for the counter: see `events.counting.EventCounter.save`.
    recalibration, scheme, period, n_samples, seed, interval, compare
        As of `events.runs.counting._job.CountOptions`.
    scores_had
        Recalibrations that the scores of other parts had, if they are known: those of this one must be like them.
    excluded
        Numbers of lines or rows that are rejected, because another part has their doc_id.
    on_rejected
        Called with each invalid document; None: the first one raises InputError.
    threads
        Of the sampler; None: one per processor.
    on_progress
        Called after each batch with the bytes read, and the documents counted.
    """
    if scores_had is not None:
        recalibration.begin({RECALIBRATION_FIELD: scores_had})
    counter = EventCounter(
        definitions,
        scheme=scheme,
        period=period,
        n_samples=n_samples,
        seed=seed,
        recalibration=recalibration,
        by_sample=interval == "normal",
        compared=compare,
        folder=folder,
    )
    documents = DocumentStream(
        source,
        needs=("date", "tokens"),
        on_rejected=on_rejected,
        batch_size=_BATCH,
        row_groups=row_groups,
        parses=True,
        ahead=True,
    )

    def on_batch() -> None:
        if on_progress is not None:
            on_progress(documents.bytes_read, counter.n_documents)

    counter.update(documents, threads=threads or processors(), repeated=excluded, on_batch=on_batch)
    counter.save(folder)
    return counter


class Quarantine:
    """Writes rejected documents to a file in a folder, which is made for the first one."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._path = folder / QUARANTINE
        self._stream: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def __call__(self, rejected: Rejected) -> None:
        if self._stream is None:
            self._stream = open(self._path, "w", encoding="utf-8")  # noqa: SIM115
        self.count += 1
        self._stream.write(json.dumps(rejected.to_json()) + "\n")
        self._stream.flush()  # so that a full disk is reported at its document
