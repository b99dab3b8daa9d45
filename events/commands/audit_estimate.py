"""Estimate counts from labelled sheets, with intervals that hold whatever the model's errors are.

SOURCE is the folder of the run, or the CSV file, from which `corefsample audit plan` drew the sample. SHEETS are the
sheets of all rounds and labellers.

Examples
--------
  corefsample audit estimate run audit/sheet.csv
  corefsample audit estimate run audit/sheet.csv --assume stable-errors
  corefsample audit estimate run audit/sheet.csv audit/sheet-2.csv
  corefsample audit estimate run audit/sheet.csv --learned learned
  corefsample audit estimate run audit/sheet.csv --proxy llm --table llm.csv
  corefsample audit estimate run audit/sheet.csv --prior reference
  corefsample audit estimate run anna.csv ben.csv --plan audit --out audited
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from corefsample._lazy import pd
from corefsample.errors import InputError
from events import _shared_options as shared
from events import audit
from events._options import CommandResult, declared, option
from events._summary import counted, covered_uncertainty
from events.commands._parser import Command
from events.commands._screen import print_files, print_text
from events.runs._output_folder import picture_files, save_pictures

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.audit._estimates import AuditEstimate
    from events.audit._plan import AuditPlan
    from events.audit._sheets import SheetLabels
    from events.pages._questions import Question

RECORD = "audited.json"
RESOLVE = "sheet-resolve.csv"
_TABLES = ("quality", "more", "agreement", "learned")  # of an estimate, in its summary as they are


@declared
class AuditEstimateOptions(shared.Pictures):
    """Options of the estimation of totals from the labels of an audit.

    Attributes
    ----------
    out
        Folder for tables and picture. [default: that of the plan]
    plan
        Folder of the plan. [default: that of the first sheet]
    level
        Level of the confidence intervals. The method mid-p has the level 0.95 only.
    method
        Method of the intervals: mid-p, or exact, whose intervals are exact in each stratum, and wider.
    assume
        Assumption that lets the count of a period use the labels of all periods: stable-errors, the errors of P are the
        same in all periods. [default: a period uses only its own labels]
    learned
        Folder of `corefsample audit learn`. Totals are also computed with its learned probabilities, and written beside
        the design-based ones. [default: none]
    proxies
        Column of a table with another model's probability, or a coder's yes or no, for each document. Totals are also
        computed with these columns, and written beside the design-based ones. [default: the columns of the plan]
    table
        CSV file with the column doc_id and the columns of other models or coders. [default: the CSV file with P]
    prior
        Errors of other rules, from which totals are also computed, and written beside the design-based ones:
        `reference`, for the table in the package, or a CSV file like it. These intervals are narrower, and assume that
        the rule errs as the other rules do. [default: none]
    """

    out: str | None = option(default=None, metavar="FOLDER")
    plan: str | None = option(default=None, metavar="FOLDER")
    level: float = option(default=0.95, above=0.0, below=1.0)
    method: Literal["mid-p", "exact"] = "mid-p"
    assume: Literal["stable-errors"] | None = None
    learned: str | None = option(default=None, metavar="FOLDER")
    proxies: tuple[str, ...] = option(default=(), flag="--proxy", metavar="NAME")
    table: str | None = option(default=None, metavar="FILE")
    prior: str | None = option(default=None, metavar="TABLE")


@dataclass(frozen=True, slots=True)
class AuditEstimateResult(CommandResult):
    """Result of an estimate.

    Attributes
    ----------
    out
        Folder of the tables and the picture.
    plan
        Identity of the plan.
    level, method, assumption
        Confidence level of the intervals, in (0, 1); method of the intervals, mid-p or exact; and "stable-errors" if
        counts by period rest on this assumption, "" otherwise.
    n_documents, n_labels, n_unsure, n_missing
        Number of all documents; and of documents of the sample with a label, with an unsure label, and without a label.
    totals, quality, more, agreement
        Rows of the tables of totals, of precision and recall, of what more labels would give, and of the agreement of
        labellers.
    learned
        Rows of totals that rest on learned P or on the reference class of rules; empty without either.
    n_few
        Number of periods, over all targets, whose interval is wider than half of their documents.
    n_periods
        Number of periods with documents, over all targets.
    n_resolve
        Number of documents on which labellers disagree.
    files
        Names of the files written.
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
    learned: tuple[dict[str, Any], ...]
    n_few: int
    n_periods: int
    n_resolve: int
    files: tuple[str, ...]


