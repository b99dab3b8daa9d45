"""What a dated article is, and the rules that each of its fields keeps, whatever file it came from."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from corefsample._checks import shown, whole
from corefsample.errors import ParameterError

__all__ = ["Article", "ArticleFault", "FieldRules", "Record"]


@dataclass(frozen=True, slots=True)
class Article:
    """One dated news article.

    Attributes
    ----------
    doc_id
        Not empty, unique in the corpus.
    date
        Day of publication.
    text
        As the file has it, headline apart; may be empty.
    title
        Headline, empty where there is none.
    metadata
        Everything else the file says of the article: values of JSON. What is null or empty there is not here.
    """

    doc_id: str
    date: datetime.date
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


class ArticleFault(Exception):  # noqa: N818 - never reaches a user
    """A record cannot become an article; the text is field, rule and value, in one line."""

    def __init__(self, reason: str, doc_id: str = "") -> None:
        # Names of fields come from the file, and may hold what would break a line.
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in reason))
        self.doc_id = doc_id


@dataclass(frozen=True, slots=True)
class Record:
    """One line, row or XML document as it was read, its fields not yet checked.

    Attributes
    ----------
    place
        Where in its file: "line 12", "row 7", "member 01/0001.xml, line 3".
    original
        Gives the record's text, for who sets it aside.
    fault
        Why there are no fields, or empty.
    names
        How this file calls text, date and doc_id, for messages.
    """

    place: str
    original: Callable[[], str]
    text: Any = None
    date: Any = None
    doc_id: Any = None
    title: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, part: str) -> str:
        """What the file calls a field."""
        return self.names.get(part, part)


@dataclass(frozen=True, slots=True)
class FieldRules:
    """Options under which records become articles.

    Attributes
    ----------
    date_format
        As `datetime.datetime.strptime` has it; None: ISO dates.
    max_chars
        Longest text allowed, in characters.
    """

    date_format: str | None = None
    max_chars: int = 1_000_000

    def __post_init__(self) -> None:
        whole("max_chars", self.max_chars, 1)
        if self.date_format is not None and (not isinstance(self.date_format, str) or "%" not in self.date_format):
            raise ParameterError(f"date_format must be a format such as '%d.%m.%Y', got {shown(self.date_format)}")

    def article(self, record: Record) -> Article:
        """Check a record's fields.

        Raises
        ------
        ArticleFault
            If one breaks its rule.
        """
        doc_id = _doc_id(record) if not record.fault else ""
        try:
            if record.fault:
                raise ArticleFault(record.fault)
            return Article(
                doc_id, self._date(record), self._text(record), _title(record), _json_values(dict(record.metadata))
            )
        except ArticleFault as fault:
            raise ArticleFault(str(fault), doc_id) from None

    def _date(self, record: Record) -> datetime.date:
        name, value = record.name("date"), record.date
        if value is None or value == "":
            raise ArticleFault(f"{name} must be there, got none")
        if isinstance(value, datetime.datetime):
            return value.date()
        if isinstance(value, datetime.date):
            return value
        kind = "an ISO date" if self.date_format is None else f"a date such as {self.date_format!r} says"
        if not isinstance(value, str):
            raise ArticleFault(f"{name} must be {kind}, got {shown(value)}")
        try:
            if self.date_format is not None:
                return datetime.datetime.strptime(value.strip(), self.date_format).date()
            return datetime.datetime.fromisoformat(value.strip()).date()
        except ValueError:
            raise ArticleFault(f"{name} must be {kind}, got {shown(value)}") from None

    def _text(self, record: Record) -> str:
        name = record.name("text")
        if record.text is None:
            raise ArticleFault(f"{name} must be there, got none")
        text = _unicode(name, record.text)
        if len(text) > self.max_chars:
            raise ArticleFault(f"{name} must be at most {self.max_chars} characters, got {len(text)}")
        return text


def _doc_id(record: Record) -> str:
    name, value = record.name("doc_id"), record.doc_id
    if value is None or value == "":
        raise ArticleFault(f"{name} must be there, got none")
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    return _unicode(name, value)


def _title(record: Record) -> str:
    return "" if record.title is None else _unicode(record.name("title"), record.title)


def _unicode(name: str, value: Any) -> str:
    """Return a string that can be written again; JSON can spell half a surrogate pair."""
    if not isinstance(value, str):
        raise ArticleFault(f"{name} must be a string, got {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ArticleFault(f"{name} must be Unicode text, got {value[error.start]!r} at {error.start}") from None
    return value


def _json_values(metadata: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is null or empty, and turn the rest into values of JSON."""
    kept = {name: _json_value(value) for name, value in metadata.items()}
    kept = {name: value for name, value in kept.items() if value is not None and value != ""}
    try:
        msgspec.json.encode(kept)
    except (UnicodeEncodeError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise ArticleFault(f"metadata must be what JSON can hold, got: {error}") from None
    return kept


def _json_value(value: Any) -> Any:
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _json_value(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(inner) for inner in value]
    if isinstance(value, (bytes, bytearray)):
        raise ArticleFault(f"metadata must be what JSON can hold, got bytes {shown(value)}")
    return str(value)  # a Decimal, a duration
