"""Annotated documents of any format: streams of several files, and mentions as brackets around words.

Brackets mark mentions token by token. They are matched as they are read, and laid out to be written. A closing bracket
closes the bracket of its name that was opened last. So mentions of different entities may nest, cross or share a span,
and mentions of one entity may nest or share a span, but not cross.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from corefsample._checks import choice, elements
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, ParameterError, shown
from corefsample.files._atomic import new_text_file
from corefsample.files._paths import SCORED, PathLike, input_paths, suffix_of
from corefsample.files._reading import FileSeries, LineReader, SeenIds

Lines = list[tuple[int, str]]  # number from 1, and text
OnCrossing = Literal["skip", "keep"]


class DocumentFaultError(Exception):
    """A document breaks the format at a line, in a sentence; `sentence` is its name for messages or ""."""

    def __init__(self, line: int, sentence: str, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = f"{sentence}: {reason}" if sentence else reason
        self.hint = hint


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


Split = Callable[[str, Iterable[tuple[int, str]], OnCrossing], Iterator[RawDocument]]


class AnnotatedStream(FileSeries, Iterator[AnnotatedDocument]):
    """Iterator over the annotated documents of several files, in constant memory.

    doc_ids must be unique over all files (about 25 bytes of memory each).

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
        split: Split,
        on_crossing_sentences: OnCrossing,
        on_rejected: Callable[[Rejected], None] | None,
    ) -> None:
        choice("on_crossing_sentences", on_crossing_sentences, get_args(OnCrossing))
        paths = input_paths(inputs)
        for path in paths:
            if suffix_of(path, SCORED) is not None:
                rule = "must be an annotated corpus in CoNLL-U or CoNLL-2012, got a file of scored documents"
                raise InputError(rule, place=path, hint="read_documents reads it")
        super().__init__(paths)
        self.n_documents = 0
        self.skipped: Counter[str] = Counter()
        self._on_rejected = on_rejected
        self._seen = SeenIds()
        self._documents = self._read(split, on_crossing_sentences)

    def __next__(self) -> AnnotatedDocument:
        return next(self._documents)

    def _read(self, split: Split, on_crossing: OnCrossing) -> Iterator[AnnotatedDocument]:
        for path, lines in self._readers(LineReader):
            raw = None
            for raw in split(path, lines, on_crossing):
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


# --- reading brackets ---


class BracketPosition(NamedTuple):
    """Position of a bracket.

    Attributes
    ----------
    before, after
        Number of words of the document before an opening bracket here, and up to a closing bracket here.
    node
        Number of words and empty nodes of the document before the node of the bracket.
    sentence, line
        Index of the sentence in the document, and line of the file.
    """

    before: int
    after: int
    node: int
    sentence: int
    line: int


class Bracket(NamedTuple):
    """A bracket that opens or closes, or a pair of brackets around one word.

    Attributes
    ----------
    name
        Name by which a closing bracket finds its opening bracket.
    opens, closes
        True if the bracket opens, and if it closes; both are true for a pair.
    position, text
        Position of the bracket, and its text in the file.
    entity, values
        Entity of an opening bracket, and the values of its fields.
    part, n_parts
        Number of the part of a discontinuous mention that an opening bracket begins, from 1, and number of its parts.
    """

    name: str
    opens: bool
    closes: bool
    position: BracketPosition
    text: str
    entity: str = ""
    values: tuple[str, ...] = ()
    part: int = 1
    n_parts: int = 1


class MatchedMention(NamedTuple):
    """A mention: the opening bracket of its first part, spans of its parts that do not adjoin, and its nodes."""

    bracket: Bracket
    spans: list[tuple[int, int]]
    nodes: list[int]


