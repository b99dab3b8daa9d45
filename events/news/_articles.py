"""Streams of dated news articles from files: tables, whose rows are articles, and texts with dates in their names.

NITF XML (New York Times Annotated Corpus) is read by the module `_nitf`.
"""

import csv
import datetime
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from itertools import chain
from typing import Any, NoReturn

import msgspec
import pyarrow.parquet as pq

from corefsample.documents._faults import Rejected
from corefsample.errors import DamagedFileError, InputError, ParameterError, ParameterHint, shown
from corefsample.files import _paths, _reading as reading
from corefsample.files._paths import NEWS
from events.news._fields import Article, ArticleFault, Record, checked_article, decoded
from events.news._nitf import archive_records, xml_records

_DATE = "date"  # default name of the column with the date
_ROWS = 256  # number of rows that are read from Parquet at once
_SEPARATORS = (",", ";", "\t", "|")  # programs write a semicolon in countries where a comma begins the decimals


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """Names of the columns of a table that have the fields of an article.

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
        names = [self.text, self.date, self.doc_id, self.title]
        if len({*names}) < len(names):
            raise ParameterError(f"columns of text, date, doc_id and title must differ, got {shown(names)}")

    @property
    def required(self) -> dict[str, str]:
        """Columns that every table must have, each with the parameter that names it."""
        columns = {self.doc_id: "id_column", self.date: "date_column", self.text: "text_column"}
        if not self.needs_date and self.date == _DATE:
            del columns[self.date]
        return {name: parameter for name, parameter in columns.items() if name is not None}

    def require_in(self, path: str, names: Sequence[str]) -> None:
        """Raise InputError if a table lacks a required column, or has two columns with the same name."""
        for name, parameter in self.required.items():
            if name not in names and name not in _paths.partition_values(path):
                hint = ParameterHint(parameter, "names another column")
                present = shown(", ".join(names))
                raise InputError(f"columns must include {name!r}, got {present}", place=path, hint=hint)
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"columns must have distinct names, got {name!r} twice", place=path)

    def record(self, path: str, number: int, place: str, row: Mapping[str, Any], original: Callable[[], str]) -> Record:
        """Record of one row, which is article `number` of its file."""
        # pandas writes its index as a column without a name.
        metadata_names = row.keys() - {self.text, self.date, self.title, self.doc_id, ""}
        return Record(
            place,
            original,
            text=row.get(self.text),
            date=row.get(self.date),
            doc_id=f"{os.path.basename(path)}#{number}" if self.doc_id is None else row.get(self.doc_id),
            title=row.get(self.title),
            metadata={name: value for name, value in row.items() if name in metadata_names},
            names={"text": self.text, "date": self.date, "doc_id": self.doc_id or "doc_id", "title": self.title},
            in_table=True,
        )


# --- JSON Lines --------------------------------------------------------------------------------------------


def json_records(lines: reading.LineReader, columns: FieldColumns) -> Iterator[Record]:
    """Read JSON objects, one on each line that is not blank."""
    number = 0
    for line_number, line, is_complete in lines.byte_lines():
        if not line.strip():
            continue
        number += 1
        location = f"line {line_number}"
        original = partial(str, line.rstrip(b"\r\n"), "utf-8", "replace")
        try:
            if not is_complete:
                message, hint = reading.too_long()
                raise ArticleFault(message, hint=hint)
            advice = "one object per line, no list around them" if line_number == 1 else None
            text = decoded(line, "a line").rstrip("\r\n")
            try:
                msgspec.json.decode(text)  # accepts finite numbers and Unicode text alone
                row = json.loads(text, object_pairs_hook=_unrepeated)
            except (ValueError, RecursionError) as error:
                raise ArticleFault(f"a line must be JSON, got: {error}", hint=advice) from None
            if not isinstance(row, dict):
                raise ArticleFault(f"a line must be a JSON object, got {shown(row)}", hint=advice)
        except ArticleFault as fault:
            yield Record(location, original, fault=fault)
        else:
            yield columns.record(lines.path, number, location, row, original)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError(f"the same key twice in {shown([name for name, _ in pairs])}")
    return values


# --- CSV ---------------------------------------------------------------------------------------------------


def csv_records(lines: reading.LineReader, columns: FieldColumns) -> Iterator[Record]:
    """Read separated values with a header; every value is text, even "NA".

    Commas, semicolons, tabs or vertical bars separate the values: see `separator_of`.
    """
    # Python's limit is too low for articles. It applies to the whole process, so it is never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), reading.MAX_LINE_BYTES))
    # A row may also end with a carriage return alone, as on old Macs.
    texts = chain.from_iterable(StringIO(text, newline="") for _, text in lines.text_lines("a row"))
    header = next(texts, "")
    # `strict` raises for a quote that is never closed.
    reader = csv.reader(chain([header], texts), strict=True, delimiter=separator_of(header, columns.required))
    names: list[str] = []
    number, line = 0, 1
    try:
        for row in reader:
            original, location = json_writer(row), f"line {line}"
            line = reader.line_num + 1  # quoted values continue over several lines
            if not names:
                names = row
                if names:
                    columns.require_in(lines.path, names)
            elif row and len(row) != len(names):
                number += 1
                fault = ArticleFault(f"a row must have {len(names)} values, as the header has, got {len(row)}")
                yield Record(location, original, fault=fault)
            elif row:
                number += 1
                yield columns.record(lines.path, number, location, dict(zip(names, row, strict=True)), original)
    except csv.Error as error:
        raise InputError(f"text must be CSV, got: {error}", place=f"{lines.path}: line {reader.line_num}") from None
    if not names:
        raise InputError("a header is missing, the file is empty", place=f"{lines.path}: line 1")


def separator_of(header: str, required: Iterable[str]) -> str:
    """Find the character that separates the values of a table.

    It is the separator with which the header has all required columns. If none has, it is the separator with the most
    columns; of several with equally many, the comma.
    """
    headers = {separator: next(csv.reader([header], delimiter=separator), []) for separator in _SEPARATORS}
    complete = [separator for separator, names in headers.items() if {*required}.issubset(names)]
    return complete[0] if complete else max(headers, key=lambda separator: len(headers[separator]))


def json_writer(values: Any) -> Callable[[], str]:
    return lambda: json.dumps(values, ensure_ascii=False, default=str)


# --- Parquet -----------------------------------------------------------------------------------------------


def parquet_records(path: str, columns: FieldColumns, progress: reading.ReadProgress) -> Iterator[Record]:
    """Read the rows of a Parquet file; dates may be texts, dates or timestamps."""
    with reading.parquet_errors(path), pq.ParquetFile(_paths.parquet_source(path)) as file:
        names = list(file.schema_arrow.names)
        columns.require_in(path, names)
        named = [name for name in names if name]
        size, total = _paths.total_size([path]), max(file.metadata.num_rows, 1)
        number = 0
        for batch in file.iter_batches(_ROWS, columns=named):
            for row in batch.to_pylist():
                number += 1
                yield columns.record(path, number, f"row {number}", row, json_writer(row))
            progress.bytes_read = size * number // total


def corpus_paths(inputs: _paths.Inputs) -> list[str]:
    """Expand globs and folders, and check that the name of every file ends like that of a format of news.

    A folder stands for all such files in it, at any depth, sorted by path; names that begin with a dot are left out.
    Texts (.txt) are articles only in a folder without files of another format, because texts beside such files describe
    them, like README.txt.

    Raises
    ------
    ParameterError
        If `inputs` are not paths.
    InputError
        If `inputs` are empty, a file is missing, a glob or folder contains no file, a name has another ending, or a
        file is listed twice.
    """
    paths: dict[str, None] = {}  # an ordered set
    for name in _paths.input_paths(inputs, folders=True):
        for path in _files_of(name) if name != "-" and os.path.isdir(name) else [name]:
            if path != "-":
                _paths.require_suffix(path, NEWS, InputError)
            if path in paths:
                raise InputError("input must be listed once, got it twice", place=path)
            paths[path] = None
    return [*paths]


def _files_of(folder: str) -> list[str]:
    def fail(error: OSError) -> NoReturn:
        raise InputError(f"folder must be readable, got: {error.strerror}", place=error.filename) from None

    paths: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [os.path.join(parent, name) for name in names if not name.startswith(".") and name.endswith(NEWS)]
    other_formats = [path for path in paths if not path.endswith(_paths.TEXTS)]
    paths = other_formats or paths
    if not paths:
        rule = f"folder must contain files that end in one of {', '.join(NEWS)}"
        raise InputError(f"{rule}, got none", place=folder)
    return sorted(paths)


class ArticleStream(reading.FileSeries):
    """The articles of several files, one file after another.

    The memory does not depend on the number of articles, except for about 25 bytes for each doc_id.

    Parameters
    ----------
    inputs
        Paths of files and folders, globs, or "-" for JSON Lines on standard input. The ending of a name determines the
        format: .jsonl, .ndjson, .csv, .tsv, .txt, .xml (also with .gz), .parquet, and .tgz, .tar.gz, .tar for archives
        of XML. A folder stands for all such files in it, at any depth, sorted by path; texts (.txt) count only if the
        folder has no other files. A text is one article, whose doc_id is the name of its file and whose date is in this
        name. A folder such as date=2001-09-11 gives its date to articles without a date.
    text_column, date_column, id_column, title_column
        Names of the columns of a table with these fields. If `id_column` is None, the doc_id is the number of the
        article in its file, as in "news.csv#1", or the name of its XML file or member of an archive. A table may lack
        `title_column`. In NITF XML these fields have fixed elements.
    date_format
        Format of the dates in tables, also of whole numbers such as 20010911, and in the names of texts, for
        `datetime.datetime.strptime`. By default, dates are ISO dates (in names also 20010911). The time of day and the
        time zone are ignored.
    undated
        Treatment of articles without a date: "reject" or "keep".
    on_rejected
        Function that is called with each invalid article, which is then left out; by default the first invalid article
        raises InputError. The undecodable rest of a damaged file (gzip data, archive, Parquet) is rejected as one
        article. A file that is not valid CSV always raises InputError.

    Attributes
    ----------
    paths
        Paths of the files, after expansion of folders and globs.
    total_bytes
        Size of all files in bytes; standard input counts as 0.

    Raises
    ------
    ParameterError
        If an option is invalid, or two columns have the same name.
    InputError
        If a file is missing, or its name has another ending than those above.
    """

    def __init__(
        self,
        inputs: _paths.Inputs,
        *,
        text_column: str = "text",
        date_column: str = _DATE,
        id_column: str | None = "doc_id",
        title_column: str = "title",
        date_format: str | None = None,
        undated: str = "reject",
        on_rejected: Callable[[Rejected], None] | None = None,
    ) -> None:
        self._columns = FieldColumns(text_column, date_column, id_column, title_column, needs_date=undated == "reject")
        if date_format is not None and (not isinstance(date_format, str) or "%" not in date_format):
            rule = "must be a format such as '%d.%m.%Y'"
            raise ParameterError(f"{rule}, got {shown(date_format)}", parameter="date_format")
        self._date_format, self._undated = date_format, undated
        self._on_rejected = on_rejected
        super().__init__(corpus_paths(inputs))

    def __iter__(self) -> Iterator[Article]:
        """Read the files from the beginning; standard input can be read once."""
        doc_ids = reading.SeenIds()
        for path, reader in self._readers(reading.LineReader):
            day = _paths.partition_values(path).get(self._columns.date)
            for record in self._undamaged(path, self._records(path, reader)):
                if day is not None and record.date in (None, ""):
                    record = replace(record, date=day, in_table=False)
                try:
                    article = checked_article(record, self._date_format, self._undated)
                    if not doc_ids.add(article.doc_id):
                        raise ArticleFault("doc_id must be unique in the corpus, got it again", article.doc_id)
                except ArticleFault as fault:
                    text = record.original()
                    rejected = Rejected(path, record.place, None, fault.doc_id, str(fault), text, fault.hint)
                    if self._on_rejected is None:
                        raise rejected.error() from None
                    self._on_rejected(rejected)
                else:
                    yield article

    def _undamaged(self, path: str, records: Iterator[Record]) -> Iterator[Record]:
        """The records of a file; if the file is damaged, what follows the damage is rejected as one article."""
        try:
            yield from records
        except DamagedFileError as error:
            if self._on_rejected is None:
                raise
            self._on_rejected(Rejected.file(path, error))

    def _records(self, path: str, reader: reading.LineReader) -> Iterator[Record]:
        if path.endswith(_paths.ARCHIVES):
            return archive_records(path, reader, by_name=self._columns.doc_id is None)
        if path.endswith(_paths.MARKUP):
            return xml_records(path, reader, by_name=self._columns.doc_id is None)
        if path.endswith(_paths.TEXTS):
            return text_records(path, self._date_format, self._undated, reader)
        if path.endswith(".parquet"):
            return parquet_records(path, self._columns, reader)
        if path.endswith(_paths.SEPARATED):
            return csv_records(reader, self._columns)
        return json_records(reader, self._columns)


# A date such as 2001-09-11, 2001_09_11, 2001.09.11 or 20010911, but not within a longer number.
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_WORD = r"[^\W\d_]+"

# Patterns of the directives of `strptime` in names of files; months and days may lack a leading zero.
_DIRECTIVES = {"Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{1,2}", "d": r"\d{1,2}", "j": r"\d{1,3}", "b": _WORD, "B": _WORD}


def text_records(path: str, date_format: str | None, undated: str, progress: reading.ReadProgress) -> Iterator[Record]:
    """Read the article of one UTF-8 file, whose name is the doc_id and contains the date: see `ArticleStream`."""
    with reading.open_bytes(path, progress) as stream:
        text_bytes: bytes = stream.read(reading.MAX_LINE_BYTES + 1)
    stem = os.path.basename(path).removesuffix(".gz").removesuffix(".txt")
    original = partial(str, text_bytes, "utf-8", "replace")
    try:
        if len(text_bytes) > reading.MAX_LINE_BYTES:
            message, hint = reading.too_long("a text")
            raise ArticleFault(message, stem, hint=hint)
        date = _date_in(stem, date_format, undated)
        text = decoded(text_bytes.removeprefix(b"\xef\xbb\xbf"), "text", stem)  # without a byte order mark
    except ArticleFault as fault:
        yield Record("line 1", original, fault=fault)
    else:
        yield Record("line 1", original, text=text, date=date, doc_id=stem)


def _date_in(stem: str, date_format: str | None, undated: str) -> datetime.date | None:
    """First date in the name of a file; None without a date, if articles without a date are kept."""
    pattern = _ISO_DATE
    if date_format is not None:
        pieces = (
            _DIRECTIVES.get(piece[1], r"\w+") if piece[:1] == "%" != piece[1:] else re.escape(piece.replace("%%", "%"))
            for piece in re.split(r"(%.)", date_format)
        )
        pattern = re.compile(rf"(?<!\d)(?:{''.join(pieces)})(?!\d)")
    for match in pattern.finditer(stem):
        with suppress(ValueError):
            if date_format is None:
                return datetime.date(int(match[1]), int(match[3]), int(match[4]))
            return datetime.datetime.strptime(match[0], date_format).date()
    if undated == "keep":
        return None
    example, hint = f"in the format {date_format!r}", None
    if date_format is None:
        example = "such as 2001-09-11"
        hint = ParameterHint("date_format", "is the format of dates in names, such as %d.%m.%Y")
    raise ArticleFault(f"the file's name must contain a date {example}, got {stem!r}", stem, hint=hint)
