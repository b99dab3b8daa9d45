"""What labels add to a report: audited counts beside those of the model, and what can be learned from labels.

Labels stand beside P. An audit has counts that rest on them; what was learned has the probability that a reader says
yes, and counts that rest on it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._contents import read_json
from corefsample.files._paths import PathLike
from events._csv_cells import unescaped
from events.audit._documents import TOTAL, as_written, read_text_table
from events.audit._sheets import LABEL_COLUMNS
from events.counting._tables import shown_name

_OF_COUNTS = ("event", "actor", "period")
_OF_AUDIT = ("n_docs", "n_labelled", "estimate", "lower", "upper", "level", "model_mean", "model_lower", "model_upper")
_OF_LEARNED = ("n_docs", "n_labels", "mean", "lower", "upper", "level", "run_mean", "run_lower", "run_upper")
_OF_DOCUMENTS = ("doc_id", "event", "actor", "learned", "label", "sampled")
CHOSEN = "chosen"  # how a label came whose document a person chose


@dataclass(frozen=True, slots=True)
class LabelTargets:
    """What the labels of a plan are about.

    Attributes
    ----------
    plan
        Its identity.
    actors, events
        Codes of actors, or events; both empty where labels are about the event of any actor. Where there is one actor,
        a label says yes or no.
    """

    plan: str
    actors: tuple[str, ...] = ()
    events: tuple[str, ...] = ()

    @classmethod
    def of_keys(cls, plan: str, keys: Sequence[tuple[str, str]]) -> LabelTargets:
        """From the event and the actor, or "", of each target."""
        events = tuple(event for event, actor in keys if not actor)
        return cls(plan, tuple(actor for _, actor in keys if actor), events if len(events) > 1 else ())

    @property
    def kind(self) -> str:
        """What a label is, as in `events.audit.AuditFrame.label_kind`."""
        return "events" if self.events else "actors" if len(self.actors) > 1 else "yes-no"

    def of_key(self, event: str, actor: str) -> str:
        """Name of a target."""
        return actor or (event if self.events else "")

    def of_row(self, actor: str) -> str | None:
        """Name of the target of a row of the evidence, by its actor; None if labels are not about it."""
        targets = self.actors or self.events
        if not targets:
            return ""
        target = actor if self.actors else actor.partition(": ")[0]
        return target if target in targets else None


@dataclass(frozen=True, slots=True)
class AuditContent:
    """Labels and audited counts.

    Attributes
    ----------
    labels
        Label by doc_id, as in a sheet.
    targets
        One for each event or actor: name; total; and rows by period, as JSON values.
    about
        What labels are about.
    n_labels, n_documents
        Documents with a label, and all.
    level
        Of the intervals.
    assumption
        "stable-errors" where counts of periods rest on it, or "".
    """

    labels: dict[str, str]
    targets: list[dict[str, Any]]
    about: LabelTargets
    n_labels: int
    n_documents: int
    level: float
    assumption: str

    def row_label(self, doc_id: str, actor: str) -> str:
        """What the label of a document says about one actor: yes, no, unsure, or "" without a label.

        A label of events says of each whether any actor has it.
        """
        label, target = self.labels.get(doc_id, ""), self.about.of_row(actor)
        if not label or label == "unsure" or not target:
            return "" if target is None and label != "unsure" else label
        if label in ("yes", "no"):  # of the one actor
            return label
        parts = label.split(";")
        return "yes" if target in parts else "unsure" if f"{target}?" in parts else "no"


def read_audit(folder: PathLike, doc_ids: Collection[str], names: dict[str, Any]) -> AuditContent:
    """Read the folder that `corefsample audit estimate` wrote.

    Parameters
    ----------
    folder
        The folder.
    doc_ids
        Documents of the run.
    names
        Names of actors by code.

    Raises
    ------
    InputError
        If a file is missing or damaged, or the labels are of another run.
    """
    place = _folder_with(folder, "an audit", ("audited.csv", "labels.csv", "audited.json"), "audit estimate")
    with as_written("audit", str(folder)):
        counts = _numbers(read_text_table(place / "audited.csv", (*_OF_COUNTS, "assumption", *_OF_AUDIT)), _OF_AUDIT)
        summary = read_json(place / "audited.json")["summary"]
        plan, assumption = str(summary["plan"]), str(summary["assumption"])
    table = read_text_table(place / "labels.csv", LABEL_COLUMNS).map(unescaped)
    labels = dict(zip(table["doc_id"].tolist(), table["label"].tolist(), strict=True))
    stranger = next((doc_id for doc_id in labels if doc_id not in doc_ids), None)
    if stranger is not None:
        rule = "labels must be of documents of this run"
        raise InputError(f"{rule}, got {stranger!r}", place=str(place / "labels.csv"))
    totals = counts[counts["period"] == TOTAL].sort_values("estimate", ascending=False, kind="stable")
    if totals.empty:
        raise InputError("audit must have a total, got none", place=str(place / "audited.csv"))
    keys = list(zip(totals["event"], totals["actor"], strict=True))
    return AuditContent(
        labels,
        [_counted_target(counts, *key, names, _OF_AUDIT) for key in keys],
        LabelTargets.of_keys(plan, keys),
        len(labels),
        int(totals["n_docs"].iloc[0]),
        float(totals["level"].iloc[0]),
        assumption,
    )


@dataclass(frozen=True, slots=True)
class LearnedContent:
    """Learned P, labels, and learned counts.

    Attributes
    ----------
    about
        What labels are about.
    probabilities, labels
        By target ("" where there is one), P that a reader says yes and the label, by doc_id; documents without a
        label are left out of the latter.
    chosen
        Documents with a label that a person chose, and no plan.
    targets
        One for each target: name; total; and rows by period, as JSON values.
    level
        Of the intervals.
    """

    about: LabelTargets
    probabilities: dict[str, dict[str, float]]
    labels: dict[str, dict[str, str]]
    chosen: frozenset[str]
    targets: list[dict[str, Any]]
    level: float

    def row_probability(self, doc_id: str, actor: str) -> float | None:
        """P that a reader says yes of a row of the evidence; None if labels are not about its actor."""
        target = self.about.of_row(actor)
        return None if target is None else round(self.probabilities[target][doc_id], 4)

    def row_label(self, doc_id: str, actor: str) -> str:
        """The label of a row of the evidence: yes, no, unsure, or "" without one."""
        target = self.about.of_row(actor)
        return "" if target is None else self.labels[target].get(doc_id, "")

    def highest(self, doc_id: str) -> float:
        """The highest P of any target in a document."""
        return round(max(each[doc_id] for each in self.probabilities.values()), 4)

    @property
    def whole_labels(self) -> dict[str, str]:
        """Label of each document as in a sheet."""
        if len(self.labels) == 1:
            return dict(next(iter(self.labels.values())))
        parts: dict[str, list[str]] = {}
        for target, labels in self.labels.items():
            for doc_id, label in labels.items():
                own = parts.setdefault(doc_id, [])
                own += {"yes": [target], "unsure": [f"{target}?"]}.get(label, [])
        return {doc_id: ";".join(own) or "none" for doc_id, own in parts.items()}


def read_learned(folder: PathLike, doc_ids: Collection[str], names: dict[str, Any]) -> LearnedContent:
    """Read the folder that `corefsample audit learn` wrote.

    Parameters
    ----------
    folder
        The folder.
    doc_ids
        Documents of the run.
    names
        Names of actors by code.

    Raises
    ------
    InputError
        If a file is missing or damaged, or what was learned is of another run.
    """
    place = _folder_with(folder, "learned", ("learned.csv", "learned_counts.csv", "learned.json"), "audit learn")
    with as_written("learned", str(folder)):
        documents = _numbers(read_text_table(place / "learned.csv", _OF_DOCUMENTS), ["learned"])
        counts = _numbers(read_text_table(place / "learned_counts.csv", (*_OF_COUNTS, *_OF_LEARNED)), _OF_LEARNED)
        if not documents["learned"].between(0, 1).all():
            raise ValueError("a number that is not possible")
        plan = str(read_json(place / "learned.json")["plan"])
        totals = counts[counts["period"] == TOTAL]
        keys = list(zip(totals["event"], totals["actor"], strict=True))
        about = LabelTargets.of_keys(plan, keys)
        of_target = {
            about.of_key(event, actor): documents[(documents["event"] == event) & (documents["actor"] == actor)]
            for event, actor in keys
        }
        if not keys or sum(map(len, of_target.values())) != len(documents):
            raise ValueError("documents and counts of different targets")
        if any(set(rows["doc_id"]) != set(doc_ids) or len(rows) != len(doc_ids) for rows in of_target.values()):
            raise ValueError("documents of another run")
    with_label = {target: rows[rows["label"] != ""] for target, rows in of_target.items()}
    return LearnedContent(
        about,
        {target: _by_document(rows, "learned") for target, rows in of_target.items()},
        {target: _by_document(rows, "label") for target, rows in with_label.items()},
        frozenset(documents["doc_id"][documents["sampled"] == CHOSEN]),
        [_counted_target(counts, *key, names, _OF_LEARNED) for key in keys],
        float(totals["level"].iloc[0]),
    )


def _numbers(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A table of texts as they were before they were written, with numbers in some columns."""
    found = table.map(unescaped).astype(dict.fromkeys(columns, float))
    if not np.isfinite(found[[*columns]].to_numpy()).all():
        raise ValueError("a number that is not finite")
    return found


def _folder_with(folder: PathLike, what: str, names: Sequence[str], command: str) -> Path:
    """A folder; raise InputError unless it has the files that a command writes."""
    place = Path(folder)
    for name in names:
        if not (place / name).is_file():
            hint = f"`corefsample {command}` makes one"
            raise InputError(f"{what} must have {', '.join(names)}, got no {name}", place=str(folder), hint=hint)
    return place


def _counted_target(
    counts: pd.DataFrame, event: str, actor: str, names: dict[str, Any], numbers: Sequence[str]
) -> dict[str, Any]:
    """Name, total, and rows by period of what labels are about, as JSON values."""
    chosen = counts[(counts["event"] == event) & (counts["actor"] == actor)]
    rows: list[Any] = chosen[["period", *numbers]].to_dict("records")
    return {
        "name": shown_name(actor, names) if actor else f"{event}, any actor",
        "total": next(row for row in rows if row["period"] == TOTAL),
        "rows": [row for row in rows if row["period"] != TOTAL],
    }


def _by_document(rows: pd.DataFrame, column: str) -> dict[str, Any]:
    return dict(zip(rows["doc_id"].tolist(), rows[column].tolist(), strict=True))
