"""The job behind `corefsample calibrate-queries`: files with gold in, a folder of tables of queries out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from corefsample import _checks
from corefsample.documents import ON_ERROR, ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike
from corefsample.links import UNANNOTATED, Unannotated
from corefsample.recalibration import MISSING
from corefsample.syntax import scheme_names
from events.jobs._output_folder import OutputFolder
from events.jobs._pictures import save_pictures
from events.jobs._reading import BadDocuments, GoldDocuments, Progress
from events.jobs._record import checksums, json_rows, run_record
from events.queries import N_BINS, OBJECTIVES, ROLES, QueryStudy, study_queries

__all__ = ["QUERY_FILES", "QueryReport", "QueryReportFolder", "QueryReportOptions", "run_query_report", "write_study"]

QUERY_FILES = frozenset(
    [
        "query_scores.csv",
        "query_reliability.csv",
        "query_reliability.png",
        "query_reliability.svg",
        "query_coverage.csv",
        "query_coverage.png",
        "query_coverage.svg",
        "query_intervals.csv",
        "query_recalibrations.csv",
        "query_pairs.parquet",
    ]
)


class QueryReportFolder(OutputFolder):
    """Collects the files of a query report: see `OutputFolder`."""

    RECORD: ClassVar[str] = "query_report.json"
    FILES: ClassVar[frozenset[str]] = QUERY_FILES | {"quarantine.jsonl", RECORD}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReportOptions:
    """What to ask, and how.

    Attributes
    ----------
    objectives
        Recalibrations to compare, out of likelihood, links, links-log, queries, queries-log.
    n_folds
        Folds of the cross-validation by document, at least 2.
    n_samples
        Clusterings per document, at least 2.
    n_boot
        Refits on bootstrapped documents, 0 for none.
    seed
        In [0, 2**64).
    role, scheme
        As for `events.queries.match_queries`.
    unannotated, missing
        As for `corefsample.recalibration.RecalibrationFitter`.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    objectives: tuple[str, ...] = ("likelihood", "links", "links-log", "queries")
    n_folds: int = 5
    n_samples: int = 1000
    n_boot: int = 100
    seed: int = 0
    role: str = "subject"
    scheme: str | None = None
    unannotated: Unannotated = "skip"
    missing: str = "skip"
    on_error: str = "stop"

    def __post_init__(self) -> None:
        for objective in self.objectives:
            _checks.choice("objectives", objective, OBJECTIVES)
        _checks.whole("n_folds", self.n_folds, 2)
        _checks.n_samples(self.n_samples, 2)
        _checks.whole("n_boot", self.n_boot, 0)
        _checks.seed(self.seed)
        _checks.choice("role", self.role, ROLES)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        _checks.choice("unannotated", self.unannotated, UNANNOTATED)
        _checks.choice("missing", self.missing, MISSING)
        _checks.choice("on_error", self.on_error, ON_ERROR)


