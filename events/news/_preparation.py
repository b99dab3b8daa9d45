"""What of an article is parsed: its paragraphs as sentences are written, without remains of web pages and heads."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from corefsample.documents._tokens import WRITTEN, Tokens
from events.news._case import Known, recased
from events.news._cleaning import cleaned
from events.news._fields import Article
from events.news._heads import Note, without_head
from events.news._quality import TextTally

LEFT_OUT = "left_out"  # metadata of what stood before the first sentence
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_ROUND = str.maketrans("[]", "()")  # at square brackets parsers end sentences, within "FMLN [the Front] guerrillas" too


@dataclass(frozen=True, slots=True)
class PreparedText:
    """Paragraphs of an article for a parser.

    Attributes
    ----------
    parsed
        Paragraphs, the headline first if it is parsed.
    written
        The same as the article writes them: capitals, title case and square brackets differ, lengths are equal.
    notes
        Datelines, credits, agencies and notes, which are not parsed.
    tally
        What was recognised and changed.
    """

    parsed: list[str]
    written: list[str]
    notes: list[Note]
    tally: TextTally

    def as_written(self, tokens: Tokens) -> Tokens:
        """Tokens of the parsed paragraphs with the words that the article has, if these differ."""
        if self.parsed == self.written:
            return tokens
        parsed, written = "\n".join(self.parsed), "\n".join(self.written)
        words, end = [], 0
        for word in tokens.text:
            start = parsed.index(word, end)
            end = start + len(word)
            words.append(written[start:end])
        return replace(tokens, extra={**tokens.extra, WRITTEN: words})

    def metadata(self) -> dict[str, Any]:
        """Metadata of what is not parsed; empty if everything is."""
        return {LEFT_OUT: [{"kind": note.kind, "text": note.text} for note in self.notes]} if self.notes else {}


def prepared(
    article: Article,
    known: Known,
    *,
    headline: bool,
    paragraphs: str,
    as_written: bool = False,
    is_repaired: bool = False,
) -> PreparedText:
    """Prepare the text of an article for a parser.

    Parameters
    ----------
    article
        As it was read.
    known
        Says which words, in lower case, a vocabulary has.
    headline
        Whether the headline is parsed.
    paragraphs
        What separates paragraphs, as of `paragraphs_of`.
    as_written
        Whether nothing is cleaned, left out or rewritten.
    is_repaired
        Whether the article was repaired before, for the tally.
    """
    tally = TextTally.of(f"{article.title}\n{article.text}", is_repaired=is_repaired)
    title, text, notes = article.title, article.text, list[Note]()
    if not as_written:
        title, text = cleaned(title), cleaned(text)
        is_cleaned = (title, text) != (article.title, article.text)
        notes, text = without_head(text)
        kinds = Counter(f"n_{note.kind}" for note in notes)
        tally += TextTally(n_cleaned=is_cleaned, **{name: min(count, 1) for name, count in kinds.items()})
    written = paragraphs_of(text, mode=paragraphs)
    if headline and title.strip():
        written.insert(0, " ".join(title.split()))
    if as_written:
        return PreparedText(written, written, notes, tally)
    parsed = recased(written, known)
    tally += TextTally(n_recased=parsed != written)
    return PreparedText([text.translate(_ROUND) for text in parsed], written, notes, tally)


def paragraphs_of(text: str, *, mode: str = "blank-line") -> list[str]:
    """Split a text into paragraphs; whitespace within a paragraph becomes single blanks.

    Parameters
    ----------
    text
        Any text.
    mode
        "blank-line": blank lines separate paragraphs, a line break within one is a blank. "line": each line is a
        paragraph.
    """
    lines = "\n".join(text.splitlines())
    parts = lines.split("\n") if mode == "line" else _BLANK_LINE.split(lines)
    return [" ".join(part.split()) for part in parts if part.strip()]
