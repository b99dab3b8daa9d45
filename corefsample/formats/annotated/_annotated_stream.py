"""Annotated documents of any format: streams of several files, and mentions that brackets can represent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from corefsample._checks import choice, elements
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, ParameterError, ParameterHint, shown
from corefsample.files._atomic import new_text_file
from corefsample.files._digests import SeenIds
from corefsample.files._paths import SCORED, PathLike, input_paths, suffix_of
from corefsample.files._reading import FileSeries, LineReader
from corefsample.formats.annotated._brackets import DocumentFaultError

Lines = list[tuple[int, str]]  # number from 1, and text
OnUnwritable = Literal["refuse", "skip"]


class RawDocument(NamedTuple):
    """One document before it is parsed.

    Attributes
    ----------
    doc_id
        Id of the document; "" if it is not known before parsing.
    lines
        Lines of the document.
    parse
        Function that parses the lines; raises DocumentFaultError.
    """

    doc_id: str
    lines: Lines
    parse: Callable[[], AnnotatedDocument]


class AnnotatedStream(FileSeries, Iterator[AnnotatedDocument]):
    """Iterator over the annotated documents of several files, in constant memory.

    doc_ids must be unique over all files (about 20 bytes of memory each).

    Attributes
    ----------
    paths
        Paths of the files; globs are expanded.
    total_bytes, bytes_read
        Size of all files, and number of bytes read so far; standard input counts 0.
    n_documents
        Number of documents read so far.
    skipped
        Number of mentions of the files that the documents read so far lack, by reason.
    """

    def __init__(
        self,
        inputs: PathLike | Iterable[PathLike],
        split: Callable[[str, Iterable[tuple[int, str]]], Iterator[RawDocument]],
        on_rejected: Callable[[Rejected], None] | None,
    ) -> None:
        paths = input_paths(inputs)
        for path in paths:
            if suffix_of(path, SCORED) is not None:
                rule = "must be an annotated corpus in CoNLL-U or CoNLL-2012, got a file of scored documents"
                raise InputError(rule, place=path, hint="read_documents reads it")
        super().__init__(paths)
        self.n_documents = 0
        self.skipped: Counter[str] = Counter()
        self._split = split
        self._on_rejected = on_rejected
        self._seen = SeenIds()
        self._documents = self._read()

    def __next__(self) -> AnnotatedDocument:
        return next(self._documents)

    def _read(self) -> Iterator[AnnotatedDocument]:
        for path, lines in self._readers(LineReader):
            raw = None
            for raw in self._split(path, lines):
                document = self._accepted(path, raw)
                if document is not None:
                    self.n_documents += 1
                    self.skipped.update(document.skipped)
                    yield document
            if raw is None:
                raise InputError("a corpus must have at least one document, got none", place=path)

    def _accepted(self, path: str, raw: RawDocument) -> AnnotatedDocument | None:
        """Parse one document; if it is bad, report it and return None."""
        line, hint = raw.lines[0][0], None
        try:
            document = raw.parse()
            if self._seen.add(document.doc_id):
                return document
            reason = "doc_id must be unique in the corpus, got it again"
        except DocumentFaultError as fault:
            line, reason, hint = fault.line, fault.reason, fault.hint
        except ParameterError as fault:
            reason = str(fault)
        text = "\n".join(text for _, text in raw.lines)
        rejected = Rejected(path, "line", line, raw.doc_id, reason, text, hint)
        if self._on_rejected is None:
            raise rejected.error()
        self._on_rejected(rejected)
        return None


@dataclass(slots=True)
class WriteCounts:
    """Numbers of documents and mentions that a writer wrote, and of mentions that it left out.

    Attributes
    ----------
    n_documents, n_mentions
        Number of documents and of mentions in the file.
    left_out
        Number of mentions of the documents that the file lacks, by reason: "singletons", "crossing_sentences",
        "crossing_mentions" (of one entity).
    """

    n_documents: int = 0
    n_mentions: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def write_annotated(
    documents: Iterable[AnnotatedDocument],
    path: PathLike,
    lines_of: Callable[[AnnotatedDocument, list[int]], Iterable[str]],
    *,
    singletons: bool,
    on_unwritable: OnUnwritable,
    overwrite: bool,
) -> WriteCounts:
    """Write documents to a new file; `lines_of` gives the lines of a document from the mentions to write."""
    choice("on_unwritable", on_unwritable, get_args(OnUnwritable))
    written = WriteCounts()
    with new_text_file(path, overwrite=overwrite) as write:
        for document in elements("documents", documents, AnnotatedDocument):
            writable = kept_mentions(
                document, singletons=singletons, on_unwritable=on_unwritable, left_out=written.left_out
            )
            write("\n".join(lines_of(document, writable)) + "\n")
            written.n_documents += 1
            written.n_mentions += len(writable)
    return written


def kept_mentions(
    document: AnnotatedDocument, *, singletons: bool, on_unwritable: OnUnwritable, left_out: Counter[str]
) -> list[int]:
    """Return the mentions to write; other mentions are counted in `left_out` by reason.

    Brackets cannot represent mentions that cross the bounds of a sentence, or the later of two mentions of one entity
    that cross each other. Entities with one remaining mention are singletons.

    Raises
    ------
    ParameterError
        If a mention cannot be written and `on_unwritable` is "refuse".
    """
    writable = []
    open_ends: dict[str, list[int]] = defaultdict(list)  # by entity: ends of mentions that may contain the current one
    sents = document.tokens.sent
    for i, ((start, end, _), entity) in enumerate(zip(document.mentions.tolist(), document.entities, strict=True)):
        ends = open_ends[entity]
        while ends and ends[-1] <= start:
            ends.pop()
        if sents[start] != sents[end - 1]:
            reason, rule = "crossing_sentences", "lie in one sentence"
        elif ends and ends[-1] < end:
            reason, rule = "crossing_mentions", "not cross another mention of its entity"
        else:
            ends.append(end)
            writable.append(i)
            continue
        if on_unwritable == "refuse":
            raise ParameterError(
                f"mentions[{i}] must {rule} to be written, got tokens {start} to {end - 1} of entity {shown(entity)}",
                place=f"doc_id {document.doc_id!r}",
                hint=ParameterHint("on_unwritable", "can skip it"),
            )
        left_out[reason] += 1
    if singletons:
        return writable
    sizes = Counter(document.entities[i] for i in writable)
    in_chains = [i for i in writable if sizes[document.entities[i]] > 1]
    if len(in_chains) < len(writable):
        left_out["singletons"] += len(writable) - len(in_chains)
    return in_chains
