"""Brackets that mark mentions token by token: matched when read, laid out when written.

A bracket closes the last one opened of its name, in the order in which they stand. So mentions of different entities
may nest, cross or share a span, and mentions of one entity may nest or share a span, but not cross.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.documents import AnnotatedDocument
from corefsample.errors import ParameterError

__all__ = [
    "Bracket",
    "DocumentFaultError",
    "Found",
    "MentionCollector",
    "OnFault",
    "Place",
    "TokenBrackets",
    "checked_on_fault",
    "kept_mentions",
    "layout",
]

OnFault = Literal["skip", "refuse"]
_ON_FAULT: tuple[OnFault, ...] = ("skip", "refuse")
_RULES = {
    "discontinuous": "a mention must be in one piece",
    "crossing_sentences": "a mention must lie in one sentence",
    "empty_nodes_only": "a mention must hold a word",
}
_WRITABLE = {
    "crossing_sentences": "lie in one sentence",
    "crossing_mentions": "not cross another mention of its entity",
}


def checked_on_fault(name: str, value: OnFault) -> OnFault:
    """Return `value` if it is a way to meet what the format cannot hold, or refuse it."""
    if value not in _ON_FAULT:
        raise ParameterError(f"{name} must be one of {', '.join(_ON_FAULT)}, got {value!r}")
    return value


class DocumentFaultError(Exception):
    """A document breaks the format: the line, the sentence in words ("" for none), the reason."""

    def __init__(self, line: int, sentence: str, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.sentence = sentence
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a bracket stands.

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
    """An opening bracket: its entity, where it stands, how it is written, its fields, its part of how many."""

    entity: str
    place: Place
    text: str
    values: tuple[str, ...] = ()
    part: int = 1
    n_parts: int = 1
    order: int = 0  # among the opening brackets of the document; given by the collector


@dataclass(frozen=True, slots=True)
class Found:
    """A mention: its opening bracket (of the first part), its span, and its nodes, empty ones counted."""

    bracket: Bracket
    start: int
    end: int
    nodes: Sequence[int]


@dataclass
class MentionCollector:
    """Matches the brackets of one document; what is no span of words in a sentence is skipped or refused.

    Parameters
    ----------
    column
        What the file calls the annotation, for messages.
    on_fault
        Skip or refuse, for each of "discontinuous", "crossing_sentences", "empty_nodes_only".
    sentences
        Each sentence in words, for messages; it grows while the document is read.
    """

    column: str
    on_fault: Mapping[str, OnFault]
    sentences: Sequence[str]
    found: list[Found] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    _n_opened: int = 0
    _open: dict[str, list[Bracket]] = field(default_factory=lambda: defaultdict(list))
    _parts: dict[tuple[str, int], list[list[tuple[Bracket, Place]]]] = field(default_factory=lambda: defaultdict(list))

    def open(self, name: str, bracket: Bracket) -> None:
        """Take an opening bracket, to be closed by its name."""
        self._open[name].append(replace(bracket, order=self._n_opened))
        self._n_opened += 1

    def close(self, name: str, place: Place, text: str) -> None:
        """Take a closing bracket."""
        stack = self._open.get(name)
        if not stack:
            raise self._fault(place, f"a closing bracket must close an open one, got {shown(text)}")
        bracket = stack.pop()
        if bracket.n_parts == 1:
            self._finish([(bracket, place)])
            return
        whole = self._parts[bracket.entity, bracket.n_parts]
        if bracket.part == 1:
            whole.append([])
        if not whole or len(whole[-1]) != bracket.part - 1:
            raise self._fault(
                bracket.place, f"the parts of a mention must come in order, each once, got {shown(bracket.text)}"
            )
        whole[-1].append((bracket, place))
        if bracket.part == bracket.n_parts:
            self._finish(whole.pop())

    def finish(self) -> list[Found]:
        """Return the mentions by start, then longest first, then as they were opened, once all is closed."""
        left = [bracket for stack in self._open.values() for bracket in stack]
        if left:
            first = min(left, key=lambda bracket: bracket.order)
            rule = "an opening bracket must be closed before the document ends"
            raise self._fault(first.place, f"{rule}, got {shown(first.text)}")
        parts = [parts[0][0] for pending in self._parts.values() for parts in pending]
        if parts:
            first = min(parts, key=lambda bracket: bracket.order)
            raise self._fault(first.place, f"a mention must have all its parts, got {shown(first.text)} alone")
        return sorted(self.found, key=lambda found: (found.start, -found.end, found.bracket.order))

    def _finish(self, parts: list[tuple[Bracket, Place]]) -> None:
        bracket = parts[0][0]
        spans = [(opened.place.before, place.after) for opened, place in parts]
        spans = [(start, end) for start, end in spans if start < end]
        if not spans:
            self._set_aside("empty_nodes_only", bracket)
        elif any(before[1] != after[0] for before, after in pairwise(spans)):
            self._set_aside("discontinuous", bracket)
        elif bracket.place.sentence != parts[-1][1].sentence:
            self._set_aside("crossing_sentences", bracket)
        else:
            nodes = [node for opened, place in parts for node in range(opened.place.node, place.node + 1)]
            self.found.append(Found(bracket, spans[0][0], spans[-1][1], nodes))

    def _set_aside(self, reason: str, bracket: Bracket) -> None:
        if self.on_fault[reason] == "refuse":
            raise self._fault(bracket.place, f"{_RULES[reason]}, got {shown(bracket.text)}")
        self.skipped[reason] += 1

    def _fault(self, place: Place, reason: str) -> DocumentFaultError:
        return DocumentFaultError(place.line, self.sentences[place.sentence], f"{self.column}: {reason}")


# --- writing -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TokenBrackets:
    """Mentions that open, close, or do both at one token, each list in the order in which brackets are written."""

    opening: list[int] = field(default_factory=list)
    closing: list[int] = field(default_factory=list)
    single: list[int] = field(default_factory=list)


def layout(mentions: npt.NDArray[np.int32]) -> dict[int, TokenBrackets]:
    """Brackets of each token that has some: longest opened first, latest opened closed first."""
    brackets: dict[int, TokenBrackets] = defaultdict(TokenBrackets)
    for i, (start, end, _) in enumerate(mentions.tolist()):
        if end == start + 1:
            brackets[start].single.append(i)
        else:
            brackets[start].opening.append(i)
            brackets[end - 1].closing.insert(0, i)
    return brackets


def kept_mentions(
    document: AnnotatedDocument, *, singletons: bool, on_unwritable: OnFault, left_out: Counter[str]
) -> list[int]:
    """Mentions to write; the others are counted by reason.

    Brackets cannot hold what crosses a sentence's bounds, nor, of two mentions of one entity that cross, the later.
    An entity of which one mention is left is a singleton.
    """
    reasons = _unwritable(document)
    for i, reason in reasons.items():
        if on_unwritable == "refuse":
            start, end, _ = document.mentions[i].tolist()
            raise ParameterError(
                f"doc_id {document.doc_id!r}: mentions[{i}] must {_WRITABLE[reason]} to be written (on_unwritable can "
                f"skip it), got tokens {start} to {end - 1} of entity {shown(document.entities[i])}"
            )
    kept = [i for i in range(document.n_mentions) if i not in reasons]
    left_out.update(reasons.values())
    if not singletons:
        sizes = Counter(document.entities[i] for i in kept)
        alone = {i for i in kept if sizes[document.entities[i]] == 1}
        if alone:
            left_out["singletons"] += len(alone)
        kept = [i for i in kept if i not in alone]
    return kept


def _unwritable(document: AnnotatedDocument) -> dict[int, str]:
    reasons: dict[int, str] = {}
    around: dict[str, list[int]] = defaultdict(list)  # ends of the entity's mentions that the present one may lie in
    sents = document.tokens.sent
    for i, ((start, end, _), entity) in enumerate(zip(document.mentions.tolist(), document.entities, strict=True)):
        ends = around[entity]
        while ends and ends[-1] <= start:
            ends.pop()
        if sents[start] != sents[end - 1]:
            reasons[i] = "crossing_sentences"
        elif ends and ends[-1] < end:
            reasons[i] = "crossing_mentions"
        else:
            ends.append(end)
    return reasons
