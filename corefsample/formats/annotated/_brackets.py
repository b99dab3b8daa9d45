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
ON_CROSSING = ("skip", "keep")


class DocumentFaultError(Exception):
    """A document breaks the format, at a line and in a sentence (its name for messages, "" for none)."""

    def __init__(self, line: int, sentence: str, reason: str, hint: ParameterHint | None = None) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = f"{sentence}: {reason}" if sentence else reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a bracket.

    Attributes
    ----------
    before, after
        Words of the document before it as an opening, and up to it as a closing bracket.
    node
        Words and empty nodes of the document before its own.
    sentence, line
        Index of the sentence in the document, line of the file.
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
    place: Place
    text: str
    values: tuple[str, ...] = ()
    part: int = 1
    n_parts: int = 1
    order: int = 0  # among the opening brackets of the document; given by the collector


@dataclass(frozen=True, slots=True)
class Found:
    """A mention: its opening bracket (of the first part), its parts that do not adjoin, and its nodes, in order."""

    bracket: Bracket
    parts: Sequence[tuple[int, int]]
    nodes: Sequence[int]

    @property
    def start(self) -> int:
        """First token."""
        return self.parts[0][0]

    @property
    def end(self) -> int:
        """End of the last part."""
        return self.parts[-1][1]


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
    found: list[Found] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    _n_opened: int = 0
    _open: dict[str, list[Bracket]] = field(default_factory=lambda: defaultdict(list))
    _parts: dict[tuple[str, int], list[list[tuple[Bracket, Place]]]] = field(default_factory=lambda: defaultdict(list))

    def open(self, name: str, bracket: Bracket) -> None:
        """Add an opening bracket, to be closed by its name."""
        self._open[name].append(replace(bracket, order=self._n_opened))
        self._n_opened += 1

    def close(self, name: str, place: Place, text: str) -> None:
        """Add a closing bracket."""
        stack = self._open.get(name)
        if not stack:
            raise self._fault(place, f"a closing bracket must close an open one, got {shown(text)}")
        bracket = stack.pop()
        if bracket.n_parts == 1:
            self._finish([(bracket, place)])
            return
        parts = self._parts[bracket.entity, bracket.n_parts]
        if bracket.part == 1:
            parts.append([])
        if not parts or len(parts[-1]) != bracket.part - 1:
            raise self._fault(
                bracket.place, f"the parts of a mention must come in order, each once, got {shown(bracket.text)}"
            )
        parts[-1].append((bracket, place))
        if bracket.part == bracket.n_parts:
            self._finish(parts.pop())

    def finish(self) -> list[Found]:
        """Return all mentions by start, then longest first, then in the order of opening."""
        unclosed = [bracket for stack in self._open.values() for bracket in stack]
        if unclosed:
            first = min(unclosed, key=lambda bracket: bracket.order)
            rule = "an opening bracket must be closed before the document ends"
            raise self._fault(first.place, f"{rule}, got {shown(first.text)}")
        openings = [openings[0][0] for pending in self._parts.values() for openings in pending]
        if openings:
            first = min(openings, key=lambda bracket: bracket.order)
            raise self._fault(first.place, f"a mention must have all its parts, got {shown(first.text)} alone")
        return sorted(self.found, key=lambda found: (found.start, -found.end, found.bracket.order))

    def _finish(self, parts: list[tuple[Bracket, Place]]) -> None:
        bracket = parts[0][0]
        spans = [(opened.place.before, place.after) for opened, place in parts]
        joined = [spans[0]]
        for start, end in spans[1:]:
            joined[-1:] = [(joined[-1][0], end)] if start == joined[-1][1] else [joined[-1], (start, end)]
        if self.on_crossing == "skip" and bracket.place.sentence != parts[-1][1].sentence:
            self.skipped["crossing_sentences"] += 1
        else:
            nodes = [node for opened, place in parts for node in range(opened.place.node, place.node + 1)]
            self.found.append(Found(bracket, joined, nodes))

    def _fault(self, place: Place, reason: str) -> DocumentFaultError:
        return DocumentFaultError(place.line, self.sentences[place.sentence], f"{self.column}: {reason}")
