"""Estimate counts from labelled sheets, with intervals that hold whatever the model's errors are.

SOURCE is the folder of the run, or the CSV file, from which `corefsample audit plan` drew the sample. SHEETS are the
sheets of all rounds and labellers.

Examples
--------
  corefsample audit estimate run audit/sheet.csv
  corefsample audit estimate run audit/sheet.csv audit/sheet-2.csv
  corefsample audit estimate run audit/sheet.csv --learned learned
  corefsample audit estimate run audit/sheet.csv --proxy llm --table llm.csv
  corefsample audit estimate run audit/sheet.csv --prior none
  corefsample audit estimate run anna.csv ben.csv --plan audit --out audited
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from events import _options as shared, audit
from events._summary import Summary, Table, counted, counts_above_zero, covered_uncertainty, existing_files, json_values
from events.commands._parser import Command
from events.runs._outputs import save_pictures


@shared.declared
class AuditEstimateOptions(shared.Pictures, shared.PlanOfLabels):
    """Options of the estimation of totals from the labels of an audit.

    Attributes
    ----------
    out
        Folder for tables and picture. [default: that of the plan]
    level
        Level of the confidence intervals. The method mid-p has the level 0.95 only.
    method
        Method of the intervals: mid-p, or exact, whose intervals are exact in each stratum, and wider.
    learned
        Folder of `corefsample audit learn`. Totals are also computed with its learned probabilities, and written beside
        the design-based ones. [default: none]
    proxies
        Column of a table with another model's probability, or a coder's yes or no, for each document. Totals are also
        computed with these columns, and written beside the design-based ones. [default: the columns of the plan]
    table
        CSV file with the column doc_id and the columns of other models or coders. [default: the CSV file with P]
    prior
        Errors of other rules, from which the first totals of a run are computed, beside the design-based ones:
        `reference`, for the table in the package, a CSV file like it, or `none`. These intervals are narrower, and
        assume that the rule errs as the other rules do.
    """

    out: str | None = shared.option(default=None, metavar="FOLDER")
    method: Literal["mid-p", "exact"] = "mid-p"
    learned: str | None = shared.option(default=None, metavar="FOLDER")
    proxies: tuple[str, ...] = shared.option(default=(), flag="--proxy", metavar="NAME")
    table: str | None = shared.option(default=None, metavar="FILE")
    prior: str = shared.option(default="reference", metavar="TABLE")


def run_audit_estimate(
    source: PathLike, sheets: Sequence[PathLike], options: AuditEstimateOptions | None = None
) -> Summary:
    """Estimate counts from labelled sheets, and write tables and a picture.

    Parameters
    ----------
    source
        Folder of the run, or CSV file, that the plan was drawn from.
    sheets
        Labelled sheets, at least one: of several rounds, of several labellers, or both.
    options
        How to estimate, and where to write results, which replace earlier ones.

    Returns
    -------
    Summary
        Values: out and plan, folder of the tables and identity of the plan; level and method of the
        intervals; n_documents, and of the documents of the sample n_labels, n_unsure and n_missing; totals, quality,
        agreement and learned, rows of these tables of `AuditEstimate`; carrying and uncovered, the results of
        `events.audit._estimates.carrying_labels` and `uncovered_labels`; n_few, number of periods, over all
        targets, whose interval is wider than half of their documents, and n_periods, of all with documents; n_resolve,
        number of documents on which labellers disagree; n_more and width_after, the results of
        `events.audit._estimates.more_labels`; and files, names of the files written.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if a sheet does not belong to the plan or has invalid labels, or if a file cannot be
        written; then nothing is written.
    """
    from corefsample.files._atomic import unwritable, write_json
    from corefsample.files._reading import read_json, sealed, sha256
    from events.audit._estimates import carrying_labels, more_labels, uncovered_labels
    from events.audit._model_totals import prior_model, reference_rows
    from events.audit._plan_files import labelled_plan, learned_counts, proxy_columns, read_learned, write_tables
    from events.audit._sheets import disagreement_sheet, label_table
    from events.pages._audit_sheet import plan_question, write_disagreements
    from events.plots import audit_bands
    from events.rule_error._model import AUDIT_RECORD, AUDITED, NO_RULE_ERROR, reference_model
    from events.runs._outputs import checksums, run_record

    options = options or AuditEstimateOptions()
    started = time.time()
    plan_folder, plan, labels = labelled_plan(source, sheets, options.plan, options.rounds)
    names = [os.fspath(path) for path in sheets]
    tables_of_prior = () if options.prior in ("reference", NO_RULE_ERROR) else (options.prior,)
    inputs = checksums([*names, *tables_of_prior])
    settings = options.subset("level", "method")
    models: dict[str, Any] = {"proxies": proxy_columns(options.proxies, plan.frame, options.table)}
    models["learned"] = None if options.learned is None else read_learned(options.learned, plan)
    by_period = None if options.learned is None else learned_counts(options.learned)
    if options.prior != NO_RULE_ERROR:
        models["reference"] = prior_model(plan, *tables_of_prior)
    try:
        estimate = audit.estimate_counts(plan, labels, **models, **settings)
    except InputError as error:
        raise error.at(", ".join(names)) from None
    tables = {**estimate.files(labels.texts), "labels.csv": label_table(plan, labels)}
    if plan.frame.classes is not None:
        tables[AUDITED] = reference_rows(plan, labels)
    to_resolve, question = disagreement_sheet(plan, labels), plan_question(plan_folder, plan)
    of_run = Path(source) / "run.json"  # of a table there is none
    output = plan_folder if options.out is None else Path(options.out)
    arguments = {**settings, "source": os.fspath(source), "plan": os.fspath(plan_folder)}
    arguments |= options.subset("learned", "prior", "proxies", "table")
    try:
        output.mkdir(parents=True, exist_ok=True)
        (output / "audited-learned.csv").unlink(missing_ok=True)  # of an earlier estimate
        write_tables(output, tables)
        files = (*tables, *write_disagreements(output, plan, to_resolve, question, sheets))
        if options.pictures:
            covers = covered_uncertainty(read_json(of_run)["summary"]) if of_run.is_file() else ""
            figure = partial(audit_bands, estimate.to_frame(), covers=covers, learned=by_period)
            files += tuple(save_pictures({"audited": figure}, lambda name: output / name))
        values = {"out": str(output), "plan": plan.identity, **settings, "n_documents": len(plan.frame)}
        values |= {**estimate.to_json(), "carrying": carrying_labels(plan, labels)}
        values |= {"uncovered": uncovered_labels(plan, labels), "n_resolve": len(to_resolve), "files": files}
        values |= more_labels(plan, labels, estimate, models.get("reference") or reference_model())
        written = {"summary": json_values(values), "files": {name: sha256(output / name) for name in tables}}
        write_json(output / AUDIT_RECORD, sealed(run_record(arguments, inputs, started, **written)))
    except OSError as error:
        raise unwritable(output, error) from None
    titles = {"Picture": "audited.png", "Counts": "audited.csv", "Model": "audited-model.csv"}
    paths = existing_files(values["out"], titles | {"Errors": "disagreements.csv"})
    return Summary(values=values, shown=tuple(_shown(values)), files=paths, result=estimate)


def _shown(values: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the counts, precision and recall, and the agreement of labellers."""
    from events.audit._model_totals import REFERENCE

    yield f"{counted(values['n_labels'], 'label')} of {values['n_documents']:,} documents, method {values['method']}."
    both = "in the sample, counted both ways: as no in the lower limits, as yes in the upper ones"
    yield from counts_above_zero((values["n_unsure"] + values["n_missing"], "unsure or missing label", both))
    prior = [_row(each, "labels and other rules") for each in values["learned"] if each["assumption"] == REFERENCE]
    alone = [_row(each, "labels alone") for each in values["totals"]]
    rows = [*alone, *prior] if values["uncovered"] else [*prior, *alone]
    others = [each for each in values["learned"] if each["assumption"] != REFERENCE]
    rows += [_row(each, f"labels and {each['assumption']} (approximate)") for each in others]
    rows += [_row(each, "the model", "model_mean", "model_lower", "model_upper") for each in values["totals"]]
    yield Table(("", "from", "documents", f"{100 * values['level']:g}% interval"), rows, "Documents with the event:")
    yield ""
    for row in values["uncovered"]:
        labels = f"{row['n_yes']:,} of {counted(row['n_labels'], 'label')}"
        both = f"without both a word of the rule and a name of {row['actor'] or 'an actor'}"
        yield f"{labels} of documents {both} say yes: the question is wider than the rule, so report labels alone."
    for row in values["carrying"]:
        of_actor = f" of {row['actor'] or row['event']}" * (len(values["totals"]) > 1)
        verb = "carries" if row["n_labels"] == 1 else "carry"
        yes = f"{counted(row['n_labels'], 'label')} of yes where P is 0, or almost, {verb}"
        total = f"{row['n_documents']:,.0f} of the {row['total']:,.0f} documents{of_actor}"
        yield f"{yes} {total}: let a second person read these, which are in disagreements.csv."
    for row in values["quality"]:
        if len(values["totals"]) == 1 and row["estimate"] == row["estimate"]:
            yield f"{row['measure']:<9} of P >= 0.5  {row['estimate']:.3f}  {row['lower']:.3f} to {row['upper']:.3f}"
    for row in values["agreement"]:
        kappa = f"kappa {row['kappa']:.2f}, {row['lower']:.2f} to {row['upper']:.2f}"
        yield f"{row['first']} and {row['second']}: {row['n_agreed']:,} of {row['n_documents']:,} agree, {kappa}"
    resolve = "labelled differently, counted both ways: label them in sheet-resolve.csv, and name that sheet too"
    wide = "by period with an interval wider than half of its documents: `corefsample audit learn` narrows it"
    width = counted(round(values["width_after"]), "document")
    more = "more label", f"would make the widest of the first intervals of totals about {width} wide"
    of_more = more if values["width_after"] > 0.5 else ("document", "left to label")
    counts = (values["n_resolve"], "document", resolve), (values["n_few"], "count", wide)
    yield from counts_above_zero(*counts, (values["n_more"], *of_more))


def _row(row: Mapping[str, Any], source: str, *names: str) -> tuple[str, ...]:
    estimate, lower, upper = (row[name] for name in names or ("estimate", "lower", "upper"))
    return row["actor"] or row["event"], source, f"{estimate:,.1f}", f"{lower:,} to {upper:,}"


command = Command(AuditEstimateOptions, run_audit_estimate, "source", "sheets+")
