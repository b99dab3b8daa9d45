"""The documents of files of any kind that the project reads: scored mentions, annotated corpora, dated news."""

import datetime
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import corefsample as cs
from corefsample import InputError, ParameterError
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Rejected, missing_field
from corefsample.files import _paths
from corefsample.files._reading import FileSeries, ReadProgress, SeenIds, open_bytes
from corefsample.formats import DocumentStream
from corefsample.formats.annotated._annotations import OnCrossing
from events.news._articles import ArticleStream
from events.news._fields import Article
from events.news._preparation import body_words
from events.news._quality import Duplicates

Kind = Literal["scored", "corefud", "conll2012", "news"]

ANNOTATED: tuple[Kind, ...] = ("corefud", "conll2012")
_KINDS: dict[str, Kind | None] = {  # by the ending of a name; tables have scored mentions or news
    **dict.fromkeys(_paths.SCORED),
    **dict.fromkeys(_paths.COREFUD, "corefud"),
    **dict.fromkeys(_paths.CONLL2012, "conll2012"),
    **dict.fromkeys(_paths.NEWS_ALONE, "news"),
}
_START = 1 << 16  # bytes of a table that are searched for keys
_SCORED_KEYS = re.compile(rb'"(mentions|antecedents|scores)"\s*:\s*\[|"tokens"\s*:\s*\{')
_TEXT_KEY = re.compile(rb'"text"\s*:\s*"')


def annotated_kind(path: str) -> Kind | None:
    """Annotated format of a file by its name, or None."""
    kind = _KINDS.get(_paths.suffix_of(path, _KINDS) or "")
    return kind if kind in ANNOTATED else None


def output_kind(path: _paths.PathLike) -> Kind:
    """Format of a file to be written, by its name.

    Raises
    ------
    ParameterError
        If the name has no known ending.
    """
    suffixes = [suffix for suffix, kind in _KINDS.items() if kind != "news"]
    return _KINDS[_paths.require_suffix(os.fspath(path), suffixes, ParameterError)] or "scored"


def named_kind(path: str, *, prefer_news: bool) -> Kind:
    """Kind of documents in a file, by its name; for tables also by the first line or the columns.

    Parameters
    ----------
    path
        Path of an existing file or folder, or "-" for standard input.
    prefer_news
        True if standard input and tables that could be either are read as news, not as scored mentions.

    Raises
    ------
    InputError
        If the name has no known ending.
    """
    if os.path.isdir(path):
        return "news"
    if path != "-" and (
        kind := _KINDS[_paths.require_suffix(path, [*_KINDS], InputError, hint=_paths.suffix_hint(path))]
    ):
        return kind
    has_mentions = None if path == "-" else _has_mentions(path)
    if has_mentions is None:
        return "news" if prefer_news else "scored"
    return "scored" if has_mentions else "news"


def _has_mentions(path: str) -> bool | None:
    """Whether a table contains scored mentions; None if its beginning cannot be read or does not show it."""
    if path.endswith(".parquet"):
        try:
            return "mentions" in pq.read_schema(_paths.parquet_source(path)).names
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return None
    try:
        with open_bytes(path, ReadProgress()) as stream:
            start = stream.read(_START)
    except InputError:
        return None
    # Keys with the kind of their values, because a line may be longer than the bytes searched.
    if _SCORED_KEYS.search(start):
        return True
    return False if _TEXT_KEY.search(start) else None


