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
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike
from corefsample.recalibration import (
    NO_RECALIBRATION,
    UNCERTAINTIES,
    Recalibration,
    Uncertainty,
    named_recalibration,
    read_recalibration,
)
from events.jobs._fit_options import FitOptions
from events.jobs._output_folder import OutputFolder
from events.jobs._pictures import picture_files, save_pictures
from events.jobs._reading import BadDocuments, GoldDocuments, Progress
from events.jobs._record import checksums, json_rows, plain_fields, run_record
from events.queries import N_BINS, OBJECTIVES, QueryStudy, links_by_kind, study_queries

__all__ = ["QUERY_FILES", "QueryReport", "QueryReportFolder", "QueryReportOptions", "run_query_report", "write_study"]

_NAMES = ("scores", "reliability", "coverage", "intervals", "recalibrations", "groups", "overdispersion", "link_kinds")
_TABLES = [f"query_{name}.csv" for name in _NAMES]
QUERY_FILES = frozenset([*_TABLES, "query_pairs.parquet", *picture_files("query_reliability", "query_coverage")])


_OPTIONAL_GROUPS = ("genre",)
_OBJECTIVES: dict[str, tuple[str, ...]] = {
    "global": ("likelihood", "links", "links-log", "queries"),
    "kinds": ("joint", "likelihood"),
}


class QueryReportFolder(OutputFolder):
    """Collects the files of a query report: see `OutputFolder`."""

    RECORD: ClassVar[str] = "query_report.json"
    FILES: ClassVar[frozenset[str]] = QUERY_FILES | {"quarantine.jsonl", RECORD}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReportOptions(FitOptions):
    """Options of a query report; the other attributes are those of `FitOptions`.

    Attributes
    ----------
    objectives
        Recalibrations to compare, out of joint, likelihood, links, links-log, queries, queries-log; None: those that
        docs/recalibration.md compares, or joint and likelihood for the form "kinds".
    n_boot
        Refits on bootstrapped documents, or draws of the recalibration; 0 for none.
    recalibration
        Record of `corefsample recalibrate` to measure instead of the objectives; "english": that of the English model;
        None or "none": the objectives.
    uncertainty
        "none", "fit" or "domain": of that recalibration, in the intervals, or without one of the recalibration of the
        English model if it is the one that the scores had; None: all that it has.
    group_by
        Fields of the documents by which to compare P with the truth; some document must have each but genre.
    """

    objectives: tuple[str, ...] | None = None
    n_boot: int = 100
    recalibration: str | None = None
    uncertainty: Uncertainty | None = None
    group_by: tuple[str, ...] = _OPTIONAL_GROUPS

    def __post_init__(self) -> None:
        FitOptions.__post_init__(self)
        for objective in self.objectives or ():
            _checks.choice("objectives", objective, OBJECTIVES)
        _checks.whole("n_boot", self.n_boot, 0)
        named = self.recalibration
        object.__setattr__(self, "recalibration", named_recalibration(named))
        if named == NO_RECALIBRATION and self.uncertainty is None:
            object.__setattr__(self, "uncertainty", "none")
        if self.uncertainty is not None:
            _checks.choice("uncertainty", self.uncertainty, UNCERTAINTIES)
            if named == NO_RECALIBRATION and self.uncertainty != "none":
                raise ParameterError("needs a recalibration, got none", parameter="uncertainty")


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
            **plain_fields(self),
            "n_queries": len(study.table.queries),
            "n_pairs": study.table.n_pairs,
            "n_left_out": study.n_left_out,
            "scores": json_rows(study.scores()),
            "recalibrations": json_rows(study.recalibrations()),
            "coverage": json_rows(study.coverage()),
            "failures": dict(study.failures),
        }


def run_query_report(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike | None = None,
    options: QueryReportOptions | None = None,
    *,
    overwrite: bool = False,
    pictures: bool = True,
    on_progress: Progress | None = None,
) -> QueryReport:
    """Check the intervals of entity queries on a corpus with gold, before and after cross-validated recalibration.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input. Documents without gold are counted and left out.
    out
        Folder for tables, pictures and the record; None to write nothing.
    options
        How to measure.
    overwrite
        Whether an earlier report's folder may be replaced.
    pictures
        Whether to draw reliability curves and coverage.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents.

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
        documents = gold.required("queries")
        study = _study(documents, gold.place, options)
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
            _write_link_kinds(study, documents, options, folder.file("query_link_kinds.csv"))
            arguments = {**dataclasses.asdict(options), "out": report.out}
            inputs_read = checksums(gold.stream.paths)
            folder.finish_record(run_record(arguments, inputs_read, started, summary=report.to_json()))
    return report


def _study(documents: Sequence[ScoredDocument], place: str, options: QueryReportOptions) -> QueryStudy:
    chosen: dict[str, Any] = dataclasses.asdict(options)
    del chosen["on_error"]
    chosen["by"] = chosen.pop("group_by")
    if options.objectives is None:
        chosen["objectives"] = _OBJECTIVES[options.form]
    chosen["domains"] = options.domains_of(documents, place)
    if options.recalibration is not None:
        chosen["recalibration"] = read_recalibration(options.recalibration)
        if options.uncertainty is not None:
            chosen["recalibration"].sampled(options.uncertainty, 1)  # an error of the option, not of the documents
    for name in options.group_by:
        if name not in _OPTIONAL_GROUPS and not any(name in document.metadata for document in documents):
            rule = f"documents with gold must have the field {name} (group_by)"
            raise InputError(f"{rule}, got none in {len(documents)}", place=place)
    try:
        study = study_queries(documents, **chosen)
    except ParameterError as error:  # the options are valid, so the fault is in the files
        raise error.as_input_error(place) from None
    if study.table.n_pairs < N_BINS:
        rule = f"gold must make at least {N_BINS} pairs of query and document"
        raise InputError(f"{rule}, got {study.table.n_pairs}", place=place)
    return study


def _write_link_kinds(
    study: QueryStudy, documents: Sequence[ScoredDocument], options: QueryReportOptions, path: Path
) -> None:
    """Write the table of links by kinds of mentions, of each variant."""
    import pandas as pd

    parts = []
    by_id = {document.doc_id: document for document in documents}
    used = [by_id[doc_id] for doc_id in study.table.doc_ids]
    for variant in study.variants:
        changes = variant.recalibrations or (Recalibration(),) * len(used)
        part = links_by_kind(used, changes, unannotated=options.unannotated)
        part.insert(0, "variant", variant.name)
        parts.append(part)
    pd.concat(parts, ignore_index=True).to_csv(path, index=False)


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
    groups, overdispersion = study.misfit()
    groups.to_csv(file("query_groups.csv"), index=False)
    overdispersion.to_csv(file("query_overdispersion.csv"), index=False)
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
