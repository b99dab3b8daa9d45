"""Documents of files of any kind the project reads: scored mentions, annotated corpora, dated news."""

from __future__ import annotations

import glob
import gzip
import hashlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from corefsample.errors import InputError, ParameterError
from corefsample.formats.annotated import fault_of_fields

if TYPE_CHECKING:
    from corefsample.documents import AnnotatedDocument, Rejected, ScoredDocument
    from events.news import Article

__all__ = ["ANNOTATED", "DocumentInputs", "Kind", "ReadDocument", "annotated_kind", "named_kind", "output_kind"]

Kind = Literal["scored", "corefud", "conll2012", "news"]
PathLike = str | os.PathLike[str]
Streamed = tuple[str, "AnnotatedDocument | ScoredDocument | Article"]  # where it stands, and what it is

ANNOTATED: tuple[Kind, ...] = ("corefud", "conll2012")
_TABLES = (".jsonl", ".jsonl.gz", ".parquet")  # which may hold scored mentions, or news
_NEWS = (".csv", ".csv.gz", ".xml", ".xml.gz", ".tgz", ".tar.gz", ".tar")
_SNIFFED = 1 << 16  # bytes
_SCORED_KEYS = re.compile(rb'"(mentions|antecedents|scores)"\s*:\s*\[|"tokens"\s*:\s*\{')
_TEXT_KEY = re.compile(rb'"text"\s*:\s*"')
_BATCH = 32


def annotated_kind(path: str) -> Kind | None:
    """Which annotated format a file has by its name, if any."""
    bare = path.removesuffix(".gz")
    if bare.endswith(".conllu"):
        return "corefud"
    return "conll2012" if bare.endswith((".conll", "_conll")) else None


def output_kind(path: PathLike) -> Kind:
    """What a file to be written will hold, by its name.

    Raises
    ------
    ParameterError
        If the name has none of the endings.
    """
    name = os.fspath(path)
    kind = annotated_kind(name)
    if kind is not None or name.endswith(_TABLES):
        return kind or "scored"
    endings = ", ".join((*_TABLES, ".conllu", ".conll", "_conll"))
    raise ParameterError(
        f"{name or repr(name)}: file name must end in one of {endings} (the latter three also with .gz), "
        f"got {os.path.basename(name)!r}"
    )


def named_kind(path: str, *, prefer_news: bool) -> Kind:
    """What a file holds, by its name, and where that leaves it open by its first line or its columns.

    Parameters
    ----------
    path
        A file or folder that is there, or "-" for standard input.
    prefer_news
        Whether standard input, and a table of which nothing tells, are news and not scored mentions.

    Raises
    ------
    InputError
        If the name has none of the known endings.
    """
    kind = annotated_kind(path)
    if kind is not None:
        return kind
    if os.path.isdir(path) or path.endswith(_NEWS):
        return "news"
    if path == "-":
        return "news" if prefer_news else "scored"
    if not path.endswith(_TABLES):
        endings = ", ".join((*_TABLES, ".conllu", ".conll", "_conll", *_NEWS))
        raise InputError(f"{path}: file name must end in one of {endings}, got {os.path.basename(path)!r}")
    has_mentions = _has_mentions(path)
    if has_mentions is None:
        return "news" if prefer_news else "scored"
    return "scored" if has_mentions else "news"


def _has_mentions(path: str) -> bool | None:
    """Whether a table holds scored mentions; None where its beginning cannot be read."""
    if path.endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return "mentions" in pq.read_schema(path).names
        except (pa.ArrowException, OSError):
            return None
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            start = (gzip.GzipFile(fileobj=raw) if packed else raw).read(_SNIFFED)
    except (OSError, EOFError, zlib.error):
        return None
    # Keys with the kind of their values: a line may be longer than what is looked at.
    if _SCORED_KEYS.search(start):
        return True
    return False if _TEXT_KEY.search(start) else None


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """One document as it was read.

    Attributes
    ----------
    source, place
        File, and where in it: "line 12", "row 7", "document 3", "article 5".
    document
        What it is.
    """

    source: str
    place: str
    document: AnnotatedDocument | ScoredDocument | Article

    def rejected(self, reason: str) -> Rejected:
        """Describe it as set aside for `reason`; what the file said of its words, mentions and gold is kept."""
        from corefsample.documents import Rejected

        doc_id = self.document.doc_id
        reason = " ".join(reason.removeprefix(f"doc_id {doc_id!r}: ").split())
        return Rejected(self.source, self.place, None, doc_id, reason, _as_json(self.document))


def _as_json(document: AnnotatedDocument | ScoredDocument | Article) -> str:
    """A document as a line of JSON: an article's fields, or those of the file format, without scores if it has none."""
    import msgspec

    from corefsample.coreference import AntecedentDistribution
    from corefsample.documents import AnnotatedDocument, ScoredDocument, from_documents, to_json

    if isinstance(document, AnnotatedDocument):
        none: list[list[Any]] = [[] for _ in range(document.n_mentions)]
        document = document.scored(AntecedentDistribution.from_lists(none, none))
    content = to_json(from_documents([document]).table, 0) if isinstance(document, ScoredDocument) else document
    return msgspec.json.encode(content).decode()


