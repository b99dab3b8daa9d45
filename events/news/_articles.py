"""Streams of dated news articles from files of any format.

Tables and NITF XML (New York Times Annotated Corpus) have modules of their own. Text files are read here: one article
in each, with its date in the name of the file.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from corefsample.documents._rejected import Rejected
from corefsample.errors import ParameterHint
from corefsample.files._digests import SeenIds
from corefsample.files._paths import Inputs
from corefsample.files._reading import FileSeries, LineReader, ReadProgress, max_line_bytes, open_bytes, too_long
from events.news._corpus_files import ARCHIVES, MARKUP, TEXTS, corpus_paths, news_suffix
from events.news._fields import Article, ArticleFault, FieldRules, Record, decoded
from events.news._markup import archive_records, xml_records
from events.news._tables import Columns, csv_records, json_records, parquet_records, workbook_records


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
        file, with the date that its name contains.
    text_column, date_column, id_column, title_column
        Columns of a table. With `id_column` None, articles are numbered within their file, "news.csv#1", or named
        after their XML file or member. A table may lack `title_column`. NITF has its own places for these fields.
    date_format
        Format of the dates in tables and in the names of texts, for `datetime.datetime.strptime`; None for ISO dates
        (in names also 20010911). The time of day and the time zone are ignored.
    on_rejected
        Called with each article that breaks a rule, which is then left out; None: the first one raises InputError.
        A file that is damaged (gzip data, archive, CSV, Parquet) always raises.

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
        date_column: str = "date",
        id_column: str | None = "doc_id",
        title_column: str = "title",
        date_format: str | None = None,
        on_rejected: Callable[[Rejected], None] | None = None,
    ) -> None:
        self._columns = Columns(text_column, date_column, id_column, title_column)
        self._rules = FieldRules(date_format)
        self._on_rejected = on_rejected
        super().__init__(corpus_paths(inputs))

    def __iter__(self) -> Iterator[Article]:
        """Read the files from the beginning; standard input can be read once."""
        doc_ids = SeenIds()
        for path, reader in self._readers(LineReader):
            for record in self._records(path, reader):
                try:
                    article = self._rules.article(record)
                    if not doc_ids.add(article.doc_id):
                        raise ArticleFault("doc_id must be unique in the corpus, got it again", article.doc_id)
                except ArticleFault as fault:
                    self._reject(path, record, fault)
                else:
                    yield article

    def _records(self, path: str, reader: LineReader) -> Iterator[Record]:
        suffix = news_suffix(path)
        if suffix in ARCHIVES:
            return archive_records(path, reader, by_name=self._columns.doc_id is None)
        if suffix in MARKUP:
            return xml_records(path, reader, by_name=self._columns.doc_id is None)
        if suffix in TEXTS:
            return text_records(path, self._rules.date_format, reader)
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


def text_records(path: str, date_format: str | None, progress: ReadProgress) -> Iterator[Record]:
    """Read the article of one text file: its name is the doc_id, and contains the date.

    Parameters
    ----------
    path
        A UTF-8 file that ends in .txt or .txt.gz.
    date_format
        Format of the date within the name, for `datetime.datetime.strptime`; None: an ISO date, or 20010911.
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
        date, text = _date_in(stem, date_format), decoded(content.removeprefix(_BYTE_ORDER_MARK), "text", stem)
    except ArticleFault as fault:
        yield Record("line 1", original, fault=fault)
    else:
        yield Record("line 1", original, text=text, date=date, doc_id=stem)


def _date_in(stem: str, date_format: str | None) -> datetime.date:
    """The first date in the name of a file."""
    pattern = _ISO_DATE if date_format is None else _pattern(date_format)
    for match in pattern.finditer(stem):
        with suppress(ValueError):
            if date_format is None:
                return datetime.date(int(match[1]), int(match[3]), int(match[4]))
            return datetime.datetime.strptime(match[0], date_format).date()
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
