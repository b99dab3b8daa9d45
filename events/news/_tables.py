"""Articles in tables: JSON Lines, CSV and Parquet, as a stream of records."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError
from events.news._fields import Record
from events.news._files import Progress, opened

__all__ = ["Columns", "csv_records", "json_records", "parquet_records"]

LINE_LIMIT = 2**26  # bytes of a line of JSON, or characters of one field of CSV
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ROWS = 256  # read from Parquet at a time


@dataclass(frozen=True, slots=True)
class Columns:
    """What a table calls the fields of an article.

    Attributes
    ----------
    text, date, title
        Names of columns. A table may lack `title`.
    doc_id
        Name of a column; None: articles are numbered, as "news.csv#1".
    metadata
        Names of further columns to keep; None: all others.
    """

    text: str = "text"
    date: str = "date"
    doc_id: str | None = "doc_id"
    title: str = "title"
    metadata: Sequence[str] | None = None

    def __post_init__(self) -> None:
        own = {"text": self.text, "date": self.date, "doc_id": self.doc_id, "title": self.title}
        for option, name in own.items():
            if not (isinstance(name, str) and name) and not (option == "doc_id" and name is None):
                raise ParameterError(f"{option} must name a column, got {shown(name)}")
        if len(set(own.values())) < len(own):
            raise ParameterError(f"text, date, doc_id and title must be columns of their own, got {shown(own)}")
        if isinstance(self.metadata, str):
            raise ParameterError(f"metadata must be names of columns, got the string {shown(self.metadata)}")
        object.__setattr__(self, "metadata", None if self.metadata is None else tuple(self.metadata))

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every table has."""
        return tuple(name for name in (self.doc_id, self.date, self.text) if name is not None)

    def keeps(self, name: str) -> bool:
        """Whether a further column is kept; pandas writes its index as a column without a name."""
        return bool(name) and (self.metadata is None or name in self.metadata)

    def require_in(self, path: str, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column, or has one twice."""
        for name in (*self.required, *(self.metadata or ())):
            if name not in names:
                raise InputError(f"{path}: columns must include {name!r}, got {shown(', '.join(names))}")
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"{path}: columns must have names of their own, got {name!r} twice")

    def record(self, path: str, number: int, place: str, row: Mapping[str, Any], original: Any) -> Record:
        """Sort the values of one row, article `number` of its file, into fields."""
        own = {self.text, self.date, self.title, self.doc_id}
        made = f"{os.path.basename(path)}#{number}"
        return Record(
            place,
            original,
            text=row.get(self.text),
            date=row.get(self.date),
            doc_id=made if self.doc_id is None else row.get(self.doc_id),
            title=row.get(self.title),
            metadata={name: value for name, value in row.items() if name not in own and self.keeps(name)},
            names={"text": self.text, "date": self.date, "doc_id": self.doc_id or "doc_id", "title": self.title},
        )


# --- JSON Lines --------------------------------------------------------------------------------------------


def json_records(path: str, columns: Columns, progress: Progress) -> Iterator[Record]:
    """Read objects of JSON, one a line; blank lines do not count."""
    number = 0
    for line_number, line, is_whole in _lines(path, progress):
        if not line.strip():
            continue
        number += 1
        place = f"line {line_number}"
        original = _decoder(line)
        try:
            if not is_whole:
                raise ValueError(f"a line must be at most {LINE_LIMIT} bytes, got more")
            row = _json_object(line)
        except ValueError as error:
            yield Record(place, original, fault=str(error))
        except RecursionError:
            yield Record(place, original, fault="a line must be JSON, got it nested too deep")
        else:
            yield columns.record(path, number, place, row, original)


def _lines(path: str, progress: Progress) -> Iterator[tuple[int, bytes, bool]]:
    """Yield number, content and wholeness of each line; of one past the limit only its start is kept."""
    with opened(path, progress) as stream:
        number = 0
        while line := stream.readline(LINE_LIMIT + 1):
            number += 1
            is_whole = len(line) <= LINE_LIMIT or line.endswith(b"\n")
            if not is_whole:
                line = line[:1000]
                while (rest := stream.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                    pass
            yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line, is_whole


def _decoder(line: bytes) -> Any:
    return lambda: line.decode("utf-8", "replace").rstrip("\r\n")


def _json_object(line: bytes) -> dict[str, Any]:
    """Decode one line; ValueError says what is wrong with it."""
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        found = f"{error.object[error.start : error.start + 1]!r} at byte {error.start + 1}"
        raise ValueError(f"a line must be UTF-8, got {found}") from None
    try:
        content = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"a line must be JSON, got: {error.msg} at column {error.colno}") from None
    if not isinstance(content, dict):
        raise ValueError(f"a line must be a JSON object, got {shown(content)}")
    return content


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{shown(again)} must be there once in a JSON object, got it again")
    return content


def _no_constant(text: str) -> Any:
    raise ValueError(f"numbers must be finite, got {text}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"numbers must be finite, got {shown(text)}")
    return number


# --- CSV ---------------------------------------------------------------------------------------------------


def csv_records(path: str, columns: Columns, progress: Progress) -> Iterator[Record]:
    """Read comma-separated values with a header; every value is text, "NA" too."""
    # The limit is the interpreter's, and too low for articles; it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    # `strict` refuses a quote that is never closed.
    reader = csv.reader(_text_lines(path, progress), strict=True)
    number, names = 0, _header(path, columns, reader)
    while True:
        place = f"line {reader.line_num + 1}"
        row = _next_row(path, reader)
        if row is None:
            return
        if not row:
            continue
        number += 1
        original = _json_writer(row)
        if len(row) != len(names):
            fault = f"a row must have {len(names)} values, as the header has, got {len(row)}"
            yield Record(place, original, fault=fault)
            continue
        yield columns.record(path, number, place, dict(zip(names, row, strict=True)), original)


def _header(path: str, columns: Columns, reader: Any) -> list[str]:
    names = _next_row(path, reader)
    while names == []:
        names = _next_row(path, reader)
    if names is None:
        raise InputError(f"{path}: line 1: a header must be there, got an empty file")
    columns.require_in(path, names)
    return names


def _next_row(path: str, reader: Any) -> list[str] | None:
    """Read one row. A file that is no CSV cannot be read past the fault: what follows would be guessed."""
    try:
        row: list[str] | None = next(reader, None)
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: text must be CSV, got: {error}") from None
    return row


def _text_lines(path: str, progress: Progress) -> Iterator[str]:
    for number, line, is_whole in _lines(path, progress):
        if not is_whole:
            raise InputError(f"{path}: line {number}: a line must be at most {LINE_LIMIT} bytes, got more")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            found = f"{error.object[error.start : error.start + 1]!r} at byte {error.start + 1}"
            raise InputError(f"{path}: line {number}: text must be UTF-8, got {found}") from None


def _json_writer(content: Any) -> Any:
    return lambda: json.dumps(content, ensure_ascii=False, default=str)


# --- Parquet -----------------------------------------------------------------------------------------------


def parquet_records(path: str, columns: Columns, progress: Progress) -> Iterator[Record]:
    """Read rows of Parquet; dates may be text, dates or times of day."""
    try:
        with pq.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            columns.require_in(path, names)
            own = {*columns.required, columns.title}
            wanted = [name for name in names if name in own or columns.keeps(name)]
            size, total = os.path.getsize(path), max(file.metadata.num_rows, 1)
            number = 0
            for batch in file.iter_batches(_ROWS, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield columns.record(path, number, f"row {number}", row, _json_writer(row))
                progress.bytes_read = size * number // total
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: file must be Parquet, got: {reason}") from None
