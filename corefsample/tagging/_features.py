"""Attributes of words, from which a conditional random field computes its scores.

An attribute is a text such as "w=dog"; each word has several, and a model has one weight per attribute and tag. Codes
of attributes in model files are these texts, so `VERSION` must change with any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

VERSION = 1
_AFFIX = 4  # longest prefix and suffix
_LONG = 10  # words of at least as many characters share one length
_RUN = 4  # longest run of one class of characters that a shape counts


def basic_attributes(words: Sequence[str]) -> list[list[str]]:
    """The word itself: with transitions between tags, all that a hidden Markov model knows too."""
    return [[f"w={_clean(word)}"] for word in words]


def advanced_attributes(words: Sequence[str]) -> list[list[str]]:
    """The word, its neighbours up to two words away, shape, length, prefixes and suffixes."""
    clean = [_clean(word) for word in words]
    lower = ["<2>", "<1>", *(word.lower() for word in clean), "</1>", "</2>"]
    return [_advanced(word, lower[place : place + 5]) for place, word in enumerate(clean)]


def _advanced(word: str, window: list[str]) -> list[str]:
    before_2, before, own, after, after_2 = window
    affixes = range(1, min(len(own), _AFFIX) + 1)
    return [
        f"w={word}",
        f"lower={own}",
        f"-1={before}",
        f"-2={before_2}",
        f"+1={after}",
        f"+2={after_2}",
        f"-1,0={before} {own}",
        f"0,+1={own} {after}",
        f"shape={shape(word)}",
        f"classes={''.join(kind for kind, _ in groupby(map(_class, word)))}",
        f"length={min(len(word), _LONG)}",
        *(f"prefix={own[:length]}" for length in affixes),
        *(f"suffix={own[-length:]}" for length in affixes),
    ]


def shape(word: str) -> str:
    """Classes of a word's characters, runs cut to four: "Xxxx" of "Monday", "dd-X" of "24-F"."""
    return "".join(kind * min(len(list(run)), _RUN) for kind, run in groupby(map(_class, word)))


def _class(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character


def _clean(word: str) -> str:
    """A word that CRFsuite, which ends texts at a zero byte, can store as UTF-8."""
    return word.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


FEATURES: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "basic": basic_attributes,
    "advanced": advanced_attributes,
}
