"""Streams of dated news articles from tables, texts, and NITF XML (New York Times Annotated Corpus)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from corefsample.documents._rejected import Rejected
from corefsample.files._digests import SeenIds
from corefsample.files._paths import PathLike
from corefsample.files._reading import FileSeries, LineReader
from events.news._fields import Article, ArticleFault, FieldRules, Record
from events.news._files import ARCHIVES, MARKUP, TEXTS, corpus_paths, news_suffix
from events.news._markup import archive_records, xml_records
from events.news._tables import Columns, csv_records, json_records, parquet_records
from events.news._texts import text_records
from events.news._workbooks import workbook_records


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
    metadata
        Further columns to keep; None for all others.
    date_format
        Format of the dates in tables and in the names of texts, for `datetime.datetime.strptime`; None for ISO dates
        (in names also 20010911). The time of day and the time zone are ignored.
    max_chars
        Longest text allowed, in characters; spaCy's parsers reject texts of more than a million.
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
        inputs: PathLike | Iterable[PathLike],
        *,
        text_column: str = "text",
        date_column: str = "date",
        id_column: str | None = "doc_id",
        title_column: str = "title",
        metadata: Sequence[str] | None = None,
        date_format: str | None = None,
        max_chars: int = 1_000_000,
        on_rejected: Callable[[Rejected], None] | None = None,
    ) -> None:
        self._columns = Columns(text_column, date_column, id_column, title_column, metadata)
        self._rules = FieldRules(date_format, max_chars)
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
