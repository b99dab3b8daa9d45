"""Faults of the texts and dates of a corpus: lost upper case, a wrong encoding, dates far from all others.

The lists of names and common words by which texts without upper case are recognised and rewritten are here, too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from operator import add
from typing import Any, Literal, Self

import numpy as np

from corefsample._arrays import Bools
from corefsample.documents._tokens import counted
from corefsample.languages._language import load_language

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
    n_cleaned: int = 0
    n_dateline: int = 0
    n_credit: int = 0
    n_agency: int = 0
    n_note: int = 0
    n_recased: int = 0
    n_lost_names: int = 0

    @classmethod
    def of(cls, text: str) -> Self:
        """Make the counts of one text."""
        is_lower = is_lower_case(text)
        faults = {"n_lower_case": is_lower, "n_lost_names": is_lower and bool(_cased_names().search(text))}
        return cls(1, **faults, n_mojibake=has_mojibake(text), n_lost=_LOST in text)

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
        if self.n_lost_names:
            yield (
                "Texts without upper case that have names which are also words (turkey, the us): "
                f"{self._of_all(self.n_lost_names)}. A lexicon matches these names only with a capital."
            )
        if self.n_mojibake:
            yield (
                "Characters of a wrong encoding, as in \u201cdidn\u00e2\u20ac\u2122t\u201d: "
                f"{self._of_all(self.n_mojibake)}. Read the source as UTF-8, or repair it with ftfy."
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
    rows = (row["scoring"]["texts"] for row in record["inputs"] if "scoring" in row)
    names = [each.name for each in dataclasses.fields(TextTally)]  # earlier versions counted others, too
    return sum((TextTally(*(row.get(name, 0) for name in names)) for row in rows), TextTally())


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


# --- dates far from all others ---

_FEWEST_DOCUMENTS = 10  # with fewer documents, no date is outlying
_MOST_SHARE = 0.01  # largest share of documents with outlying dates
_YEAR = 366  # longest time from the start of a year to that of the next, in days: neighbouring years have no gap


def outlying_dates(days: np.typing.NDArray[np.datetime64], n_documents: np.typing.NDArray[np.integer]) -> Bools:
    """Whether each date is far from all others.

    Dates are outlying if at most one document, or one in a hundred, lies on their side of a gap that is longer than
    a year and longer than the time between the first and the last document on the other side.

    Parameters
    ----------
    days
        datetime64 (n_dates,): dates in ascending order.
    n_documents
        int (n_dates,): number of documents of each date.

    Returns
    -------
    bool (n_dates,)

    Examples
    --------
    >>> days = np.array(["1911-03-01", "1988-01-01", "1991-06-30"], "datetime64[D]")
    >>> outlying_dates(days, np.array([1, 600, 300]))
    array([ True, False, False])
    """
    numbers, total = days.astype("datetime64[D]").astype(np.int64), int(n_documents.sum())
    present = np.flatnonzero(n_documents)
    first, last = (int(present[0]), int(present[-1])) if len(present) else (0, len(days) - 1)
    n_allowed = max(1, int(_MOST_SHARE * total)) if total >= _FEWEST_DOCUMENTS else 0
    while first < last:
        inner = present[(present >= first) & (present <= last)]
        if len(inner) < 3:
            break
        span = numbers[last] - numbers[first]
        gaps = {0: numbers[inner[1]] - numbers[first], -1: numbers[last] - numbers[inner[-2]]}
        end = max(gaps, key=lambda side: gaps[side])
        if n_documents[inner[end]] > n_allowed or gaps[end] <= max(_YEAR, span - gaps[end]):
            break
        n_allowed -= int(n_documents[inner[end]])
        first, last = (int(inner[1]), last) if end == 0 else (first, int(inner[-2]))
    indices = np.arange(len(days))
    return (indices < first) | (indices > last)


def outlying_notice(
    days: np.typing.NDArray[np.datetime64], n_documents: np.typing.NDArray[np.integer], names: Sequence[str]
) -> str:
    """Sentence that lists outlying dates by their names; "" if no date is outlying: see `outlying_dates`."""
    is_outlying = outlying_dates(days, n_documents)
    indices = np.flatnonzero(is_outlying & (n_documents > 0)).tolist()
    if not indices:
        return ""
    shown = np.flatnonzero(~is_outlying)
    listed = ", ".join(f"{int(n_documents[index]):,} in {names[index]}" for index in indices)
    span = f"{names[int(shown[0])]} to {names[int(shown[-1])]}"
    return (
        f"Documents with dates far from all others: {listed}. Periods of tables and pictures are {span}; totals have "
        "all documents. Check these dates."
    )


# --- names and common words ---

_CALENDAR = (
    "January February April June July August September October November December Monday Tuesday Wednesday Thursday "
    "Friday Saturday Sunday Christmas Easter Ramadan"
)
_LISTS = (
    ("corefsample", "languages/en/countries.yaml"),
    ("events", "data/capitals.yaml"),
    ("events", "data/leaders.yaml"),
)


def words_of(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


@cache
def _entries(package: str, path: str) -> list[Mapping[str, Any]]:
    import yaml

    text = resources.files(package).joinpath(path).read_bytes()
    lexicon = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return [*lexicon["entries"], *lexicon.get("titles", ())]


def _names(*lists: tuple[str, str]) -> Iterator[str]:
    for entry in (entry for names in lists for entry in _entries(*names)):
        for field in ("aliases", "cased", "title"):
            names = entry.get(field, ())
            yield from [names] if isinstance(names, str) else names


@cache
def place_names() -> frozenset[str]:
    """Names of countries, of their people and of their capitals, in lower case."""
    return frozenset(name.lower() for name in _names(*_LISTS[:2]))


@cache
def capital_cities() -> frozenset[str]:
    """Names of capitals, in lower case."""
    return frozenset(name.lower() for name in _names(_LISTS[1]))


@cache
def written_names() -> Mapping[tuple[str, ...], str]:
    """Names in the form in which sentences write them, by their words in lower case."""
    names = [*_names(*_LISTS)]
    people = load_language("en").given_names.values()
    # The entry "President Bush" shows how "Bush" is written.
    names += [name.split()[-1] for name in names if name.startswith(("President ", "Mr. ", "Prime Minister "))]
    names += [*_CALENDAR.split(), *(name.capitalize() for group in people for name in group)]
    forms: dict[tuple[str, ...], str] = {}
    for name in names:  # "TURKEY" is listed for headlines; sentences write the mixed form, which comes first
        forms.setdefault(tuple(re.findall(r"\w+|\S", name.lower())), name)
    return forms


@cache
def _cased_names() -> re.Pattern[str]:
    """Pattern of names of countries, in lower case, that a lexicon matches only with a capital; no common words."""
    entries = _entries(*_LISTS[0])
    in_any_case = {name.lower() for entry in entries for name in entry.get("aliases", ())}
    cased = {name.lower() for entry in entries for name in entry.get("cased", ()) if not name.isupper()}
    names = sorted(cased - in_any_case - words_of("pole poles polish jersey"))
    return re.compile(rf"\b(?:the us|{'|'.join(map(re.escape, names))})\b")


@cache
def common_words() -> frozenset[str]:
    """Words in lower case from the lists of nouns (with plurals), of common words, and from the examples of rules."""
    data = resources.files("events").joinpath("data")
    lines = data.joinpath("common_words.txt").read_text(encoding="utf-8").splitlines()
    listed = {word for line in lines if not line.startswith("#") for word in line.split()}
    nouns = {noun for group in load_language("en").nouns.values() for noun in group}
    rules = (file.read_text(encoding="utf-8") for file in data.joinpath("rules").iterdir() if file.is_file())
    examples = {word for text in rules for word in re.findall(r"\b[a-z]{3,}\b", text)}
    return frozenset(listed | nouns | {f"{noun}s" for noun in nouns} | examples)
