"""Dated articles, and the validation of their fields for all file formats."""

import datetime
import numbers
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from corefsample.errors import ParameterHint, shown

_MOST_CHARS = 1_000_000  # longest text, because spaCy's parsers reject longer ones
_NO_DATE_HINT = ParameterHint("undated", "keep reads articles without a date")
_DATE_HINT = ParameterHint("date_format", "is the format of dates, such as %m/%d/%Y")


@dataclass(frozen=True, slots=True, repr=False)
class Article:
    """One dated news article.

    Attributes
    ----------
    doc_id
        Identifier, which is not empty and unique in the corpus.
    date
        Day of publication; None if the file has no date.
    text
        Text as in the file, without the headline; may be empty.
    title
        Headline; may be empty.
    metadata
        Other fields of the article in the file, as JSON values, without null and empty values.
    """

    doc_id: str
    date: datetime.date | None
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Article({self.doc_id!r}, {self.date}, {shown(self.title)}, {len(self.text)} characters)"


class ArticleFault(Exception):  # noqa: N818 - never reaches a user
    """Error of an invalid record; its text names the field, the rule and the value in one line."""

    def __init__(
        self, reason: str, doc_id: str = "", *, hint: str | ParameterHint | None = None, line: int = 1
    ) -> None:
        # Names of fields are read from the file and may contain line breaks.
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in reason))
        self.doc_id, self.hint, self.line = doc_id, hint, line


@dataclass(frozen=True, slots=True)
class Record:
    """One line, row or XML document, before its fields are checked.

    Attributes
    ----------
    place
        Position in its file: "line 12", "row 7", "member 01/0001.xml, line 3".
    original
        Function that returns the text of the record, for a quarantine file.
    text, date, doc_id, title, metadata
        Unchecked values of the fields.
    fault
        Error that prevented the fields from being read; None if they were read.
    names
        Names that the fields have in this file, for error messages.
    in_table
        True if the record is a row of a table, whose dates have the format `date_format`; NITF has ISO dates.
    """

    place: str
    original: Callable[[], str]
    text: Any = None
    date: Any = None
    doc_id: Any = None
    title: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fault: ArticleFault | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    in_table: bool = False

    def name(self, field_name: str) -> str:
        """Name that a field has in the file."""
        return self.names.get(field_name, field_name)


def checked_article(record: Record, date_format: str | None, undated: str) -> Article:
    """Check the fields of a record, and make an article of them.

    Parameters
    ----------
    record
        Record of the article.
    date_format
        Format of dates in tables, for `datetime.datetime.strptime`; None for ISO dates.
    undated
        Treatment of articles without a date: "reject" or "keep".

    Raises
    ------
    ArticleFault
        If the record could not be read, or a field is missing or invalid.
    """
    if record.fault is not None:
        raise record.fault
    doc_id = record.doc_id
    if doc_id is None or doc_id == "":
        raise ArticleFault(f"{record.name('doc_id')} is missing")
    is_number = isinstance(doc_id, numbers.Integral) and not isinstance(doc_id, bool)
    doc_id = str(int(doc_id)) if is_number else _string(record.name("doc_id"), doc_id)
    try:
        date = _date(record, date_format, undated)
        if record.text is None:
            raise ArticleFault(f"{record.name('text')} is missing")
        text = _string(record.name("text"), record.text)
        if len(text) > _MOST_CHARS:
            raise ArticleFault(f"{record.name('text')} must be at most {_MOST_CHARS} characters, got {len(text)}")
        title = "" if record.title is None else _string(record.name("title"), record.title)
        return Article(doc_id, date, text, title, _json_values(record.metadata))
    except ArticleFault as fault:
        fault.doc_id = doc_id
        raise


def _date(record: Record, date_format: str | None, undated: str) -> datetime.date | None:
    name, value = record.name("date"), record.date
    if value is None or (isinstance(value, str) and not value.strip()):
        if undated == "keep":
            return None
        raise ArticleFault(f"{name} is missing", hint=_NO_DATE_HINT)
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    date_format = date_format if record.in_table else None
    rule = f"{name} must be {'an ISO date' if date_format is None else f'a date in the format {date_format!r}'}"
    with suppress(ValueError):
        if date_format is None and isinstance(value, str):
            return datetime.datetime.fromisoformat(value.strip()).date()
        if date_format is not None and isinstance(value, (str, int)):
            date = datetime.datetime.strptime(str(value).strip(), date_format)
            # A number has lost its leading zeros, without which 1112026 is 11 January as well as 1 November.
            if isinstance(value, str) or date.strftime(date_format) == str(value):
                return date.date()
    hint = _DATE_HINT if record.in_table and date_format is None else None
    raise ArticleFault(f"{rule}, got {shown(value)}", hint=hint)


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArticleFault(f"{name} must be a string, got {shown(value)}")
    return value


def decoded(encoded: bytes, noun: str, doc_id: str = "") -> str:
    """Decode UTF-8, or raise ArticleFault, which names the bytes by `noun`."""
    try:
        return encoded.decode()
    except UnicodeDecodeError as error:
        fault = f"{encoded[error.start : error.start + 1]!r} at byte {error.start + 1}"
        raise ArticleFault(f"{noun} must be UTF-8, got {fault}", doc_id, hint="save the file as UTF-8") from None


def _json_values(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Convert metadata to JSON values without null and empty values; dates and other objects become texts."""
    try:
        values = msgspec.json.decode(msgspec.json.encode(metadata, enc_hook=str))
    except (msgspec.MsgspecError, UnicodeEncodeError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise ArticleFault(f"metadata must be JSON values, got: {error}") from None
    return {name: value for name, value in values.items() if value is not None and value != ""}
