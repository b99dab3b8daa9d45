"""Articles in tables: JSON Lines, CSV, Parquet and Excel workbooks, as a stream of records."""

from __future__ import annotations

import csv
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from itertools import chain
from typing import Any
from xml.etree.ElementTree import ParseError

import msgspec
import pyarrow.parquet as pq

from corefsample._checks import shown
from corefsample._extras import install_hint
from corefsample._lazy import pd
from corefsample._log import logger
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._contents import MIB, parquet_errors, read_whole
from corefsample.files._paths import parquet_source, total_size
from corefsample.files._reading import LineReader, ReadProgress, max_line_bytes, too_long
from events.news._fields import ArticleFault, Record, decoded

_ROWS = 256  # read from Parquet at a time
_SEPARATORS = (",", ";", "\t", "|")  # programs write a semicolon where a comma begins the decimals


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of a table with the fields of an article.

    Attributes
    ----------
    text, date, title
        Names of columns. A table may lack `title`.
    doc_id
        Name of a column; None: articles are numbered, as "news.csv#1".
    """

    text: str = "text"
    date: str = "date"
    doc_id: str | None = "doc_id"
    title: str = "title"

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

    @property
    def required(self) -> dict[str, str]:
        """Columns that every table must have, each with the parameter that names it."""
        columns = {self.doc_id: "id_column", self.date: "date_column", self.text: "text_column"}
        return {name: parameter for name, parameter in columns.items() if name is not None}

    def require_in(self, path: str, names: Sequence[str]) -> None:
        """Raise if a table lacks a column or has one twice."""
        for name, parameter in self.required.items():
            if name not in names:
                hint = ParameterHint(parameter, "names another")
                found = shown(", ".join(names))
                raise InputError(f"columns must include {name!r}, got {found}", place=path, hint=hint)
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"columns must have distinct names, got {name!r} twice", place=path)

    def record(self, path: str, number: int, place: str, row: Mapping[str, Any], original: Callable[[], str]) -> Record:
        """Sort the values of one row, article `number` of its file, into fields."""
        # pandas writes its index as a column without a name.
        others = row.keys() - {self.text, self.date, self.title, self.doc_id, ""}
        return Record(
            place,
            original,
            text=row.get(self.text),
            date=row.get(self.date),
            doc_id=f"{os.path.basename(path)}#{number}" if self.doc_id is None else row.get(self.doc_id),
            title=row.get(self.title),
            metadata={name: value for name, value in row.items() if name in others},
            names={"text": self.text, "date": self.date, "doc_id": self.doc_id or "doc_id", "title": self.title},
            in_table=True,
        )


# --- JSON Lines --------------------------------------------------------------------------------------------


def json_records(lines: LineReader, columns: Columns) -> Iterator[Record]:
    """Read one JSON object a line, without blank lines."""
    number = 0
    for line_number, line, is_complete in lines.byte_lines():
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
            yield columns.record(lines.path, number, place, row, original)


def _decoder(line: bytes) -> Callable[[], str]:
    return lambda: line.decode("utf-8", "replace").rstrip("\r\n")


def _json_object(line: bytes, *, is_first: bool) -> dict[str, Any]:
    hint = "one object per line, no list around them" if is_first else None
    text = decoded(line, "a line").rstrip("\r\n")
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ArticleFault(f"a line must be JSON, got: {error}", hint=hint) from None
    if not isinstance(content, dict):
        raise ArticleFault(f"a line must be a JSON object, got {shown(content)}", hint=hint)
    return content


# --- CSV ---------------------------------------------------------------------------------------------------


def csv_records(lines: LineReader, columns: Columns) -> Iterator[Record]:
    """Read separated values with a header; every value is text, "NA" too.

    Commas, semicolons, tabs or vertical bars separate the values: see `_separator`.
    """
    # The interpreter's limit is too low for articles; it applies to the whole process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), max_line_bytes()))
    rows = _csv_rows(lines, columns.required)
    place, names = next(rows, ("", []))
    if not names:
        raise InputError("a header is missing, the file is empty", place=f"{lines.path}: line 1")
    columns.require_in(lines.path, names)
    for number, (place, row) in enumerate(rows, start=1):
        original = json_writer(row)
        if len(row) != len(names):
            fault = ArticleFault(f"a row must have {len(names)} values, as the header has, got {len(row)}")
            yield Record(place, original, fault=fault)
        else:
            yield columns.record(lines.path, number, place, dict(zip(names, row, strict=True)), original)


def _separator(header: str, required: Iterable[str]) -> str:
    """Find what separates the values of a table.

    It is the separator with which the header has the required columns; if none has them, the one with the most
    columns, a comma where several are equal.
    """
    headers = {separator: next(csv.reader([header], delimiter=separator), []) for separator in _SEPARATORS}
    complete = [separator for separator, names in headers.items() if {*required}.issubset(names)]
    return complete[0] if complete else max(headers, key=lambda separator: len(headers[separator]))


def _csv_rows(lines: LineReader, required: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the first line and the values of each row that is not empty. After a fault no row can be trusted."""
    texts = (text for _, text in lines.text_lines("a row"))
    header, line = next(texts, ""), 1
    # `strict` raises for a quote that is never closed.
    reader = csv.reader(chain([header], texts), strict=True, delimiter=_separator(header, required))
    try:
        for row in reader:
            if row:
                yield f"line {line}", row
            line = reader.line_num + 1  # quoted values continue over several lines
    except csv.Error as error:
        raise InputError(f"text must be CSV, got: {error}", place=f"{lines.path}: line {reader.line_num}") from None


