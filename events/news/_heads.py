"""What stands before the first sentence of an article: datelines, credits, tags of agencies, notes in brackets.

The head of a wire article says where, when and by whom it was written. A parser takes "NAIROBI, Kenya (AP) —" for a
part of the sentence that follows, so that Kenya does what the sentence says. What is recognised is kept out of the
parse.

A head is recognised piece by piece, each by what only heads have: an agency in parentheses, a date and a separator, a
place in capitals before a text that is not. A name in mixed case and a dash are not enough where both sides could be of
one sentence ("Israel - Hamas talks"): there the name must be a capital city.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from events.news._names import capital_cities, place_names, words_of

Kind = Literal["dateline", "credit", "agency", "note"]
KINDS: tuple[Kind, ...] = ("dateline", "credit", "agency", "note")

_LONGEST = 160  # characters of a piece
_MOST_CAPITALS = 0.8  # share of upper case from which a text is in capitals, where they distinguish no place

_AGENCIES = (
    "AP|Associated Press|AFP|Agence France-Presse|Reuters|Reuter|UPI|United Press International|Xinhua|DPA|EFE|ANSA"
    "|TASS|Itar-Tass|Interfax|RIA Novosti|PTI|Press Trust of India|IANS|ANI|APP|IRNA|MENA|SANA|WAM|KUNA|KCNA|Yonhap"
    "|Kyodo|Jiji|Antara|Bernama|VNA|Anadolu|Tanjug|BTA|CTK|MTI|HINA|Belga|ANP|Ritzau|Lusa|KNA|SAPA|PANA|IRIN|ACAN-EFE|Notimex"
    "|Prensa Latina|CNN|BBC|BBC Monitoring|VOA|RFE/RL|NPR|CBS|NBC|Bloomberg|MarketWatch|PRNewswire|Press Association"
)
_AGENCY = rf"(?i:(?:The )?(?:{_AGENCIES})(?: News(?: Agency| Service)?)?)"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?|ene(?:ro)?|feb(?:rero)?|mar(?:zo)?|abr(?:il)?|mayo|jun(?:io)?|jul(?:io)?|ago(?:sto)?|"
    r"se(?:p|pt|ptiembre)|oct(?:ubre)?|nov(?:iembre)?|dic(?:iembre)?)\.?"
)
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DATE = re.compile(
    rf"\b(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}} (?:de )?{_MONTH}(?:,? (?:de )?'?\d{{2,4}})?"
    rf"|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|{_WEEKDAY}"
    r"|\d{1,2}[:.]?\d\d (?:GMT|UTC|a\.?m\.?|p\.?m\.?))(?!\w)",
    re.I,
)
_TAG = re.compile(r"\(([^()\n]{2,60})\)|/([^/\n]{2,30})/")
_SEPARATOR = re.compile(
    r"\s*(?:\.?-{2,}|[—―]|\.-|_+|\|)\s*|\s+[–‒]\s*|\s*:(?=\s)\s*|\s+-\s*|(?<=\)) ?-\s+|(?<=[)/])[ \t]+"
)
_SPLIT = re.compile(r"\s*[,;|/]\s*")
_PARTICLES = words_of("de del la las los el al da do dos of and the on in an am es le y und near sur upon")
_STATE = r"(?:[A-Z][a-z]{2,5}\.|[A-Z]\.[A-Z]\.)"  # Calif., D.C.

_BRACKETED = re.compile(r"\[(?:[^\[\]\n]|\[[^\[\]\n]*\]){1,240}\](?!\s*[a-z])")
_EDITORIAL = re.compile(
    r"\[[^\[\]\n]{0,60}\b(?:omitted|indistinct|unintelligible|inaudible|sic|as (?:received|heard|published|printed|"
    r"transmitted|translated)|passage|recording (?:begins|ends)|text)\b[^\[\]\n]{0,60}\]",
    re.I,
)
_EDITING = (
    r"(?:Adds?|Updates?|Recasts?|Corrects?|Repeats?|Eds?|Editors?|Note|Writethru|Refiles?|Releads?|Subs|Clarifies|New)"
)
_NOTE = re.compile(
    rf"\((?:{_EDITING}|With)\b[^()\n]{{0,160}}\)\.?|{_EDITING}(?:'s)?(?: note)?:[^\n]{{0,160}}(?=\n)|"
    r"(?:UPDATE|WRAPUP|URGENT|FLASH|ALERT|ADVISORY|CORRECTED|REFILE|RPT|BREAKING(?: NEWS)?|EXCLUSIVE|VIDEO|PHOTOS?)"
    r"(?: \d{1,2})?\s?[-:–—]\s*|(?:Text|Excerpts?|Summary) (?:of|from) (?:an? |the )?(?:\w+ )?"
    r"(?:report|statement|speech|interview)[^\n]{0,200}(?=\n)",
    re.I,
)
_LABEL = re.compile(r"(BYLINE|DATELINE|SOURCE|CREDIT|SECTION|LENGTH|HEADLINE)\s*:[^\n]{0,160}(?=\n)")
_PERSON = r"(?:[A-Z][\w.'’-]*\.?|de|del|la|van|von|der|den|bin|al|el)"
_ROLE = r"(?i:correspondents?|reporters?|writers?|staff|bureau|agencies|desk|editors?|service|press|special)"
_OUR = rf"(?i:our|an?)(?: \w+){{0,3}}? {_ROLE}(?: {_ROLE})?"
_BY = r"(?:By|BY|From|FROM)"
_BYLINE = rf"{_BY} (?!{_WEEKDAY}|{_MONTH}\b)"
_CREDIT_LINE = re.compile(
    rf"(?:{_BYLINE}(?:{_OUR}[^\n.]{{0,60}}|{_PERSON}(?:,? (?:{_PERSON}|and|AND|in|for|at|of|&|\|))*)"
    rf"|[Ss](?i:pecial to) [^\n]{{3,60}}|{_PERSON}(?: {_PERSON}){{1,3}}(?:,| \|) {_AGENCY}(?: {_ROLE})?"
    rf"|{_AGENCY}(?: {_ROLE})*|(?i:staff and agencies))\s*(?=\n\s*[^a-z\s])"
)
_CREDIT = re.compile(
    rf"{_BYLINE}(?:{_OUR}|{_PERSON}(?:,? (?:{_PERSON}|and)){{0,9}}?)(?:, {_AGENCY}(?: {_ROLE})?)?,?\s+(?=\S)"
)


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of an article that is no part of its sentences: its kind, and its text as it is written."""

    kind: Kind
    text: str


