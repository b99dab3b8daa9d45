"""Learn from labelled sheets the probability that a reader says yes, for every document.

SOURCE is the folder of the run, or the CSV file, from which `corefsample audit plan` drew the sample. SHEETS are the
sheets of all rounds and labellers. The command also writes counts by period. They assume that documents with the same
features have the event equally often in all periods, which is tested. `audit estimate` and `audit plan --more` use the
learned probabilities with --learned.

Examples
--------
  corefsample audit learn run audit/sheet.csv --out learned
  corefsample audit learn run audit/sheet.csv --words --out learned
  corefsample audit learn run audit/sheet.csv --table t.csv --out learned
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import click

from corefsample.errors import InputError, ParameterError
from corefsample.files._folders import OutputFolder
from events import _shared_options as shared
from events._options import CommandResult, declared, option
from events._summary import counted
from events.commands._parser import Command
from events.commands._screen import print_files, print_text
from events.runs._output_folder import picture_files, save_pictures

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.audit._learning import LearnedTarget, LearnResult
    from events.audit._plan import AuditPlan


@declared
class AuditLearnOptions(shared.Seed, shared.Overwrite, shared.Pictures):
    """Options of learning probabilities from the labels of an audit.

    Attributes
    ----------
    out
        Folder for the tables and pictures.
    plan
        Folder of the plan. [default: that of the first sheet]
    table
        CSV file with the column doc_id, and with columns of numbers to learn from, such as another model's scores.
        [default: none]
    words
        Learn from the words of the texts too; needs scikit-learn.
    level
        Confidence level of the intervals.
    seed
        Seed of the random folds and draws.
    """

    out: str = option(metavar="FOLDER")
    plan: str | None = option(default=None, metavar="FOLDER")
    table: str | None = option(default=None, metavar="FILE")
    words: bool = option(default=False, flag="--words/--no-words")
    level: float = option(default=0.95, above=0.0, below=1.0)


class LearnedFolder(OutputFolder):
    """Tables and pictures of `corefsample audit learn`."""

    RECORD: ClassVar[str] = "learned.json"
    _CURVES = ("learned_curve", *(f"learned_curve_{number}" for number in range(1, 1000)))
    FILES: ClassVar[frozenset[str]] = frozenset(
        [RECORD, "learned.csv", "learned_counts.csv", *picture_files("learned", *_CURVES)]
    )


@dataclass(frozen=True, slots=True)
class AuditLearnResult(CommandResult):
    """Result of learning.

    Attributes
    ----------
    out, plan
        Folder of the tables and pictures, and identity of the plan.
    n_documents
        Number of documents of the plan, labelled or not.
    level
        Confidence level of the intervals, in (0, 1).
    targets
        Mapping for each target: event, actor, model (the candidate with the largest weight), n_labels, n_positive,
        total (its learned count), candidates with their weights and their gains over the P of the run, scores, and
        period_test.
    rests_on
        Assumption on which counts by period rest, in words.
    warnings
        Sentences on targets that were left out, and on results to be read with care.
    files
        Names of the files written.
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
        Folder of the run, or CSV file, that the plan was drawn from.
    sheets
        Labelled sheets, at least one: of several rounds, of several labellers, or both.
    options
        How to learn, and where to write results.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if a sheet does not belong to the plan or has too few labels, or if the folder is in
        use or cannot be written; then nothing is written.
    """
    from events.audit._features import numeric_columns
    from events.audit._learning import learn
    from events.audit._reference import ReferenceClass
    from events.commands._audit_files import actor_kinds, labelled_plan
    from events.rule_error._model import reference_model
    from events.runs._record import checksums, run_record

    started, names = time.time(), [os.fspath(path) for path in sheets]
    with LearnedFolder(options.out, overwrite=options.overwrite) as folder:
        of_plan, plan, labels = labelled_plan(source, sheets, options.plan)
        columns = None if options.table is None else numeric_columns(options.table, plan.frame)
        run = source if plan.frame.source["kind"] == "run" else None
        texts = _texts(source, plan) if options.words else None
        reference = ReferenceClass(reference_model(), actor_kinds(plan, source))
        try:
            level, seed = options.level, options.seed
            learned = learn(
                plan, labels, run, columns=columns, texts=texts, reference=reference, level=level, seed=seed
            )
        except InputError as error:
            raise error.at(", ".join(names)) from None
        result = _written(learned, folder, options)
        arguments = {"source": os.fspath(source), "plan": os.fspath(of_plan)}
        record = run_record(
            {**options.subset("level", "seed", "words", "table"), **arguments}, checksums(names), started
        )
        folder.finish_record({**record, **learned.to_json(), "summary": result.to_json()})
    return result


def _texts(source: PathLike, plan: AuditPlan) -> list[str]:
    """Text of every document, in the order of the frame."""
    from events.commands._audit_files import corpus_texts

    texts = {doc_id: marked.text for doc_id, marked in corpus_texts(source, plan.frame)}
    if not texts:
        rule = "needs the texts of the documents, got none"
        raise ParameterError(rule, parameter="words", hint="needed are the inputs of the run, or a column text")
    return [texts.get(doc_id, "") for doc_id in plan.frame.doc_ids.tolist()]


def _written(learned: LearnResult, folder: LearnedFolder, options: AuditLearnOptions) -> AuditLearnResult:
    """Write the tables and pictures."""
    from corefsample.plots import reliability_figure
    from events.audit._learning import ASSUMPTION
    from events.commands._audit_files import write_tables
    from events.plots.audit import learned_bands

    counts = learned.to_frame()
    write_tables(folder.file("."), {"learned.csv": learned.documents_frame(), "learned_counts.csv": counts})
    if options.pictures:
        pictures: dict[str, Any] = {"learned": lambda: learned_bands(counts)}
        for number, target in enumerate(learned.targets, start=1):
            name = f"learned_curve_{number}" if len(learned.targets) > 1 else "learned_curve"
            title = f"{target.event} {target.actor}: cross-fitted P of labelled documents"
            pictures[name] = partial(reliability_figure, target.curves, title=title)
        save_pictures(pictures, folder.file)
    return AuditLearnResult(
        out=os.fspath(options.out),
        plan=learned.plan.identity,
        n_documents=len(learned.plan.frame),
        level=options.level,
        targets=tuple(_summary(target) for target in learned.targets),
        rests_on=ASSUMPTION,
        warnings=(*learned.left_out, *(text for target in learned.targets for text in target.warnings)),
        files=(*sorted(entry.name for entry in folder.file(".").iterdir()), folder.RECORD),
    )


def _summary(target: LearnedTarget) -> dict[str, Any]:
    fields, total = target.to_json(), dataclasses.asdict(target.counts[0])
    names = ("event", "actor", "model", "n_labels", "n_positive", "candidates", "scores", "period_test")
    return {name: fields[name] for name in names} | {"total": {**total, "period_start": str(total["period_start"])}}


def print_audit_learn(summary: AuditLearnResult) -> None:
    """Print what was chosen, scores before and after, the totals, and what they rest on."""
    level = f"{100 * summary.level:g}%"
    for target in summary.targets:
        labels = f"{counted(target['n_labels'], 'label')}, {target['n_positive']:,} of them yes"
        name = f"{target['event']} by {target['actor']}" if target["actor"] else target["event"]
        print_text(f"{name}: {labels}.")
        used = [f"{model['model']} {model['weight']:.2f}" for model in target["candidates"] if model["weight"] > 0.0]
        click.echo(f"  average of         {', '.join(used)}")
        scores = {(score["measure"], score["p"]): score for score in target["scores"]}
        for measure in ("log score", "average precision", "calibration error"):
            before, after = scores[measure, "run"], scores[measure, "learned"]
            click.echo(f"  {measure:<17}  run {_interval(before)}   learned {_interval(after)}")
        total = target["total"]
        learned = f"learned {total['mean']:,.1f}, {total['lower']:,} to {total['upper']:,}"
        run = f"run {total['run_mean']:,.1f}, {total['run_lower']:,} to {total['run_upper']:,}"
        click.echo(f"  documents ({level})   {learned}   {run}")
        test = target["period_test"]
        if test["p_value"] == test["p_value"]:
            click.echo(f"  same errors in all periods: P value {test['p_value']:.2f}, power {test['power']:.2f}")
    click.echo()
    for warning in summary.warnings:
        print_text(f"Warning: {warning}.")
    print_text(summary.rests_on)
    print_files(summary.out, {"Counts": "learned_counts.csv", "Picture": "learned.png", "Documents": "learned.csv"})


def _interval(score: dict[str, Any]) -> str:
    limits = "" if math.isnan(score["lower"]) else f" ({score['lower']:.3f} to {score['upper']:.3f})"
    return f"{score['estimate']:.3f}{limits}"


command = Command(
    AuditLearnOptions,
    run_audit_learn,
    "source",
    "sheets+",
    reads_lines=False,
    show=print_audit_learn,
)
