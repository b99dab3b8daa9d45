"""Brackets that mark mentions token by token, matched as they are read, and laid out to be written.

A closing bracket closes the bracket of its name that was opened last. So mentions of different entities
may nest, cross or share a span, and mentions of one entity may nest or share a span, but not cross.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from corefsample.errors import ParameterHint, shown

OnCrossing = Literal["skip", "keep"]


class DocumentFaultError(Exception):
    """A document breaks the format at a line, in a sentence; `sentence` is its name for messages or ""."""

    def __init__(self, line: int, sentence: str, reason: str, hint: ParameterHint | None = None) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = f"{sentence}: {reason}" if sentence else reason
        self.hint = hint


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