@dataclass
class DocumentInputs:
    """The documents of several files, one after another, and what is wrong with the others; iterate once.

    doc_ids must be unique over all files (16 bytes an id are kept, nothing more).

    Parameters
    ----------
    inputs
        Files, folders of news, globs, or "-" for JSON Lines on standard input. Their names tell what they hold:
        .conllu (CorefUD) and .conll, _conll (CoNLL-2012), also with .gz; .jsonl, .jsonl.gz, .parquet (scored
        mentions if there are mentions, else news); .csv, .xml, .tgz ... (news).
    entity_fields
        Fields of ``Entity=`` for CoNLL-U files that do not declare them.
    article_options
        Keywords of `events.news.ArticleStream`.
    prefer_news
        What to take for news rather than scored mentions: standard input, and tables of which nothing tells.

    Attributes
    ----------
    paths, kind_of
        The files, globs expanded, and the kind of each.
    total_bytes, bytes_read
        Size of all files, and how far they are read; standard input and folders count as far as they are known.
    skipped
        Mentions of annotated corpora that no document has, counted by reason, so far.

    Raises
    ------
    InputError, ParameterError
        If a file is missing or has another ending, or an option breaks its rule; at once.
    """

    inputs: PathLike | Iterable[PathLike]
    entity_fields: str | None = None
    article_options: Mapping[str, Any] = field(default_factory=dict)
    prefer_news: bool = False
    paths: list[str] = field(init=False)
    kind_of: dict[str, Kind] = field(init=False)
    total_bytes: int = field(init=False)
    skipped: Counter[str] = field(init=False, default_factory=Counter)
    _bytes_before: int = field(init=False, default=0)
    _bytes_of: Callable[[], int] = field(init=False, default=lambda: 0)

    def __post_init__(self) -> None:
        if self.entity_fields is not None:
            fault = fault_of_fields(self.entity_fields)
            if fault is not None:
                raise ParameterError(f"entity_fields {fault}")
        self.paths, self.kind_of = [], {}
        for path in _expanded(self.inputs):
            kind = named_kind(path, prefer_news=self.prefer_news)
            for each in self._news_files(path) if kind == "news" else [path]:
                if each in self.kind_of:
                    raise InputError(f"{each}: input must be named once, got it again")
                self.paths.append(each)
                self.kind_of[each] = kind
        self.total_bytes = sum(os.path.getsize(path) for path in self.paths if path != "-")

    def _news_files(self, path: str) -> list[str]:
        from events.news import ArticleStream

        return ArticleStream([path], **self.article_options).paths

    def first_of(self, *kinds: Kind) -> str | None:
        """The first file of one of these kinds, or None."""
        return next((path for path in self.paths if self.kind_of[path] in kinds), None)

    @property
    def bytes_read(self) -> int:
        """Bytes of all files read so far."""
        return self._bytes_before + self._bytes_of()

    def __iter__(self) -> Iterator[ReadDocument | Rejected]:
        seen: set[bytes] = set()
        for path in self.paths:
            rejected: list[Rejected] = []
            read = {"scored": self._scored, "news": self._news}.get(self.kind_of[path], self._annotated)
            for place, document in read(path, rejected.append):
                yield from rejected
                rejected.clear()
                found = ReadDocument(path, place, document)
                digest = hashlib.blake2b(document.doc_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
                if digest in seen:
                    yield found.rejected("doc_id must be unique in the corpus, got it again")
                else:
                    seen.add(digest)
                    yield found
            yield from rejected
            self._bytes_before += 0 if path == "-" else os.path.getsize(path)
            self._bytes_of = lambda: 0

    def _annotated(self, path: str, on_rejected: Callable[[Rejected], None]) -> Iterator[Streamed]:
        from corefsample.formats.annotated import read_conll2012, read_corefud

        if self.kind_of[path] == "corefud":
            stream = read_corefud(path, entity_fields=self.entity_fields, on_rejected=on_rejected)
        else:
            stream = read_conll2012(path, on_rejected=on_rejected)
        self._bytes_of = lambda: stream.bytes_read
        for number, document in enumerate(stream, start=1):
            self.skipped.update(document.skipped)
            yield f"document {number}", document

    def _scored(self, path: str, on_rejected: Callable[[Rejected], None]) -> Iterator[Streamed]:
        from corefsample.formats import DocumentStream

        stream = DocumentStream([path], on_rejected=on_rejected, batch_size=_BATCH)
        self._bytes_of = lambda: stream.bytes_read
        for batch in stream:
            for row, number in enumerate(batch.places):
                yield f"{batch.unit} {number}", batch.document(row)

    def _news(self, path: str, on_rejected: Callable[[Rejected], None]) -> Iterator[Streamed]:
        from events.news import ArticleStream

        stream = ArticleStream([path], on_rejected=on_rejected, **self.article_options)
        self._bytes_of = lambda: stream.bytes_read
        for number, article in enumerate(stream, start=1):
            yield f"article {number}", article


def _expanded(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """Expand globs, and refuse what is not there."""
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    names = [os.fspath(each) for each in given]
    if not names:
        raise InputError("inputs must name at least one file, got none")
    paths: list[str] = []
    for name in names:
        found = [name] if name == "-" or os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not found:
            rule = "glob must match a file" if glob.has_magic(name) else "file must exist"
            raise InputError(f"{name}: {rule}, got none")
        for path in found:
            if path != "-" and not os.path.isfile(path) and not os.path.isdir(path):
                raise InputError(f"{path}: input must be a regular file or a folder, got something else")
        paths += found
    return paths
