"""Commands that audit: plan draws documents to label, estimate turns labels into counts."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from events.cli._options import INSIDE_0_1, Command, json_option, overwrite_option, print_result, seed_option
from events.cli._screen import counted, print_files, print_text

if TYPE_CHECKING:
    from events.jobs.audit_estimate import AuditSummary
    from events.jobs.audit_plan import PlanSummary

_METHODS = ["mid-p", "shortest", "exact", "wilson", "jeffreys", "guaranteed"]


@click.group(short_help="Label a sample, get counts whose intervals hold.")
def audit() -> None:
    """Label a random sample of documents, and get counts whose intervals hold whatever the model's errors are.

    The interval of `corefsample events` covers coreference, and for some scores their recalibration. It takes rule,
    lexicon, parse and choice of articles as right. Labels of some hundred documents cover these too; the model then
    only makes the interval narrower.

    \b
    Examples:
      corefsample audit plan run --labels 200 --out audit
      corefsample audit estimate run audit/sheet.csv
    """


def _names(context: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


@click.command(
    "plan",
    cls=Command,
    short_help="Draw the documents to label, and write the sheet.",
    sections={"Strata": ("cuts", "keyword", "column", "table", "by", "floor")},
)
@click.argument("source")
@click.option("--out", required=True, metavar="FOLDER", help="Folder for the plan and the sheets.")
@click.option("--labels", "n_labels", type=click.IntRange(min=1), default=200, help="Documents to label.")
@click.option(
    "--more",
    type=click.IntRange(min=1),
    metavar="N",
    help="Add a round of N documents to the plan in FOLDER.  [default: a new plan]",
)
@click.option(
    "--actors",
    callback=_names,
    metavar="NAMES",
    help="USA,GBR or all: ask which of these actors have an event.  [default: whether there is an event]",
)
@click.option("--period", default="quarter", metavar="PERIOD", help="Periods of a CSV file; a run has its own.")
@seed_option("Same seed, same sample.")
@click.option("--texts/--no-texts", "with_texts", default=True, help="Put the texts into the sheet.")
@click.option("--question", metavar="TEXT", help="What a label answers.  [default: names the event]")
@click.option(
    "--cut",
    "cuts",
    multiple=True,
    type=click.FloatRange(0.0, 1.0, min_open=True),
    metavar="NUMBER",
    help="Bound between ranges of P, beside P = 0; may be repeated.  [default: chosen from P]",
)
@click.option(
    "--keyword",
    metavar="EXPRESSION",
    help="Words joined by and, or, not, with * and quotes, to divide strata.  [default: none]",
)
@click.option("--column", metavar="NAME", help="Column to divide strata.  [default: none]")
@click.option("--table", metavar="FILE", help="CSV with doc_id and the column.  [default: the CSV file with P]")
@click.option(
    "--by", metavar="PERIOD", help="Divide strata by year, quarter ..., each with its floor.  [default: none]"
)
@click.option("--floor", type=click.IntRange(min=1), default=5, help="Fewest labels of a stratum.")
@overwrite_option
@json_option
def plan(source: str, out: str, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Draw a stratified random sample of documents to label.

    SOURCE is the output of `corefsample events`, or a CSV file with the columns doc_id, date and probability of any
    model. Open FOLDER/sheet.html in a browser to label, or fill in FOLDER/sheet.csv with yes, no or unsure.

    \b
    Examples:
      corefsample audit plan run --labels 200 --out audit
      corefsample audit plan run --actors USA,IRQ --keyword 'raid*' --out audit2
      corefsample audit plan run --out audit --more 100
      corefsample audit plan scores.csv --labels 300 --by year --out audit3
    """
    from events.jobs.audit_plan import AuditPlanOptions, run_audit_plan

    options["cuts"] = options["cuts"] or None
    summary = run_audit_plan(source, out, AuditPlanOptions(**options), overwrite=overwrite)
    print_result(summary, as_json, lambda result: _print_plan(source, result))


def _print_plan(source: str, summary: PlanSummary) -> None:
    new = f"{counted(summary.n_new, 'document')} to label"
    of_all = f"{summary.n_drawn:,} of {summary.n_documents:,} in the sample, plan {summary.plan}"
    print_text(f"{new}; {of_all}.")
    width = max(len(str(row["name"])) for row in summary.strata)
    click.echo(f"\n{'Stratum':<{width}}  {'documents':>9}  {'sampled':>7}")
    for row in summary.strata:
        click.echo(f"{row['name']:<{width}}  {row['n_documents']:>9,}  {row['n_sampled']:>7,}")
    if summary.n_without_text:
        print_text(f"{counted(summary.n_without_text, 'document')} without text: its file was not found.")
    files = {"Label": os.path.basename(summary.page), "Sheet": os.path.basename(summary.sheet), "Plan": "plan.json"}
    print_files(summary.out, files)
    click.echo(f"Then     corefsample audit estimate {shlex.quote(source)} {shlex.quote(summary.sheet)}")


@click.command("estimate", cls=Command, short_help="Counts with intervals, from a labelled sheet.")
@click.argument("source")
@click.argument("sheets", nargs=-1, required=True)
@click.option("--out", metavar="FOLDER", help="Folder for tables and picture.  [default: that of the plan]")
@click.option("--plan", metavar="FOLDER", help="Folder of the plan.  [default: that of the first sheet]")
@click.option("--level", type=INSIDE_0_1, default=0.95, help="Level of the confidence intervals.")
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    default="mid-p",
    help="How intervals are made: see docs/audit.md; guaranteed is the widest and needs no study.",
)
@click.option(
    "--assume",
    type=click.Choice(["stable-errors"]),
    help="Borrow labels across periods, as if the model's errors were the same in all.  [default: no assumption]",
)
@click.option("--pictures/--no-pictures", default=True, help="Draw the bands as PNG and SVG.")
@json_option
def estimate(source: str, sheets: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Estimate counts from labelled sheets, with intervals that hold whatever the model's errors are.

    SOURCE is what `corefsample audit plan` was given. SHEETS are the sheets of all rounds and labellers.

    \b
    Examples:
      corefsample audit estimate run audit/sheet.csv
      corefsample audit estimate run audit/sheet.csv --assume stable-errors
      corefsample audit estimate run audit/sheet.csv audit/sheet-2.csv
      corefsample audit estimate run anna.csv ben.csv --plan audit --out audited
    """
    from events.jobs.audit_estimate import run_audit_estimate

    summary = run_audit_estimate(source, sheets, **options)
    print_result(summary, as_json, _print_estimate)


def _print_estimate(summary: AuditSummary) -> None:
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


def _print_use_of_labels(summary: AuditSummary) -> None:
    more = summary.more[0]
    if len(summary.more) == 1 and more["width"] > 0:
        share = more["width_after"] / more["width"]
        print_text(f"{more['n_more']} more labels would make the interval of the total {share:.2f} times as wide.")
    if summary.assumption:
        print_text("Counts of periods assume that within a range of P the model's errors are the same in all periods.")
    elif summary.n_few:
        print_text(
            f"{summary.n_few:,} of {counted(summary.n_periods, 'count')} of periods have an interval wider than half "
            "of their documents: they have few labels. More labels narrow it, or --assume stable-errors."
        )


audit.add_command(plan)
audit.add_command(estimate)