def json_writer(content: Any) -> Callable[[], str]:
    return lambda: json.dumps(content, ensure_ascii=False, default=str)


# --- Parquet -----------------------------------------------------------------------------------------------


def parquet_records(path: str, columns: Columns, progress: ReadProgress) -> Iterator[Record]:
    """Read rows of Parquet; dates may be text, dates or times of day."""
    with parquet_errors(path), pq.ParquetFile(parquet_source(path)) as file:
        names = list(file.schema_arrow.names)
        columns.require_in(path, names)
        wanted = [name for name in names if name]
        size, total = total_size([path]), max(file.metadata.num_rows, 1)
        number = 0
        for batch in file.iter_batches(_ROWS, columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield columns.record(path, number, f"row {number}", row, json_writer(row))
            progress.bytes_read = size * number // total


_MOST_MIB = 512  # of a workbook, whose cells take about as much memory; a million rows of titles take half of it

# Excel cuts longer texts off without a word when it opens a table of another format.
_LONGEST_CELL = 32_767


def workbook_records(path: str, columns: Columns, progress: ReadProgress) -> Iterator[Record]:
    """Read the rows of all sheets that have the columns; the first row of a sheet has their names.

    The whole workbook is in memory, and may have 512 MiB, decompressed. Formulas have the values that the
    program stored. Empty rows are left out.

    Raises
    ------
    InputError
        If openpyxl is not installed, the file is no workbook, or no sheet has the columns.
    """
    if find_spec("openpyxl") is None:
        raise InputError("a workbook needs openpyxl, which is not installed", place=path, hint=install_hint("excel"))
    sheets = {name: sheet for name, sheet in _sheets(path, progress).items() if len(sheet)}
    chosen = {name: sheet for name, sheet in sheets.items() if {*columns.required}.issubset(_names(sheet))}
    if not sheets:
        raise InputError("a header is missing, the workbook is empty", place=path)
    for name, sheet in (chosen or dict([next(iter(sheets.items()))])).items():
        columns.require_in(f"{path}: sheet {name!r}", _names(sheet))
    for name in sheets.keys() - chosen.keys():
        logger("files").info("%s: sheet %r is left out, it has other columns", path, name)
    number = 0
    for name, sheet in chosen.items():
        names = _names(sheet)
        for row_number, values in enumerate(sheet.iloc[1:].itertuples(index=False), start=2):
            row = {column: _value(value) for column, value in zip(names, values, strict=True)}
            if all(value is None for value in row.values()):
                continue
            number += 1
            yield _record(columns, path, number, f"sheet {name!r}, row {row_number}", row)


def _record(columns: Columns, path: str, number: int, place: str, row: dict[str, Any]) -> Record:
    text = row.get(columns.text)
    if isinstance(text, str) and len(text) == _LONGEST_CELL:
        rule = f"{columns.text} must be shorter than the {_LONGEST_CELL:,} characters at which Excel cuts a text off"
        fault = ArticleFault(f"{rule}, got as many", hint="use CSV, JSON Lines or Parquet for long texts")
        return Record(place, json_writer(row), fault=fault)
    return columns.record(path, number, place, row, json_writer(row))


def _sheets(path: str, progress: ReadProgress) -> dict[str, pd.DataFrame]:
    content = read_whole(path, _MOST_MIB, progress)
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MOST_MIB * MIB:
                rule = f"a workbook must be at most {_MOST_MIB} MiB, decompressed, got more"
                raise InputError(rule, place=path, hint="CSV and Parquet are read row by row")
        # Without a header, so that a repeated name of a column is found, and without empty values for "NA".
        return pd.read_excel(
            BytesIO(content), sheet_name=None, header=None, dtype=object, na_filter=False, engine="openpyxl"
        )
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, OSError, EOFError, ParseError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"file must be an Excel workbook, got: {reason}", place=path) from None


def _names(sheet: pd.DataFrame) -> Sequence[str]:
    return [name if isinstance(name, str) else "" if _value(name) is None else shown(name) for name in sheet.iloc[0]]


def _value(value: Any) -> Any:
    """The value of a cell; None if it is empty or an error of a formula, which pandas reads as NaN."""
    is_nan = isinstance(value, float) and value != value
    return None if is_nan or (isinstance(value, str) and not value) else value