def without_head(text: str) -> tuple[list[Note], str]:
    """Take what is no sentence from the beginning of an article.

    Remarks of editors in brackets, such as "[passage omitted]", are taken from the whole text.

    Parameters
    ----------
    text
        The text of an article without its headline.

    Returns
    -------
    notes
        What was recognised, in the order of the text.
    rest
        The text from its first sentence on; the whole text if nothing else would be left.

    Examples
    --------
    >>> without_head("NAIROBI, Kenya (AP) — Troops attacked.")
    ([Note(kind='dateline', text='NAIROBI, Kenya (AP) —')], 'Troops attacked.')
    """
    letters = [c for c in text[:2000] if c.isalpha()]
    in_capitals = sum(map(str.isupper, letters)) > _MOST_CAPITALS * len(letters)
    notes: list[Note] = []
    position = len(text) - len(text.lstrip())
    while piece := _piece(text[position : position + 2 * _LONGEST], in_capitals=in_capitals):
        kind, length = piece
        notes.append(Note(kind, text[position : position + length].strip()))
        position += length
        position += len(text[position:]) - len(text[position:].lstrip())
    rest = text[position:]
    if not any(map(str.isalpha, rest)):
        return [], text
    remarks = list(_EDITORIAL.finditer(rest))
    notes += [Note("note", remark[0]) for remark in remarks]
    return notes, _EDITORIAL.sub(" ", rest) if remarks else rest


