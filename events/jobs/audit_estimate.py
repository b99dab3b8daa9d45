"""The job behind `corefsample audit estimate`: counts from labels, as tables and a picture."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, new_file, unwritable, write_json
from events.audit import (
    DEFAULT_METHOD,
    AuditEstimate,
    AuditPlan,
    Method,
    SheetLabels,
    disagreement_sheet,
    estimate_counts,
    label_table,
    read_sheets,
)
from events.jobs._audit_pages import page_name, write_sheet_page
from events.jobs._pictures import picture_files, save_pictures
from events.jobs._record import checksums, run_record
from events.jobs.audit_plan import plan_question, read_plan

__all__ = ["AuditSummary", "run_audit_estimate"]

RECORD = "audited.json"
RESOLVE = "sheet-resolve.csv"


@dataclass(frozen=True, slots=True)
class AuditSummary:
    """Summary of an estimate.

    Attributes
    ----------
    out
        The folder.
    plan
        Identity of the plan.
    level, method, assumption
        Of the intervals.
    n_documents, n_labels, n_unsure, n_missing
        Documents in all; those of the sample with a label, with an unsure one, and without.
    totals, quality, more, agreement
        Rows of the totals, of precision and recall, of the use of more labels, and of the agreement of labellers.
    n_few
        Periods of all targets whose interval is wider than half of their documents.
    n_periods
        Periods of all targets with documents.
    n_resolve
        Documents on which labellers disagree.
    files
        The files written.
    """

    out: str
    plan: str
    level: float
    method: str
    assumption: str
    n_documents: int
    n_labels: int
    n_unsure: int
    n_missing: int
    totals: tuple[dict[str, Any], ...]
    quality: tuple[dict[str, Any], ...]
    more: tuple[dict[str, Any], ...]
    agreement: tuple[dict[str, Any], ...]
    n_few: int
    n_periods: int
    n_resolve: int
    files: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self)


def run_audit_estimate(
    source: PathLike,
    sheets: Sequence[PathLike],
    out: PathLike | None = None,
    *,
    plan: PathLike | None = None,
    level: float = 0.95,
    method: Method = DEFAULT_METHOD,
    assume: str | None = None,
    pictures: bool = True,
) -> AuditSummary:
    """Estimate counts from labelled sheets, and write tables and a picture.

    Parameters
    ----------
    source
        The run or CSV file of which the plan is.
    sheets
        One or more sheets: of several rounds, of several labellers, or both.
    out
        Folder of the results, which replace earlier ones; None: that of the plan.
    plan
        Folder of the plan; None: that of the first sheet.
    level, method, assume
        As in `events.audit.estimate_counts`.
    pictures
        Whether to draw the bands.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a sheet or the folder breaks its rule; then nothing is written.
    """
    if not sheets:
        raise ParameterError("must name at least one sheet, got none", parameter="sheets")
    started = time.time()
    folder = Path(plan) if plan is not None else Path(sheets[0]).parent
    audit = read_plan(folder, source)
    labels = read_sheets(audit, sheets)
    options: dict[str, Any] = {"level": level, "method": method, "assume": assume}
    try:
        estimate = estimate_counts(audit, labels, **options)
    except InputError as error:
        raise error.at(", ".join(os.fspath(path) for path in sheets)) from None
    place = folder if out is None else Path(out)
    arguments = {**options, "source": os.fspath(source), "plan": os.fspath(folder)}
    record = run_record(arguments, checksums([os.fspath(path) for path in sheets]), started)
    try:
        place.mkdir(parents=True, exist_ok=True)
        files = _written(audit, labels, estimate, place, pictures=pictures)
        files += _sheet_to_resolve(audit, labels, place, sheets, source=source, question=plan_question(folder))
        summary = _summary(audit, labels, estimate, place, files, options)
        write_json(place / RECORD, {**record, "summary": summary.to_json()})
    except OSError as error:
        raise unwritable(place, error) from None
    return summary


def _written(
    plan: AuditPlan, labels: SheetLabels, estimate: AuditEstimate, place: Path, *, pictures: bool
) -> tuple[str, ...]:
    """Write the tables and the picture; return their names."""
    found = estimate.disagreement_frame()
    tables = {
        "audited.csv": estimate.to_frame(),
        "audited-model.csv": estimate.quality_frame(),
        "audited-curve.csv": estimate.curve_frame(),
        "labels.csv": label_table(plan, labels),
        "disagreements.csv": found.assign(text=[labels.texts.get(doc_id, "") for doc_id in found["doc_id"]]),
    }
    for name, table in tables.items():
        with new_file(place / name, overwrite=True) as path:
            table.to_csv(path, index=False)
    names = list(tables)
    if pictures:
        from events.plots import audit_bands

        save_pictures({"audited": lambda: audit_bands(tables["audited.csv"])}, lambda name: place / name)
        names += [name for name in picture_files("audited") if (place / name).is_file()]
    return tuple(names)


def _sheet_to_resolve(
    plan: AuditPlan,
    labels: SheetLabels,
    place: Path,
    sheets: Sequence[PathLike],
    *,
    source: PathLike,
    question: str | None,
) -> tuple[str, ...]:
    """Write the documents on which labellers disagree as a sheet and its page, unless it is one of the inputs."""
    path = place / RESOLVE
    page = path.with_name(page_name(RESOLVE))
    if path.exists() and any(Path(sheet).exists() and path.samefile(sheet) for sheet in sheets):
        return ()
    for earlier in (path, page):
        earlier.unlink(missing_ok=True)
    sheet = disagreement_sheet(plan, labels)
    if sheet.empty:
        return ()
    with new_file(path, overwrite=True) as name:
        sheet.to_csv(name, index=False)
    write_sheet_page(path, plan, sheet, {}, source=source, question=question)
    return path.name, page.name


def _summary(
    plan: AuditPlan,
    labels: SheetLabels,
    estimate: AuditEstimate,
    place: Path,
    files: tuple[str, ...],
    options: dict[str, Any],
) -> AuditSummary:
    total = estimate.totals[0]
    periods = [each for each in estimate.counts if each not in estimate.totals and each.n_docs]
    n_resolve = len(disagreement_sheet(plan, labels)) if len(labels.by_labeller) > 1 else 0
    return AuditSummary(
        out=str(place),
        plan=plan.identity,
        level=options["level"],
        method=options["method"],
        assumption=options["assume"] or "",
        n_documents=len(plan.frame),
        n_labels=total.n_labelled - total.n_missing,
        n_unsure=total.n_unsure,
        n_missing=total.n_missing,
        totals=tuple({**dataclasses.asdict(each), "period_start": str(each.period_start)} for each in estimate.totals),
        quality=tuple(dataclasses.asdict(each) for each in estimate.quality),
        more=tuple(dataclasses.asdict(each) for each in estimate.more),
        agreement=tuple(dataclasses.asdict(each) for each in estimate.agreement),
        n_few=sum(each.upper - each.lower > 0.5 * each.n_docs for each in periods),
        n_periods=len(periods),
        n_resolve=n_resolve,
        files=files,
    )
