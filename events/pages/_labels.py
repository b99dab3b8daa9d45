"""What labels add to a report: audited counts beside those of the model, and what can be learned from labels.

Labels stand beside P. An audit has counts that rest on them; what was learned has the probability that a reader says
yes, and counts that rest on it. A target is an event with an actor, or with any actor; labels are about targets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from corefsample._arrays import pd
from corefsample.errors import InputError
from corefsample.files._atomic import unescaped
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_json
from events.audit._audit_frame import RULES, TOTAL, as_written, read_text_table, run_event
from events.audit._plan_files import LEARNED_RECORD
from events.audit._sheets import LABEL_COLUMNS
from events.counts._run_tables import verify_table
from events.evidence._columns import shown_name

_OF_COUNTS = ("event", "actor", "period")
_OF_AUDIT = ("n_docs", "n_labelled", "estimate", "lower", "upper", "level", "model_mean", "model_lower", "model_upper")
_OF_LEARNED = ("n_docs", "n_labels", "mean", "lower", "upper", "level", "run_mean", "run_lower", "run_upper")
_OF_DOCUMENTS = ("doc_id", "event", "actor", "learned", "label", "sampled")
CHOSEN = "chosen"  # how a label came whose document a person chose

Key = tuple[str, str]  # the event, and the actor or ""
Names = Mapping[Key, str]  # name of each target in labels


def target_names(keys: Iterable[Key], record: Mapping[str, Any]) -> dict[Key, str]:
    """Name of each target in labels: the actor, with its event where a run has several, or the event."""
    full = RULES in run_event(record)
    return {(event, actor): (f"{event}: {actor}" if full else actor) if actor else event for event, actor in keys}


def label_kind(names: Names) -> str:
    """What a label is, as in `events.audit.AuditFrame.label_kind`."""
    if len(names) < 2:
        return "yes-no"
    return "actors" if all(actor for _, actor in names) else "events"


def answers_of(label: str, names: Names) -> dict[str, str]:
    """What the label of a document says about each target: yes, no or unsure."""
    if label_kind(names) == "yes-no" or label == "unsure":
        return dict.fromkeys(names.values(), label)
    marked = label.split(";")
    return {name: "yes" if name in marked else "unsure" if f"{name}?" in marked else "no" for name in names.values()}


def whole_label(answers: Mapping[str, str], names: Names) -> str:
    """The label of a document as in a sheet, from what it says about each target."""
    if label_kind(names) == "yes-no":
        return next(iter(answers.values()))
    ends = {"yes": "", "unsure": "?"}
    return ";".join(f"{name}{ends[answer]}" for name, answer in answers.items() if answer in ends) or "none"


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels, and counts that rest on them: of an audit, or learned.

    Attributes
    ----------
    plan
        Identity of the plan.
    names
        Name of each target in labels, by its event and its actor; the actor is "" if the target is any actor.
    answers
        Answer about each target, yes, no or unsure, by doc_id and by name of the target.
    targets
        Mapping for each target: key; name; total; and rows by period, as JSON values.
    level
        Confidence level of the intervals, in (0, 1).
    n_documents
        Number of all documents, labelled or not.
    learned
        Learned P that a reader says yes, by name of the target and doc_id; empty for an audit.
    chosen
        Documents with a label that a person picked on a page, outside the sample of the plan.
    """

    plan: str
    names: Names
    answers: Mapping[str, Mapping[str, str]]
    targets: list[dict[str, Any]]
    level: float
    n_documents: int
    learned: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    chosen: Collection[str] = ()

    def target_of(self, event: str, actor: str) -> str:
        """Name of the target of a row of the evidence: its actor, else any actor; "" if labels are about neither."""
        return self.names.get((event, actor), self.names.get((event, ""), ""))


