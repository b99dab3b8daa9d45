"""Documents that break a rule of their format, and what a job does with them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ON_ERROR", "Rejected"]

ON_ERROR = ("stop", "quarantine")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document set aside: where it stood, what it broke, and its text.

    Attributes
    ----------
    source
        File name, or "-" for standard input.
    place
        "line 12" or "row 7", counted from 1.
    doc_id
        Empty where it could not be read.
    reason
        Field, rule and value found, in one line.
    document
        The line as it came, or the row as JSON.
    """

    source: str
    place: str
    doc_id: str
    reason: str
    document: str

    def message(self) -> str:
        """One line: file, place, doc_id, reason."""
        named = f" doc_id {self.doc_id!r}:" if self.doc_id else ""
        return f"{self.source}: {self.place}:{named} {self.reason}"
