"""Learn from labelled sheets the probability that a reader says yes, for every document.

SOURCE is the folder of the run, or the CSV file, from which `corefsample audit plan` drew the sample. SHEETS are the
sheets of all rounds and labellers. The command also writes counts by period. They assume that documents with the same
features have the event equally often in all periods. `audit estimate` uses the learned probabilities with --learned.

Examples
--------
  corefsample audit learn run audit/sheet.csv --out learned
  corefsample audit learn run audit/sheet.csv --table t.csv --out learned
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from corefsample.errors import InputError
from corefsample.files._atomic import OutputFolder
from corefsample.files._reading import sealed
from events import _options as shared
from events._summary import Summary, Table, counted, existing_files, json_values
from events.commands._parser import Command
from events.runs._outputs import picture_files, save_pictures

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.audit._learning import LearnedTarget


@shared.declared
class AuditLearnOptions(shared.Seed, shared.Overwrite, shared.Pictures, shared.PlanOfLabels):
    """Options of learning probabilities from the labels of an audit.

    Attributes
    ----------
    out
        Folder for the tables and pictures.
    table
        CSV file with the column doc_id, and with columns of numbers to learn from, such as another model's scores.
        [default: none]
    seed
        Seed of the random folds and draws.
    """

    out: str = shared.option(metavar="FOLDER")
    table: str | None = shared.option(default=None, metavar="FILE")


class LearnedFolder(OutputFolder):
    """Tables and pictures of `corefsample audit learn`."""

    RECORD = "learned.json"
    FILES = frozenset([RECORD, "learned.csv", "learned_counts.csv", *picture_files("learned")])


def run_audit_learn(source: PathLike, sheets: Sequence[PathLike], options: AuditLearnOptions) -> Summary:
    """Learn from labelled sheets, and write learned.csv, learned_counts.csv, learned.json and pictures.

    Parameters
    ----------
    source
        Folder of the run, or CSV file, that the plan was drawn from.
    sheets
        Labelled sheets, at least one: of several rounds, of several labellers, or both.
    options
        How to learn, and where to write results.

    Returns
    -------
    Summary
        Values: out and plan, folder of the tables and identity of the plan; n_documents of the plan; level of the
        intervals; targets, a mapping for each, with event, actor, model (the candidate with the best log score),
        n_labels, n_positive, total (its learned count), candidates with their penalties and log scores, and scores;
        rests_on, the assumption on which counts by period rest; warnings; and files, names of the files written.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if a sheet does not belong to the plan or has too few labels, or if the folder is in
        use or cannot be written; then nothing is written.
    """
    from events.audit._learning import ASSUMPTION, learn
    from events.audit._plan_files import labelled_plan, numeric_columns, write_tables
    from events.plots import audit_bands
    from events.runs._outputs import checksums, run_record

    started, names = time.time(), [os.fspath(path) for path in sheets]
    with LearnedFolder(options.out, overwrite=options.overwrite) as folder:
        plan_folder, plan, labels = labelled_plan(source, sheets, options.plan, options.rounds)
        columns = None if options.table is None else numeric_columns(options.table, plan.frame)
        run = source if plan.frame.source["kind"] == "run" else None
        settings = options.subset("level", "seed")
        try:
            learned = learn(plan, labels, run, columns=columns, **settings)
        except InputError as error:
            raise error.at(", ".join(names)) from None
        counts = learned.to_frame()
        write_tables(folder.file("."), {"learned.csv": learned.documents_frame(), "learned_counts.csv": counts})
        if options.pictures:
            save_pictures({"learned": partial(audit_bands, counts)}, folder.file)
        values: dict[str, Any] = {
            "out": os.fspath(options.out),
            "plan": plan.identity,
            "n_documents": len(plan.frame),
            "level": options.level,
            "targets": [_values(target) for target in learned.targets],
            "rests_on": ASSUMPTION,
            "warnings": learned.warnings,
            "files": (*sorted(entry.name for entry in folder.file(".").iterdir()), folder.RECORD),
        }
        arguments = {**settings, "table": options.table, "source": os.fspath(source)}
        record = run_record({**arguments, "plan": os.fspath(plan_folder)}, checksums(names), started)
        record["files"] = folder.checksums()
        folder.finish_record(sealed({**record, **learned.to_json(), "summary": json_values(values)}))
    files = {"Counts": "learned_counts.csv", "Picture": "learned.png", "Documents": "learned.csv"}
    return Summary(
        values=values, shown=tuple(_shown(values)), files=existing_files(values["out"], files), result=learned
    )


def _values(target: LearnedTarget) -> dict[str, Any]:
    fields, (total,) = target.to_json(), target.counts[:1].to_dict("records")
    names = ("event", "actor", "model", "n_labels", "n_positive", "candidates", "scores")
    return {name: fields[name] for name in names} | {"total": total}


def _shown(values: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield what was chosen, scores before and after if labels can tell, the totals, and what they rest on."""
    from events.audit._learning import ENOUGH_LABELS

    for target in values["targets"]:
        name = f"{target['event']} by {target['actor']}" if target["actor"] else target["event"]
        labels = f"{counted(target['n_labels'], 'label')}, {target['n_positive']:,} of them yes"
        scores = [f"{row['log_score']:.3f}" for row in target["scores"]]
        total = target["total"]
        run = f"{total['run_mean']:,.1f} ({total['run_lower']:,} to {total['run_upper']:,})"
        learned = f"{total['mean']:,.1f} ({total['lower']:,} to {total['upper']:,})"
        rows: list[tuple[str, ...]] = [("documents", run, learned)]
        if min(target["n_positive"], target["n_labels"] - target["n_positive"]) >= ENOUGH_LABELS:
            rows.insert(0, ("log score", *scores))
        header = f"{100 * values['level']:g}% intervals", "run", "learned"
        yield Table(header, rows, f"{name}: {labels}; model: {target['model']}.")
    yield ""
    yield from (f"Warning: {warning}." for warning in values["warnings"])
    yield values["rests_on"]


command = Command(AuditLearnOptions, run_audit_learn, "source", "sheets+")
