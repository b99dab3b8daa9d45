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

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from corefsample._arrays import pd
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from events import _options as shared, audit
from events._summary import Summary, Table, counted, existing_files
from events.commands._parser import Command

COEFFICIENTS, UNITS = "regression.csv", "regression-units.csv"


@shared.declared
class AuditRegressOptions(shared.PlanOfLabels):
    """Options of a regression of audited counts on covariates.

    Attributes
    ----------
    table
        CSV file of the covariates, with one row for each unit.
    outcome
        Quantity of a unit to explain: count, its documents with the event, or share, their share of its documents, by
        least squares; log-rate, the logarithm of that share, by Poisson regression.
    learned
        Folder of `corefsample audit learn`, whose P replaces the P of the plan. [default: P and proxies of the plan]
    out
        Folder for the tables. [default: that of the plan]
    """

    table: str = shared.option(metavar="FILE")
    outcome: Literal["count", "share", "log-rate"] = "count"
    learned: str | None = shared.option(default=None, metavar="FOLDER")
    out: str | None = shared.option(default=None, metavar="FOLDER")


def run_audit_regress(source: PathLike, sheets: Sequence[PathLike], options: AuditRegressOptions) -> Summary:
    """Regress audited counts on covariates, and write regression.csv and regression-units.csv.

    Parameters
    ----------
    source
        Folder of the run, or CSV file, that the plan was drawn from.
    sheets
        Labelled sheets, at least one: of several rounds, of several labellers, or both.
    options
        Table of the covariates, outcome, and where to write results, which replace earlier ones.

    Returns
    -------
    Summary
        Values: out and plan, folder of the tables and identity of the plan; outcome and level; n_units and n_labels,
        numbers of rows of the table of covariates and of documents with a label; coefficients, rows of the table of
        `events.audit._regression.CountRegression`; and files, names of the files written.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if a sheet does not belong to the plan, if the table of covariates breaks a rule of
        `events.audit.regress_counts`, or if a file cannot be written.
    """
    from corefsample.files._atomic import unwritable
    from events.audit._audit_frame import read_text_table
    from events.audit._plan_files import labelled_plan, read_learned, write_tables
    from events.audit._sheets import UNSURE

    plan_folder, plan, labels = labelled_plan(source, sheets, options.plan, options.rounds)
    learned = None if options.learned is None else read_learned(options.learned, plan)
    covariates = read_text_table(options.table, ())
    try:
        result = audit.regress_counts(plan, labels, covariates, learned=learned, **options.subset("outcome", "level"))
    except InputError as error:
        raise error.at(options.table) from None
    folder = plan_folder if options.out is None else Path(options.out)
    of_units = covariates.drop(columns=list(result.units), errors="ignore").reset_index(drop=True)
    units = pd.concat([result.units, of_units], axis=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_tables(folder, {COEFFICIENTS: result.to_frame(), UNITS: units})
    except OSError as error:
        raise unwritable(folder, error) from None
    values = {
        "out": os.fspath(folder),
        "plan": plan.identity,
        **options.subset("outcome", "level"),
        "n_units": len(units),
        "n_labels": int((labels.labels < UNSURE).any(axis=1).sum()),
        "coefficients": result.coefficients.to_dict("records"),
        "files": (COEFFICIENTS, UNITS),
    }
    files = existing_files(values["out"], {"Table": COEFFICIENTS, "Units": UNITS})
    return Summary(values=values, shown=tuple(_shown(values)), files=files, result=result)


def _shown(values: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the coefficients with their intervals, those from P alone, and what more labels would find."""
    labels = counted(values["n_labels"], "labelled document")
    yield f"{values['outcome']} in {counted(values['n_units'], 'unit')}, from {labels}."
    rows = [
        (
            row["term"],
            f"{row['estimate']:.3g}",
            f"{row['lower']:.3g} to {row['upper']:.3g}",
            f"{row['p_value']:.3f}",
            f"{row['run_estimate']:.3g}",
        )
        for row in values["coefficients"]
    ]
    yield Table(("", "estimate", f"{100 * values['level']:g}% interval", "P value", "from P alone"), rows)
    yield ""
    for row in values["coefficients"][1:]:
        power = f"found in four of five samples from {row['detectable']:.3g} on, with twice the labels from"
        yield f"A coefficient of {row['term']} is {power} {row['detectable_twice']:.3g}."


command = Command(AuditRegressOptions, run_audit_regress, "source", "sheets+")