def reject(rejected: Rejected, on_rejected: Callable[[Rejected], None] | None) -> None:
    """Pass an invalid document to `on_rejected`, or raise its error if `on_rejected` is None."""
    if on_rejected is None:
        raise rejected.error()
    on_rejected(rejected)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document with its position in the inputs.

    Attributes
    ----------
    source, place
        Path of the file, and position in it: "line 12", "row 7", "document 3", "article 5".
    document
        Document or article that was read.
    """

    source: str
    place: str
    document: AnnotatedDocument | cs.ScoredDocument | Article

    def rejected(self, error: cs.CorefsampleError) -> Rejected:
        """Return the document as a rejected one, with the reason `error` and with its words, mentions and gold."""
        doc_id = self.document.doc_id
        error_location = None if error.place == f"doc_id {doc_id!r}" else error.place
        reason = " ".join(str(InputError(error.message, parameter=error.parameter, place=error_location)).split())
        return Rejected(self.source, self.place, None, doc_id, reason, self.to_json(), error.hint)

    def to_json(self) -> str:
        """The document as a line of JSON: the fields of an article, or those of the format of scored mentions."""
        document = self.document
        if isinstance(document, AnnotatedDocument):
            no_candidates: list[list[Any]] = [[] for _ in range(document.n_mentions)]
            document = document.scored(cs.AntecedentDistribution.from_lists(no_candidates, no_candidates))
        fields = DocumentBatch.of([document]).to_json(0) if isinstance(document, cs.ScoredDocument) else document
        return msgspec.json.encode(fields).decode()


_BATCH = 32  # documents of a file of scored mentions that are read ahead
_FEWEST_WORDS = 20  # texts with fewer words are not compared, because they may be equal by chance


@dataclass(repr=False)
class DocumentInputs(FileSeries):
    """The documents of several files, one after another, and the rejected ones; they can be iterated once.

    doc_ids must be unique over all files; about 25 bytes of memory are used for each.

    Parameters
    ----------
    inputs
        Paths of files, folders of news, globs, or "-" for JSON Lines on standard input. Their names determine how they
        are read: .conllu (CorefUD) and .conll, _conll (CoNLL-2012), also with .gz; .jsonl, .ndjson, .parquet (scored
        mentions if they have mentions, otherwise news); .csv, .tsv, .txt, .xml, .tgz ... (news).
    on_crossing_sentences
        Treatment of mentions of annotated corpora that cross the end of a sentence: see `read_conll2012`.
    article_options
        Keyword arguments of `ArticleStream`, which reads news.
    prefer_news
        True if standard input and tables that could be either are read as news, not as scored mentions.
    selected
        Function that is called with the doc_id and the metadata of each document; documents for which it returns false
        are left out. By default, all documents are read.
    duplicates
        Treatment of articles whose words are those of an earlier one, whatever their case, punctuation, headline,
        dateline, credits and markup: "keep" or "drop". They are then listed in `repeated`; some 150 bytes of memory are
        used for each text. By default, texts are not compared.

    Attributes
    ----------
    paths, kind_of
        Paths of the files, with globs expanded, and kind of each file by its path.
    total_bytes, bytes_read
        Size of all files in bytes, and number of bytes read so far; standard input counts 0.
    skipped
        Number of annotated mentions so far that could not be read, by reason.
    repeated
        For each article so far with the text of an earlier one its doc_id and date, and the doc_id of the earlier one.

    Raises
    ------
    InputError, ParameterError
        On construction, if a file is missing or has an unknown ending, or if an option is invalid.
    """

    inputs: _paths.PathLike | Iterable[_paths.PathLike]
    on_crossing_sentences: OnCrossing = "skip"
    article_options: Mapping[str, Any] = field(default_factory=dict)
    prefer_news: bool = False
    selected: Callable[[str, Mapping[str, Any]], bool] | None = None
    duplicates: Duplicates | None = None
    kind_of: dict[str, Kind] = field(init=False, default_factory=dict)
    skipped: Counter[str] = field(init=False, default_factory=Counter)
    repeated: list[tuple[str, datetime.date | None, str]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        for path in _paths.input_paths(self.inputs, folders=True):
            kind = named_kind(path, prefer_news=self.prefer_news)
            files = [path]
            if kind == "news":
                files = ArticleStream([path], **self.article_options).paths
            for file in files:
                if file in self.kind_of:
                    raise InputError("input must be listed once, got it twice", place=file)
                self.kind_of[file] = kind
        super().__init__(list(self.kind_of))

    def first_of(self, *kinds: Kind) -> str | None:
        """Path of the first file of one of these kinds; None if no file is."""
        return next((path for path in self.paths if self.kind_of[path] in kinds), None)

    def require_mentions(self) -> None:
        """Raise InputError if a file has text, whose mentions must be found and scored first."""
        text = self.first_of("news")
        if text is not None:
            hint = "`corefsample score` finds and scores mentions"
            raise InputError("documents must have mentions, got text", place=text, hint=hint)

    def require_dates(self) -> None:
        """Raise InputError at the first document that is invalid or has no date."""
        for item in self.accepted(None):
            if item.document.date is None:
                reason, hint = missing_field("date")
                raise item.rejected(InputError(reason, hint=hint)).error()

    def accepted(self, on_rejected: Callable[[Rejected], None] | None) -> Iterator[ReadDocument]:
        """Yield the valid documents, and pass the invalid ones to `on_rejected`: see `reject`."""
        for item in self:
            if isinstance(item, ReadDocument):
                yield item
            else:
                reject(item, on_rejected)

    def __iter__(self) -> Iterator[ReadDocument | Rejected]:
        doc_ids, texts = SeenIds(), dict[bytes, str]()
        rejected: list[Rejected] = []
        for path, stream in self._readers(partial(self._opened, on_rejected=rejected.append)):
            for location, document in self._with_positions(path, stream):
                yield from rejected
                rejected.clear()
                if self.selected is not None and not self.selected(document.doc_id, document.metadata):
                    continue
                is_new = doc_ids.add(document.doc_id)
                if is_new and self.duplicates is not None and self.kind_of[path] == "news":
                    words = body_words(document.text)
                    digest = hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=12).digest()
                    first_id = (
                        document.doc_id if len(words) < _FEWEST_WORDS else texts.setdefault(digest, document.doc_id)
                    )
                    if first_id != document.doc_id:
                        self.repeated.append((document.doc_id, document.date, first_id))
                        if self.duplicates == "drop":
                            continue
                item = ReadDocument(path, location, document)
                yield item if is_new else item.rejected(InputError("doc_id must be unique in the corpus, got it again"))
            yield from rejected
            rejected.clear()

    def _opened(self, path: str, on_rejected: Callable[[Rejected], None]) -> Any:
        """The documents of a file, or batches of them."""
        kind = self.kind_of[path]
        if kind == "scored":
            return DocumentStream([path], on_rejected=on_rejected, batch_size=_BATCH)
        if kind == "news":
            return ArticleStream([path], on_rejected=on_rejected, **self.article_options)

        read = cs.read_conll2012 if kind == "conll2012" else cs.read_corefud
        return read(path, on_crossing_sentences=self.on_crossing_sentences, on_rejected=on_rejected)

    def _with_positions(self, path: str, stream: Any) -> Iterator[tuple[str, Any]]:
        """Yield each document with its position in the file."""
        kind = self.kind_of[path]
        if kind == "scored":
            for batch in stream:
                for row, number in enumerate(batch.places):
                    yield f"{batch.unit} {number}", batch.document(row)
            return
        for number, document in enumerate(stream, start=1):
            if kind != "news":
                self.skipped.update(document.skipped)
            yield f"{'article' if kind == 'news' else 'document'} {number}", document
