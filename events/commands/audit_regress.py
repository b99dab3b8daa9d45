"""Regress audited counts on covariates of periods, actors or groups of documents, from labels and P.

SOURCE is the folder of the run, or the CSV file, from which `corefsample audit plan` drew the sample. SHEETS are the
labelled sheets. The table of covariates has one row for each unit: its column period, actor or event, or a column of
the CSV file with P, names the documents of the unit, and all other columns are numbers. Coefficients have no bias from
errors of P, and their intervals cover the labels.

Examples
--------
  corefsample audit regress run audit/sheet.csv --table quarters.csv
  corefsample audit regress run audit/sheet.csv --table quarters.csv --outcome log-rate
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from corefsample._lazy import pd
from corefsample.errors import InputError, ParameterError
from events import audit
from events._options import CommandResult, Options, declared, option
from events._summary import counted
from events.commands._parser import Command
from events.commands._screen import print_files, print_text

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike

COEFFICIENTS, UNITS = "regression.csv", "regression-units.csv"


@declared
class AuditRegressOptions(Options):
    """Options of a regression of audited counts on covariates.

    Attributes
    ----------
    table
        CSV file of the covariates, with one row for each unit.
    outcome
        Quantity of a unit to explain: count, its documents with the event, or share, their share of its documents, by
        least squares; log-rate, the logarithm of that share, by Poisson regression.
    level
        Confidence level of the intervals.
    plan
        Folder of the plan. [default: that of the first sheet]
    learned
        Folder of `corefsample audit learn`, whose P replaces the P of the plan. [default: P and proxies of the plan]
    out
        Folder for the tables. [default: that of the plan]
    """

    table: str = option(metavar="FILE")
    outcome: Literal["count", "share", "log-rate"] = "count"
    level: float = option(default=0.95, above=0.0, below=1.0)
    plan: str | None = option(default=None, metavar="FOLDER")
    learned: str | None = option(default=None, metavar="FOLDER")
    out: str | None = option(default=None, metavar="FOLDER")


@dataclass(frozen=True, slots=True)
class AuditRegressResult(CommandResult):
    """Result of a regression.

    Attributes
    ----------
    out
        Folder of the tables.
    plan
        Identity of the plan.
    outcome, level
        What was explained: count, share or log-rate; and the confidence level of the intervals, in (0, 1).
    n_units, n_labels
        Number of rows of the table of covariates, and of documents with a label.
    coefficients
        Mapping for each term: see `events.audit._regression.Coefficient`.
    files
        Names of the files written.
    """

    out: str
    plan: str
    outcome: str
    level: float
    n_units: int
    n_labels: int
    coefficients: tuple[dict[str, Any], ...]
    files: tuple[str, ...]


def run_audit_regress(source: PathLike, sheets: Sequence[PathLike], options: AuditRegressOptions) -> AuditRegressResult:
    """Regress audited counts on covariates, and write regression.csv and regression-units.csv.

    Parameters
    ----------
    source
        Folder of the run, or CSV file, that the plan was drawn from.
    sheets
        Labelled sheets, at least one: of several rounds, of several labellers, or both.
    options
        Table of the covariates, outcome, and where to write results, which replace earlier ones.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if a sheet does not belong to the plan, if the table of covariates breaks a rule of
        `events.audit.regress_counts`, or if a file cannot be written.
    """
    from corefsample.files._atomic import unwritable
    from events.audit._documents import read_text_table
    from events.audit._sheets import UNSURE
    from events.commands._audit_files import labelled_plan, read_learned, write_tables

    plan_folder, plan, labels = labelled_plan(source, sheets, options.plan)
    learned = None if options.learned is None else read_learned(options.learned, plan, "cross_fitted")
    covariates = read_text_table(options.table, ())
    try:
        result = audit.regress_counts(plan, labels, covariates, learned=learned, **options.subset("outcome", "level"))
    except InputError as error:
        raise error.at(options.table) from None
    except ParameterError as error:
        if error.parameter != "covariates":
            raise
        raise error.as_input_error(options.table) from None
    folder = plan_folder if options.out is None else Path(options.out)
    of_units = covariates.drop(columns=list(result.units), errors="ignore").reset_index(drop=True)
    units = pd.concat([result.units, of_units], axis=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_tables(folder, {COEFFICIENTS: result.to_frame(), UNITS: units})
    except OSError as error:
        raise unwritable(folder, error) from None
    return AuditRegressResult(
        out=os.fspath(folder),
        plan=plan.identity,
        outcome=options.outcome,
        level=options.level,
        n_units=len(units),
        n_labels=int((labels.labels < UNSURE).any(axis=1).sum()),
        coefficients=tuple(map(dataclasses.asdict, result.coefficients)),
        files=(COEFFICIENTS, UNITS),
    )


def print_audit_regress(summary: AuditRegressResult) -> None:
    """Print the coefficients with their intervals, the naive ones, and what more labels would find."""
    labels = counted(summary.n_labels, "labelled document")
    print_text(f"{summary.outcome} in {counted(summary.n_units, 'unit')}, from {labels}.")
    width = max(len(row["term"]) for row in summary.coefficients)
    interval = f"{100 * summary.level:g}% interval"
    click.echo(f"\n{'':<{width}}  {'estimate':>9}  {interval:>22}  {'P value':>7}  from P alone")
    for row in summary.coefficients:
        interval = f"{row['lower']:.3g} to {row['upper']:.3g}"
        numbers = f"{row['estimate']:>9.3g}  {interval:>22}  {row['p_value']:>7.3f}  {row['run_estimate']:>12.3g}"
        click.echo(f"{row['term']:<{width}}  {numbers}")
    click.echo()
    for row in summary.coefficients[1:]:
        power = f"found in four of five samples from {row['detectable']:.3g} on, with twice the labels from"
        print_text(f"A coefficient of {row['term']} is {power} {row['detectable_twice']:.3g}.")
    print_files(summary.out, {"Table": COEFFICIENTS, "Units": UNITS})


command = Command(
    AuditRegressOptions,
    run_audit_regress,
    "source",
    "sheets+",
    reads_lines=False,
    show=print_audit_regress,
)
