"""Articles in tables: JSON Lines, CSV and Parquet, as a stream of records."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corefsample._checks import shown
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files import (
    ReadProgress,
    limited_lines,
    max_line_bytes,
    open_bytes,
    parquet_source,
    too_long,
    total_size,
)
from events.news._fields import ArticleFault, Record

_ROWS = 256  # read from Parquet at a time
_SEPARATORS = (",", ";", "\t", "|")  # programs write a semicolon where a comma begins the decimals
_UTF8_HINT = "save the file as UTF-8"


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of a table with the fields of an article.

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
        own = {
            "text_column": self.text,
            "date_column": self.date,
            "id_column": self.doc_id,
            "title_column": self.title,
        }
        for parameter, name in own.items():
            if not (isinstance(name, str) and name) and not (parameter == "id_column" and name is None):
                raise ParameterError(f"must name a column, got {shown(name)}", parameter=parameter)
        if len(set(own.values())) < len(own):
            raise ParameterError(f"columns of text, date, doc_id and title must differ, got {shown([*own.values()])}")
        if isinstance(self.metadata, str):
            found = shown(self.metadata)
            raise ParameterError(f"must be names of columns, got the string {found}", parameter="metadata")
        object.__setattr__(self, "metadata", None if self.metadata is None else tuple(self.metadata))

    @property
    def required(self) -> dict[str, str]:
        """Columns that every table must have, each with the parameter that names it."""
        columns = {self.doc_id: "id_column", self.date: "date_column", self.text: "text_column"}
        return {name: parameter for name, parameter in columns.items() if name is not None}

    def keeps(self, name: str) -> bool:
        """Whether a further column is kept; pandas writes its index as a column without a name."""
        return bool(name) and (self.metadata is None or name in self.metadata)

    def require_in(self, path: str, names: Sequence[str]) -> None:
        """Raise if a table lacks a column or has one twice."""
        for name in (*self.required, *(self.metadata or ())):
            if name not in names:
                hint = ParameterHint(self.required[name], "names another") if name in self.required else None
                found = shown(", ".join(names))
                raise InputError(f"columns must include {name!r}, got {found}", place=path, hint=hint)
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"columns must have distinct names, got {name!r} twice", place=path)

    def record(self, path: str, number: int, place: str, row: Mapping[str, Any], original: Callable[[], str]) -> Record:
        """Sort the values of one row, article `number` of its file, into fields."""
        own = {self.text, self.date, self.title, self.doc_id}
        return Record(
            place,
            original,
            text=row.get(self.text),
            date=row.get(self.date),
            doc_id=f"{os.path.basename(path)}#{number}" if self.doc_id is None else row.get(self.doc_id),
            title=row.get(self.title),
            metadata={name: value for name, value in row.items() if name not in own and self.keeps(name)},
            names={"text": self.text, "date": self.date, "doc_id": self.doc_id or "doc_id", "title": self.title},
            in_table=True,
        )


# --- JSON Lines --------------------------------------------------------------------------------------------


def json_records(path: str, columns: Columns, progress: ReadProgress) -> Iterator[Record]:
    """Read one JSON object a line, without blank lines."""
    number = 0
    for line_number, line, is_complete in _lines(path, progress):
        if not line.strip():
            continue
        number += 1
        place = f"line {line_number}"
        original = _decoder(line)
        try:
            if not is_complete:
                message, hint = too_long()
                raise ArticleFault(message, hint=hint)
            row = _json_object(line, is_first=line_number == 1)
        except ArticleFault as fault:
            yield Record(place, original, fault=fault)
        else:
            yield columns.record(path, number, place, row, original)


def _lines(path: str, progress: ReadProgress) -> Iterator[tuple[int, bytes, bool]]:
    """Yield number, content and completeness of each line; a line over the limit is truncated."""
    with open_bytes(path, progress) as stream:
        yield from limited_lines(stream)


def _decoder(line: bytes) -> Callable[[], str]:
    return lambda: line.decode("utf-8", "replace").rstrip("\r\n")


def _json_object(line: bytes, *, is_first: bool) -> dict[str, Any]:
    hint = "one object per line, no list around them" if is_first else None
    try:
        text = line.decode().rstrip("\r\n")
        content = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise ArticleFault(f"a line must be UTF-8, got {_bad_byte(error)}", hint=_UTF8_HINT) from None
    except json.JSONDecodeError as error:
        raise ArticleFault(f"a line must be JSON, got: {error.msg} at column {error.colno}", hint=hint) from None
    except RecursionError:
        raise ArticleFault("a line must be JSON, got it nested too deep") from None
    if not isinstance(content, dict):
        raise ArticleFault(f"a line must be a JSON object, got {shown(content)}", hint=hint)
    return content


def _bad_byte(error: UnicodeDecodeError) -> str:
    return f"{error.object[error.start : error.start + 1]!r} at byte {error.start + 1}"


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise ArticleFault(f"keys of a JSON object must be distinct, got {shown(repeated)} twice")
    return content


def _no_constant(text: str) -> Any:
    raise ArticleFault(f"numbers must be finite, got {text}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ArticleFault(f"numbers must be finite, got {shown(text)}")
    return number


# --- CSV ---------------------------------------------------------------------------------------------------


def csv_records(path: str, columns: Columns, progress: ReadProgress) -> Iterator[Record]:
    """Read separated values with a header; every value is text, "NA" too.

    Commas, semicolons, tabs or vertical bars separate the values: see `separated`.
    """
    # The interpreter's limit is too low for articles; it applies to the whole process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), max_line_bytes()))
    lines = _TextLines(path, progress)
    separator, all_lines = separated(lines, list(columns.required))
    # `strict` raises for a quote that is never closed.
    rows = _csv_rows(path, csv.reader(all_lines, strict=True, delimiter=separator), lines)
    place, names = next(rows, ("", []))
    if not names:
        raise InputError("a header is missing, the file is empty", place=f"{path}: line 1")
    columns.require_in(path, names)
    for number, (place, row) in enumerate(rows, start=1):
        original = json_writer(row)
        if len(row) != len(names):
            fault = ArticleFault(f"a row must have {len(names)} values, as the header has, got {len(row)}")
            yield Record(place, original, fault=fault)
        else:
            yield columns.record(path, number, place, dict(zip(names, row, strict=True)), original)


def separated(lines: Iterable[str], required: Sequence[str]) -> tuple[str, Iterator[str]]:
    """Find what separates the values of a table from its first line; return it and all lines.

    It is the separator with which the header has the required columns; if none has them, the one with the most
    columns, a comma where several are equal.
    """
    every = iter(lines)
    first = next(every, "")
    headers = {separator: next(csv.reader([first], delimiter=separator), []) for separator in _SEPARATORS}
    complete = [separator for separator, names in headers.items() if {*required}.issubset(names)]
    separator = complete[0] if complete else max(headers, key=lambda separator: len(headers[separator]))
    return separator, chain([first] if first else [], every)


def _csv_rows(path: str, reader: Any, lines: _TextLines) -> Iterator[tuple[str, list[str]]]:
    """Yield place and values of each row that is not empty. After a fault of syntax no row can be trusted."""
    while True:
        place = f"line {reader.line_num + 1}"
        lines.n_bytes = 0
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(f"text must be CSV, got: {error}", place=f"{path}: line {reader.line_num}") from None
        if row is None:
            return
        if row:
            yield place, row


class _TextLines:
    """The lines of a file of CSV, with a limit for those of one row: quoted fields contain line breaks.

    Attributes
    ----------
    n_bytes
        Bytes since the last row began; the reader of rows sets it to 0.
    """

    def __init__(self, path: str, progress: ReadProgress) -> None:
        self.n_bytes = 0
        self._path = path
        self._lines = _lines(path, progress)

    def __iter__(self) -> Iterator[str]:
        for number, line, is_complete in self._lines:
            place = f"{self._path}: line {number}"
            self.n_bytes += len(line)
            if not is_complete or self.n_bytes > max_line_bytes():
                message, hint = too_long("a row")
                raise InputError(message, place=place, hint=hint)
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise InputError(f"text must be UTF-8, got {_bad_byte(error)}", place=place, hint=_UTF8_HINT) from None
            yield text


def json_writer(content: Any) -> Callable[[], str]:
    return lambda: json.dumps(content, ensure_ascii=False, default=str)


# --- Parquet -----------------------------------------------------------------------------------------------


def parquet_records(path: str, columns: Columns, progress: ReadProgress) -> Iterator[Record]:
    """Read rows of Parquet; dates may be text, dates or times of day."""
    try:
        with pq.ParquetFile(parquet_source(path)) as file:
            names = list(file.schema_arrow.names)
            columns.require_in(path, names)
            own = {*columns.required, columns.title}
            wanted = [name for name in names if name in own or columns.keeps(name)]
            size, total = total_size([path]), max(file.metadata.num_rows, 1)
            number = 0
            for batch in file.iter_batches(_ROWS, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield columns.record(path, number, f"row {number}", row, json_writer(row))
                progress.bytes_read = size * number // total
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"file must be Parquet, got: {reason}", place=path) from None
