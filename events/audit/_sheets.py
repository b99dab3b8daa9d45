"""Sheets of documents to label, as CSV, and the labels read from them.

The columns of a sheet, the interface of whatever writes or fills one:

    plan, round, doc_id, date, stratum, inclusion_probability, text, label, labeller, note

A label is "yes", "no" or "unsure" where the plan asks for one event, or one actor; where it asks for several actors,
it is those of the event, separated by ";" ("USA;GBR"; a "?" after an actor says unsure: "USA;GBR?"), or "none", or
"unsure". "other" may stand for an actor that the plan does not ask for. Where it asks for several events, it is these
("arrest;attack?").
An empty label is a missing one.

Documents that a person chose, instead of a plan, have the word "chosen" as their round, and neither a stratum nor an
inclusion probability. They may teach P, and are never used in estimates that rest on the design of a sample.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

from corefsample import InputError, _checks
from corefsample._arrays import Ints8, pd
from corefsample.errors import ParameterHint
from corefsample.files._atomic import unescaped
from corefsample.files._paths import PathLike
from events.audit._audit_frame import read_text_table
from events.audit._plan import NO_WORDS, NONE, OTHER, UNSURE_WORDS, YES_WORDS, AuditPlan

NO, YES, UNSURE, MISSING = 0, 1, 2, 3
_WORDS = {
    **dict.fromkeys(YES_WORDS, YES),
    **dict.fromkeys((*NO_WORDS, NONE), NO),
    **dict.fromkeys(UNSURE_WORDS, UNSURE),
    "": MISSING,
}
CHOSEN = "chosen"  # value of the column round where a person chose the document
RESOLVED = "resolved"  # the labeller whose labels replace those on which others disagree
LABEL_COLUMNS = ("plan", "doc_id", "date", "label", "note")


@dataclass(frozen=True, slots=True, eq=False)
class SheetLabels:
    """Labels of a sample, of one or several labellers.

    Attributes
    ----------
    labels
        int8 (n_sampled, n_targets): label of each document of the plan's sample, NO, YES, UNSURE or MISSING; UNSURE if
        labellers disagree.
    by_labeller
        Labels of each labeller by name, in the order of the sheets: int8 (n_sampled, n_targets) each.
    n_rounds
        Number of rounds of which sheets were read; later rounds count as not drawn.
    notes, texts
        Notes of the labellers by doc_id, joined, and texts of the sheets by doc_id.
    hand_picked
        Labels of documents that a person chose, by row of the frame: int8 (n_targets,) each.
    """

    labels: Ints8
    by_labeller: Mapping[str, Ints8]
    n_rounds: int
    notes: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)
    hand_picked: Mapping[int, Ints8] = field(default_factory=dict)


def read_sheets(plan: AuditPlan, sheets: Sequence[PathLike], *, rounds: int | None = None) -> SheetLabels:
    """Read the labels of a plan's sample.

    A sheet without names of labellers counts as one labeller's, named after the file. Sheets of different rounds
    without names count as one labeller's.

    Parameters
    ----------
    plan
        Plan of the audit, from `plan_audit`.
    sheets
        Paths of one or more CSV files: of several rounds, of several labellers, or both.
    rounds
        Number of rounds, from the first, of which there are sheets; later ones count as not drawn. By default, all
        rounds of the plan.

    Raises
    ------
    ParameterError
        If `plan` is not an `AuditPlan`, `sheets` is not a list of paths, or the plan has fewer than `rounds` rounds.
    InputError
        If a sheet has no label; if a round has no sheet, unless all documents are chosen by a person;
        if a sheet belongs to another plan, or has a document outside the sample, a document twice, a document with two
        labels of one labeller, an unknown label, or another stratum or inclusion probability than the plan.
    """
    _checks.instance("plan", plan, AuditPlan, hint="`plan_audit` makes one")
    sampled = [str(doc_id) for doc_id in plan.frame.doc_ids[plan.sample]]
    # A spreadsheet may take blanks away: a doc_id counts without them where no other differs in blanks alone.
    stripped = Counter(_without_blanks(doc_id) for doc_id in sampled)
    positions = {
        _without_blanks(doc_id): i for i, doc_id in enumerate(sampled) if stripped[_without_blanks(doc_id)] == 1
    }
    positions |= {doc_id: i for i, doc_id in enumerate(sampled)}
    shape, identity = (len(plan.sample), len(plan.frame.targets)), plan.identity
    labels_of: dict[str, Ints8] = {}
    unnamed_sheets: set[str] = set()
    notes: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    hand_picked: dict[int, Ints8] = {}
    read_rounds: set[int] = set()
    n_rounds = len(plan.rounds) if rounds is None else _checks.whole("rounds", rounds, 1)
    _checks.at_most("rounds", n_rounds, len(plan.rounds))
    paths = [os.fspath(sheet) for sheet in _checks.elements("sheets", sheets, str, os.PathLike)]
    for path in paths:
        needed = ("plan", "round", "doc_id", "stratum", "inclusion_probability", "label")
        table = read_text_table(path, needed).map(unescaped)
        table["inclusion_probability"] = table["inclusion_probability"].str.replace(",", ".")  # a decimal comma
        if not table["label"].str.strip().any():
            to_export = f"{PurePath(path).with_suffix('.html').name} exports the sheet with its labels: name that file"
            raise InputError("sheet must have at least one label, got none", place=path, hint=to_export)
        seen: set[tuple[int, str]] = set()
        for number, cells in zip(table.index, table.to_dict("records"), strict=True):
            location, doc_id = f"{path}: row {number}", str(cells["doc_id"])
            row = {str(name): str(value).strip() for name, value in cells.items()}
            if row["plan"] != identity:
                rule = f"plan must be {identity}, got {row['plan']!r}: a sheet of another plan"
                raise InputError(rule, place=location)
            if row["round"] == CHOSEN:
                document = _chosen_document(plan, doc_id, row, location)
                label, before = parsed_label(row["label"], plan, location), hand_picked.get(document)
                if label[0] != MISSING:
                    differs = False if before is None else label != before
                    hand_picked[document] = np.where(differs, UNSURE, label).astype(np.int8)
                continue
            i = positions.get(doc_id, positions.get(_without_blanks(doc_id)))
            if i is None:
                raise InputError(f"doc_id must be one of the plan's sample, got {doc_id!r}", place=location)
            _require_design(plan, i, row, location)
            label, labeller = parsed_label(row["label"], plan, location), row.get("labeller", "")
            if (i, labeller) in seen:
                # Not even with the same label: the row may be that of another document.
                rule = f"a document must be in one row of a labeller, got {doc_id!r} again"
                hint = "a spreadsheet may change doc_ids, such as 007 to 7: import the column as text"
                raise InputError(rule, place=location, hint=hint)
            seen.add((i, labeller))
            read_rounds |= {int(plan.round_of[i])} if labeller != RESOLVED else set()
            unnamed_sheets |= set() if labeller else {path}
            labels_of_one = labels_of.setdefault(labeller or path, np.full(shape, MISSING, np.int8))
            if label[0] != MISSING:
                if labels_of_one[i, 0] != MISSING and (labels_of_one[i] != label).any():
                    rule = f"a document must have one label of {labeller!r}, got another in an earlier sheet"
                    raise InputError(rule, place=f"{location}: doc_id {sampled[i]!r}")
                labels_of_one[i] = label
            if row.get("text"):
                texts[sampled[i]] = row["text"]
            if row.get("note"):
                notes.setdefault(sampled[i], []).append(row["note"])
    if read_rounds != {*range(1, n_rounds + 1)} and (read_rounds or not hand_picked):
        rule = f"sheets must be of each round of the plan from 1 to {n_rounds}"
        actual = ", ".join(map(str, sorted(read_rounds))) or "none"
        first_rounds = ParameterHint("rounds", "leaves out later rounds")
        raise InputError(f"{rule}, got {actual}", place=", ".join(paths), hint=first_rounds)
    by_labeller: dict[str, Ints8] = {}
    for name, labels in labels_of.items():
        # Sheets without names that share no labelled document are rounds of one labeller.
        first = next((other for other in by_labeller if other in unnamed_sheets), None)
        is_labelled = labels != MISSING
        if first is None or name not in unnamed_sheets or (is_labelled & (by_labeller[first] != MISSING)).any():
            by_labeller[name] = labels
        else:
            by_labeller[first][is_labelled] = labels[is_labelled]
    joined = np.full(shape, MISSING, np.int8)
    for name, labels in by_labeller.items():
        if name != RESOLVED:
            agreed = np.where((joined == MISSING) | (joined == labels), labels, UNSURE)
            joined = np.where(labels == MISSING, joined, agreed).astype(np.int8)
    resolved = by_labeller.get(RESOLVED, np.full(shape, MISSING, np.int8))
    joined = np.where(resolved != MISSING, resolved, joined).astype(np.int8)
    joined_notes = {name: "; ".join(each) for name, each in notes.items()}
    return SheetLabels(joined, by_labeller, max(read_rounds, default=0), joined_notes, texts, hand_picked)


def _without_blanks(doc_id: str) -> str:
    return " ".join(doc_id.split())


def _chosen_document(plan: AuditPlan, doc_id: str, row: Mapping[str, str], location: str) -> int:
    """Row in the frame of a document that a person chose; raise if the plan has no such document."""
    rows = np.flatnonzero(plan.frame.doc_ids == doc_id)
    if not rows.size:
        raise InputError(f"doc_id must be one of the plan's documents, got {doc_id!r}", place=location)
    if row["inclusion_probability"]:
        rule = "inclusion_probability must be empty of a document that a person chose"
        raise InputError(f"{rule}, got {row['inclusion_probability']!r}", place=location)
    return int(rows[0])


def _require_design(plan: AuditPlan, i: int, row: Mapping[str, str], location: str) -> None:
    """Raise unless the row of a document of the sample has its round, stratum and inclusion probability."""
    number, stratum = int(plan.round_of[i]), int(plan.stratum_of[plan.sample[i]])
    for name, value in (("round", number), ("stratum", stratum + 1)):
        if row[name] != str(value):
            raise InputError(f"{name} must be the plan's, {value}, got {row[name]!r}", place=location)
    expected = plan.inclusion_probability(number)[stratum]
    try:
        probability = float(row["inclusion_probability"])
    except ValueError:
        probability = float("nan")
    # A spreadsheet may round to some digits; another number is an edit.
    if not abs(probability - expected) <= max(1e-9, 1e-6 * expected):
        rule = f"inclusion_probability must be the plan's, {expected:.6g}"
        raise InputError(f"{rule}, got {row['inclusion_probability']!r}", place=location)


def parsed_label(text: str, plan: AuditPlan, location: str) -> Ints8:
    """Labels of the plan's targets that a cell says: int8 (n_targets,)."""
    targets, kind = plan.frame.targets, plan.frame.label_kind
    word = text.strip().lower()
    if kind == "yes-no":
        words = {targets[0].lower(): YES, **_WORDS}  # the one target may be named, as several are
        if word not in words:
            raise InputError(f"label must be yes, no or unsure, got {text!r}", place=location)
        return np.array([words[word]], np.int8)
    if word in ("", NONE, *UNSURE_WORDS):
        return np.full(len(targets), _WORDS[word], np.int8)
    label = np.full(len(targets), NO, np.int8)
    target_of = {name.lower(): t for t, name in enumerate(targets)}
    for part in word.split(";"):
        name = part.strip().removesuffix("?").strip()
        if name in target_of:
            label[target_of[name]] = UNSURE if part.strip().endswith("?") else YES
        elif name != OTHER:
            rule = f"label must be none, unsure, or {kind} of the plan separated by ';'"
            hint = "other stands for an actor outside the plan" if kind == "actors" else f"events: {', '.join(targets)}"
            raise InputError(f"{rule}, got {text!r}", place=location, hint=hint)
    return label


