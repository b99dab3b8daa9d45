"""Expressions of keywords: which documents a stratum of the user's holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from corefsample.errors import ParameterError

_TOKEN = re.compile(r'"[^"]*"|[()"]|[^\s()"]+')
Test = Callable[[str], bool]


class KeywordExpression:
    """An expression of words, phrases, and, or, not and parentheses.

    Words match whole words whatever their case; a star at the end matches any ending. Adjacent words are joined by
    "and". Of the operators, "not" binds most closely and "or" least.

    Parameters
    ----------
    text
        Such as ``raid* or "air strike" or (attack* and not heart)``.

    Raises
    ------
    ParameterError
        If the text is no such expression.

    Examples
    --------
    >>> KeywordExpression('raid* or "air strike"').matches("Two Raids at night")
    True
    >>> KeywordExpression("attack and not heart").matches("a heart attack")
    False
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._test = self._either()
        if self._tokens:
            raise self._error()

    def matches(self, document: str) -> bool:
        """Whether a text satisfies the expression."""
        return self._test(document)

    def _error(self) -> ParameterError:
        rule = "must be words, and phrases in quotes, joined by and, or, not and parentheses"
        return ParameterError(f"{rule}, got {self._text!r}", parameter="keyword")

    def _next_is(self, *words: str) -> bool:
        return bool(self._tokens) and self._tokens[0].lower() in words

    def _either(self) -> Test:
        parts = [self._every()]
        while self._next_is("or"):
            self._tokens.pop(0)
            parts.append(self._every())
        return lambda document: any(part(document) for part in parts)

    def _every(self) -> Test:
        parts = [self._negated()]
        while self._tokens and not self._next_is("or", ")"):
            if self._next_is("and"):
                self._tokens.pop(0)
            parts.append(self._negated())
        return lambda document: all(part(document) for part in parts)

    def _negated(self) -> Test:
        if not self._next_is("not"):
            return self._term()
        self._tokens.pop(0)
        inner = self._negated()
        return lambda document: not inner(document)

    def _term(self) -> Test:
        token = self._tokens.pop(0) if self._tokens else ""
        if token == "(":
            inner = self._either()
            if not self._next_is(")"):
                raise self._error()
            self._tokens.pop(0)
            return inner
        words = token.strip('"').split()
        if not words or token.lower() in ("and", "or", ")"):
            raise self._error()
        return _search(words)


def _search(words: Sequence[str]) -> Test:
    """A test for words in this order, with any spaces between them."""
    parts = [re.escape(word.removesuffix("*")) + (r"\w*" if word.endswith("*") else "") for word in words]
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)", re.IGNORECASE)
    return lambda document: pattern.search(document) is not None
