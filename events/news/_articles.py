"""Readers of dated news: JSON Lines, CSV, Parquet, and NITF XML as the New York Times Annotated Corpus has it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from corefsample.documents import Rejected
from events.news._fields import Article, ArticleFault, FieldRules, Record
from events.news._files import ARCHIVES, MARKUP, PathLike, Progress, corpus_paths, ending
from events.news._markup import archive_records, xml_records
from events.news._tables import Columns, csv_records, json_records, parquet_records

__all__ = ["Article", "ArticleStream", "read_articles"]


class ArticleStream:
    """The articles of several files, one after another, in their order.

    Memory stays flat however many there are: of an article read, 16 bytes of its doc_id are kept, nothing more.

    Parameters
    ----------
    inputs
        Files, folders, globs, or "-" for JSON Lines on standard input. The ending of a name tells the format:
        .jsonl, .csv, .xml (these also with .gz), .parquet, and .tgz, .tar.gz, .tar for archives of XML, which may
        hold archives once more. Of a folder every such file counts, at any depth, in the order of paths.
    text, date, doc_id, title
        Columns of a table. `doc_id` None: articles are numbered in their file, "news.csv#1", or have the name of
        their XML file or member. A table may lack `title`. NITF has its own places for all of them.
    metadata
        Columns to keep beside these, None for all others.
    date_format
        Of dates in tables, as `datetime.datetime.strptime` has it. None: ISO dates; what is said of the hour is left
        aside, whatever the time zone.
    max_chars
        Longest text allowed; spaCy's parsers refuse more than a million characters.
    on_rejected
        Called with each article that breaks a rule, which is then left out; None: the first one raises InputError.
        A file that cannot be read on (broken gzip data or archive, no CSV, no Parquet) always raises.

    Attributes
    ----------
    paths
        The files, folders and globs expanded.
    total_bytes
        Size of all files; standard input counts 0.

    Raises
    ------
    ParameterError
        If an option breaks its rule.
    InputError
        If a file is missing or has another ending; at once.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        *,
        text: str = "text",
        date: str = "date",
        doc_id: str | None = "doc_id",
        title: str = "title",
        metadata: Sequence[str] | None = None,
        date_format: str | None = None,
        max_chars: int = 1_000_000,
        on_rejected: Callable[[Rejected], None] | None = None,
    ) -> None:
        self._columns = Columns(text, date, doc_id, title, metadata)
        self._rules = FieldRules(date_format, max_chars)
        self._iso_rules = FieldRules(None, max_chars)
        self._on_rejected = on_rejected
        self.paths = corpus_paths(inputs)
        self.total_bytes = sum(os.path.getsize(path) for path in self.paths if path != "-")
        self._bytes_before = 0
        self._progress = Progress()

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + self._progress.bytes_read

    def __iter__(self) -> Iterator[Article]:
        """Read the files from the beginning; standard input can be read once."""
        self._bytes_before = 0
        seen: set[bytes] = set()
        for path in self.paths:
            self._progress = Progress()
            # The date of NITF is the standard's, whatever that of tables.
            rules = self._iso_rules if ending(path) in (*MARKUP, *ARCHIVES) else self._rules
            for record in self._records(path):
                try:
                    article = rules.article(record)
                    _require_new(article.doc_id, seen)
                except ArticleFault as fault:
                    self._reject(path, record, fault)
                else:
                    yield article
            self._bytes_before += 0 if path == "-" else os.path.getsize(path)
            self._progress = Progress()

    def _records(self, path: str) -> Iterator[Record]:
        kind = ending(path)
        if kind in ARCHIVES:
            return archive_records(path, self._progress, by_name=self._columns.doc_id is None)
        if kind in MARKUP:
            return xml_records(path, self._progress, by_name=self._columns.doc_id is None)
        if kind == ".parquet":
            return parquet_records(path, self._columns, self._progress)
        if kind in (".csv", ".csv.gz"):
            return csv_records(path, self._columns, self._progress)
        return json_records(path, self._columns, self._progress)

    def _reject(self, path: str, record: Record, fault: ArticleFault) -> None:
        bad = Rejected(path, record.place, None, fault.doc_id, str(fault), record.original())
        if self._on_rejected is None:
            raise bad.error() from None
        self._on_rejected(bad)


def _require_new(doc_id: str, seen: set[bytes]) -> None:
    digest = hashlib.blake2b(doc_id.encode(), digest_size=16).digest()
    if digest in seen:
        raise ArticleFault("doc_id must be unique in the corpus, got it again", doc_id)
    seen.add(digest)


def read_articles(
    inputs: PathLike | Iterable[PathLike],
    *,
    text: str = "text",
    date: str = "date",
    doc_id: str | None = "doc_id",
    title: str = "title",
    metadata: Sequence[str] | None = None,
    date_format: str | None = None,
    max_chars: int = 1_000_000,
    on_rejected: Callable[[Rejected], None] | None = None,
) -> Iterator[Article]:
    """Read dated news articles one after another; memory stays flat however many there are.

    Parameters
    ----------
    inputs, text, date, doc_id, title, metadata, date_format, max_chars, on_rejected
        As of `ArticleStream`, which tells its progress besides.

    Yields
    ------
    Article
        doc_id, date, text, title, metadata. An article without a word is one too; one without a date is refused, or
        set aside.

    Raises
    ------
    ParameterError
        If an option breaks its rule; at once.
    InputError
        If a file is missing or has another ending, at once. One line of file, place, doc_id, field, rule and value,
        at the first article that breaks a rule.
    """
    return iter(
        ArticleStream(
            inputs,
            text=text,
            date=date,
            doc_id=doc_id,
            title=title,
            metadata=metadata,
            date_format=date_format,
            max_chars=max_chars,
            on_rejected=on_rejected,
        )
    )
