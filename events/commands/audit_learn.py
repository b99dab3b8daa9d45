"""Learn from labelled sheets the probability that a reader says yes, for every document.

SOURCE is what `corefsample audit plan` was given. SHEETS are the sheets of all rounds and labellers. Counts by period
come with it; they assume that errors are of the same kind in all periods, which is tested. `audit estimate` and
`audit plan --more` use what was learned, with --learned.

Examples
--------
  corefsample audit learn run audit/sheet.csv --out learned
  corefsample audit learn run audit/sheet.csv --words --out learned
  corefsample audit learn run audit/sheet.csv --table t.csv --out learned
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import InputError, ParameterError, ParameterHint
from events import _shared_options as shared
from events._options import Result, declared, option
from events.commands._parser import Command
from events.commands._screen import counted, print_files, print_text
from events.runs._output_folder import picture_files, save_pictures

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.audit._learned_results import LearnedTarget, LearnResult
    from events.audit._plan import AuditPlan


@declared
class AuditLearnOptions(shared.Seed, shared.Overwrite, shared.Pictures):
    """How to learn.

    Attributes
    ----------
    out
        Folder for the tables and pictures.
    plan
        Folder of the plan. [default: that of the first sheet]
    table
        CSV with doc_id and numbers of every document, such as another model's scores. [default: none]
    words
        Learn from the words of the texts too; needs scikit-learn.
    level
        Level of the intervals.
    seed
        Of the folds and draws.
    """

    out: str = option(metavar="FOLDER")
    plan: str | None = option(default=None, metavar="FOLDER")
    table: str | None = option(default=None, metavar="FILE")
    words: bool = option(default=False, flag="--words/--no-words")
    level: float = option(default=0.95, above=0.0, below=1.0)


@dataclass(frozen=True, slots=True)
class AuditLearnResult(Result):
    """Result of learning.

    Attributes
    ----------
    out, plan
        The folder, and the identity of the plan.
    n_documents
        All documents.
    level
        Of the intervals.
    targets
        Of each target event, actor, model (that with the largest weight), n_labels, n_positive, total (its learned
        count), candidates with their weights and gains over P as it is, scores, and period_test.
    rests_on
        What counts by period rest on.
    warnings
        Sentences.
    files
        The files written.
    """

    out: str
    plan: str
    n_documents: int
    level: float
    targets: tuple[dict[str, Any], ...]
    rests_on: str
    warnings: tuple[str, ...]
    files: tuple[str, ...]


def run_audit_learn(source: PathLike, sheets: Sequence[PathLike], options: AuditLearnOptions) -> AuditLearnResult:
    """Learn from labelled sheets, and write learned.csv, learned_counts.csv, learned.json and pictures.

    Parameters
    ----------
    source
        The run or CSV file of which the plan is.
    sheets
        One or more sheets: of several rounds, of several labellers, or both.
    options
        How to learn, and where to write results.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a sheet or the folder breaks its rule, or there are too few labels; then nothing is written.
    """
    from events.audit._features import numeric_columns
    from events.audit._learning import learn
    from events.commands._audit_files import LEARNED, labelled_plan
    from events.runs._record import checksums

    place, started = Path(options.out), time.time()
    if place.exists() and not place.is_dir():
        raise ParameterError(f"must be a folder, got the file {place}", parameter="out")
    if (place / LEARNED).exists() and not options.overwrite:
        hint = ParameterHint("overwrite", "replaces what was learned")
        raise ParameterError(f"must be a new or empty folder, got {place}", parameter="out", hint=hint)
    folder, plan, labels = labelled_plan(source, sheets, options.plan)
    columns = None if options.table is None else numeric_columns(options.table, plan.frame)
    run = source if plan.frame.source["kind"] == "run" else None
    texts = _texts(source, plan) if options.words else None
    names = [os.fspath(path) for path in sheets]
    try:
        found = learn(plan, labels, run, columns=columns, texts=texts, **options.chosen("level", "seed"))
    except InputError as error:
        raise error.at(", ".join(names)) from None
    arguments = {
        **options.chosen("level", "seed", "words", "table"),
        "source": os.fspath(source),
        "plan": os.fspath(folder),
    }
    return _written(found, place, arguments, checksums(names), started, options)


def _texts(source: PathLike, plan: AuditPlan) -> list[str]:
    """Text of every document, in the order of the frame."""
    from events.commands._audit_files import corpus_texts

    texts = {doc_id: marked.text for doc_id, marked in corpus_texts(source, plan.frame)}
    if not texts:
        rule = "needs the texts of the documents, got none"
        raise ParameterError(rule, parameter="words", hint="needed are the inputs of the run, or a column text")
    return [texts.get(doc_id, "") for doc_id in plan.frame.doc_ids.tolist()]


def _written(
    found: LearnResult,
    place: Path,
    arguments: dict[str, Any],
    inputs: list[dict[str, Any]],
    started: float,
    options: AuditLearnOptions,
) -> AuditLearnResult:
    """Write the files of a result."""
    from corefsample.files._atomic import unwritable, write_json
    from corefsample.plots import reliability_figure
    from events.audit._learned_results import ASSUMPTION
    from events.commands import _audit_files as files
    from events.plots.audit import learned_bands
    from events.runs._record import run_record

    counts = found.to_frame()
    tables = {files.LEARNED: found.documents_frame(), "learned_counts.csv": counts}
    names = list(tables)
    try:
        place.mkdir(parents=True, exist_ok=True)
        files.write_tables(place, tables)
        if options.pictures:
            pictures: dict[str, Any] = {"learned": lambda: learned_bands(counts)}
            for number, each in enumerate(found.targets, start=1):
                end = f"_{number}" if len(found.targets) > 1 else ""
                title = f"{each.event} {each.actor}: cross-fitted P of labelled documents"
                pictures[f"learned_curve{end}"] = partial(reliability_figure, each.curves, title=title)
            save_pictures(pictures, lambda name: place / name)
            names += [name for name in picture_files(*pictures) if (place / name).is_file()]
        result = AuditLearnResult(
            out=str(place),
            plan=found.plan.identity,
            n_documents=len(found.plan.frame),
            level=options.level,
            targets=tuple(_summary(each) for each in found.targets),
            rests_on=ASSUMPTION,
            warnings=(*found.left_out, *(text for each in found.targets for text in each.warnings)),
            files=(*names, files.LEARNED_RECORD),
        )
        record = run_record(arguments, inputs, started)
        write_json(place / files.LEARNED_RECORD, {**record, **found.to_json(), "summary": result.to_json()})
    except OSError as error:
        raise unwritable(place, error) from None
    return result


def _summary(each: LearnedTarget) -> dict[str, Any]:
    total = each.counts[0]
    return {
        **{name: getattr(each, name) for name in ("event", "actor", "model", "n_labels", "n_positive")},
        "total": {**dataclasses.asdict(total), "period_start": str(total.period_start)},
        "candidates": [dataclasses.asdict(candidate) for candidate in each.candidates],
        "scores": [dataclasses.asdict(score) for score in each.scores],
        "period_test": dataclasses.asdict(each.period_test),
    }


def print_audit_learn(summary: AuditLearnResult) -> None:
    """Print what was chosen, scores before and after, the totals, and what they rest on."""
    level = f"{100 * summary.level:g}%"
    for each in summary.targets:
        labels = f"{counted(each['n_labels'], 'label')}, {each['n_positive']:,} of them yes"
        name = f"{each['event']} by {each['actor']}" if each["actor"] else each["event"]
        print_text(f"{name}: {labels}.")
        weights = [(candidate["model"], candidate["weight"]) for candidate in each["candidates"]]
        used = sorted((weight, model) for model, weight in weights if weight > 0.0)
        click.echo(f"  average of         {', '.join(f'{model} {weight:.2f}' for weight, model in reversed(used))}")
        scores = {(score["measure"], score["p"]): score for score in each["scores"]}
        for measure in ("log score", "average precision", "calibration error"):
            before, after = scores[measure, "run"], scores[measure, "learned"]
            click.echo(f"  {measure:<17}  run {_interval(before)}   learned {_interval(after)}")
        total = each["total"]
        learned = f"learned {total['mean']:,.1f}, {total['lower']:,} to {total['upper']:,}"
        run = f"run {total['run_mean']:,.1f}, {total['run_lower']:,} to {total['run_upper']:,}"
        click.echo(f"  documents ({level})   {learned}   {run}")
        test = each["period_test"]
        if test["p_value"] == test["p_value"]:
            click.echo(f"  same errors in all periods: P value {test['p_value']:.2f}, power {test['power']:.2f}")
    click.echo()
    for warning in summary.warnings:
        print_text(f"Warning: {warning}.")
    print_text(summary.rests_on)
    print_files(summary.out, {"Counts": "learned_counts.csv", "Picture": "learned.png", "Documents": "learned.csv"})


def _interval(score: dict[str, Any]) -> str:
    text = f"{score['estimate']:.3f}"
    if score["lower"] is None or score["lower"] != score["lower"]:
        return text
    return f"{text} ({score['lower']:.3f} to {score['upper']:.3f})"


command = Command(AuditLearnOptions, run_audit_learn, print_audit_learn, "source", "sheets+", reads_lines=False)