def read_audit(folder: PathLike, doc_ids: Collection[str], record: Mapping[str, Any]) -> Labels:
    """Read the folder that `corefsample audit estimate` wrote.

    Parameters
    ----------
    folder
        Folder that `corefsample audit estimate` wrote.
    doc_ids
        doc_ids of the documents of the run.
    record
        Content of run.json of the run.

    Raises
    ------
    InputError
        If a file is missing or damaged, or the labels are of another run.
    """
    root = _folder_with(folder, "an audit", ("audited.csv", "labels.csv", "audited.json"), "audit estimate")
    for name in ("audited.csv", "labels.csv"):
        verify_table(root / name, "audited.json")
    with as_written("audit", str(folder)):
        counts = _numbers(read_text_table(root / "audited.csv", (*_OF_COUNTS, *_OF_AUDIT)), _OF_AUDIT)
        plan = str(read_json(root / "audited.json")["summary"]["plan"])
    table = read_text_table(root / "labels.csv", LABEL_COLUMNS).map(unescaped)
    stranger = next((doc_id for doc_id in table["doc_id"] if doc_id not in doc_ids), None)
    if stranger is not None:
        rule = "labels must be of documents of this run"
        raise InputError(f"{rule}, got {stranger!r}", place=str(root / "labels.csv"))
    targets = sorted(_targets(counts, record, _OF_AUDIT), key=lambda target: -target["total"]["estimate"])
    if not targets:
        raise InputError("audit must have a total, got none", place=str(root / "audited.csv"))
    names = target_names([target["key"] for target in targets], record)
    answers = {doc_id: answers_of(label, names) for doc_id, label in zip(table["doc_id"], table["label"], strict=True)}
    first = targets[0]["total"]
    return Labels(plan, names, answers, targets, first["level"], int(first["n_docs"]))


def read_learned(folder: PathLike, doc_ids: Collection[str], record: Mapping[str, Any]) -> Labels:
    """Read the folder that `corefsample audit learn` wrote; parameters and errors as in `read_audit`."""
    root = _folder_with(folder, "learned", ("learned.csv", "learned_counts.csv", "learned.json"), "audit learn")
    for name in ("learned.csv", "learned_counts.csv"):
        verify_table(root / name, LEARNED_RECORD)
    with as_written("learned", str(folder)):
        documents = _numbers(read_text_table(root / "learned.csv", _OF_DOCUMENTS), ["learned"])
        counts = _numbers(read_text_table(root / "learned_counts.csv", (*_OF_COUNTS, *_OF_LEARNED)), _OF_LEARNED)
        if not documents["learned"].between(0, 1).all():
            raise ValueError("a number that is not possible")
        targets = _targets(counts, record, _OF_LEARNED)
        plan = str(read_json(root / "learned.json")["plan"])
        names = target_names([target["key"] for target in targets], record)
        learned: dict[str, dict[str, float]] = {name: {} for name in names.values()}
        answers: dict[str, dict[str, str]] = {}
        rows = documents[["doc_id", "event", "actor", "learned", "label"]].itertuples(index=False, name=None)
        for doc_id, event, actor, p, label in rows:
            learned[names[event, actor]][doc_id] = p
            if label:
                answers.setdefault(doc_id, {})[names[event, actor]] = label
        if not targets or len(documents) != len(targets) * len(doc_ids):
            raise ValueError("documents and counts of different targets")
        if any(each.keys() != set(doc_ids) for each in learned.values()):
            raise ValueError("documents of another run")
    chosen, level = {*documents["doc_id"][documents["sampled"] == CHOSEN]}, targets[0]["total"]["level"]
    return Labels(plan, names, answers, targets, level, len(doc_ids), learned, chosen)


def _numbers(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A table of texts as they were before they were written, with numbers in some columns."""
    values = table.map(unescaped).astype(dict.fromkeys(columns, float))
    if not np.isfinite(values[[*columns]].to_numpy()).all():
        raise ValueError("a number that is not finite")
    return values


def _folder_with(folder: PathLike, kind: str, names: Sequence[str], command: str) -> Path:
    """A folder; raise InputError unless it has the files that a command writes."""
    path = Path(folder)
    for name in names:
        if not (path / name).is_file():
            hint = f"`corefsample {command}` makes one"
            raise InputError(f"{kind} must have {', '.join(names)}, got no {name}", place=str(folder), hint=hint)
    return path


def _targets(counts: pd.DataFrame, record: Mapping[str, Any], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """Key, name, total, and rows by period of everything that has a total, as JSON values."""
    full = RULES in run_event(record)
    targets = []
    for (event, actor), table in counts.groupby(["event", "actor"], sort=False):
        rows: list[Any] = table[["period", *numbers]].to_dict("records")
        name = (
            shown_name(f"{event}: {actor}" if full else str(actor), record["names"]) if actor else f"{event}, any actor"
        )
        by_period = [row for row in rows if row["period"] != TOTAL]
        for total in [row for row in rows if row["period"] == TOTAL]:
            targets.append({"key": (event, actor), "name": name, "total": total, "rows": by_period})
    return targets
