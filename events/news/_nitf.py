"""One article of NITF XML, in the layout of the New York Times Annotated Corpus.

The text consists of the paragraphs of the block `full_text`; if it is missing, of those of `lead_paragraph`; if both
are missing, of all paragraphs of the body except captions, notes, tables and corrections. Two kinds of paragraphs are
left out:

- a paragraph that begins with "LEAD:" and is repeated by the paragraphs after it (the early years of the corpus print
  the lead twice); one that is not repeated is kept, without that word;
- a paragraph that is also in the block `correction_text`: a correction is metadata.

A document type may be declared, as in the corpus, but is never fetched. A document that declares entities is rejected,
so that neither external entities nor entity bombs reach the parser.

References
----------
Sandhaus (2008), The New York Times Annotated Corpus Overview, LDC2008T19, section 2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html.entities import html5
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

_LEAD = re.compile(r"\s*LEAD\s*:\s*")
_WORD = re.compile(r"\w+")
_CHARACTER_NAME = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_NAMES = ("amp", "lt", "gt", "quot", "apos")
_FULL, _LEADING, _CORRECTION = "full_text", "lead_paragraph", "correction_text"
_ONLINE_LEAD = "online_lead_paragraph"
_NO_TEXT = ("media", "table", "fn", "note")  # within the body, not of the article's text
_PARAGRAPHS = ("p", "li")
_DATE_PARTS = ("publication_year", "publication_month", "publication_day_of_month")
_PUBDATA = {"ex-ref": "url", "item-length": "word_count", "name": "credit"}
_HEAD_TEXTS = {
    ("hl1", ""): "title",
    ("hl2", "online_headline"): "online_headline",
    ("byline", ""): "byline",
    ("byline", "print_byline"): "byline",
    ("byline", "normalized_byline"): "normalized_byline",
    ("dateline", ""): "dateline",
    ("abstract", ""): "abstract",
    ("tagline", "author_info"): "author_info",
}
_INDEXED = ("classifier", "location", "object.title", "org", "person")
# A LEAD may differ in a few words from the paragraphs that repeat it.
_SAME_WORDS = 0.9
_COMPARED_WORDS = 400


class NitfError(Exception):
    """Error of invalid XML, in the line `line`."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


class NitfDocument:
    """The article in one document.

    Parameters
    ----------
    xml
        Bytes of the document.

    Attributes
    ----------
    doc_id, date
        Attribute `id-string` of the first doc-id; and publication date of the first pubdata, otherwise year-month-day
        of the meta elements, as unchecked text. None if the document lacks them.
    title, text
        Headline, and paragraphs of the text, separated by empty lines.
    metadata
        The meta elements by name, without those of the date; url, word_count, credit, kicker, byline,
        normalized_byline, dateline, abstract, online_headline, author_info, online_lead_paragraph, correction_text;
        lists of index terms by kind: descriptor, names, person, org, location, object_title ..., with the prefix
        "online_" for terms of the online producers.

    Raises
    ------
    NitfError
        If the XML is not well-formed, is not NITF, or is nested too deeply.
    """

    def __init__(self, xml: bytes) -> None:
        self.doc_id: str | None = None
        self._meta: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._indexed: dict[str, list[str]] = {}
        self._published: str | None = None
        self._parts: dict[str, str] = {}
        self._paragraphs: list[tuple[str, str]] = []  # class of the block, text
        try:
            self._add(_tree(xml), frozenset(), "", inside=False)
        except RecursionError:
            raise NitfError("elements must not be nested this deep", 1) from None

    def _add(self, element: Element, above: frozenset[str], block: str, *, inside: bool) -> None:
        """Add an element and the elements in it.

        Parameters
        ----------
        element, above
            The element, and the tags of the elements that contain it.
        block
            Class of the nearest block that contains the element and has a class; "" without such a block.
        inside
            True if the text of an element that contains this one is collected.
        """
        tag, kind = element.tag, element.get("class", "")
        if tag == "meta":
            name, value = element.get("name", ""), element.get("content", "")
            if name in _DATE_PARTS:
                self._parts.setdefault(name, value.strip())
            elif name and value:
                self._meta.setdefault(name, value)
        elif tag == "doc-id" and self.doc_id is None:
            self.doc_id = element.get("id-string")
        elif tag == "pubdata":
            self._published = element.get("date.publication") if self._published is None else self._published
            for attribute, name in _PUBDATA.items():
                self._add_text(name, element.get(attribute))
        elif tag == "series":
            self._add_text("kicker", element.get("series.name"))
        is_collected = not inside and _is_collected(tag, kind, above)
        if is_collected and (text := " ".join("".join(_pieces(element)).split())):
            if "body.content" in above:
                self._paragraphs.append((block, text))
            elif (tag, kind) in _HEAD_TEXTS or tag == "title":
                self._add_text(_HEAD_TEXTS.get((tag, kind), "head_title"), text)
            else:
                name = ((tag == "classifier" and element.get("type")) or tag).replace(".", "_")
                online = "online_" if kind.startswith("online") else ""
                self._indexed.setdefault(online + name, []).append(text)
        for child in element:
            self._add(child, above | {tag}, kind if tag == "block" and kind else block, inside=inside or is_collected)

    def _add_text(self, name: str, text: str | None) -> None:
        if text:
            self._texts.setdefault(name, text)

    @property
    def date(self) -> str | None:
        """Publication date as unchecked text; None if the document has no date."""
        if self._published is not None or not self._parts:
            return self._published
        year, month, day = (self._parts.get(part, "") for part in _DATE_PARTS)
        return f"{year.zfill(4)}-{month.zfill(2)}-{day.zfill(2)}"

    @property
    def title(self) -> str:
        """Headline; without a headline, the title in the head of the document."""
        return self._texts.get("title") or self._texts.get("head_title", "")

    @property
    def text(self) -> str:
        """Paragraphs of the text, separated by empty lines."""
        corrections = {_words(paragraph) for paragraph in self._of_block(_CORRECTION)}
        paragraphs = [p for p in self._chosen() if not corrections or _words(p) not in corrections]
        return "\n\n".join(_without_leads(paragraphs))

    def _chosen(self) -> list[str]:
        for kind in (_FULL, _LEADING):
            if paragraphs := self._of_block(kind):
                return paragraphs
        return [text for kind, text in self._paragraphs if kind not in (_CORRECTION, _ONLINE_LEAD)]

    def _of_block(self, block: str) -> list[str]:
        return [text for kind, text in self._paragraphs if kind == block]

    @property
    def metadata(self) -> dict[str, Any]:
        """Other elements: meta elements, overridden by named texts, and those by index terms of the same name."""
        texts = {name: text for name, text in self._texts.items() if name not in ("title", "head_title")}
        for kind in (_CORRECTION, _ONLINE_LEAD):
            if paragraphs := self._of_block(kind):
                texts[kind] = "\n\n".join(paragraphs)
        return {**self._meta, **texts, **self._indexed}


