"""Brackets that mark mentions token by token, matched as they are read.

A closing bracket closes the bracket of its name that was opened last. So mentions of different entities
may nest, cross or share a span, and mentions of one entity may nest or share a span, but not cross.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from corefsample._checks import shown
from corefsample.errors import ParameterHint

OnCrossing = Literal["skip", "keep"]


class DocumentFaultError(Exception):
    """A document breaks the format at a line, in a sentence; `sentence` is its name for messages or ""."""

    def __init__(self, line: int, sentence: str, reason: str, hint: ParameterHint | None = None) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = f"{sentence}: {reason}" if sentence else reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class BracketPosition:
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


@dataclass(frozen=True, slots=True)
class Bracket:
    """An opening bracket: entity, position, text, fields, and which part of how many parts it opens."""

    entity: str
    position: BracketPosition
    text: str
    values: tuple[str, ...] = ()
    part_number: int = 1
    n_parts: int = 1
    order: int = 0  # number among the opening brackets of the document, which the collector assigns


Span = tuple[Bracket, BracketPosition]  # an opening bracket, and the position of the bracket that closes it


@dataclass(frozen=True, slots=True)
class MatchedMention:
    """A mention: the opening bracket of its first part, spans of its parts that do not adjoin, and its nodes."""

    bracket: Bracket
    spans: Sequence[tuple[int, int]]
    nodes: Sequence[int]

    @property
    def start(self) -> int:
        """First token."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """End of the last part."""
        return self.spans[-1][1]


@dataclass
class MentionCollector:
    """Matches the brackets of one document.

    Parameters
    ----------
    column
        Name of the annotation in the file, for messages.
    on_crossing
        Treatment of mentions that close in another sentence than they open: "skip" counts and drops them, "keep" keeps
        them.
    sentences
        Name of each sentence in messages; the list grows while the document is read.
    """

    column: str
    on_crossing: OnCrossing
    sentences: Sequence[str]
    mentions: list[MatchedMention] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    _n_opened: int = 0
    _open: dict[str, list[Bracket]] = field(default_factory=lambda: defaultdict(list))
    _parts: dict[tuple[str, int], list[list[Span]]] = field(default_factory=lambda: defaultdict(list))

    def open(self, name: str, bracket: Bracket) -> None:
        """Add an opening bracket; the next closing bracket of this name closes it."""
        self._open[name].append(replace(bracket, order=self._n_opened))
        self._n_opened += 1

    def close(self, name: str, position: BracketPosition, text: str) -> None:
        """Add a closing bracket."""
        stack = self._open.get(name)
        if not stack:
            raise self._fault(position, f"a closing bracket must close an open one, got {shown(text)}")
        bracket = stack.pop()
        if bracket.n_parts == 1:
            self._finish([(bracket, position)])
            return
        open_parts = self._parts[bracket.entity, bracket.n_parts]
        if bracket.part_number == 1:
            open_parts.append([])
        if not open_parts or len(open_parts[-1]) != bracket.part_number - 1:
            raise self._fault(
                bracket.position, f"the parts of a mention must come in order, each once, got {shown(bracket.text)}"
            )
        open_parts[-1].append((bracket, position))
        if bracket.part_number == bracket.n_parts:
            self._finish(open_parts.pop())

    def finish(self) -> list[MatchedMention]:
        """Return all mentions by start, then longest first, then in the order of opening."""
        unclosed = [bracket for stack in self._open.values() for bracket in stack]
        if unclosed:
            first_fault = min(unclosed, key=lambda bracket: bracket.order)
            rule = "an opening bracket must be closed before the document ends"
            raise self._fault(first_fault.position, f"{rule}, got {shown(first_fault.text)}")
        openings = [openings[0][0] for pending in self._parts.values() for openings in pending]
        if openings:
            first_fault = min(openings, key=lambda bracket: bracket.order)
            rule = "a mention must have all its parts"
            raise self._fault(first_fault.position, f"{rule}, got {shown(first_fault.text)} alone")
        return sorted(self.mentions, key=lambda mention: (mention.start, -mention.end, mention.bracket.order))

    def _finish(self, pairs: list[tuple[Bracket, BracketPosition]]) -> None:
        bracket = pairs[0][0]
        spans = [(opened.position.before, position.after) for opened, position in pairs]
        joined = [spans[0]]
        for start, end in spans[1:]:
            joined[-1:] = [(joined[-1][0], end)] if start == joined[-1][1] else [joined[-1], (start, end)]
        if self.on_crossing == "skip" and bracket.position.sentence != pairs[-1][1].sentence:
            self.skipped["crossing_sentences"] += 1
        else:
            nodes = [node for opened, position in pairs for node in range(opened.position.node, position.node + 1)]
            self.mentions.append(MatchedMention(bracket, joined, nodes))

    def _fault(self, position: BracketPosition, reason: str) -> DocumentFaultError:
        return DocumentFaultError(position.line, self.sentences[position.sentence], f"{self.column}: {reason}")
