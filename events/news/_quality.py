"""Faults of the texts of a corpus: lost upper case, and a wrong encoding, which ftfy can repair."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from operator import add
from typing import Any, Literal, Self

from corefsample._lazy import install_hint
from corefsample.documents._tokens import counted
from corefsample.errors import ParameterError
from events.news._fields import Article
from events.news._written_names import has_lost_name

_FEWEST_LETTERS = 40  # shorter texts, such as headlines, may have no upper case


# UTF-8 that was decoded as Windows-1252 or Latin-1: accented letters and Latin-1 signs (C2 or C3 and a byte from 80 to
# BF), quotes, dashes, the euro and the trade mark (E2 and a byte of 80, 82, 84, and one more), emoji (F0 9F and two
# more), the replacement character (EF BF BD) and the byte order mark (EF BB BF). Other first bytes are left out,
# because their characters also occur next to each other in correct text.
_BYTES = bytes(range(0x80, 0xC0))
_ANY = f"[{re.escape(_BYTES.decode('latin-1') + _BYTES.decode('cp1252', 'ignore'))}]"
_MOJIBAKE = re.compile(
    f"[\u00c2\u00c3]{_ANY}"
    f"|\u00e2[\x80\x82\x84\u20ac\u201a\u201e]{_ANY}"
    f"|\u00f0[\x9f\u0178]{_ANY}{_ANY}"
    "|\u00ef\u00bf\u00bd|\u00ef\u00bb\u00bf"
)
_HEADS = {"n_dateline": "a dateline", "n_credit": "a credit", "n_agency": "the tag of an agency", "n_note": "a note"}
_LOST = "\N{REPLACEMENT CHARACTER}"
Duplicates = Literal["keep", "drop"]  # treatment of articles with the text of an earlier article


@dataclass(frozen=True, slots=True)
class TextTally:
    """Counts of texts by their faults and by the changes that were made.

    Attributes
    ----------
    n_texts
        Number of texts.
    n_lower_case, n_lost_names
        Number of texts with at least 40 letters of which none is in upper case; and number of those with a name that
        is also a word (turkey, the us), which a lexicon matches only with its capital.
    n_mojibake
        Number of texts with sequences of characters that arise if UTF-8 is read in another encoding.
    n_lost
        Number of texts with the replacement character, which shows that a character was lost.
    n_repaired
        Number of texts that `repaired` changed; the other counts are those of the repaired texts.
    n_cleaned
        Number of texts with HTML or invisible characters, which were removed.
    n_dateline, n_credit, n_agency, n_note
        Number of texts in which pieces of this kind were recognised and left out.
    n_recased
        Number of texts with a paragraph in capitals or in title case, which was rewritten.
    """

    n_texts: int = 0
    n_lower_case: int = 0
    n_mojibake: int = 0
    n_lost: int = 0
    n_repaired: int = 0
    n_cleaned: int = 0
    n_dateline: int = 0
    n_credit: int = 0
    n_agency: int = 0
    n_note: int = 0
    n_recased: int = 0
    n_lost_names: int = 0

    @classmethod
    def of(cls, text: str, *, is_repaired: bool = False) -> Self:
        """Make the counts of one text."""
        is_lower = is_lower_case(text)
        faults = {"n_lower_case": is_lower, "n_lost_names": is_lower and has_lost_name(text)}
        return cls(1, **faults, n_mojibake=has_mojibake(text), n_lost=_LOST in text, n_repaired=is_repaired)

    def __add__(self, tally: TextTally) -> TextTally:
        return TextTally(*map(add, dataclasses.astuple(self), dataclasses.astuple(tally)))

    def notices(self) -> Iterator[str]:
        """Yield a sentence for each fault and each change of the texts, for the screen and the report of a run."""
        heads = [f"{counted(n, 'text')} with {name}" for field, name in _HEADS.items() if (n := getattr(self, field))]
        if heads:
            yield f"Pieces that were not parsed, because they are outside sentences: {', '.join(heads)}."
        if self.n_recased:
            yield f"Capitals or title case rewritten to sentence case before parsing: {self._of_all(self.n_recased)}."
        if self.n_cleaned:
            yield f"HTML or invisible characters removed: {self._of_all(self.n_cleaned)}."
        if self.n_repaired:
            yield f"Text repaired: {self._of_all(self.n_repaired)}."
        if self.n_lost_names:
            yield (
                "Texts without upper case that have names which are also words (turkey, the us): "
                f"{self._of_all(self.n_lost_names)}. A lexicon matches these names only with a capital."
            )
        if self.n_mojibake:
            yield (
                "Characters of a wrong encoding, as in \u201cdidn\u00e2\u20ac\u2122t\u201d: "
                f"{self._of_all(self.n_mojibake)}. Read the source as UTF-8, or repair the text with --fix-text."
            )
        if self.n_lost:
            yield (
                f"Characters lost (\N{REPLACEMENT CHARACTER}): {self._of_all(self.n_lost)}. "
                "Read the source again in its own encoding."
            )

    def _of_all(self, count: int) -> str:
        return f"{count:,} of {counted(self.n_texts, 'document')} ({count / self.n_texts:.1%})"


def tally_of_run(record: Mapping[str, Any]) -> TextTally:
    """Counts of the texts in the inputs of a run, from its record run.json; inputs that were not scored count 0."""
    return sum((TextTally(**row["scoring"]["texts"]) for row in record["inputs"] if "scoring" in row), TextTally())


def set_aside_before(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each input of a run with articles that were set aside when texts were scored."""
    for row in record["inputs"]:
        if n_quarantined := row.get("scoring", {}).get("n_quarantined"):
            yield (
                f"{counted(n_quarantined, 'article')} set aside when texts were scored, and not counted: "
                f"{row['path']}.quarantine.jsonl has the reasons."
            )


def is_lower_case(text: str) -> bool:
    """Whether a text has at least 40 letters in lower case and none in upper case."""
    # `islower` is false for texts without letters of two cases, and for those with a letter in upper case.
    return text.islower() and sum(map(str.islower, text)) >= _FEWEST_LETTERS


def has_mojibake(text: str) -> bool:
    """Whether a text has a sequence of characters that results from decoding UTF-8 as Windows-1252 or Latin-1."""
    return not text.isascii() and _MOJIBAKE.search(text) is not None


def require_repair() -> None:
    """Raise ParameterError unless ftfy is installed."""
    if find_spec("ftfy") is None:
        raise ParameterError("needs ftfy, which is not installed", parameter="fix_text", hint=install_hint("text"))


def repair_version() -> str:
    """Name and version of the library that repairs texts."""
    import ftfy

    return f"ftfy {ftfy.__version__}"


def repaired(article: Article) -> Article:
    """Repair the text and the headline of an article with ftfy; return the same object if they need no repair.

    ftfy replaces mojibake by the intended characters and HTML entities by characters, and removes control characters.
    Quotation marks are kept, because parsers handle them.
    """
    import ftfy

    settings: Any = ftfy.TextFixerConfig(uncurl_quotes=False, explain=False)
    text, title = ftfy.fix_text(article.text, settings), ftfy.fix_text(article.title, settings)
    if (text, title) == (article.text, article.title):
        return article
    return dataclasses.replace(article, text=text, title=title)
