"""One partition: its documents are read, matched, sampled and counted, and the sums and evidence written."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from corefsample._processors import processors
from corefsample.documents._base import RECALIBRATION_FIELD
from corefsample.errors import InputError, ParameterError
from corefsample.files._digests import sha256
from corefsample.files._paths import PathLike
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import QuarantineFile
from events.counting._counter import EventCounter
from events.runs._plan import RESTART, STANDARD_INPUT, InputFile
from events.runs._store import Places, Store, writing
from events.runs.counting._plan import Partition, RunPlan

QUARANTINE = "quarantine.jsonl"
_BATCH = 256  # documents; some 20 MB of columns at 130 mentions per document

OnProgress = Callable[[int, int], None]


def run_partition(
    folder: PathLike, number: int, *, threads: int | None = None, on_progress: OnProgress | None = None
) -> None:
    """Compute one partition of a run that `initialise_run` began, and keep its result.

    Partitions can run in any order, at the same time, and in several processes. The result depends on the plan and the
    documents alone. A partition that is run again replaces its result.

    Parameters
    ----------
    folder
        The folder of the run, as given to `initialise_run`.
    number
        Of the partition, from 1.
    threads
        Of the sampler; None: those of the options, or one per processor.
    on_progress
        Called after each batch with the bytes read of the partition, and the documents counted.

    Raises
    ------
    ParameterError
        If there is no such partition.
    InputError
        If no run was begun, an input has changed since, or a document is invalid.
    OutputError
        If the result cannot be written.
    """
    places = Places(os.fspath(folder))
    store = places.any()
    if store is None:
        raise InputError("run must be initialised before its partitions, got none", place=places.given)
    plan = store.plan(RunPlan)
    partition = plan.partition(number)
    if partition is None:
        rule = f"must be one of {len(plan.partitions)}"
        raise ParameterError(f"{rule}, got {number}", parameter="number", place=places.given)
    chosen = threads or plan.options.threads

    def count(result: Path) -> dict[str, Any]:
        return _counted(plan, partition, store, result, chosen, on_progress)

    with writing(places):
        store.compute(partition, count, plan)


def _counted(
    plan: RunPlan,
    partition: Partition,
    store: Store,
    result: Path,
    threads: int | None,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    """Count the documents of a partition, write its result, and return its record."""
    file, options = plan.input_of(partition), plan.options
    _require_unchanged(file)
    with closing(QuarantineFile(str(result / QUARANTINE))) as quarantine, ThreadPoolExecutor(1) as background:
        # The first partition of a file computes the checksum of the file too.
        needs_digest = not partition.first and file.path != STANDARD_INPUT and file.tag is None
        digest = background.submit(sha256, file.place) if needs_digest else None
        counter = _counter(plan, store, result)
        documents = DocumentStream(
            file.place,
            needs=("date", "tokens"),
            on_rejected=quarantine if options.on_error == "quarantine" else None,
            batch_size=_BATCH,
            row_groups=partition.groups,
            parses=True,
            ahead=True,
        )

        def on_batch() -> None:
            if on_progress is not None:
                on_progress(documents.bytes_read, counter.n_documents)

        excluded = plan.excluded.get(str(partition.number), ())
        counter.update(documents, threads=threads or processors(), repeated=excluded, on_batch=on_batch)
        counter.save(result)
        file_sha256 = None if digest is None else digest.result()
    _require_unchanged(file)
    return {
        "input": {"bytes": file.n_bytes, "changed": file.changed, "sha256": file_sha256},
        "documents": counter.n_documents,
        "quarantined": quarantine.count,
        "scores_had": counter.scores_had,
    }


def _counter(plan: RunPlan, store: Store, folder: Path) -> EventCounter:
    """A counter of what the plan says, with its rows in a folder."""
    options = plan.options
    recalibration = options.recalibrated()
    had = _scores_had(plan, store) if recalibration.takes_alike else None
    if had is not None:
        recalibration.begin({RECALIBRATION_FIELD: had})
    return EventCounter(
        plan.definitions(),
        scheme=options.scheme,
        period=options.period,
        n_samples=options.n_samples,
        seed=options.seed,
        recalibration=recalibration,
        by_sample=options.interval == "normal",
        compared=options.compare or (),
        folder=folder,
    )


def _scores_had(plan: RunPlan, store: Store) -> str | None:
    """What the scores of a complete partition had, so that others are found before all documents are counted."""
    digest = plan.digest()
    for partition in plan.in_order():
        record = store.record(partition, verify=False)
        if record is not None and record["plan"] == digest and record["documents"]:
            return str(record["scores_had"])
    return None


def _require_unchanged(file: InputFile) -> None:
    if file.path != STANDARD_INPUT and not file.is_unchanged():
        rule = "file must be as it was when the run began, got another size or time of change"
        raise InputError(rule, place=file.path, hint=RESTART)
