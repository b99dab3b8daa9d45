"""Streams of dated news articles from files: from tables, a row each, and from texts, whose names have their dates.

NITF XML (New York Times Annotated Corpus) has modules of its own.
"""

from __future__ import annotations

import csv
import datetime
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO, StringIO
from itertools import chain
from typing import Any
from xml.etree.ElementTree import ParseError

import msgspec
import pyarrow.parquet as pq

from corefsample._checks import shown
from corefsample._extras import install_hint
from corefsample._lazy import pd
from corefsample._log import logger
from corefsample.documents._faults import Rejected
from corefsample.errors import DamagedFileError, InputError, ParameterError, ParameterHint
from corefsample.files._contents import MIB, parquet_errors, read_whole
from corefsample.files._digests import SeenIds
from corefsample.files._paths import Inputs, parquet_source, partition_values, total_size
from corefsample.files._reading import FileSeries, LineReader, ReadProgress, max_line_bytes, open_bytes, too_long
from events.news._corpus_files import ARCHIVES, MARKUP, TEXTS, corpus_paths, news_suffix
from events.news._fields import Article, ArticleFault, FieldRules, Record, decoded
from events.news._markup import archive_records, xml_records

_DATE = "date"  # the column, unless another is named
_ROWS = 256  # read from Parquet at a time
_SEPARATORS = (",", ";", "\t", "|")  # programs write a semicolon where a comma begins the decimals


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of a table with the fields of an article.

    Attributes
    ----------
    text, date, title
        Names of the columns with the text, the date and the headline. A table may lack `title`.
    doc_id
        Name of the column with the identifier. If None, articles are numbered within their file, as in "news.csv#1".
    needs_date
        Whether a table must have a column "date". A column with any other name is always required.
    """

    text: str = "text"
    date: str = _DATE
    doc_id: str | None = "doc_id"
    title: str = "title"
    needs_date: bool = True

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
        if not self.needs_date and self.date == _DATE:
            del columns[self.date]
        return {name: parameter for name, parameter in columns.items() if name is not None}

    def require_in(self, path: str, names: Sequence[str]) -> None:
        """Raise if a table lacks a column or has one twice."""
        for name, parameter in self.required.items():
            if name not in names and name not in partition_values(path):
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
        msgspec.json.decode(text)  # accepts finite numbers and Unicode text alone
        content = json.loads(text, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise ArticleFault(f"a line must be JSON, got: {error}", hint=hint) from None
    if not isinstance(content, dict):
        raise ArticleFault(f"a line must be a JSON object, got {shown(content)}", hint=hint)
    return content


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError(f"a key twice in {shown([name for name, _ in pairs])}")
    return content


# --- CSV ---------------------------------------------------------------------------------------------------


def csv_records(lines: LineReader, columns: Columns) -> Iterator[Record]:
    """Read separated values with a header; every value is text, "NA" too.

    Commas, semicolons, tabs or vertical bars separate the values: see `separator_of`.
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


def separator_of(header: str, required: Iterable[str]) -> str:
    """Find what separates the values of a table.

    It is the separator with which the header has the required columns; if none has them, the one with the most
    columns, a comma where several are equal.
    """
    headers = {separator: next(csv.reader([header], delimiter=separator), []) for separator in _SEPARATORS}
    complete = [separator for separator, names in headers.items() if {*required}.issubset(names)]
    return complete[0] if complete else max(headers, key=lambda separator: len(headers[separator]))


