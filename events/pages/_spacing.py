"""Where a text has blanks between its tokens."""

from __future__ import annotations

from corefsample.documents._tokens import Tokens

_CLITICS = frozenset(f"{mark}{end}" for mark in "'’" for end in ("s", "re", "ve", "ll", "d", "m"))
_NO_BLANK_BEFORE = frozenset([*".,;:!?)]}%'’”", "''", "...", "n't", "n’t", *_CLITICS])
_NO_BLANK_AFTER = frozenset([*"([{“‘$£€", "``"])


def spaced(tokens: Tokens) -> list[str]:
    """Words, each with a blank before it if the text has one.

    Blanks follow the column space_after of the tokens; without it, they follow English punctuation.
    """
    after = tokens.extra.get("space_after")
    words: list[str] = []
    blank = False
    opened = False  # whether a straight quotation mark is open
    for t, word in enumerate(tokens.text):
        quote = word == '"'
        before = blank if after is not None else blank and not (word in _NO_BLANK_BEFORE or (quote and opened))
        words.append(f" {word}" if before else word)
        opened ^= quote
        blank = bool(after[t]) if after is not None else not (word in _NO_BLANK_AFTER or (quote and opened))
    return words
