"""The job behind `corefsample audit plan`: draw the documents to label, and write the sheet."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files import PathLike, new_file, unwritable, write_json
from events.audit import (
    AuditFrame,
    AuditPlan,
    KeywordExpression,
    Stratum,
    draw,
    extend_plan,
    plan_audit,
    read_run_documents,
    read_scores,
    read_text_table,
    sheet_table,
)
from events.jobs._audit_pages import page_name, write_sheet_page
from events.jobs._audit_texts import corpus_texts

__all__ = [
    "PLAN",
    "SHEET",
    "AuditPlanOptions",
    "PlanSummary",
    "plan_question",
    "read_plan",
    "run_audit_plan",
    "sheet_name",
]

PLAN, STRATA, SHEET = "plan.json", "strata.parquet", "sheet.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlanOptions:
    """What to draw.

    Attributes
    ----------
    n_labels
        Documents to label.
    more
        Documents of a further round of the plan in the folder; None: a new plan.
    actors
        Actors to ask for, or ("all",); None: whether there is an event of any actor. Of a run only.
    cuts
        Rising bounds of the ranges of P; None: chosen from P.
    keyword
        Expression that divides the strata by the words of the documents: see `events.audit.KeywordExpression`.
    column, table
        Column that divides the strata: of the CSV file with P, or of another one with a column doc_id.
    by
        Length of the periods of which each gets its own strata; None: none.
    period
        Length of the periods of a CSV file; a run has its own.
    floor
        The fewest labels of a stratum.
    seed
        Of the sample.
    with_texts
        Whether the sheet has the texts; they are read from the inputs of the run.
    question
        What a label answers, for the page; None: that of the earlier plan, or one that names the event.
    """

    n_labels: int = 200
    more: int | None = None
    actors: tuple[str, ...] | None = None
    cuts: tuple[float, ...] | None = None
    keyword: str | None = None
    column: str | None = None
    table: str | None = None
    by: str | None = None
    period: str = "quarter"
    floor: int = 5
    seed: int = 0
    with_texts: bool = True
    question: str | None = None


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """Summary of a plan.

    Attributes
    ----------
    out, plan
        The folder, and the plan's identity.
    sheet, page
        The sheet of the newest round, and the page on which it is labelled.
    n_documents, n_drawn, n_new
        All documents, those of the sample, and those of the newest round.
    n_without_text
        Documents of the sheet whose text was not found.
    strata
        Rows of `AuditPlan.to_frame`.
    """

    out: str
    plan: str
    sheet: str
    page: str
    n_documents: int
    n_drawn: int
    n_new: int
    n_without_text: int
    strata: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self)


def sheet_name(round_number: int) -> str:
    """Name of the sheet of a round: sheet.csv, sheet-2.csv ..."""
    return SHEET if round_number == 1 else f"sheet-{round_number}.csv"


def run_audit_plan(
    source: PathLike, out: PathLike, options: AuditPlanOptions | None = None, *, overwrite: bool = False
) -> PlanSummary:
    """Draw the documents to label, and write plan.json, strata.parquet, the sheet and its page.

    Parameters
    ----------
    source
        Folder of a finished events run, or a CSV file with doc_id, date and probability.
    out
        Folder of the audit; with `more`, that of an earlier plan.
    options
        What to draw.
    overwrite
        Whether an earlier plan may be replaced, with its sheets.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, an input or the folder breaks its rule.
    """
    options = options or AuditPlanOptions()
    folder = Path(out)
    if not os.fspath(out):
        raise ParameterError("must name a folder, got ''", parameter="out")
    if options.more is None:
        _require_free(folder, overwrite=overwrite)
        frame = _frame(source, options.actors, options.period)
        groups = _groups(source, frame, options)
        drawing: dict[str, Any] = {"cuts": options.cuts, "by": options.by, "floor": options.floor, "seed": options.seed}
        plan = plan_audit(frame, options.n_labels, groups=groups, **drawing)
    else:
        try:
            plan = extend_plan(read_plan(folder, source), options.more)
        except ParameterError as error:
            raise ParameterError(error.message, parameter="more") if error.parameter == "n_more" else error from None
    return _written(plan, source, folder, options)


def _require_free(folder: Path, *, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"must be a folder, got the file {folder}", parameter="out")
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if names and PLAN not in names:
        raise ParameterError(
            f"must be a new or empty folder or an earlier plan's, got {folder} with {names[0]}", parameter="out"
        )
    if names and not overwrite:
        hint = ParameterHint("overwrite", "replaces the plan and its sheets")
        raise ParameterError(f"must be a new or empty folder, got {folder}", parameter="out", hint=hint)


def _frame(source: PathLike, actors: Sequence[str] | None, period: str) -> AuditFrame:
    if Path(source).is_file():
        if actors is not None:
            raise ParameterError("must be left out where P comes from a CSV file", parameter="actors")
        return read_scores(source, period=period)
    return read_run_documents(source, actors)


def _groups(source: PathLike, frame: AuditFrame, options: AuditPlanOptions) -> list[str] | None:
    """The user's group of each document: by a keyword expression, a column, or both."""
    parts: list[list[str]] = []
    if options.table is not None and options.column is None:
        raise ParameterError("is required with a table", parameter="column")
    if options.column is not None:
        parts.append(_column(frame, options.column, options.table))
    if options.keyword is not None:
        expression = KeywordExpression(options.keyword)
        texts = frame.properties.get("text")
        if texts is not None:
            matching = {
                str(doc_id) for doc_id, text in zip(frame.doc_ids, texts, strict=True) if expression.matches(str(text))
            }
        else:
            found = corpus_texts(source, frame)
            matching = {doc_id for doc_id, marked in found if expression.matches(marked.text)}
        parts.append(["keyword" if doc_id in matching else "no keyword" for doc_id in frame.doc_ids.tolist()])
    return [", ".join(words) for words in zip(*parts, strict=True)] if parts else None


