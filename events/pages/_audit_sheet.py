"""Sheets of an audit, and the page on which a sheet is labelled: one article at a time, by keyboard or mouse."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corefsample._arrays import pd
from corefsample.files._atomic import unwritable, write_bytes
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_json
from events.audit import AuditFrame
from events.audit._plan import SHEET_COLUMNS, AuditPlan
from events.audit._plan_files import PLAN, write_plan, write_tables
from events.evidence._columns import shown_name
from events.pages._document_texts import PLAIN, MarkedText, run_definitions, run_texts
from events.pages._questions import default_question, rule_question
from events.pages._rendering import PER_PART, packed_parts, rendered

RESOLVE = "sheet-resolve.csv"
Question = tuple[str, Sequence[str]]  # what a label answers, and its codebook: paragraphs on what counts
_SCRIPTS = "elements files sheet progress answers article export import label"


def _run_record(frame: AuditFrame) -> dict[str, Any]:
    return read_json(Path(frame.source["path"]) / "run.json") if frame.source["kind"] == "run" else {}


def corpus_texts(frame: AuditFrame, wanted: Collection[str] | None = None) -> Iterator[tuple[str, MarkedText]]:
    """Yield doc_id and text of documents.

    Parameters
    ----------
    frame
        Documents of the audit: from a CSV file, whose column text is used, or of a run, whose inputs are read where
        they still exist.
    wanted
        doc_ids of the documents to yield; by default, all documents.
    """
    if frame.source["kind"] == "run":
        yield from run_texts(_run_record(frame), wanted)
    elif "text" in frame.properties:
        for doc_id, text in zip(frame.doc_ids.tolist(), frame.properties["text"].tolist(), strict=True):
            if wanted is None or doc_id in wanted:
                yield doc_id, MarkedText(((PLAIN, str(text)),))


def plan_question(folder: PathLike, plan: AuditPlan) -> Question:
    """The question of an earlier plan, which has been read."""
    record = read_json(Path(folder) / PLAN)
    return record.get("question") or default_question(plan.frame), record.get("codebook", ())


def write_round(
    folder: Path, plan: AuditPlan, *, with_texts: bool = True, question: str | None = None, codebook: str | None = None
) -> dict[str, Any]:
    """Write the files of a plan's last round: the plan, its question, the sheet and its page.

    Files of earlier rounds stay; those of an earlier plan in the folder are removed.

    Parameters
    ----------
    folder
        Folder of the audit, which need not exist.
    plan
        The plan.
    with_texts
        True if the sheet has the texts of its documents.
    question, codebook
        What a label answers, and what counts and does not. By default those of the rules whose files can still be
        read; in a later round, those of the plan.

    Returns
    -------
    dict
        Paths of sheet and page; sheets, those of all rounds; question and codebook; n_new, the number of documents in
        the sheet; n_without_text and n_empty, the numbers of those whose text was not found, and is empty.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    number, frame = len(plan.rounds), plan.frame
    doc_ids = set(frame.doc_ids[plan.sample[plan.round_of == number]].tolist())
    marked = dict(corpus_texts(frame, doc_ids)) if with_texts else {}
    texts = {doc_id: each.text for doc_id, each in marked.items()}
    sheet = plan.sheet(number, texts)
    asked: Question = default_question(frame), ()
    definitions = run_definitions(_run_record(frame).get("arguments", {}))
    if number > 1:
        asked = plan_question(folder, plan)
    elif definitions is not None:
        asked = rule_question(frame, definitions)
    texts_of_codebook = asked[1] if codebook is None else (codebook,) if codebook else ()
    asked = question or asked[0], texts_of_codebook
    sheets = [folder / ("sheet.csv" if n == 1 else f"sheet-{n}.csv") for n in range(1, number + 1)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for earlier in folder.glob("sheet*") if number == 1 else ():
            earlier.unlink()
        page = _write_sheet(sheets[-1], plan, sheet, marked, asked)
        write_plan(folder, plan, question=asked[0], codebook=list(asked[1]))
        codebook_text = "\n\n".join([asked[0], *asked[1], ""])
        write_bytes(folder / "codebook.txt", codebook_text.encode(), overwrite=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    return {
        "sheet": str(sheets[-1]),
        "sheets": [str(path) for path in sheets],
        "page": str(page),
        "n_new": len(sheet),
        "question": asked[0],
        "codebook": asked[1],
        "n_without_text": len(doc_ids) - len(texts) if with_texts else 0,
        "n_empty": sum(not text.strip() for text in texts.values()),
    }


def write_disagreements(
    folder: Path, plan: AuditPlan, sheet: pd.DataFrame, question: Question, sheets: Sequence[PathLike]
) -> tuple[str, ...]:
    """Write the documents on which labellers disagree as a sheet and its page, unless it is one of the sheets read.

    Returns
    -------
    tuple of str
        Names of the files written.
    """
    path = folder / RESOLVE
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in sheets):
        return ()
    for earlier in (path, path.with_suffix(".html")):
        earlier.unlink(missing_ok=True)
    return () if sheet.empty else (path.name, _write_sheet(path, plan, sheet, {}, question).name)


def _write_sheet(
    path: Path, plan: AuditPlan, sheet: pd.DataFrame, texts: Mapping[str, MarkedText], question: Question
) -> Path:
    """Write a sheet, and its page beside it, whose path is returned."""
    write_tables(path.parent, {path.name: sheet})
    names = {str(code): str(name) for code, name in _run_record(plan.frame).get("names", {}).items()}
    html = rendered_sheet(plan, sheet, texts, file_name=path.name, question=question, names=names)
    page = path.with_suffix(".html")
    write_bytes(page, html.encode("utf-8", "replace"), overwrite=True)
    return page


def rendered_sheet(
    plan: AuditPlan,
    sheet: pd.DataFrame,
    texts: Mapping[str, MarkedText] | None = None,
    *,
    file_name: str = "sheet.csv",
    question: Question | None = None,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return the HTML of a sheet: one file without a network, which exports the sheet with its labels as CSV.

    The model's P is packed with the text of each document, and shown when the document has a label. All text is
    inserted as text, as in a report: see docs/report.md.

    Parameters
    ----------
    plan
        Plan of the audit that the sheet belongs to.
    sheet
        Rows to label, with the columns of a sheet: from `AuditPlan.sheet` or `disagreement_sheet`.
    texts
        Texts with marked triggers and names, by doc_id; other documents show the column `text`, without marks.
    file_name
        Name of the file that the page exports.
    question
        What a label answers, and its codebook; by default the question names the event.
    names
        Names of actors by code.

    Raises
    ------
    ParameterError
        If the package Jinja2 is not installed.
    """
    frame, doc_ids = plan.frame, sheet["doc_id"].astype(str).tolist()
    row_of = {str(frame.doc_ids[row]): row for row in plan.sample.tolist()}
    probabilities: dict[int, list[list[float]]] = {row_of[doc_id]: [] for doc_id in doc_ids}  # by row: target and P
    is_drawn = np.isin(frame.rows, list(probabilities))
    columns = (each[is_drawn].tolist() for each in (frame.rows, frame.columns, frame.values))
    for row, target, p in zip(*columns, strict=True):
        probabilities[row].append([target, p])
    contents = []
    for doc_id, text in zip(doc_ids, sheet["text"].tolist(), strict=True):
        marked = (texts or {}).get(doc_id, MarkedText(((PLAIN, text),)))
        p_of_targets = sorted(probabilities[row_of[doc_id]])
        contents.append({"text": marked.pieces, "left_out": marked.left_out, "p": p_of_targets})
    key = hashlib.sha256("\n".join([file_name, *doc_ids]).encode("utf-8", "replace")).hexdigest()[:8]
    targets = () if frame.label_kind == "yes-no" else frame.targets
    asked, codebook = question or (default_question(frame), ())
    values = {
        "title": f"{asked} {len(doc_ids):,} documents",
        "question": asked,
        "codebook": codebook,
        "plan": plan.identity,
        "noun": frame.label_kind.removesuffix("s"),
        "sheet": {
            "plan": plan.identity,
            "key": key,
            "file": file_name,
            "kind": frame.label_kind,
            "actors": [[code, shown_name(code, names or {})] for code in targets],
            "columns": list(SHEET_COLUMNS),
            "documents": {name: sheet[name].tolist() for name in SHEET_COLUMNS if name not in ("plan", "text")},
            "same": {},
            "perPart": PER_PART,
        },
        "parts": packed_parts(contents),
    }
    return rendered("label", "base answers label", _SCRIPTS, values)
