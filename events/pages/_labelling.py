"""The page on which a sheet is labelled: one article at a time, by keyboard or mouse."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._lazy import pd
from events.audit._plan import SHEET_COLUMNS, AuditPlan
from events.evidence._columns import shown_name
from events.pages._document_texts import PLAIN, MarkedText
from events.pages._labels import CHOSEN, LabelTargets
from events.pages._questions import Question, default_question
from events.pages._rendering import PER_PART, packed_parts, rendered

if TYPE_CHECKING:
    from events.pages._report_content import Report

_SCRIPTS = "elements files sheet progress answers article export import label"


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
    doc_ids = sheet["doc_id"].astype(str).tolist()
    values = {name: sheet[name].tolist() for name in SHEET_COLUMNS if name not in ("plan", "text")}
    key = hashlib.sha256("\n".join([file_name, *doc_ids]).encode("utf-8", "replace")).hexdigest()[:8]
    kind = plan.frame.label_kind
    sheet_values = {
        "plan": plan.identity,
        "key": key,
        "file": file_name,
        "kind": kind,
        "actors": [] if kind == "yes-no" else [[code, shown_name(code, names or {})] for code in plan.frame.targets],
        "columns": list(SHEET_COLUMNS),
        "documents": values,
        "same": {},
        "perPart": PER_PART,
    }
    packed_texts = packed_parts(_contents(plan, doc_ids, sheet["text"].tolist(), texts or {}))
    asked = question or Question(default_question(plan.frame))
    title = f"{asked.text} {len(doc_ids):,} documents"
    about = {"title": title, "asked": asked, "plan": plan.identity, "noun": kind.removesuffix("s")}
    return rendered("label", "base answers label", _SCRIPTS, {**about, "sheet": sheet_values, "parts": packed_texts})


def chosen_sheet(report: Report) -> dict[str, Any]:
    """The sheet of the documents that a person chooses on the page of a report; empty if there is no plan.

    Such documents have no inclusion probability: their round is "chosen".
    """
    documents, other_documents = report.counts["documents"], report.counts.get("others", {})
    about = report.about or LabelTargets("")
    rows = [d for d, place in enumerate(documents["text"]) if place >= 0 and report.about]
    without_evidence = other_documents if report.about else {}
    doc_ids, dates = ([documents[name][d] for d in rows] + without_evidence.get(name, []) for name in ("id", "date"))
    names = report.record["names"]
    return {
        "plan": about.plan,
        "key": CHOSEN,
        "file": f"{CHOSEN}.csv",
        "kind": about.kind,
        "actors": [[code, shown_name(code, names)] for code in about.choices],
        "columns": list(SHEET_COLUMNS),
        "documents": {"doc_id": doc_ids, "date": dates, "labeller": [], "note": []},
        "same": {"round": CHOSEN, "stratum": "", "inclusion_probability": ""},
    }


def _contents(
    plan: AuditPlan, doc_ids: list[str], plain: list[str], texts: Mapping[str, MarkedText]
) -> list[dict[str, Any]]:
    """Pieces of the text, and P of each document: of the event, or of the actors with P > 0 by number."""
    frame = plan.frame
    row_of = {str(frame.doc_ids[row]): row for row in plan.sample.tolist()}
    wanted = {row_of[doc_id] for doc_id in doc_ids}
    probabilities: dict[int, list[list[float]]] = {row: [] for row in wanted}
    is_drawn = np.isin(frame.rows, list(wanted))
    columns = (each[is_drawn].tolist() for each in (frame.rows, frame.columns, frame.values))
    for row, target, p in zip(*columns, strict=True):
        probabilities[row].append([target, p])
    contents = []
    for doc_id, text in zip(doc_ids, plain, strict=True):
        marked = texts.get(doc_id, MarkedText(((PLAIN, text),)))
        contents.append(
            {"text": marked.pieces, "left_out": marked.left_out, "p": sorted(probabilities[row_of[doc_id]])}
        )
    return contents
