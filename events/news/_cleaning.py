"""Remains of web pages and word processors in texts: HTML tags and entities, soft hyphens, invisible characters.

A parser takes each of them for a part of a word: "at\N{SOFT HYPHEN}tacked" and "Iraq&#39;s" are words that no rule
knows.
"""

from __future__ import annotations

import html
import re

# Tags that end a paragraph, tags within a line, and tags whose content is no text. "<" in other places stays.
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
    r"""The text with characters in place of HTML entities, and without HTML tags and invisible characters.

    A tag that ends a paragraph, such as <p> or <br>, becomes an empty line.

    Examples
    --------
    >>> cleaned("<p>Iraq&#39;s army at\N{SOFT HYPHEN}tacked <b>Basra</b>.<br>It lost.")
    "Iraq's army attacked Basra.\n\nIt lost."
    """
    if "&" in text:
        for _ in range(2):  # feeds escape twice: "&amp;#39;"
            text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if "<" in text:
        text = _PARAGRAPH_ENDS.sub("\n\n", _REMOVED.sub("", text)).strip()
    return _INVISIBLE.sub("", text)
