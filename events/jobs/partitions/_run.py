"""One partition: its documents are read, matched, sampled and counted, and the sums and evidence written."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, sha256
from events.counting import Definitions
from events.jobs._count_part import OnProgress, Quarantine, count_part
from events.jobs.partitions._options import EventsOptions
from events.jobs.partitions._plan import RESTART, STANDARD_INPUT, InputFile, Partition, RunPlan
from events.jobs.partitions._start import loaded_rules
from events.jobs.partitions._store import Places, Store, opened_run, writing

__all__ = ["OnProgress", "loaded_definitions", "run_partition"]


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
    with opened_run(folder, number) as run:
        store = Places.of(run).any()
        if store is None:
            raise InputError("run must be initialised before its partitions, got none", place=run.given)
        plan = store.plan()
        partition = plan.partition(number)
        if partition is None:
            rule = f"must be one of {len(plan.partitions)}"
            raise ParameterError(f"{rule}, got {number}", parameter="number", place=run.given)
        with writing(run):
            store.reopen(partition)
            run.push()
            result = store.new_result()
            try:
                record = _counted(plan, partition, store, result, threads or plan.options.threads, on_progress)
                store.complete(partition, result, record)
            finally:
                shutil.rmtree(result, ignore_errors=True)
            run.push()


@lru_cache(maxsize=2)
def loaded_definitions(options: EventsOptions, checksums: tuple[str, str]) -> Definitions:
    """Rules and lexicon of many partitions, checked once in each process."""
    return Definitions(*loaded_rules(options))


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
    with Quarantine(result) as quarantine, ThreadPoolExecutor(1) as background:
        # The first partition of a file computes the checksum of the file too.
        needs_digest = not partition.first and file.path != STANDARD_INPUT and file.tag is None
        digest = background.submit(sha256, file.place) if needs_digest else None
        recalibration = options.recalibrated()
        counter = count_part(
            file.place,
            partition.groups,
            loaded_definitions(options, (plan.rule_sha256, plan.lexicon_sha256)),
            result,
            recalibration=recalibration,
            scheme=options.scheme,
            period=options.period,
            n_samples=options.n_samples,
            seed=options.seed,
            interval=options.interval,
            compare=options.compare or (),
            scores_had=_scores_had(plan, store) if recalibration.takes_alike else None,
            excluded=store.excluded(partition),
            on_rejected=quarantine if options.on_error == "quarantine" else None,
            threads=threads,
            on_progress=on_progress,
        )
        file_sha256 = None if digest is None else digest.result()
    _require_unchanged(file)
    return {
        "plan": plan.digest(),
        "input": {"bytes": file.n_bytes, "changed": file.changed, "sha256": file_sha256},
        "documents": counter.n_documents,
        "quarantined": quarantine.count,
        "scores_had": counter.scores_had,
    }


def _scores_had(plan: RunPlan, store: Store) -> str | None:
    """What the scores of a complete partition had, so that others are found before all documents are counted."""
    digest = plan.digest()
    for partition in plan.in_order():
        record = store.record(partition, verify=False)
        if record is not None and record["plan"] == digest and record["documents"]:
            return str(record["scores_had"])
    return None


def _require_unchanged(file: InputFile) -> None:
    if not file.is_unchanged():
        rule = "file must be as it was when the run began, got another size or time of change"
        raise InputError(rule, place=file.path, hint=RESTART)
