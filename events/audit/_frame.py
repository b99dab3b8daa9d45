"""The documents of an audit: every document of a corpus with its date, and P of each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.errors import ParameterError
from events.counting._periods import Calendar

RULES = ", "  # between the names of several rules

Names = npt.NDArray[np.object_]
LabelKind = Literal["yes-no", "events", "actors"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditFrame:
    """Every document of a corpus, with P of each target; the frame from which a sample is drawn.

    A target is what a label answers: whether an event of any actor is in the document, or of one of several actors.

    Attributes
    ----------
    doc_ids
        str (n_documents,), distinct.
    dates
        datetime64[D] (n_documents,).
    targets
        Names of the targets: the event, or its actors.
    rows, columns, values
        P above 0: ``values[i]`` is P of target ``columns[i]`` in document ``rows[i]``; all others are 0.
    event
        Name of the event, for tables and questions.
    period
        Length of the periods: see `events.counting.Calendar`.
    source
        Where the frame comes from: "kind" ("run", "table" or "arrays"), "path" and "sha256".
    properties
        Further columns by name, (n_documents,): candidates for strata of the user.
    """

    doc_ids: Names
    dates: npt.NDArray[np.datetime64]
    targets: tuple[str, ...]
    rows: Ints
    columns: Ints32
    values: Floats
    event: str = "event"
    period: str = "quarter"
    source: Mapping[str, Any] = field(default_factory=lambda: {"kind": "arrays", "path": "", "sha256": None})
    properties: Mapping[str, Names] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"AuditFrame({len(self):,} documents, targets {', '.join(self.targets[:8])})"

    def __len__(self) -> int:
        return len(self.doc_ids)

    @classmethod
    def from_arrays(
        cls,
        doc_ids: Sequence[str],
        dates: npt.ArrayLike,
        probabilities: npt.ArrayLike,
        *,
        event: str = "event",
        period: str = "quarter",
        properties: Mapping[str, Sequence[Any]] | None = None,
    ) -> AuditFrame:
        """Make a frame for one target from arrays.

        Parameters
        ----------
        doc_ids, dates, probabilities
            Of the documents: distinct names, dates, and P in [0, 1] of any model.
        event
            Name of the event.
        period
            year, quarter, month, week, day, or a pandas alias.
        properties
            Further columns by name.

        Raises
        ------
        ParameterError
            If lengths differ, a doc_id repeats, or P is outside [0, 1].
        """
        names = np.array([str(each) for each in doc_ids], dtype=object)
        p = _checks.floats("probabilities", probabilities)
        days = np.asarray(dates, dtype="datetime64[D]")
        columns = {name: np.array(list(values), dtype=object) for name, values in (properties or {}).items()}
        for name, values in {"dates": days, "probabilities": p, **columns}.items():
            if len(values) != len(names):
                raise ParameterError(
                    f"must have one value for each of {len(names)} documents, got {len(values)}", parameter=name
                )
        if not len(names):
            raise ParameterError("must hold at least one document, got none", parameter="doc_ids")
        if len(set(names.tolist())) < len(names):
            raise ParameterError("must be distinct, got one again", parameter="doc_ids")
        if not ((p >= 0.0) & (p <= 1.0)).all():
            raise ParameterError(
                f"must lie in [0, 1], got {p[~((p >= 0.0) & (p <= 1.0))][0]}", parameter="probabilities"
            )
        if np.isnat(days).any():
            raise ParameterError("must be dates, got none for a document", parameter="dates")
        Calendar(period)
        rows = np.flatnonzero(p)
        return cls(
            names, days, (event,), rows, np.zeros(len(rows), np.int32), p[rows], event, period, properties=columns
        )

    @property
    def label_kind(self) -> LabelKind:
        """What a label is: yes or no of one target; or the set of events, or of actors, that are in the document."""
        if len(self.targets) == 1:
            return "yes-no"
        return "events" if self.targets == tuple(self.event.split(RULES)) else "actors"

    def probability(self, target: int) -> Floats:
        """P of one target in every document: float64 (n_documents,)."""
        p = np.zeros(len(self))
        chosen = self.columns == target
        p[self.rows[chosen]] = self.values[chosen]
        return p

    def highest(self) -> Floats:
        """The highest P of any target in every document: float64 (n_documents,)."""
        p = np.zeros(len(self))
        np.maximum.at(p, self.rows, self.values)
        return p

    def period_numbers(self) -> Ints:
        """Number of each document's period: int64 (n_documents,)."""
        return Calendar(self.period).numbers(self.dates)


def audited_names(frame: AuditFrame, name: str) -> tuple[str, str]:
    """Event and actor of a target, as the tables of an estimate have them."""
    return (name, "") if name in frame.event.split(RULES) else (frame.event, name)


def event_and_actor(frame: AuditFrame, name: str) -> tuple[str, str]:
    """Event and actor of a target, as the tables of a run have them."""
    events = frame.event.split(RULES)
    if name in events:
        return name, ""
    event, _, actor = name.partition(": ") if len(events) > 1 else (frame.event, "", name)
    return event, actor