def run_audit_estimate(
    source: PathLike, sheets: Sequence[PathLike], options: AuditEstimateOptions | None = None
) -> AuditEstimateResult:
    """Estimate counts from labelled sheets, and write tables and a picture.

    Parameters
    ----------
    source
        Folder of the run, or CSV file, that the plan was drawn from.
    sheets
        Labelled sheets, at least one: of several rounds, of several labellers, or both.
    options
        How to estimate, and where to write results, which replace earlier ones.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if a sheet does not belong to the plan or has invalid labels, or if a file cannot be
        written; then nothing is written.
    """
    from corefsample.files._atomic import unwritable, write_json
    from events.audit._reference import ReferenceClass, reference_rows, reference_totals
    from events.audit._sheets import disagreement_sheet
    from events.commands._audit_files import (
        actor_kinds,
        labelled_plan,
        learned_counts,
        plan_question,
        proxy_columns,
        read_learned,
    )
    from events.plots import audit_bands
    from events.rule_error._model import reference_model
    from events.runs._record import checksums, run_record

    options = options or AuditEstimateOptions()
    started = time.time()
    folder, plan, labels = labelled_plan(source, sheets, options.plan)
    names = [os.fspath(path) for path in sheets]
    interval_options = options.subset("level", "method", "assume")
    learned = None if options.learned is None else read_learned(options.learned, plan, "cross_fitted")
    proxies = proxy_columns(options.proxies, plan.frame, options.table)
    try:
        estimate = audit.estimate_counts(plan, labels, learned=learned, proxies=proxies, **interval_options)
    except InputError as error:
        raise error.at(", ".join(names)) from None
    kinds = actor_kinds(plan, source)
    if options.prior is not None:
        model = reference_model(None if options.prior == "reference" else options.prior)
        totals = reference_totals(plan, labels, ReferenceClass(model, kinds), level=options.level)
        estimate = dataclasses.replace(estimate, learned=(*estimate.learned, *totals))
    to_resolve = disagreement_sheet(plan, labels)
    output = folder if options.out is None else Path(options.out)
    arguments = {
        **interval_options,
        "learned": options.learned,
        "prior": options.prior,
        **options.subset("proxies", "table"),
        "source": os.fspath(source),
        "plan": os.fspath(folder),
    }
    record = run_record(arguments, checksums(names), started)
    try:
        output.mkdir(parents=True, exist_ok=True)
        files = _written(plan, labels, estimate, reference_rows(plan, labels, kinds), output)
        if options.pictures:
            counts = None if options.learned is None else learned_counts(options.learned)
            figure = partial(audit_bands, estimate.to_frame(), covers=_covered(source), learned=counts)
            save_pictures({"audited": figure}, lambda name: output / name)
            files += tuple(name for name in picture_files("audited") if (output / name).is_file())
        files += _sheet_to_resolve(
            plan, to_resolve, output, sheets, source=source, question=plan_question(folder, plan)
        )
        result = _result(plan, estimate, output, files, options, n_resolve=len(to_resolve))
        write_json(output / RECORD, {**record, "summary": result.to_json()})
    except OSError as error:
        raise unwritable(output, error) from None
    return result


def _covered(source: PathLike) -> str:
    """What the model's intervals cover, for the legend of the picture; "" of a table that is not a run's."""
    from corefsample.files._contents import read_json

    path = Path(source) / "run.json"
    if not path.is_file():
        return ""
    summary = read_json(path)["summary"]
    is_recalibrated = summary.get("uncertainty") in ("fit", "domain")
    return covered_uncertainty(parses=bool(summary.get("n_several_parses")), recalibration=is_recalibrated)


def _written(
    plan: AuditPlan, labels: SheetLabels, estimate: AuditEstimate, reference: pd.DataFrame, output: Path
) -> tuple[str, ...]:
    """Write the tables; return their names."""
    from events.audit._estimates import LearnedTotal, rows_frame
    from events.audit._quality import CurvePoint, Disagreement, ModelQuality
    from events.audit._sheets import label_table
    from events.commands._audit_files import write_tables
    from events.rule_error._table import AUDITED

    rows = rows_frame(estimate.disagreements, Disagreement)
    tables = {
        "audited.csv": estimate.to_frame(),
        "audited-model.csv": rows_frame(estimate.quality, ModelQuality),
        "audited-curve.csv": rows_frame(estimate.curve, CurvePoint),
        "labels.csv": label_table(plan, labels),
        AUDITED: reference,
        "disagreements.csv": rows.assign(text=[labels.texts.get(doc_id, "") for doc_id in rows["doc_id"]]),
    }
    if estimate.learned:
        tables["audited-learned.csv"] = rows_frame(estimate.learned, LearnedTotal)
    else:
        (output / "audited-learned.csv").unlink(missing_ok=True)  # of an earlier estimate
    write_tables(output, tables)
    return tuple(tables)


