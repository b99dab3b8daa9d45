"""Preparation of an article for a parser: its paragraphs in sentence case, without HTML and without its head.

- HTML tags and entities, soft hyphens and invisible characters are removed, because parsers treat them as parts of
  words: "at\N{SOFT HYPHEN}tacked" and "Iraq&#39;s" match no rule.
- The head of a wire article states where, when and by whom it was written: datelines, credits, tags of agencies, notes
  in brackets. Parsers attach "NAIROBI, Kenya (AP) —" to the sentence that follows, and make Kenya its subject. A head
  is recognised piece by piece, by features that sentences lack: an agency in parentheses, a date and a separator, a
  place in capitals before a text that is not in capitals. A name in mixed case and a dash are not sufficient, because
  they may begin a sentence ("Israel - Hamas talks"), unless the name is that of a capital city.
- Capitals and title case are rewritten to sentence case, by word lists and the other text of the article. Taggers and
  parsers are trained on sentences: in "REBELS KILL NINE" and in "Rebels Kill Nine" they find names and no verb.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from corefsample._arrays import Bools
from corefsample.documents._tokens import WRITTEN, Tokens
from events.news._fields import Article
from events.news._quality import TextTally, capital_cities, common_words, place_names, words_of, written_names

LEFT_OUT = "left_out"  # metadata with the pieces of an article that are not parsed
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_ROUND = str.maketrans("[]", "()")  # because parsers end sentences at square brackets: "FMLN [the Front] guerrillas"


@dataclass(frozen=True, slots=True)
class PreparedText:
    """Paragraphs of an article for a parser.

    Attributes
    ----------
    parsed
        Paragraphs for the parser, preceded by the headline if it is parsed.
    written
        The same paragraphs with the capitals, title case and square brackets of the article; lengths are equal.
    notes
        Kind and text of the datelines, credits, agencies and notes, which are not parsed.
    tally
        Counts of the faults that were recognised and of the changes.
    """

    parsed: list[str]
    written: list[str]
    notes: list[Note]
    tally: TextTally

    def as_written(self, tokens: Tokens) -> Tokens:
        """Add the words that the article writes to the tokens of the parsed paragraphs, if the words differ."""
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
        """Metadata with the pieces that are not parsed; empty if everything is parsed."""
        return {LEFT_OUT: [{"kind": kind, "text": text} for kind, text in self.notes]} if self.notes else {}


def prepared(
    article: Article,
    is_word: Vocabulary,
    *,
    headline: bool,
    paragraphs: str,
    as_written: bool = False,
) -> PreparedText:
    """Prepare the text of an article for a parser.

    Parameters
    ----------
    article
        Article as it was read from its file.
    is_word
        Function that returns which words, in lower case, a vocabulary has.
    headline
        True if the headline is parsed too.
    paragraphs
        Separator of paragraphs, "blank-line" or "line": see `paragraphs_of`.
    as_written
        True if the text is not cleaned, shortened or rewritten; by default it is.
    """
    tally = TextTally.of(f"{article.title}\n{article.text}")
    title, text, notes = article.title, article.text, list[Note]()
    if not as_written:
        title, text = cleaned(title), cleaned(text)
        is_cleaned = (title, text) != (article.title, article.text)
        notes, text = without_head(text)
        tally += TextTally(n_cleaned=is_cleaned, **{f"n_{kind}": 1 for kind, _ in notes})
    written = paragraphs_of(text, mode=paragraphs)
    if headline and title.strip():
        written.insert(0, " ".join(title.split()))
    if as_written:
        return PreparedText(written, written, notes, tally)
    parsed = recased(written, is_word)
    tally += TextTally(n_recased=parsed != written)
    return PreparedText([text.translate(_ROUND) for text in parsed], written, notes, tally)


def paragraphs_of(text: str, *, mode: str = "blank-line") -> list[str]:
    """Split a text into paragraphs; whitespace within a paragraph becomes single blanks.

    Parameters
    ----------
    text
        Text of an article.
    mode
        "blank-line" (default): paragraphs are separated by blank lines, and a line break within a paragraph is a blank.
        "line": each line is a paragraph.
    """
    lines = "\n".join(text.splitlines())
    paragraphs = lines.split("\n") if mode == "line" else _BLANK_LINE.split(lines)
    return [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]


# --- HTML and invisible characters ---

# Tags that end a paragraph, tags within a line, and tags whose content is not text. Other "<" are kept.
_BLOCKS = (
    "address article aside blockquote br center dd div dl dt figure figcaption footer h1 h2 h3 h4 h5 h6 head header "
    "hr li main nav ol p pre section table tbody td tfoot th thead title tr ul"
)
_INLINE = (
    "a abbr acronym b big body cite code del em font html i img ins link mark meta q s small span strike strong sub "
    "sup time tt u wbr"
)
_NO_TEXT = "script style iframe noscript svg video audio"


def _tag(names: str) -> str:
    return rf"</?(?:{names.replace(' ', '|')})(?:\s[^<>]*)?/?>"


_REMOVED = re.compile(
    rf"<!--.*?-->|<!doctype[^>]*>|<({_NO_TEXT.replace(' ', '|')})\b[^<>]*>.*?</\1\s*>|{_tag(_INLINE)}", re.I | re.S
)
_PARAGRAPH_ENDS = re.compile(rf"(?:\s*{_tag(_BLOCKS)}\s*)+", re.I)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Soft hyphen, zero-width and direction marks, byte order mark, and control characters other than line ends and tabs.
_INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\x00-\x08\x0e-\x1b\x7f]"
)


def cleaned(text: str) -> str:
    r"""Replace HTML entities by characters, and remove HTML tags and invisible characters.

    A tag that ends a paragraph, such as <p> or <br>, becomes an empty line.

    Examples
    --------
    >>> cleaned("<p>Iraq&#39;s army at\N{SOFT HYPHEN}tacked <b>Basra</b>.<br>It lost.")
    "Iraq's army attacked Basra.\n\nIt lost."
    """
    if "&" in text:
        for _ in range(2):  # because feeds escape some characters twice: "&amp;#39;"
            text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if "<" in text:
        text = _PARAGRAPH_ENDS.sub("\n\n", _REMOVED.sub("", text)).strip()
    return _INVISIBLE.sub("", text)


# --- heads of articles ---

Kind = Literal["dateline", "credit", "agency", "note"]
Note = tuple[Kind, str]  # a piece of an article outside its sentences: its kind, and its text as the article writes it

_LONGEST = 160  # longest piece in characters
_MOST_CAPITALS = 0.8  # a text with a larger share of upper case is in capitals, which then do not show places

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
    r"se(?:p|pt|ptiembre)|oct(?:ubre)?|nov(?:iembre)?|dic(?:iembre)?|janv(?:ier)?|f[ée]v(?:rier)?|mars|avr(?:il)?|mai|juin|"
    r"juil(?:let)?|ao[uû]t|septembre|octobre|d[ée]c(?:embre)?|Januar|Februar|M[äa]rz|Juni|Juli|Okt(?:ober)?|Dez(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.?(?= \d))"
_DATE = re.compile(
    rf"\b(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:de )?{_MONTH}(?:,? (?:de )?'?\d{{2,4}})?"
    rf"|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|{_WEEKDAY}"
    r"|\d{1,2}[:.]?\d\d (?:GMT|UTC|a\.?m\.?|p\.?m\.?))(?!\w)",
    re.I,
)
_TAG = re.compile(r"\(([^()\n]{2,60})\)|/([^/\n]{2,30})/")
_SEPARATOR = re.compile(
    r"\s*(?:\.?-{2,}|[—―]|\.-|_+|\|)\s*|\s+[–‒]\s*|\s*:(?=\s)\s*|\s+-\s*|(?<=\)) ?-\s+|(?<=[)/])\.?[ \t]+"
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
_LABEL = re.compile(
    r"(BYLINE|DATELINE|SOURCE|CREDIT|SECTION|LENGTH|HEADLINE|BODY|DATE|LOAD-DATE|PUBLICATION|LANGUAGE|COPYRIGHT|GRAPHIC)"
    r"\s*:[^\n]{0,160}(?=\n)"
)
# Lines of archives: rights, suppliers, names of newspapers and broadcasts, and slugs of agencies.
_ARCHIVE_LINE = re.compile(
    r"(?:(?:copyright(?: ©| \([cC]\))?,? \d{4}|©|\([cC]\) \d{4})[^\n]{0,120}|all rights reserved\.?"
    r"|(?:Supplied by|BBC Monitoring\b)[^\n.]{0,80}"
    r"|(?:The )?(?:[A-Z][\w.&'’-]+ ){0,4}(?:Times|Post|Guardian|Herald|Tribune|Gazette|Journal|Telegraph|Independent"
    r"|Observer|Chronicle|Standard|Daily News|Globe|Mail)(?: \([A-Z][\w .,]+\))?"
    rf"|[^\n.]{{3,80}} in [A-Z]\w+ \d{{3,4}} ?(?:GMT|UTC) \d{{1,2}} {_MONTH} \d{{2,4}}"
    r"|[A-Z]{2}-{1,2}[A-Z][^\n ]*(?:, [^\n]{1,40})?)[ \t]*(?=\n)",
    re.I,
)
_OF_DATES = re.compile(
    r"\b(?:late|early|final|first|city|national|edition|published|updated|posted|modified|last|on|at|gmt|utc|est|edt|bst|cet)\b",
    re.I,
)
_PERSON = r"(?:[A-Z][\w.'’-]*\.?|de|del|la|van|von|der|den|bin|al|el)"
_ROLE = r"(?i:correspondents?|reporters?|writers?|staff|bureau|agencies|desk|editors?|service|press|special)"
_OUR = rf"(?i:our|an?)(?: \w+){{0,3}}? {_ROLE}(?: {_ROLE})?"
_BY = r"(?:By|BY|From|FROM|by(?= [A-Z]))"
_BYLINE = rf"{_BY} (?!{_WEEKDAY}|{_MONTH}\b)"
_CREDIT_LINE = re.compile(
    rf"(?:{_BYLINE}(?:{_OUR}[^\n.]{{0,60}}|{_PERSON}(?:,? (?:{_PERSON}|and|AND|in|for|at|of|&|\|))*)"
    rf"|[Ss](?i:pecial to) [^\n]{{3,60}}|{_PERSON}(?: {_PERSON}){{1,3}}(?:,| \|) {_AGENCY}(?: {_ROLE})?"
    rf"|{_AGENCY}(?: {_ROLE})*|(?i:staff and agencies))\s*(?=\n\s*[^a-z\s])"
)
_REPORTER = re.compile(rf"{_PERSON}(?: {_PERSON}){{1,3}} (?i:in) {_PERSON}(?: {_PERSON}){{0,2}}(?=\n)")
_CREDIT = re.compile(
    rf"{_BYLINE}(?:{_OUR}|{_PERSON}(?:,? (?:{_PERSON}|and)){{0,9}}?)(?:, {_AGENCY}(?: {_ROLE})?)?,?\s+(?=\S)"
)


def without_head(text: str) -> tuple[list[Note], str]:
    """Remove the head of an article, which is not part of a sentence, from its text.

    Remarks of editors in brackets, such as "[passage omitted]", are removed from the whole text.

    Parameters
    ----------
    text
        Text of an article without its headline.

    Returns
    -------
    notes
        Pieces that were removed, in the order of the text.
    body
        Text that begins with the first sentence; the whole text if no other text would remain.

    Examples
    --------
    >>> without_head("NAIROBI, Kenya (AP) — Troops attacked.")
    ([('dateline', 'NAIROBI, Kenya (AP) —')], 'Troops attacked.')
    """
    letters = [c for c in text[:2000] if c.isalpha()]
    in_capitals = sum(map(str.isupper, letters)) > _MOST_CAPITALS * len(letters)
    notes: list[Note] = []
    position = len(text) - len(text.lstrip())
    while piece := _piece(text[position : position + 2 * _LONGEST], in_capitals=in_capitals):
        kind, length = piece
        notes.append((kind, text[position : position + length].strip()))
        position += length
        position += len(text[position:]) - len(text[position:].lstrip())
    body = text[position:]
    if not any(map(str.isalpha, body)):
        return [], text
    remarks = list(_EDITORIAL.finditer(body))
    notes += [("note", remark[0]) for remark in remarks]
    return notes, _EDITORIAL.sub(" ", body) if remarks else body


# Credits, rights and links that end an article.
_TAIL = re.compile(
    rf"""(?:\A|\n|[.!?)\]"'”’])\s*(?:
    [(\[]?(?:(?:additional|with)\ )?(?:reporting|writing|editing|compiled|edited|written)\ (?:and\ \w+\ )?by\b[^\n]*
    |[^\n.]*\bcontributed\ to\ this\ (?:report|story|article)\.?\)?
    |(?:copyright\b|©|\(c\)\ \d{{4}}|all\ rights\ reserved|source:|subscribe\ to)[^\n]*
    |(?:read|see|click)\b[^\n.:]*\b(?:more|here|our\ (?:web)?site)\b[^\n]*
    |[-–—(]*\s*(?-x:{_AGENCY})(?:/\w+)*\)?\.?
    )[\s_]*\Z""",
    re.I | re.X,
)


def body_words(text: str) -> list[str]:
    """Words of an article in lower case, without HTML, its head, and the credits, rights and links at its end."""
    _, body = without_head(cleaned(text))
    while match := _TAIL.search(body, max(len(body) - 3 * _LONGEST, 0)):
        body = body[: match.start()].rstrip()
    return re.findall(r"[^\W_]+|[%$€£]", body.casefold())


def _piece(text: str, *, in_capitals: bool) -> tuple[Kind, int] | None:
    """Kind and length of the piece with which a text begins; None if it begins with a sentence."""
    if match := _BRACKETED.match(text) or _NOTE.match(text) or _ARCHIVE_LINE.match(text):
        return "note", match.end()
    line, newline, _ = text.partition("\n")
    if newline and _is_dates(line):
        return "dateline", len(line)
    if match := _LABEL.match(text):
        kind: Kind = {"BYLINE": "credit", "CREDIT": "credit", "DATELINE": "dateline"}.get(match[1], "note")  # type: ignore[assignment]
        return kind, match.end()
    if match := _CREDIT_LINE.match(text):
        return "credit", match.end()
    if (match := _REPORTER.match(text)) and _is_dates(text[match.end() :].lstrip().partition("\n")[0]):
        return "credit", match.end()
    if (match := _CREDIT.match(text)) and _dateline(text[match.end() :], in_capitals=in_capitals):
        return "credit", match.end()
    return _dateline(text, in_capitals=in_capitals)


def _is_dates(line: str) -> bool:
    """Whether a line has only the date of an article or an edition: "Saturday, March 3, 2001, Late Edition - Final"."""
    undated = _OF_DATES.sub("", _DATE.sub("", line))
    return any(map(str.isdigit, line)) and bool(_DATE.search(line)) and not any(map(str.isalpha, undated))


def _dateline(text: str, *, in_capitals: bool) -> tuple[Kind, int] | None:
    line, newline, _ = text.partition("\n")
    for separator in _SEPARATOR.finditer(line[:_LONGEST]):
        following = text[separator.end() :]
        if kind := _kind_of(line[: separator.start()], separator[0], following.lstrip(), in_capitals=in_capitals):
            return kind, separator.end()
    if newline and len(line) <= _LONGEST and (kind := _kind_of(line, "\n", "A", in_capitals=True)):
        return kind, len(line)
    return None


def _kind_of(head: str, separator: str, following: str, *, in_capitals: bool) -> Kind | None:
    """Kind of the piece before a separator; None if it can be in a sentence with the text that follows."""
    if not following or not head.strip():
        return None
    undated = re.sub(r"\([\s,]*\)", ",", _DATE.sub(",", head))
    is_dated = any(map(str.isdigit, "".join(_DATE.findall(head))))  # headlines have days of the week too
    tags = [(tag[1] or tag[2]).strip(" ,") for tag in _TAG.finditer(undated)]
    tags = [tag for tag in tags if tag]
    names = [name for name in _SPLIT.split(_TAG.sub(",", undated).strip(" .,-")) if name.strip(" .")]
    agencies = [name for name in (*names, *tags) if all(re.fullmatch(_AGENCY, n, re.I) for n in name.split("/"))]
    places = [name for name in names if name not in agencies]
    if not all(map(_is_name, places)) or not all(tag[0].isupper() or tag in agencies for tag in tags):
        return None
    evidence = bool(agencies) or is_dated
    mark = separator.strip(" \t") if separator.strip(" \t") != "." else ""
    if not evidence and not (following[0].isupper() or following[0] in "\"'“‘([0123456789"):
        return None
    if not places:
        is_date_in_brackets = is_dated and head.startswith("(")
        if not (agencies or is_date_in_brackets or (mark and (tags or is_dated))):
            return None
        return "dateline" if is_dated or (tags and not agencies) else "agency"
    if evidence:
        # "Iraq (AP) attacked": without a separator, the sentence may continue.
        return "dateline" if mark or following[0].isupper() or not following[0].isalpha() else None
    return "dateline" if _is_place(places, mark, tagged=bool(tags), in_capitals=in_capitals) else None


def _is_place(places: list[str], mark: str, *, tagged: bool, in_capitals: bool) -> bool:
    """Whether names of places without a date and without an agency are a dateline."""
    first, *regions = places
    n_words = len(first.split())
    is_set_off = first.isupper() and not in_capitals and len(first) > 3
    is_known = first.lower() in capital_cities()
    in_region = any(region.lower() in place_names() or re.fullmatch(_STATE, region) for region in regions)
    if tagged:
        is_short = (bool(mark) and not in_capitals and n_words <= 3) or (is_set_off and n_words < 3)
        return in_region or is_known or is_short
    if not mark:
        return False
    if in_region or is_known:
        return n_words <= 4 and len(regions) < 3
    if in_capitals or len(regions) > 1:
        return False
    if is_set_off:
        return n_words <= 5
    # "Israel – Hamas talks", "Iraq: troops": a country is the subject of a text, a city the place of its author.
    is_wide = mark in ("--", "—", ":", "|")
    return is_wide and len(first) > 3 and not regions and first.lower() not in place_names()


def _is_name(text: str) -> bool:
    """Whether a text can name a place: it has at most three words, or seven in capitals ("WITH FORCES NEAR NAJAF")."""
    words = text.split()
    names = [word for word in words if word.lower() not in _PARTICLES]
    is_short = 0 < len(names) <= (7 if text.isupper() else 3)
    return is_short and words[0] == names[0] and all(word[0].isupper() for word in names)


# --- capitals and title case ---

Vocabulary = Callable[[Sequence[str]], Bools]  # function that returns which words, in lower case, a vocabulary has

_SHARE = 0.85  # least share of upper case in a text in capitals, and of capitalised words in one in title case
_FEWEST_LETTERS, _FEWEST_WORDS = 12, 3
_WORD = re.compile(r"[^\W\d_]+")
_START = re.compile(r"(?:^|[.!?:]['\"’”)\]]*\s+|^\W*\d+\.\s+)['\"‘“(\[]*$")
_ABBREVIATION = re.compile(
    r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|Gen|Col|Lt|Sgt|Capt|Maj|Sen|Rep|Gov|No|Jr|Sr))\.\s+$", re.I
)
_DAY_BEFORE, _DAY_AFTER = re.compile(r"\d $"), re.compile(r" \d")
_ALONE = re.compile(r"[(\[]([A-Z]{2,6})[)\]]")
_EXPLAINED = re.compile(r"\b([A-Z]{2,6}) [(\[]([^()\[\]]+)[)\]]")
_TITLES = words_of(
    "mr mrs ms dr president minister general gen colonel col captain capt major lieutenant lt sergeant sgt senator sen "
    "governor gov mayor judge king queen prince princess pope bishop archbishop father saint st san santa don doctor "
    "professor commander ambassador secretary chairman deputy representative congressman alias named"
)
# Given names, surnames of leaders and months that are more often other words.
_WORDS_TOO = words_of(
    "will mark rose bill ray dawn joy guy dean drew don jack gene pat art hope faith frank grant lance miles "
    "chase sue iris ruby eve rob nick major brown young king park rice short may march ivy lily grace max earl "
    "ross jay toni van be so do an in on la no man sun long li hu shah"
)
# Endings that names rarely have: an unknown word without one of these endings is treated as a name.
_COMMON_END = re.compile(
    r"(?:s|ed|ing|ly|ion|ment|ness|ity|ism|ist|er|or|al|ous|ive|ble|ic|ary|ory|nce|ship|hood|less|ful|ent|ant|ure|i[sz]e|ate|"
    r"th|age|man|men|y)$"
)
_SHORT_TITLES = words_of("mr mrs ms dr gen col capt lt sgt sen gov st")
_UNITS = words_of("km kg mm cm vs mph kph th rd nd hrs")
_OMITTED = words_of("of for the and in to on a de del la las los el y para")  # words without a letter in acronyms
_LONGEST_NAME = 8  # longest name in words
_CLITICS = words_of("s t re ve ll d m")


def is_in_capitals(text: str) -> bool:
    """Whether nearly all letters of a text, of at least three words, are in upper case."""
    if text.islower():
        return False
    upper, lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
    return upper > _FEWEST_LETTERS and upper >= _SHARE * (upper + lower) and len(_WORD.findall(text)) >= _FEWEST_WORDS


def is_in_title_case(text: str) -> bool:
    """Whether nearly all words of four letters or more are capitalised, and there are at least three."""
    words = [word for word in _WORD.findall(text) if len(word) > 3]
    capitalised = sum(map(str.istitle, words))
    return capitalised >= _FEWEST_WORDS and sum(map(str.islower, words)) <= (1 - _SHARE) * len(words)


def recased(paragraphs: Sequence[str], is_word: Vocabulary) -> list[str]:
    """Rewrite the paragraphs in capitals or in title case to sentence case; each paragraph keeps its length.

    A word gets the form that it has within sentences of other paragraphs of the article, or in lists of names. Other
    words are written in lower case, except acronyms, words after a title ("COL PONCE"), and words that the vocabulary
    does not have and that look like names.

    Parameters
    ----------
    paragraphs
        Paragraphs of one article.
    is_word
        Function that returns which words, in lower case, a vocabulary has.
    """
    changed = [is_in_capitals(text) or is_in_title_case(text) for text in paragraphs]
    if not any(changed):
        return list(paragraphs)
    # Forms within sentences, by the word in lower case; a word that is ever in lower case has this form.
    forms: dict[str, str] = {}
    for text, is_changed in zip(paragraphs, changed, strict=True):
        for match in () if is_changed or text.isupper() else _WORD.finditer(text):
            word, key = match[0], match[0].lower()
            if word == key or (forms.get(key) != key and not _is_start(text, match.start())):
                forms[key] = word
    names = dict(written_names())
    for text in paragraphs:
        for match in _ALONE.finditer(text):
            forms[match[1].lower()] = match[1]
            names |= _spelled_out(match[1], text[max(0, match.start() - 100) : match.start()])
        for match in _EXPLAINED.finditer(text):
            names |= _spelled_out(match[1], match[2])
    return [
        _recased(text, forms, names, is_word) if is_changed else text
        for text, is_changed in zip(paragraphs, changed, strict=True)
    ]


def _is_start(text: str, position: int) -> bool:
    preceding = text[max(0, position - 12) : position]
    return bool(_START.search(preceding)) and not _ABBREVIATION.search(preceding) if position else True


def _spelled_out(acronym: str, preceding: str) -> dict[tuple[str, ...], str]:
    """Name after the last "the" if its words have the initials of an acronym, in any order (of any language)."""
    words = _WORD.findall(re.split(r"\bthe\b", preceding, flags=re.I)[-1])
    if not 1 < len(words) <= _LONGEST_NAME or Counter(acronym) - Counter(word[0].upper() for word in words):
        return {}
    name = [word.lower() if word.lower() in _OMITTED else word.capitalize() for word in words]
    return {tuple(map(str.lower, name)): " ".join(name)}


def _recased(text: str, forms: Mapping[str, str], names: Mapping[tuple[str, ...], str], is_word: Vocabulary) -> str:
    words = list(_WORD.finditer(text))
    lower = [word[0].lower() for word in words]
    if any(len(form) != len(word[0]) for form, word in zip(lower, words, strict=True)):
        return text  # it has letters whose lower case has another length
    is_known = is_word(lower) | np.array([word in common_words() or _is_inflected(word) for word in lower], np.bool_)
    in_capitals, names_at = is_in_capitals(text), _names_in(text, names)
    letters, previous = list(text), ""
    for i, word in enumerate(words):
        start, end = word.span()
        around = text[max(0, start - 1) : start], text[end : end + 2].lower()
        written = names_at.get(start) or forms.get(lower[i])
        if around[0].isdigit() or (around[0] in ("'", "’") and lower[i] in _CLITICS):
            written = lower[i]
        elif lower[i] in ("march", "may"):
            is_month = _DAY_BEFORE.search(text[:start][-3:]) or _DAY_AFTER.match(text, end)
            written = lower[i].capitalize() if is_month else lower[i]
        elif lower[i] == "us":
            # The country, by the word before it or at the beginning of a sentence, and not the pronoun.
            is_country = i > 0 and lower[i - 1] in ("the", "and", "said", "that", "anti", "pro")
            written = "US" if is_country or _is_start(text, start) else "us"
        elif written is None and around[1] in ("'t", "’t") and lower[i].endswith("n"):
            written = lower[i]
        elif written is None and not in_capitals and not word[0].istitle():
            written = word[0]  # in lower case, or an acronym
        elif written is None:
            written = _by_shape(word[0], previous, is_known=bool(is_known[i]), has_point=around[1][:1] == ".")
        if previous in _TITLES and not written.islower() and words[i - 1].end() + 1 == start:
            letters[words[i - 1].start()] = previous[0].upper()
        previous = written if written in names_at.values() or written.lower() in _TITLES else written.lower()
        if _is_start(text, start) and written.islower():
            written = written.capitalize()
        letters[start:end] = written
    return "".join(letters)


def _is_inflected(word: str) -> bool:
    """Whether a word is a form of a common word: halts, halted, halting, seized, defying."""
    stem = re.sub(r"(?:s|es|ed|d|ing|ly)$", "", word)
    bases = {stem, f"{stem}e"}
    if stem.endswith("i"):
        bases.add(f"{stem[:-1]}y")
    elif stem[-2:-1] == stem[-1:]:
        bases.add(stem[:-1])
    return stem != word and not bases.isdisjoint(common_words())


def _by_shape(word: str, previous: str, *, is_known: bool, has_point: bool) -> str:
    """Form in which a sentence writes a capitalised word that is in no list of names, after the word `previous`."""
    lower = word.lower()
    if len(word) == 1:
        return "a" if lower == "a" and not has_point else word
    if lower in _SHORT_TITLES or lower in ("san", "santa", "saint") or previous.lower() in _SHORT_TITLES:
        return word.capitalize()
    if lower in _UNITS or is_known or lower in _WORDS_TOO or lower in _TITLES:
        return lower
    if word.isupper() and (len(word) <= 4 or not any(letter in "aeiouy" for letter in lower)):
        return word
    is_after_name = previous.lower() in _TITLES or previous.istitle()
    return word.capitalize() if is_after_name or not _COMMON_END.search(lower) else lower


def _names_in(text: str, names_by_words: Mapping[tuple[str, ...], str]) -> dict[int, str]:
    """Forms of the words of listed names in a text, by their position; of overlapping names, the longest counts."""
    words = list(re.finditer(r"\w+|\S", text))
    lower = tuple(word[0].lower() for word in words)
    forms: dict[int, str] = {}
    i = 0
    while i < len(words):
        for length in range(min(_LONGEST_NAME, len(words) - i), 0, -1):
            name = names_by_words.get(lower[i : i + length])
            if name is not None and (length > 1 or (lower[i] not in _WORDS_TOO and lower[i] != "us")):
                written = re.findall(r"\w+|\S", name)
                forms |= {word.start(): form for word, form in zip(words[i : i + length], written, strict=True)}
                i += length
                break
        else:
            i += 1
    return forms
