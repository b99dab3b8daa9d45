"""What the screen says about the texts of articles: what was recognised and changed, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from events.commands._screen import counted, print_text

if TYPE_CHECKING:
    from events.news._quality import TextTally

_KINDS = {"n_dateline": "a dateline", "n_credit": "a credit", "n_agency": "the tag of an agency", "n_note": "a note"}


def text_notices(texts: TextTally) -> Iterator[str]:
    """A sentence for each thing that any text has."""

    def of_all(count: int) -> str:
        return f"{count:,} of {counted(texts.n_texts, 'document')} ({count / texts.n_texts:.1%})"

    heads = [
        f"{counted(count, 'text')} with {name}" for field, name in _KINDS.items() if (count := getattr(texts, field))
    ]
    if heads:
        yield f"Not parsed, because they are no sentences: {', '.join(heads)}."
    if texts.n_recased:
        yield f"Capitals or title case, parsed as sentences are written: {of_all(texts.n_recased)}."
    if texts.n_cleaned:
        yield f"HTML or invisible characters removed: {of_all(texts.n_cleaned)}."
    if texts.n_repaired:
        yield f"Text repaired: {of_all(texts.n_repaired)}."
    if texts.n_lost_names:
        yield (
            f"Without upper case, but with names that are also words (turkey, the us): {of_all(texts.n_lost_names)}. "
            "A lexicon finds these names by their capital."
        )
    if texts.n_mojibake:
        yield (
            f"Characters of a wrong encoding, as in \u201cdidn\u00e2\u20ac\u2122t\u201d: {of_all(texts.n_mojibake)}. "
            "Read the source as UTF-8, or repair the text with --fix-text."
        )
    if texts.n_lost:
        yield (
            f"Characters lost (\N{REPLACEMENT CHARACTER}): {of_all(texts.n_lost)}. "
            "Read the source again in its own encoding."
        )


def print_texts(texts: TextTally) -> None:
    """Print these sentences."""
    for notice in text_notices(texts):
        print_text(notice)