@dataclass(frozen=True, slots=True, eq=False)
class QueryReport:
    """Result of a query report.

    Attributes
    ----------
    study
        The queries, and their probabilities before and after recalibration.
    out
        The folder, or None if nothing was written.
    n_documents
        Documents with gold.
    n_without_gold, n_quarantined
        Documents left out because they have no gold, and bad documents set aside.
    seconds
        Wall time.
    """

    study: QueryStudy
    out: str | None
    n_documents: int
    n_without_gold: int
    n_quarantined: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Counts, scores and recalibrations, and the coverage of all intervals."""
        study = self.study
        return {
            "out": self.out,
            "n_documents": self.n_documents,
            "n_without_gold": self.n_without_gold,
            "n_quarantined": self.n_quarantined,
            "n_queries": len(study.table.queries),
            "n_pairs": study.table.n_pairs,
            "n_left_out": study.n_left_out,
            "seconds": self.seconds,
            "scores": json_rows(study.scores()),
            "recalibrations": json_rows(study.recalibrations()),
            "coverage": json_rows(study.coverage()),
        }


def run_query_report(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike | None = None,
    options: QueryReportOptions | None = None,
    *,
    overwrite: bool = False,
    pictures: bool = True,
    on_progress: Progress | None = None,
    on_step: Callable[[int, int], None] | None = None,
) -> QueryReport:
    """Ask a corpus with gold queries of its own, before and after cross-validated recalibration.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input. Documents without gold are counted and left out.
    out
        Folder for tables, pictures and the record; None to write nothing.
    options
        What to ask.
    overwrite
        Whether an earlier report's folder may be replaced.
    pictures
        Whether to draw reliability curves and coverage.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents.
    on_step
        Called with the number of finished recalibrations, and the number of all.

    Raises
    ------
    ParameterError
        If the folder is in use.
    InputError
        If a file is missing, a document is bad, or there is too little gold.
    OutputError
        If the folder cannot be written. After an error no folder is left.
    """
    started = time.time()
    options = options or QueryReportOptions()
    with nullcontext() if out is None else QueryReportFolder(out, overwrite=overwrite) as folder:
        bad = BadDocuments(folder)
        gold = GoldDocuments(
            inputs,
            for_queries=True,
            role=options.role,
            scheme=options.scheme,
            on_rejected=bad if options.on_error == "quarantine" else None,
            on_progress=on_progress,
        )
        documents = list(gold)
        study = _study(documents, gold, options, on_step)
        report = QueryReport(
            study=study,
            out=None if out is None else os.fspath(out),
            n_documents=len(documents),
            n_without_gold=gold.n_without_gold,
            n_quarantined=bad.count,
            seconds=round(time.time() - started, 3),
        )
        if folder is not None:
            write_study(study, folder.file, pictures=pictures)
            arguments = {**dataclasses.asdict(options), "out": report.out}
            inputs_read = checksums(gold.stream.paths)
            folder.finish_record(run_record(arguments, inputs_read, started, summary=report.to_json()))
    return report


def _study(
    documents: Sequence[ScoredDocument],
    gold: GoldDocuments,
    options: QueryReportOptions,
    on_step: Callable[[int, int], None] | None,
) -> QueryStudy:
    place = ", ".join(gold.stream.paths)
    if not documents:
        raise InputError(f"gold is required for queries, got none in {gold.n_without_gold} documents", place=place)
    chosen = {name: value for name, value in dataclasses.asdict(options).items() if name != "on_error"}
    try:
        study = study_queries(documents, **chosen, on_step=on_step)
    except ParameterError as error:  # the options are valid, so the fault is in the files
        raise error.as_input_error(place) from None
    if study.table.n_pairs < N_BINS:
        rule = f"gold must make at least {N_BINS} pairs of query and document"
        raise InputError(f"{rule}, got {study.table.n_pairs}", place=place)
    return study


def write_study(study: QueryStudy, file: Callable[[str], Path], *, pictures: bool = True) -> None:
    """Write the tables of a study, and pictures of its reliability curves and coverage.

    Parameters
    ----------
    study
        The study.
    file
        Returns the path of each of QUERY_FILES.
    pictures
        Whether to draw.
    """
    import pandas as pd

    intervals, curves = study.intervals(), study.reliability()
    study.scores().to_csv(file("query_scores.csv"), index=False)
    study.recalibrations().to_csv(file("query_recalibrations.csv"), index=False)
    coverage = study.coverage(intervals)
    coverage.to_csv(file("query_coverage.csv"), index=False)
    intervals.to_csv(file("query_intervals.csv"), index=False)
    study.pairs().to_parquet(file("query_pairs.parquet"), index=False)
    frames = [curve.to_frame().assign(variant=name) for name, curve in curves.items()]
    reliability = pd.concat(frames, ignore_index=True)
    reliability.insert(0, "variant", reliability.pop("variant"))
    reliability.to_csv(file("query_reliability.csv"), index=False)
    if pictures:
        from corefsample.plots import reliability_figure
        from events.plots import query_coverage

        title = f"{len(study.table.queries):,} queries of {len(study.table.documents):,} documents"
        figures = {"query_reliability": partial(reliability_figure, curves, title=title)}
        if len(coverage):
            figures["query_coverage"] = partial(query_coverage, coverage, level=max(study.levels))
        save_pictures(figures, file)