def match_brackets(
    brackets: Iterable[Bracket], column: str, on_crossing: OnCrossing, sentences: Sequence[str]
) -> tuple[list[MatchedMention], dict[str, int]]:
    """Match the brackets of one document.

    Parameters
    ----------
    brackets
        Brackets in the order of the file.
    column
        Name of the annotation in the file, for messages.
    on_crossing
        Treatment of mentions that close in another sentence than they open: "skip" counts and drops them, "keep" keeps
        them.
    sentences
        Name of each sentence in messages.

    Returns
    -------
    mentions
        Mentions by start, then longest first, then in the order of opening.
    skipped
        Number of dropped mentions by reason.

    Raises
    ------
    DocumentFaultError
        If a bracket has no counterpart, or the parts of a mention are incomplete or out of order.
    """

    def fault(bracket: Bracket, rule: str, remark: str = "") -> DocumentFaultError:
        reason = f"{column}: {rule}, got {shown(bracket.text)}{remark}"
        return DocumentFaultError(bracket.position.line, sentences[bracket.position.sentence], reason)

    n_opened = 0
    open_brackets: dict[str, list[tuple[int, Bracket]]] = defaultdict(list)
    # By entity and number of parts: the parts of each mention so far, as order of opening, bracket and end.
    incomplete: dict[tuple[str, int], list[list[tuple[int, Bracket, BracketPosition]]]] = defaultdict(list)
    mentions: dict[tuple[int, int, int], MatchedMention] = {}
    skipped: Counter[str] = Counter()
    for bracket in brackets:
        if bracket.opens:
            open_brackets[bracket.name].append((n_opened, bracket))
            n_opened += 1
        if not bracket.closes:
            continue
        if not open_brackets[bracket.name]:
            raise fault(bracket, "a closing bracket must close an open one")
        order, opening = open_brackets[bracket.name].pop()
        pending = incomplete[opening.entity, opening.n_parts]
        if opening.part == 1:
            pending.append([])
        if not pending or len(pending[-1]) != opening.part - 1:
            raise fault(opening, "the parts of a mention must come in order, each once")
        pending[-1].append((order, opening, bracket.position))
        if opening.part < opening.n_parts:
            continue
        parts = pending.pop()
        order, opening, _ = parts[0]
        if on_crossing == "skip" and opening.position.sentence != bracket.position.sentence:
            skipped["crossing_sentences"] += 1
            continue
        spans: list[tuple[int, int]] = []
        nodes: list[int] = []
        for _, part, last in parts:
            nodes += range(part.position.node, last.node + 1)
            if spans and spans[-1][1] == part.position.before:
                spans[-1] = (spans[-1][0], last.after)
            else:
                spans.append((part.position.before, last.after))
        mentions[spans[0][0], -spans[-1][1], order] = MatchedMention(opening, spans, nodes)
    unclosed = [pair for stack in open_brackets.values() for pair in stack]
    if unclosed:
        raise fault(min(unclosed)[1], "an opening bracket must be closed before the document ends")
    first_parts = [parts[0] for pending in incomplete.values() for parts in pending]
    if first_parts:
        raise fault(min(first_parts)[1], "a mention must have all its parts", " alone")
    return [mentions[key] for key in sorted(mentions)], dict(skipped)


# --- writing brackets ---


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
    overwrite: bool,
) -> WriteCounts:
    """Write documents to a new file; `lines_of` gives the lines of a document from the mentions to write.

    Brackets cannot represent mentions that cross the bounds of a sentence, or the later of two mentions of one entity
    that cross each other: they are left out and counted. Entities with one remaining mention are singletons.
    """
    counts = WriteCounts()
    with new_text_file(path, overwrite=overwrite) as write:
        for document in elements("documents", documents, AnnotatedDocument):
            writable = []
            open_ends: dict[str, list[int]] = defaultdict(list)  # by entity: of mentions that may contain the next one
            sents = document.tokens.sent
            for i, ((start, end, _), entity) in enumerate(
                zip(document.mentions.tolist(), document.entities, strict=True)
            ):
                ends = open_ends[entity]
                while ends and ends[-1] <= start:
                    ends.pop()
                if sents[start] != sents[end - 1]:
                    counts.left_out["crossing_sentences"] += 1
                elif ends and ends[-1] < end:
                    counts.left_out["crossing_mentions"] += 1
                else:
                    ends.append(end)
                    writable.append(i)
            if not singletons:
                sizes = Counter(document.entities[i] for i in writable)
                in_chains = [i for i in writable if sizes[document.entities[i]] > 1]
                counts.left_out += Counter(singletons=len(writable) - len(in_chains))
                writable = in_chains
            write("\n".join(lines_of(document, writable)) + "\n")
            counts.n_documents += 1
            counts.n_mentions += len(writable)
    return counts


def layout(spans: Iterable[tuple[int, int]]) -> dict[int, tuple[list[int], list[int], list[int]]]:
    """Spans that open, that close, or that do both at each token with brackets, each in the order of their brackets.

    Longer spans open first; the span that opened last closes first.
    """
    brackets: dict[int, tuple[list[int], list[int], list[int]]] = defaultdict(lambda: ([], [], []))
    for i, (start, end) in enumerate(spans):
        if end == start + 1:
            brackets[start][2].append(i)
        else:
            brackets[start][0].append(i)
            brackets[end - 1][1].insert(0, i)
    return brackets
