"""Documents that break a rule of their format, and their handling in jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from corefsample.errors import InputError, ParameterHint

ON_ERROR = ("stop", "quarantine")

_HINTS = {
    "mentions": "`corefsample score` finds and scores the mentions of news",
    "tokens": "the file must contain the parse, as `corefsample score` writes it",
}


class Fault(NamedTuple):
    """Why a document is rejected: field, rule and value in one line, and the next step if there is an obvious one."""

    reason: str
    hint: str | ParameterHint | None = None


def missing_field(name: str) -> Fault:
    """Fault of a document without a required field."""
    return Fault(f"{name} is missing", _HINTS.get(name))


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that breaks a rule: where it is, why it is rejected, and its text.

    Attributes
    ----------
    source
        File name, or "-" for standard input.
    unit
        What the documents of the file are counted by: "line" or "row". The whole place if `number` is None.
    number
        Number of the line or row, from 1, or None.
    doc_id
        Empty where it could not be read.
    reason
        Field, rule and value found, in one line.
    document
        The line as it came, or the row as JSON.
    hint
        The next step, or None.
    """

    source: str
    unit: str
    number: int | None
    doc_id: str
    reason: str
    document: str
    hint: str | ParameterHint | None = None

    @property
    def place(self) -> str:
        """Place in the file, such as "line 12"."""
        return self.unit if self.number is None else f"{self.unit} {self.number}"

    def error(self) -> InputError:
        """Return the error to raise where bad documents are not set aside."""
        doc_id = f": doc_id {self.doc_id!r}" if self.doc_id else ""
        return InputError(self.reason, place=f"{self.source}: {self.place}{doc_id}", hint=self.hint)

    def message(self) -> str:
        """One line: file, place, doc_id and reason, without the hint."""
        error = self.error()
        return f"{error.place}: {error.message}"

    def to_json(self) -> dict[str, str]:
        """Return the object of a line of a quarantine file."""
        return {
            "source": self.source,
            "place": self.place,
            "doc_id": self.doc_id,
            "reason": self.reason,
            "document": self.document,
        }