def _piece(text: str, *, in_capitals: bool) -> tuple[Kind, int] | None:
    """Kind and length of the piece at the beginning of a text; None if it begins with a sentence."""
    if match := _BRACKETED.match(text) or _NOTE.match(text):
        return "note", match.end()
    if match := _LABEL.match(text):
        kind: Kind = {"BYLINE": "credit", "CREDIT": "credit", "DATELINE": "dateline"}.get(match[1], "note")  # type: ignore[assignment]
        return kind, match.end()
    if match := _CREDIT_LINE.match(text):
        return "credit", match.end()
    if (match := _CREDIT.match(text)) and _dateline(text[match.end() :], in_capitals=in_capitals):
        return "credit", match.end()
    return _dateline(text, in_capitals=in_capitals)


def _dateline(text: str, *, in_capitals: bool) -> tuple[Kind, int] | None:
    line, newline, _ = text.partition("\n")
    for separator in _SEPARATOR.finditer(line[:_LONGEST]):
        rest = text[separator.end() :]
        if kind := _kind_of(line[: separator.start()], separator[0], rest.lstrip(), in_capitals=in_capitals):
            return kind, separator.end()
    if newline and len(line) <= _LONGEST and (kind := _kind_of(line, "\n", "A", in_capitals=True)):
        return kind, len(line)
    return None


def _kind_of(head: str, separator: str, rest: str, *, in_capitals: bool) -> Kind | None:
    """Kind of what stands before a separator, or None where both can be one sentence."""
    if not rest or not head.strip():
        return None
    undated = _DATE.sub(",", head)
    is_dated = any(map(str.isdigit, "".join(_DATE.findall(head))))  # a day of the week alone is in headlines, too
    tags = [(tag[1] or tag[2]).strip(" ,") for tag in _TAG.finditer(undated)]
    tags = [tag for tag in tags if tag]
    parts = [part for part in _SPLIT.split(_TAG.sub(",", undated).strip(" .,-")) if part.strip(" .")]
    agencies = [name for name in (*parts, *tags) if re.fullmatch(_AGENCY, name, re.I)]
    places = [part for part in parts if part not in agencies]
    if not all(map(_is_name, places)) or not all(tag[0].isupper() or tag in agencies for tag in tags):
        return None
    evidence = bool(agencies) or is_dated
    mark = separator.strip(" \t")
    if not evidence and not (rest[0].isupper() or rest[0] in "\"'“‘([0123456789"):
        return None
    if not places:
        if not (tags or agencies or (is_dated and mark)):
            return None
        if not mark and not agencies:
            return None
        return "dateline" if is_dated or (tags and not agencies) else "agency"
    if evidence:
        # "Iraq (AP) attacked": without a separator a sentence may go on.
        return "dateline" if mark or rest[0].isupper() or not rest[0].isalpha() else None
    return "dateline" if _is_place(places, mark, tagged=bool(tags), in_capitals=in_capitals) else None


def _is_place(places: list[str], mark: str, *, tagged: bool, in_capitals: bool) -> bool:
    """Whether names with neither a date nor a known agency are a dateline."""
    first, *regions = places
    n_words = len(first.split())
    is_set_off = first.isupper() and not in_capitals and len(first) > 3
    is_known = first.lower() in capital_cities()
    in_region = any(region.lower() in place_names() or re.fullmatch(_STATE, region) for region in regions)
    if tagged:
        return (
            in_region or is_known or (bool(mark) and not in_capitals and n_words <= 3) or (is_set_off and n_words < 3)
        )
    if not mark:
        return False
    if in_region or is_known:
        return n_words <= 4 and len(regions) < 3
    if in_capitals or len(regions) > 1:
        return False
    if is_set_off:
        return n_words <= 5
    # "Israel – Hamas talks", "Iraq: troops": a country is what a text is about, a city where it was written.
    is_wide = mark in ("--", "—", ":", "|")
    return is_wide and len(first) > 3 and not regions and first.lower() not in place_names()


def _is_name(part: str) -> bool:
    """Whether words can be the name of a place: at most three, or in capitals more ("WITH U.S. FORCES NEAR NAJAF")."""
    words = part.split()
    names = [word for word in words if word.lower() not in _PARTICLES]
    return (
        0 < len(names) <= (7 if part.isupper() else 3)
        and words[0] == names[0]
        and all(word[0].isupper() for word in names)
    )
