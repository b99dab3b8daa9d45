"""Expressions of keywords: which documents a stratum of the user's holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from corefsample.errors import ParameterError

_TOKEN = re.compile(r'\s*(?:"([^"]*)"|([()])|([^\s()"]+))')
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
        self.text = text
        self._tokens = list(_tokens(text))
        self._test = self._either()
        if self._tokens:
            raise self._error(f"an operator before {self._tokens[0][1]!r}")

    def __repr__(self) -> str:
        return f"KeywordExpression({self.text!r})"

    def matches(self, document: str) -> bool:
        """Whether a text satisfies the expression."""
        return self._test(document)

    def _error(self, expected: str) -> ParameterError:
        return ParameterError(
            f"must be words joined by and, or, not: expected {expected}, got {self.text!r}", parameter="keyword"
        )

    def _next_is(self, *words: str) -> bool:
        return bool(self._tokens) and self._tokens[0][0] == "word" and self._tokens[0][1].lower() in words

    def _either(self) -> Test:
        parts = [self._every()]
        while self._next_is("or"):
            self._tokens.pop(0)
            parts.append(self._every())
        return parts[0] if len(parts) == 1 else lambda document: any(part(document) for part in parts)

    def _every(self) -> Test:
        parts = [self._negated()]
        while self._tokens and not self._next_is("or") and self._tokens[0] != ("bracket", ")"):
            if self._next_is("and"):
                self._tokens.pop(0)
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else lambda document: all(part(document) for part in parts)

    def _negated(self) -> Test:
        if self._next_is("not"):
            self._tokens.pop(0)
            inner = self._negated()
            return lambda document: not inner(document)
        return self._term()

    def _term(self) -> Test:
        if not self._tokens or self._next_is("and", "or"):
            raise self._error("a word")
        kind, text = self._tokens.pop(0)
        if (kind, text) == ("bracket", "("):
            inner = self._either()
            if not self._tokens or self._tokens.pop(0) != ("bracket", ")"):
                raise self._error("a closing parenthesis")
            return inner
        if kind == "bracket":
            raise self._error("a word")
        return _search(text)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None or (found[1] is not None and not found[1].strip()):
            raise ParameterError(f"must have closed quotes around words, got {text!r}", parameter="keyword")
        if found[1] is not None:
            yield "phrase", found[1]
        elif found[2]:
            yield "bracket", found[2]
        else:
            yield "word", found[3]
        position = found.end()
    if not text.strip():
        raise ParameterError("must have a word, got ''", parameter="keyword")


def _search(words: str) -> Test:
    """A test for words in this order, with any spaces between them."""
    parts = [re.escape(word.removesuffix("*")) + (r"\w*" if word.endswith("*") else "") for word in words.split()]
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)", re.IGNORECASE)
    return lambda document: pattern.search(document) is not None