def label_text(plan: AuditPlan, label: Ints8) -> str:
    """A label as it is written in a sheet."""
    if plan.frame.label_kind == "yes-no" or label[0] == MISSING:
        return ("no", "yes", "unsure", "")[label[0]]
    if (label == UNSURE).all():
        return "unsure"
    ends = {YES: "", UNSURE: "?"}
    values = zip(plan.frame.targets, label.tolist(), strict=True)
    return ";".join(f"{name}{ends[value]}" for name, value in values if value in ends) or NONE


def disagreement_sheet(plan: AuditPlan, labels: SheetLabels) -> pd.DataFrame:
    """The documents that labellers label differently, as a sheet to be resolved: rows of the labeller "resolved"."""
    tables = [plan.sheet(number, labels.texts) for number in range(1, labels.n_rounds + 1)]
    sheet = pd.concat(tables, ignore_index=True)  # in the order of the sample
    shown_labels = {}
    for i in range(len(sheet)):
        labels_of = {name: values[i] for name, values in labels.by_labeller.items() if name != RESOLVED}
        labels_of = {name: label for name, label in labels_of.items() if label[0] != MISSING}
        if len({label.tobytes() for label in labels_of.values()}) > 1:
            shown_labels[i] = "; ".join(f"{name}: {label_text(plan, label)}" for name, label in labels_of.items())
    return sheet.loc[list(shown_labels)].assign(labeller=RESOLVED, note=list(shown_labels.values()))


def label_table(plan: AuditPlan, labels: SheetLabels) -> pd.DataFrame:
    """Tidy table, one row for each document with a label, in the order of the sample.

    Parameters
    ----------
    plan, labels
        Plan of the audit, and labels of its sheets.

    Returns
    -------
    pandas.DataFrame
        plan, doc_id, date; label as in a sheet ("unsure" where labellers disagree); note.
    """
    rows, dates = [], plan.frame.date_texts()
    for row, label in zip(plan.sample.tolist(), labels.labels, strict=True):
        if label[0] != MISSING:
            doc_id = str(plan.frame.doc_ids[row])
            note = labels.notes.get(doc_id, "")
            rows.append((plan.identity, doc_id, dates[row], label_text(plan, label), note))
    return pd.DataFrame(rows, columns=list(LABEL_COLUMNS), dtype=str)