def _csv_rows(lines: LineReader, required: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the first line and the values of each row that is not empty. After a fault no row can be trusted."""
    # A row may also end with a carriage return alone, as on old Macs.
    texts = chain.from_iterable(StringIO(text, newline="") for _, text in lines.text_lines("a row"))
    header, line = next(texts, ""), 1
    # `strict` raises for a quote that is never closed.
    reader = csv.reader(chain([header], texts), strict=True, delimiter=separator_of(header, required))
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


class ArticleStream(FileSeries):
    """The articles of several files, one after another, in their order.

    Memory stays constant however many articles there are, except for about 20 bytes for each doc_id.

    Parameters
    ----------
    inputs
        Files, folders, globs, or "-" for JSON Lines on standard input. The ending of a name gives the format:
        .jsonl, .csv, .txt, .xml (these also with .gz), .parquet, .xlsx (extra `excel`), and .tgz, .tar.gz, .tar for
        archives of XML, which may contain archives once. A folder stands for all such files in it, at any depth,
        sorted by path; for its texts (.txt) only if it has no other files. A text is one article, named after its
        file, with the date that its name contains. A folder such as date=2001-09-11 is the date of articles that have
        none.
    text_column, date_column, id_column, title_column
        Columns of a table. With `id_column` None, articles are numbered within their file, "news.csv#1", or named
        after their XML file or member. A table may lack `title_column`. NITF has its own places for these fields.
    date_format
        Format of the dates in tables and in the names of texts, for `datetime.datetime.strptime`; None for ISO dates
        (in names also 20010911). The time of day and the time zone are ignored.
    undated
        Treatment of articles without a date: "reject" or "keep".
    on_rejected
        Function that is called with each article that breaks a rule, which is then left out; by default the first such
        article raises InputError. The rest of a damaged file (gzip data, archive, Parquet) is rejected as one article.
        A file that is not valid CSV always raises InputError.

    Attributes
    ----------
    paths
        The files, after expansion of folders and globs.
    total_bytes
        Size of all files; standard input counts 0.

    Raises
    ------
    ParameterError
        If an option breaks its rule.
    InputError
        If a file is missing or has another ending.
    """

    def __init__(
        self,
        inputs: Inputs,
        *,
        text_column: str = "text",
        date_column: str = _DATE,
        id_column: str | None = "doc_id",
        title_column: str = "title",
        date_format: str | None = None,
        undated: str = "reject",
        on_rejected: Callable[[Rejected], None] | None = None,
    ) -> None:
        self._columns = Columns(text_column, date_column, id_column, title_column, needs_date=undated == "reject")
        self._rules = FieldRules(date_format, undated)
        self._on_rejected = on_rejected
        super().__init__(corpus_paths(inputs))

    def __iter__(self) -> Iterator[Article]:
        """Read the files from the beginning; standard input can be read once."""
        doc_ids = SeenIds()
        for path, reader in self._readers(LineReader):
            day = partition_values(path).get(self._columns.date)
            for record in self._undamaged(path, self._records(path, reader)):
                try:
                    article = self._rules.article(record if day is None else record.dated(day))
                    if not doc_ids.add(article.doc_id):
                        raise ArticleFault("doc_id must be unique in the corpus, got it again", article.doc_id)
                except ArticleFault as fault:
                    self._reject(path, record, fault)
                else:
                    yield article

    def _undamaged(self, path: str, records: Iterator[Record]) -> Iterator[Record]:
        """The records of a file up to where it is damaged; the rest is rejected as one."""
        try:
            yield from records
        except DamagedFileError as error:
            if self._on_rejected is None:
                raise
            self._on_rejected(Rejected.file(path, error))

    def _records(self, path: str, reader: LineReader) -> Iterator[Record]:
        suffix = news_suffix(path)
        if suffix in ARCHIVES:
            return archive_records(path, reader, by_name=self._columns.doc_id is None)
        if suffix in MARKUP:
            return xml_records(path, reader, by_name=self._columns.doc_id is None)
        if suffix in TEXTS:
            return text_records(path, self._rules, reader)
        if suffix == ".xlsx":
            return workbook_records(path, self._columns, reader)
        if suffix == ".parquet":
            return parquet_records(path, self._columns, reader)
        if suffix in (".csv", ".csv.gz"):
            return csv_records(reader, self._columns)
        return json_records(reader, self._columns)

    def _reject(self, path: str, record: Record, fault: ArticleFault) -> None:
        rejected = Rejected(path, record.place, None, fault.doc_id, str(fault), record.original(), fault.hint)
        if self._on_rejected is None:
            raise rejected.error() from None
        self._on_rejected(rejected)


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# 2001-09-11, 2001_09_11, 2001.09.11 or 20010911, not within a longer number.
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_WORD = r"[^\W\d_]+"

# What the directives of `strptime` can be in a name; the month and the day with or without a leading zero.
_DIRECTIVES = {"Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{1,2}", "d": r"\d{1,2}", "j": r"\d{1,3}", "b": _WORD, "B": _WORD}


def text_records(path: str, rules: FieldRules, progress: ReadProgress) -> Iterator[Record]:
    """Read the article of one text file: its name is the doc_id, and contains the date.

    Parameters
    ----------
    path
        A UTF-8 file that ends in .txt or .txt.gz.
    rules
        Format of the date within the name (by default an ISO date, or 20010911), and whether it may be missing.
    progress
        How far the file is read.
    """
    with open_bytes(path, progress) as stream:
        content: bytes = stream.read(max_line_bytes() + 1)
    name = os.path.basename(path)
    stem = name.removesuffix(".gz").removesuffix(".txt")

    def original() -> str:
        return content.decode("utf-8", "replace")

    try:
        if len(content) > max_line_bytes():
            message, hint = too_long("a text")
            raise ArticleFault(message, stem, hint=hint)
        date, text = _date_in(stem, rules), decoded(content.removeprefix(_BYTE_ORDER_MARK), "text", stem)
    except ArticleFault as fault:
        yield Record("line 1", original, fault=fault)
    else:
        yield Record("line 1", original, text=text, date=date, doc_id=stem)


def _date_in(stem: str, rules: FieldRules) -> datetime.date | None:
    """The first date in the name of a file; None without one, where that is allowed."""
    date_format = rules.date_format
    pattern = _ISO_DATE if date_format is None else _pattern(date_format)
    for match in pattern.finditer(stem):
        with suppress(ValueError):
            if date_format is None:
                return datetime.date(int(match[1]), int(match[3]), int(match[4]))
            return datetime.datetime.strptime(match[0], date_format).date()
    if rules.undated == "keep":
        return None
    if date_format is not None:
        raise ArticleFault(f"the file's name must contain a date in the format {date_format!r}, got {stem!r}", stem)
    hint = ParameterHint("date_format", "says how names contain dates, such as %d.%m.%Y")
    raise ArticleFault(f"the file's name must contain a date such as 2001-09-11, got {stem!r}", stem, hint=hint)


def _pattern(date_format: str) -> re.Pattern[str]:
    """What a date in a format looks like within a name, without digits on either side."""
    parts = re.split(r"(%.)", date_format)
    pattern = "".join(
        _DIRECTIVES.get(part[1], r"\w+")
        if part.startswith("%") and part != "%%"
        else re.escape(part.replace("%%", "%"))
        for part in parts
    )
    return re.compile(rf"(?<!\d)(?:{pattern})(?!\d)")