def _tree(xml: bytes) -> Element:
    """Parse XML to its outermost element, and remove the namespaces of all names.

    The document type of NITF declares names of characters but is not read, so they are replaced before parsing. The
    parser limits the expansion of entities.
    """
    try:
        root: Element = fromstring(_CHARACTER_NAME.sub(_numbered, xml))
    except ParseError as error:
        raise NitfError(f"XML must be well-formed, got: {error}", error.position[0]) from None
    except (LookupError, ValueError) as error:  # raised for encodings that expat leaves to Python
        raise NitfError(f"XML must be in a known encoding, got: {error}", 1) from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "nitf":
        raise NitfError(f"the outermost element must be nitf, got {root.tag!r}", 1)
    return root


def _numbered(name: re.Match[bytes]) -> bytes:
    """Replace the name of a character by its number; names of XML and unknown names stay."""
    key = name[1].decode()
    characters = "" if key in _XML_NAMES else html5.get(f"{key};", "")
    return "".join(f"&#{ord(character)};" for character in characters).encode() or name[0]


def _is_collected(tag: str, kind: str, above: frozenset[str]) -> bool:
    """Whether the text of an element is part of the article or of its metadata."""
    if "body.content" in above:
        return tag in _PARAGRAPHS and above.isdisjoint(_NO_TEXT)
    if "body" in above:
        return (tag, kind) in _HEAD_TEXTS
    return "head" in above and (tag == "title" or (tag in _INDEXED and "identified-content" in above))


def _pieces(element: Element) -> Iterator[str]:
    """Yield the texts in an element, with a blank at each break of a line or paragraph."""
    yield element.text or ""
    for child in element:
        blank = " " if child.tag in ("br", *_PARAGRAPHS) else ""
        yield from (blank, *_pieces(child), blank, child.tail or "")


def _words(paragraph: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(paragraph.casefold()))


def _without_leads(paragraphs: Sequence[str]) -> Iterator[str]:
    """Yield paragraphs without those that are marked LEAD and repeated, and without the marks of other leads."""
    for i, paragraph in enumerate(paragraphs):
        mark = _LEAD.match(paragraph)
        if mark is None:
            yield paragraph
            continue
        lead = paragraph[mark.end() :]
        if lead and not _is_repeated(_words(lead), paragraphs[i + 1 :]):
            yield lead


def _is_repeated(lead: tuple[str, ...], following: Sequence[str]) -> bool:
    """Whether the following paragraphs, joined, begin with (nearly) these words."""
    start: list[str] = []
    for paragraph in following:
        if len(start) >= len(lead):
            break
        mark = _LEAD.match(paragraph)
        start += _words(paragraph[mark.end() :] if mark else paragraph)
    start = start[: len(lead)]
    if tuple(start) == lead:
        return bool(lead)
    if len(lead) > _COMPARED_WORDS or len(start) < _SAME_WORDS * len(lead):
        return False
    same = sum(block.size for block in SequenceMatcher(None, lead, start, autojunk=False).get_matching_blocks())
    return same >= _SAME_WORDS * len(lead)