def _sheet_to_resolve(
    plan: AuditPlan,
    sheet: pd.DataFrame,
    output: Path,
    sheets: Sequence[PathLike],
    *,
    source: PathLike,
    question: Question,
) -> tuple[str, ...]:
    """Write the documents on which labellers disagree as a sheet and its page, unless it is one of the inputs."""
    from events.commands._audit_files import page_name, write_sheet

    path = output / RESOLVE
    page = path.with_name(page_name(RESOLVE))
    if path.exists() and any(Path(sheet).exists() and path.samefile(sheet) for sheet in sheets):
        return ()
    for earlier in (path, page):
        earlier.unlink(missing_ok=True)
    if sheet.empty:
        return ()
    write_sheet(path, plan, sheet, {}, source=source, question=question)
    return path.name, page.name


def _result(
    plan: AuditPlan,
    estimate: AuditEstimate,
    output: Path,
    files: tuple[str, ...],
    options: AuditEstimateOptions,
    *,
    n_resolve: int,
) -> AuditEstimateResult:
    total = estimate.totals[0]
    periods = [each for each in estimate.counts if each not in estimate.totals and each.n_docs]
    return AuditEstimateResult(
        out=str(output),
        plan=plan.identity,
        level=options.level,
        method=options.method,
        assumption=options.assume or "",
        n_documents=len(plan.frame),
        n_labels=total.n_labelled - total.n_missing,
        n_unsure=total.n_unsure,
        n_missing=total.n_missing,
        totals=tuple({**dataclasses.asdict(each), "period_start": str(each.period_start)} for each in estimate.totals),
        **{name: tuple(map(dataclasses.asdict, getattr(estimate, name))) for name in _TABLES},
        n_few=sum(each.upper - each.lower > 0.5 * each.n_docs for each in periods),
        n_periods=len(periods),
        n_resolve=n_resolve,
        files=files,
    )


def print_audit_estimate(summary: AuditEstimateResult) -> None:
    """Print the counts, precision and recall, agreement, and what more labels would give."""
    print_text(f"{counted(summary.n_labels, 'label')} of {summary.n_documents:,} documents, method {summary.method}.")
    if summary.n_unsure or summary.n_missing:
        print_text(
            f"{summary.n_unsure:,} unsure and {summary.n_missing:,} missing are counted both ways: the lower limits "
            "have them as no, the upper limits as yes."
        )
    click.echo(f"\nDocuments with the event, with {100 * summary.level:g}% intervals:")
    width = max(len(str(row["actor"] or row["event"])) for row in summary.totals)
    for row in summary.totals:
        audited = f"{row['estimate']:9,.1f}  {row['lower']:>7,} to {row['upper']:>7,}"
        model = f"model {row['model_mean']:9,.1f}  {row['model_lower']:>7,} to {row['model_upper']:>7,}"
        click.echo(f"  {row['actor'] or row['event']:<{width}}  audited {audited}   {model}")
    for row in summary.learned:
        learned = (
            f"{row['assumption'].partition(' ')[0]} {row['estimate']:9,.1f}  {row['lower']:>7,} to {row['upper']:>7,}"
        )
        rests = f"approximate: rests on labels and {row['assumption']}"
        click.echo(f"  {row['actor'] or row['event']:<{width}}  {learned}   {rests}")
    click.echo()
    for row in summary.quality:
        if len(summary.totals) == 1 and row["estimate"] == row["estimate"]:
            click.echo(
                f"{row['measure']:<9} of P >= 0.5  {row['estimate']:.3f}  {row['lower']:.3f} to {row['upper']:.3f}"
            )
    for row in summary.agreement:
        kappa = f"kappa {row['kappa']:.2f}, {row['lower']:.2f} to {row['upper']:.2f}"
        click.echo(f"{row['first']} and {row['second']}: {row['n_agreed']:,} of {row['n_documents']:,} agree, {kappa}")
    if summary.n_resolve:
        print_text(
            f"{counted(summary.n_resolve, 'document')} labelled differently, counted both ways; label them in "
            f"{os.path.join(summary.out, 'sheet-resolve.csv')} and name that sheet too."
        )
    _print_use_of_labels(summary)
    print_files(summary.out, {"Picture": "audited.png", "Counts": "audited.csv", "Model": "audited-model.csv"})
    print_files(summary.out, {"Errors": "disagreements.csv"})


def _print_use_of_labels(summary: AuditEstimateResult) -> None:
    more = summary.more[0]
    if len(summary.more) == 1 and more["n_more"] and more["width"] > 0:
        share = more["width_after"] / more["width"]
        labels = counted(more["n_more"], "more label")
        print_text(f"{labels} would make the interval of the total {share:.2g} times as wide.")
    if summary.assumption:
        print_text("Counts of periods assume that within a range of P the model's errors are the same in all periods.")
    elif summary.n_few:
        print_text(
            f"{summary.n_few:,} of {counted(summary.n_periods, 'count')} of periods have an interval wider than half "
            "of their documents: they have few labels. More labels narrow it, or --assume stable-errors."
        )


command = Command(
    AuditEstimateOptions,
    run_audit_estimate,
    "source",
    "sheets+",
    reads_lines=False,
    show=print_audit_estimate,
)
