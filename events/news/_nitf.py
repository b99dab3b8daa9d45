"""Articles in NITF XML, in the layout of the New York Times Annotated Corpus.

A file has one article, plain or compressed by gzip; tar archives of plain files are read as streams.

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

import gzip
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from html.entities import html5
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

from corefsample.errors import DamagedFileError
from corefsample.files._paths import MARKUP
from corefsample.files._reading import ReadProgress, open_bytes
from events.news._fields import ArticleFault, Record

XML_LIMIT = 2**26  # largest document in bytes
_CHUNK = 2**16  # number of bytes that are read at once
_BLOCK = 512  # size of a tar header in bytes
_LEAD = re.compile(r"\A\s*LEAD\s*:\s*")
_WORD = re.compile(r"\w+")
_CHARACTER_NAME = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_NAMES = ("amp", "lt", "gt", "quot", "apos")
_ASIDE = ("correction_text", "online_lead_paragraph")  # blocks that become metadata
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


def xml_records(path: str, progress: ReadProgress, *, by_name: bool) -> Iterator[Record]:
    """Read the article of one file; `by_name` makes the name of the file its doc_id."""
    with open_bytes(path, progress) as stream:
        document = stream.read(XML_LIMIT + 1)
    yield _record(document, os.path.basename(path), "", by_name=by_name)


def archive_records(path: str, progress: ReadProgress, *, by_name: bool) -> Iterator[Record]:
    """Read the XML files of a tar archive in their order; other members are ignored.

    `by_name` makes the path of a member the doc_id of its article.

    Raises
    ------
    DamagedFileError
        If the archive is damaged, because its members after the damage cannot be trusted.
    """
    try:
        with open_bytes(path, progress) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # it would keep every member's header
                is_visible = member.isfile() and not os.path.basename(member.name).startswith(".")
                if is_visible and member.name.endswith(MARKUP):
                    document = archive.extractfile(member).read(XML_LIMIT + 1)  # type: ignore[union-attr]
                    yield _record(document, member.name, f"member {member.name}, ", by_name=by_name)
            _require_end(archive)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(f"archive must be complete, got: {error}", place=path) from None


def _require_end(archive: tarfile.TarFile) -> None:
    """Raise ReadError if an archive is truncated or continues with other data, which tarfile treats as its end."""
    stream: Any = archive.fileobj
    if stream.tell() < archive.offset + _BLOCK:
        raise tarfile.ReadError("no end of archive")
    while trailing := stream.read(_CHUNK):
        if trailing.strip(b"\0"):
            raise tarfile.ReadError(f"no header at byte {archive.offset}")


def _record(encoded: bytes, name: str, within: str, *, by_name: bool) -> Record:
    if len(encoded) > XML_LIMIT:
        fault = ArticleFault(f"a document must be at most {XML_LIMIT} bytes, got more")
        return Record(f"{within}line 1", partial(str, encoded[:1000], "utf-8", "replace"), fault=fault)
    original = partial(str, encoded, "utf-8", "replace")
    try:
        fields = nitf_fields(encoded)
    except ArticleFault as fault:
        return Record(f"{within}line {fault.line}", original, fault=fault)
    if by_name:
        fields["doc_id"] = name
    return Record(f"{within}line 1", original, names={"date": "date.publication", "doc_id": "doc-id"}, **fields)


def nitf_fields(xml: bytes) -> dict[str, Any]:
    """Read the fields of the article in one document, as arguments of a `Record`.

    Returns
    -------
    doc_id, date
        Attribute `id-string` of the first doc-id; and publication date of the first pubdata, otherwise year-month-day
        of the meta elements, as unchecked text. None if the document lacks them.
    title, text
        Headline (without a headline, the title in the head of the document), and paragraphs of the text, separated by
        empty lines.
    metadata
        The meta elements by name, without those of the date; url, word_count, credit, kicker, byline,
        normalized_byline, dateline, abstract, online_headline, author_info, online_lead_paragraph, correction_text;
        lists of index terms by kind: descriptor, names, person, org, location, object_title ..., with the prefix
        "online_" for terms of the online producers. Of several with one name, the last of these groups counts.

    Raises
    ------
    ArticleFault
        If the XML is not well-formed, is not NITF, or is nested too deeply.
    """
    doc_id: str | None = None
    date: str | None = None
    date_parts: dict[str, str] = {}
    meta: dict[str, str] = {}
    texts: dict[str, str] = {}
    index_terms: dict[str, list[str]] = {}
    paragraphs: list[tuple[str, str]] = []  # class of the block, text
    try:
        for element, tags, block, text in _elements(_tree(xml), frozenset(), "", inside=False):
            tag, kind = element.tag, element.get("class", "")
            if tag == "meta":
                name, value = element.get("name", ""), element.get("content", "")
                if name in _DATE_PARTS:
                    date_parts.setdefault(name, value.strip())
                elif name and value:
                    meta.setdefault(name, value)
            elif tag == "doc-id" and doc_id is None:
                doc_id = element.get("id-string")
            elif tag == "pubdata":
                date = element.get("date.publication") if date is None else date
                for attribute, name in _PUBDATA.items():
                    if value := element.get(attribute, ""):
                        texts.setdefault(name, value)
            elif tag == "series" and (value := element.get("series.name", "")):
                texts.setdefault("kicker", value)
            elif text and "body.content" in tags:
                paragraphs.append((block, text))
            elif text and ((tag, kind) in _HEAD_TEXTS or tag == "title"):
                texts.setdefault(_HEAD_TEXTS.get((tag, kind), "head_title"), text)
            elif text:
                name = ((tag == "classifier" and element.get("type")) or tag).replace(".", "_")
                index_terms.setdefault(f"online_{name}" if kind.startswith("online") else name, []).append(text)
    except RecursionError:
        raise ArticleFault("elements must not be nested this deep") from None
    if date is None and date_parts:
        year, month, day = (date_parts.get(part, "") for part in _DATE_PARTS)
        date = f"{year.zfill(4)}-{month.zfill(2)}-{day.zfill(2)}"
    head_title = texts.pop("head_title", "")
    title = texts.pop("title", "") or head_title
    for block in _ASIDE:
        if in_block := [text for kind, text in paragraphs if kind == block]:
            texts[block] = "\n\n".join(in_block)
    return {
        "doc_id": doc_id,
        "date": date,
        "title": title,
        "text": _text(paragraphs),
        "metadata": {**meta, **texts, **index_terms},
    }


def _elements(
    element: Element, above: frozenset[str], block: str, *, inside: bool
) -> Iterator[tuple[Element, frozenset[str], str, str]]:
    """Yield an element and the elements in it, each with tags, block and text.

    The tags are those of the elements that contain it. The block is the class of the nearest block that contains it and
    has a class, or "". The text is "" unless it is part of the article or of its metadata; text within collected text
    (`inside`) is not collected again.
    """
    is_collected = not inside and _is_collected(element.tag, element.get("class", ""), above)
    yield element, above, block, " ".join("".join(_pieces(element)).split()) if is_collected else ""
    if element.tag == "block":
        block = element.get("class", "") or block
    for child in element:
        yield from _elements(child, above | {element.tag}, block, inside=inside or is_collected)


def _text(paragraphs: Sequence[tuple[str, str]]) -> str:
    """Text of the article, from its paragraphs with the classes of their blocks."""
    blocks: dict[str, list[str]] = {}
    for kind, paragraph in paragraphs:
        blocks.setdefault(kind, []).append(paragraph)
    text = blocks.get("full_text") or blocks.get("lead_paragraph")
    if text is None:
        text = [paragraph for kind, paragraph in paragraphs if kind not in _ASIDE]
    corrections = set(map(_words, blocks.get("correction_text", [])))
    return "\n\n".join(_without_leads([p for p in text if not corrections or _words(p) not in corrections]))


def _tree(xml: bytes) -> Element:
    """Parse XML to its outermost element, and remove the namespaces of all names.

    The document type of NITF declares names of characters but is not read, so they are replaced before parsing. The
    parser limits the expansion of entities.
    """
    try:
        root: Element = fromstring(_CHARACTER_NAME.sub(_numbered, xml))
    except ParseError as error:
        raise ArticleFault(f"XML must be well-formed, got: {error}", line=error.position[0]) from None
    except (LookupError, ValueError) as error:  # raised for encodings that expat leaves to Python
        raise ArticleFault(f"XML must be in a known encoding, got: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "nitf":
        raise ArticleFault(f"the outermost element must be nitf, got {root.tag!r}")
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
    """Whether the following paragraphs, joined, begin with these words."""
    words = [word for paragraph in following for word in _words(_LEAD.sub("", paragraph))]
    return bool(lead) and tuple(words[: len(lead)]) == lead
