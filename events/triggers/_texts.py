"""Texts with a reader's answers: what is reported, by which words, and who did it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from corefsample.errors import InputError, did_you_mean, shown
from corefsample.files._paths import PathLike
from events.matching._trigger_model import IMPLIED

_MARK = re.compile(r"\[([^\[\]|]+)\|([^\[\]|]*)(?:\|([^\[\]|]*))?\]")


class Mark(NamedTuple):
    """Words of a text that report an event, or seem to.

    Attributes
    ----------
    start, end
        Characters of the words.
    types
        Event types that the words report; empty if they only seem to report one.
    actors
        Words of the text that name who did it; empty if the text does not say.
    """

    start: int
    end: int
    types: frozenset[str]
    actors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnsweredText:
    """A text with its marks, and the batch to which it belongs."""

    batch: str
    text: str
    marks: tuple[Mark, ...]


def read_answered_texts(paths: Sequence[PathLike], types: Sequence[str]) -> Iterator[AnsweredText]:
    """Yield the texts of files with a text a line.

    A mark is written [words|types|actors], as in "Gunmen [killed|kill|Gunmen] nine." Types are separated by commas, and
    actors by semicolons. A type with "!" is one that the words seem to report, and do not.

    Parameters
    ----------
    paths
        Files; the name of a file without its ending is the batch of its texts.
    types
        Event types that can be marked.

    Raises
    ------
    InputError
        If a file cannot be read, a type is unknown, a mark contradicts itself, an actor is not in the text, or a
        bracket or "|" is outside of a mark; the place is the line.
    """
    for path in map(Path, paths):
        for number, line in enumerate(_lines(path), start=1):
            if line.strip():
                yield AnsweredText(path.stem, *_parsed(line.strip(), frozenset(types), f"{path}: line {number}"))


def reported_types(paths: Sequence[PathLike]) -> list[str]:
    """Types that some mark in files of texts reports, sorted; raises InputError if a file cannot be read."""
    marks = (mark for path in paths for line in _lines(path) for mark in _MARK.finditer(line))
    names = {name.strip() for mark in marks for name in mark[2].split(",")}
    return sorted(name for name in names if name and not name.startswith("!"))


def _lines(path: PathLike) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", place=str(path)) from None


def _parsed(line: str, types: frozenset[str], place: str) -> tuple[str, tuple[Mark, ...]]:
    text, marks, end = "", [], 0
    for match in _MARK.finditer(line):
        text += line[end : match.start()]
        start, end = len(text), match.end()
        text += match[1]
        named = [name.strip() for name in match[2].split(",")]
        unknown = {name.removeprefix("!") for name in named} - types
        if unknown:
            rule = f"types must be names of rules: {', '.join(sorted(types))}; got {shown(min(unknown))}"
            raise InputError(rule, place=place, hint=did_you_mean(min(unknown), types))
        reported = {name for name in named if not name.startswith("!")}
        contrary = reported & {name.removeprefix("!") for name in named if name.startswith("!")}
        if contrary:
            raise InputError(f"a mark must not say both {min(contrary)} and !{min(contrary)}", place=place)
        reported |= {name for name, implying in IMPLIED.items() if reported & implying and name in types}
        actors = tuple(name.strip() for name in (match[3] or "").split(";") if name.strip())
        marks.append(Mark(start, len(text), frozenset(reported), actors))
    text += line[end:]
    for actor in (actor for mark in marks for actor in mark.actors if actor.casefold() not in text.casefold()):
        raise InputError(f"actors must be words of the text, got {shown(actor)}", place=place)
    if set("[]|") & set(text):
        raise InputError(f"marks must be [words|types|actors], got {shown(text)}", place=place)
    return text, tuple(marks)
