"""What labels teach adds to a report: the probability that a reader says yes, and counts that rest on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._contents import read_json
from corefsample.files._paths import PathLike
from events._csv_cells import unescaped
from events.audit._estimates import TOTAL
from events.audit._frame_files import read_text_table
from events.pages._audited import LabelTargets, counted_target, folder_with

_FILES = ("learned.csv", "learned_counts.csv", "learned.json")
_DOCUMENTS = ("doc_id", "event", "actor", "learned", "label", "sampled")
_NUMBERS = ("n_docs", "n_labels", "mean", "lower", "upper", "level", "run_mean", "run_lower", "run_upper")
_COUNTS = ("event", "actor", "period", *_NUMBERS)
CHOSEN = "chosen"  # how a label came whose document a person chose


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
    place = folder_with(folder, "learned", _FILES, "audit learn")
    documents, counts = (
        read_text_table(place / name, columns).map(unescaped)
        for name, columns in (("learned.csv", _DOCUMENTS), ("learned_counts.csv", _COUNTS))
    )
    try:
        documents["learned"] = documents["learned"].astype(float)
        counts = counts.astype(dict.fromkeys(_NUMBERS, float))
        if not np.isfinite(counts[list(_NUMBERS)].to_numpy()).all() or not documents["learned"].between(0, 1).all():
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
    except (OSError, ValueError, KeyError, TypeError) as error:
        found = " ".join(str(error).split())
        raise InputError(f"learned must be as it was written, got: {found}", place=str(folder)) from None
    with_label = {target: rows[rows["label"] != ""] for target, rows in of_target.items()}
    return LearnedContent(
        about,
        {target: _by_document(rows, "learned") for target, rows in of_target.items()},
        {target: _by_document(rows, "label") for target, rows in with_label.items()},
        frozenset(documents["doc_id"][documents["sampled"] == CHOSEN]),
        [counted_target(counts, *key, names, _NUMBERS) for key in keys],
        float(totals["level"].iloc[0]),
    )


def _by_document(rows: pd.DataFrame, column: str) -> dict[str, Any]:
    return dict(zip(rows["doc_id"].tolist(), rows[column].tolist(), strict=True))
