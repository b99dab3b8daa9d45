"""CoNLL-2012: from the lines of a file to annotated documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from corefsample._checks import shown
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import Tokens
from corefsample.formats.annotated._brackets import Bracket, DocumentFaultError, MentionCollector, OnFault, Place
from corefsample.formats.annotated._penn_trees import Constituent, head_of, sentence_tree, universal_tag
from corefsample.formats.annotated._stream import Lines

COLUMNS = ("xpos", "parse_bit", "predicate_lemma", "frameset", "sense", "speaker", "named_entity")
_WORD, _FIRST = 3, 4  # columns of the word, and of the first of COLUMNS; arguments of predicates follow the last
_FEWEST = 5
_NONE = ("-", "_")
_BEGIN = re.compile(r"#\s*begin document\s+(.*\S)\s*")
_END = re.compile(r"#\s*end document\b.*")
_NAME = re.compile(r"\((.*)\);?(?:\s*part\s*([0-9]+))?")
_PIECE = re.compile(r"(\()?([^()|]+)(\))?")


def document_name(name: str, part: str | None) -> str:
    """doc_id of a part of a document: its name and the number of the part, as in the outputs of systems."""
    return name if part is None else f"{name}_{int(part)}"


def split_conll2012(
    path: str, lines: Iterable[tuple[int, str]], on_fault: Mapping[str, OnFault]
) -> Iterator[_RawDocument]:
    """Yield the documents of a file; rows outside of all documents make one that is invalid."""
    raw: _RawDocument | None = None
    for number, text in lines:
        begin = _BEGIN.fullmatch(text)
        if begin is not None:
            if raw is not None:
                yield raw
            name = _NAME.fullmatch(begin[1])
            raw = _RawDocument(name[1] if name else begin[1], name[2] if name else None, on_fault, [(number, text)])
        elif raw is not None:
            raw.lines.append((number, text))
            if _END.fullmatch(text):
                raw.is_ended = True
                yield raw
                raw = None
        elif text.strip() and not text.startswith("#"):
            raw = _RawDocument("", None, on_fault, [(number, text)])
    if raw is not None:
        yield raw


@dataclass
class _RawDocument:
    """The lines of one part of a document."""

    name: str
    part: str | None
    on_fault: Mapping[str, OnFault]
    lines: Lines
    is_ended: bool = False

    @property
    def doc_id(self) -> str:
        return document_name(self.name, self.part)

    def document(self) -> AnnotatedDocument:
        """Parse the lines."""
        number, text = self.lines[0]
        if not self.name:
            rule = "a row must be between #begin document (name); and #end document"
            raise DocumentFaultError(number, "", f"{rule}, got {shown(text)}")
        names: list[str] = []
        rows = _Rows(MentionCollector("coreference", self.on_fault, names), names)
        cells_of = _row_reader([text for _, text in self.lines[1:] if text.strip() and not text.startswith("#")])
        sentence: list[tuple[int, list[str]]] = []
        for number, text in self.lines[1:]:
            if text.startswith("#"):
                continue
            if text.strip():
                sentence.append((number, cells_of(text)))
            elif sentence:
                rows.add(sentence)
                sentence = []
        if not self.is_ended:
            rule = "a document must end with #end document"
            raise DocumentFaultError(self.lines[-1][0], "", f"{rule}, got {shown(self.lines[-1][1])} last")
        if sentence:
            rows.add(sentence)
        found = rows.collector.finish()
        metadata = {"document": self.name} | ({} if self.part is None else {"part": self.part})
        genre = self.name.partition("/")[0]
        return AnnotatedDocument(
            doc_id=self.doc_id,
            tokens=rows.tokens(),
            mentions=np.array([(f.start, f.end, rows.head(f.start, f.end)) for f in found], np.int32).reshape(-1, 3),
            entities=[f.bracket.entity for f in found],
            metadata=metadata | ({"genre": genre} if genre != self.name else {}),
            skipped=dict(rows.collector.skipped),
        )


def _row_reader(rows: list[str]) -> Callable[[str], list[str]]:
    """How to split the rows of a document into cells.

    Columns are between blanks. Where tabs separate them, the last cell may be empty. If it is so in some rows, it is
    the coreference, and empty means none. If it is so in all rows, the column before it is the coreference, unless that
    one has a star, as arguments of predicates and named entities do.
    """
    tabbed = [_cells_between_tabs(row) for row in rows]
    if not rows or not all(_has_full_cells(cells) for cells in tabbed) or all(cells[-1] for cells in tabbed):
        return lambda row: re.split(r"[ \t]+", row.strip(" \t"))
    if any(cells[-1] for cells in tabbed) or any("*" in cells[-2] for cells in tabbed):
        return lambda row: [cell or "-" for cell in _cells_between_tabs(row)]
    return lambda row: _cells_between_tabs(row)[:-1]


def _cells_between_tabs(row: str) -> list[str]:
    return [cell.strip(" ") for cell in row.split("\t")]


def _has_full_cells(cells: list[str]) -> bool:
    """Whether all cells are single words, apart from the last one, which may be empty."""
    return len(cells) >= _FEWEST and all(cells[:-1]) and not any(" " in cell for cell in cells)


@dataclass
class _Rows:
    """The words of a document, read sentence by sentence."""

    collector: MentionCollector
    names: list[str]  # of the sentences, for messages
    _text: list[str] = field(default_factory=list)
    _columns: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in (*COLUMNS, "arguments")})
    _sent: list[int] = field(default_factory=list)
    _trees: list[tuple[int, Constituent | None]] = field(default_factory=list)

    def add(self, rows: list[tuple[int, list[str]]]) -> None:
        """Read one sentence."""
        sentence = len(self._trees)
        self.names.append(f"sentence {sentence + 1}")
        first = len(self._text)
        width = len(rows[0][1])
        for number, row in rows:
            if len(row) != width or width < _FEWEST:
                wanted = f"{_FEWEST} columns or more"
                if width >= _FEWEST:
                    wanted = f"{width} columns, as the sentence's first"
                raise DocumentFaultError(number, self.names[-1], f"a row must have {wanted}, got {len(row)}")
            self._annotate(row[-1], number)
            self._text.append(row[_WORD])
            self._sent.append(sentence)
            middle = row[_FIRST:-1]
            for k, name in enumerate(COLUMNS):
                self._columns[name].append(middle[k] if k < len(middle) else "-")
            self._columns["arguments"].append(" ".join(middle[len(COLUMNS) :]))
        try:
            tree = sentence_tree(self._columns["parse_bit"][first:], self._columns["xpos"][first:])
        except ValueError as error:
            number, row = rows[error.args[0]]
            rule = "the parse bits of a sentence must be a tree"
            raise DocumentFaultError(number, self.names[-1], f"{rule}, got {shown(row[_FIRST + 1])}") from None
        self._trees.append((first, tree))

    def head(self, start: int, end: int) -> int:
        """Head word of a span, by the sentence's tree if it has one."""
        first, tree = self._trees[self._sent[start]]
        return first + head_of(tree, start - first, end - first)

    def tokens(self) -> Tokens:
        """Return all words; the format has no dependencies."""
        n_tokens = len(self._text)
        lemmas = zip(self._columns["predicate_lemma"], self._text, strict=True)
        return Tokens(
            text=self._text,
            lemma=[word if lemma == "-" else lemma for lemma, word in lemmas],
            upos=[universal_tag(tag) for tag in self._columns["xpos"]],
            dep=["_"] * n_tokens,
            head=np.full(n_tokens, -1, np.int32),
            sent=np.array(self._sent, np.int32),
            extra=dict(self._columns),
        )

    def _annotate(self, value: str, number: int) -> None:
        """Match the brackets of one word."""
        token = len(self._text)
        place = Place(token, token + 1, token, len(self._trees), number)
        if value in _NONE:
            return
        for piece in value.split("|"):
            match = _PIECE.fullmatch(piece)
            if match is None or not (match[1] or match[3]):
                rule = "must be - or brackets like (1), (1 or 1), bars between them"
                raise DocumentFaultError(number, self.names[-1], f"coreference: {rule}, got {shown(value)}")
            if match[1]:
                self.collector.open(match[2], Bracket(match[2], place, piece))
            if match[3]:
                self.collector.close(match[2], place, piece)
