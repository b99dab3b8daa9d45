"""One partition: its documents are read, matched, sampled and counted, and the sums and evidence written."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from corefsample._processors import processors
from corefsample.documents import RECALIBRATION_FIELD, SCHEMA, DocumentBatch, Fault
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, sha256
from corefsample.formats import DocumentStream
from events.counting import (
    Calendar,
    CorpusRecalibration,
    CountTally,
    DocumentEvents,
    Period,
    event_key,
    evidence_schema,
)
from events.jobs.partitions._documents import ALL_DOCUMENTS_SCHEMA, Found
from events.jobs.partitions._evaluation import Evaluation, Sampler
from events.jobs.partitions._mixtures import (
    Matched,
    found_words,
    matched,
    recalibration_faults,
)
from events.jobs.partitions._plan import RESTART, STANDARD_INPUT, InputFile, Partition, RunPlan
from events.jobs.partitions._sorted import SortedRuns
from events.jobs.partitions._sums import Quarantine, Sums, document_keys, evidence_keys, run_columns
from events.matching import Screen
from events.runs import Places, Store, writing

__all__ = ["DUPLICATE", "OnProgress", "run_partition"]

DUPLICATE = "doc_id must be unique in the corpus, got it again"

_BATCH = 256  # documents; some 20 MB of columns at 130 mentions per document
_AHEAD = 2  # batches that are being sampled while the next is read and matched
_ROW_BATCH = 4096  # rows of the table of all documents
_EVIDENCE_BATCH, _DOCUMENT_BATCH = 256, 8  # rows; of many files that are merged, one batch each is in memory

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
    rules, lexicon = plan.loaded()
    schema = evidence_schema(run_columns(rules), parses=True)
    compared = {event_key(name) for name in options.compare or ()}
    recalibrated = options.recalibrated()
    by_sample = options.interval == "normal" or recalibrated.keeps_samples
    sums = Sums(
        {rule.name: CountTally(options.n_samples, by_sample=by_sample, compared=compared) for rule in rules},
        {rule.name: rule.columns for rule in rules},
        Calendar(options.period),
        SortedRuns(result, "evidence", schema, evidence_keys, _EVIDENCE_BATCH),
        SortedRuns(result, "documents", SCHEMA, document_keys, _DOCUMENT_BATCH),
        SortedRuns(result, "all_documents", ALL_DOCUMENTS_SCHEMA, document_keys, _ROW_BATCH),
    )
    quarantine = Quarantine(result / "quarantine.jsonl")
    documents = DocumentStream(
        file.place,
        needs=("date", "tokens"),
        on_rejected=quarantine if options.on_error == "quarantine" else None,
        batch_size=_BATCH,
        row_groups=partition.groups,
        mixtures=True,
        ahead=True,
    )
    is_first = not partition.first  # of its file; it computes the checksum of the file too
    with quarantine, ThreadPoolExecutor(1) as background:
        needs_digest = is_first and file.path != STANDARD_INPUT and file.tag is None
        digest = background.submit(sha256, file.place) if needs_digest else None
        screen = Screen(rules, lexicon, options.scheme)
        _begin_alike(recalibrated, plan, store)
        sampler = Sampler(options.n_samples, options.seed, recalibrated)
        _count(documents, screen, sums, sampler, store.excluded(partition), threads or processors(), on_progress)
        file_sha256 = None if digest is None else digest.result()
    _require_unchanged(file)
    return _written(plan, file, sums, quarantine.count, recalibrated, file_sha256, result)


def _begin_alike(recalibrated: CorpusRecalibration, plan: RunPlan, store: Store) -> None:
    """Let a complete partition decide, so that scores of different kinds are found before all documents are counted."""
    digest = plan.digest()
    for partition in plan.in_order() if recalibrated.takes_alike else ():
        record = store.record(partition, verify=False)
        if record is not None and record["plan"] == digest and record["documents"]:
            recalibrated.begin({RECALIBRATION_FIELD: record["scores_had"]})
            return


def _written(
    plan: RunPlan,
    file: InputFile,
    sums: Sums,
    n_quarantined: int,
    recalibrated: CorpusRecalibration,
    file_sha256: str | None,
    result: Path,
) -> dict[str, Any]:
    """Write the result of a partition, and return its record."""
    compared = {event_key(name) for name in plan.options.compare or ()}
    for rows in (sums.evidence, sums.documents, sums.all_documents):
        rows.finish()
    tallies = {name: tally.to_json(compared) for name, tally in sums.tallies.items()}
    (result / "tally.json").write_text(json.dumps(tallies), encoding="utf-8")
    ids = np.frombuffer(b"".join(sums.digests), np.uint8).reshape(-1, 16)
    np.savez(result / "ids.npz", digests=ids, numbers=np.array(sums.numbers, np.int64))
    return {
        "input": {"bytes": file.n_bytes, "changed": file.changed, "sha256": file_sha256},
        "documents": sums.n_documents,
        "sampled": sums.n_sampled,
        "with_events": sums.n_with_events,
        "ambiguous": sums.n_ambiguous,
        "quarantined": n_quarantined,
        "mixtures": sums.n_mixtures,
        "dates": sums.extremes,
        "uncertainty": recalibrated.uncertainty,
        "scores_had": recalibrated.first,
    }


def _require_unchanged(file: InputFile) -> None:
    if file.path != STANDARD_INPUT and not file.is_unchanged():
        rule = "file must be as it was when the run began, got another size or time of change"
        raise InputError(rule, place=file.path, hint=RESTART)


def _count(
    documents: DocumentStream,
    screen: Screen,
    sums: Sums,
    sampler: Sampler,
    excluded: frozenset[int],
    threads: int,
    on_progress: OnProgress | None,
) -> None:
    """Add all documents to the sums; sampling runs in threads, some batches ahead of counting."""
    sampled: deque[tuple[DocumentBatch, list[Period], Found, dict[int, Callable[[], list[DocumentEvents]]]]] = deque()

    def add_oldest() -> None:
        batch, periods, found, results = sampled.popleft()
        sums.add_events(batch, periods, found, {row: result() for row, result in results.items()})

    def inspect(batch: DocumentBatch) -> tuple[dict[int, Matched], dict[int, str | Fault]]:
        matches, reasons = matched(screen, batch)
        repeated = [row for row, number in enumerate(batch.places) if number in excluded] if excluded else []
        if len(batch):
            sampler.recalibrated.begin(batch.metadata(0))
        if sampler.recalibrated.keeps_samples:
            sums.keep_samples()
        wrong = recalibration_faults(batch, sampler.recalibrated)
        return dict(matches), {**wrong, **reasons, **dict.fromkeys(repeated, DUPLICATE)}

    with Evaluation(sampler, threads) as evaluation:
        for batch, matches in documents.inspected(inspect):
            periods = sums.add_documents(batch)
            results = {row: evaluation.begun(batch, row, each) for row, each in matches.items()}
            sampled.append((batch, periods, found_words(screen, batch), results))
            if len(sampled) > _AHEAD:
                add_oldest()
            if on_progress is not None:
                on_progress(documents.bytes_read, sums.n_documents)
        while sampled:
            add_oldest()