def _column(frame: AuditFrame, column: str, table: str | None) -> list[str]:
    if table is None:
        if column not in frame.properties:
            names = ", ".join(frame.properties) or "none"
            raise ParameterError(
                f"must be a further column of the CSV file ({names}), got {column!r}", parameter="column"
            )
        return [str(value) for value in frame.properties[column]]
    rows = read_text_table(table, ("doc_id", column))
    value_of = dict(zip(rows["doc_id"].tolist(), rows[column].tolist(), strict=True))
    if len(value_of) < len(rows):
        raise InputError("doc_id must be unique, got one again", place=table)
    missing = next((doc_id for doc_id in frame.doc_ids.tolist() if doc_id not in value_of), None)
    if missing is not None:
        raise InputError(f"table must have a row for every document, got none for {missing!r}", place=table)
    return [value_of[doc_id] for doc_id in frame.doc_ids.tolist()]


def _written(plan: AuditPlan, source: PathLike, folder: Path, options: AuditPlanOptions) -> PlanSummary:
    """Write the files of a plan; those of earlier rounds stay."""
    number = len(plan.rounds)
    chosen = set(plan.frame.doc_ids[plan.sample[plan.round_of == number]].tolist())
    marked = dict(corpus_texts(source, plan.frame, chosen)) if options.with_texts else {}
    texts = {doc_id: each.text for doc_id, each in marked.items()}
    sheet = sheet_table(plan, number, texts)
    path = folder / sheet_name(number)
    question = options.question or (None if options.more is None else plan_question(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if number == 1:
            for earlier in folder.glob("sheet*"):
                earlier.unlink()
            with new_file(folder / STRATA, overwrite=True) as name:
                column = pa.array((plan.stratum_of + 1).astype(np.int32))
                pq.write_table(pa.table({"stratum": column}), name)
        with new_file(path, overwrite=True) as name:
            sheet.to_csv(name, index=False)
        write_sheet_page(path, plan, sheet, marked, source=source, question=question)
        write_json(folder / PLAN, {**plan.to_json(), "question": question})
    except OSError as error:
        raise unwritable(folder, error) from None
    return PlanSummary(
        out=str(folder),
        plan=plan.identity,
        sheet=str(path),
        page=str(path.with_name(page_name(path.name))),
        n_documents=len(plan.frame),
        n_drawn=len(plan.sample),
        n_new=len(sheet),
        n_without_text=sum(not texts.get(doc_id) for doc_id in chosen) if options.with_texts else len(chosen),
        strata=tuple({str(name): value for name, value in row.items()} for row in plan.to_frame().to_dict("records")),
    )


def plan_question(folder: PathLike) -> str | None:
    """The question of an earlier plan, which has been read."""
    question = json.loads((Path(folder) / PLAN).read_text(encoding="utf-8")).get("question")
    return question if isinstance(question, str) else None


def read_plan(folder: PathLike, source: PathLike) -> AuditPlan:
    """Read a plan that `run_audit_plan` wrote.

    Parameters
    ----------
    folder
        The folder of the audit.
    source
        The run, or the CSV file, of which it is.

    Raises
    ------
    InputError
        If there is no plan, it is damaged, or it is one of other documents.
    """
    path = Path(folder) / PLAN
    if not path.is_file():
        rule = f"folder must have a plan, {PLAN}, got none"
        raise InputError(rule, place=os.fspath(folder), hint="`corefsample audit plan` makes one")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        actors = (
            tuple(content["targets"]) if content["labels"] == "actors" and content["source"]["kind"] == "run" else None
        )
        frame = _frame(source, actors, content["period"])
        if frame.source["sha256"] != content["source"]["sha256"]:
            rule = f"plan must be of these documents, got one of {content['source']['path']} as it was then"
            raise InputError(rule, place=str(path))
        stratum_of = pq.read_table(Path(folder) / STRATA).column("stratum").to_numpy().astype(np.int64) - 1
        strata = tuple(
            Stratum(each["name"], each["n_documents"], each["n_sampled"], each["spread"]) for each in content["strata"]
        )
        rounds = tuple(tuple(counts) for counts in content["rounds"])
        if np.bincount(stratum_of, minlength=len(strata)).tolist() != [each.n_documents for each in strata]:
            raise ValueError("sizes of strata that are not those of strata.parquet")
        if list(rounds[-1]) != [each.n_sampled for each in strata]:
            raise ValueError("numbers of sampled documents that are not those of the rounds")
        sample, round_of = draw(frame, stratum_of, rounds, content["seed"])
        settings = tuple(content["cuts"]), content["by"], content["seed"], content["floor"]
        plan = AuditPlan(frame, strata, stratum_of, rounds, sample, round_of, *settings)
        if plan.identity != content["plan"]:
            raise ValueError("content that does not give the identity of the plan")
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, pa.ArrowException) as error:
        if isinstance(error, (InputError, ParameterError)):
            raise
        rule = f"plan must be as it was written, got: {' '.join(str(error).split())}"
        raise InputError(rule, place=str(path)) from None
    return plan
