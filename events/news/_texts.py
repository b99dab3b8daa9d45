"""Articles in text files, one in each, with their dates in the names of the files."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator

from corefsample.errors import ParameterHint
from corefsample.files._reading import ReadProgress, max_line_bytes, open_bytes, too_long
from events.news._fields import ArticleFault, Record, decoded

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# 2001-09-11, 2001_09_11, 2001.09.11 or 20010911, not within a longer number.
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_WORD = r"[^\W\d_]+"
# What the directives of `strptime` can be in a name; the month and the day with or without a leading zero.
_DIRECTIVES = {"Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{1,2}", "d": r"\d{1,2}", "j": r"\d{1,3}", "b": _WORD, "B": _WORD}


def text_records(path: str, date_format: str | None, progress: ReadProgress) -> Iterator[Record]:
    """Read the article of one text file: its name is the doc_id, and contains the date.

    Parameters
    ----------
    path
        A UTF-8 file that ends in .txt or .txt.gz.
    date_format
        Format of the date within the name, for `datetime.datetime.strptime`; None: an ISO date, or 20010911.
    progress
        How far the file is read.
    """
    with open_bytes(path, progress) as stream:
        content: bytes = stream.read(max_line_bytes() + 1)
    name = os.path.basename(path)
    stem = name.removesuffix(".gz").removesuffix(".txt")

    def original() -> str:
        return content.decode("utf-8", "replace")

    try:
        if len(content) > max_line_bytes():
            message, hint = too_long("a text")
            raise ArticleFault(message, stem, hint=hint)
        date, text = _date_in(stem, date_format), decoded(content.removeprefix(_BYTE_ORDER_MARK), "text", stem)
    except ArticleFault as fault:
        yield Record("line 1", original, fault=fault)
    else:
        yield Record("line 1", original, text=text, date=date, doc_id=stem)


def _date_in(stem: str, date_format: str | None) -> datetime.date:
    """The first date in the name of a file."""
    for found in _dates_in(stem, date_format):
        if found is not None:
            return found
    if date_format is not None:
        raise ArticleFault(f"the file's name must contain a date in the format {date_format!r}, got {stem!r}", stem)
    hint = ParameterHint("date_format", "says how names contain dates, such as %d.%m.%Y")
    raise ArticleFault(f"the file's name must contain a date such as 2001-09-11, got {stem!r}", stem, hint=hint)


def _dates_in(stem: str, date_format: str | None) -> Iterator[datetime.date | None]:
    if date_format is None:
        for match in _ISO_DATE.finditer(stem):
            yield _date(f"{match[1]}-{match[3]}-{match[4]}", "%Y-%m-%d")
        return
    for match in _pattern(date_format).finditer(stem):
        yield _date(match[0], date_format)


def _date(text: str, date_format: str) -> datetime.date | None:
    try:
        return datetime.datetime.strptime(text, date_format).date()
    except ValueError:
        return None


def _pattern(date_format: str) -> re.Pattern[str]:
    """What a date in a format looks like within a name, without digits on either side."""
    parts = re.split(r"(%.)", date_format)
    pattern = "".join(
        _DIRECTIVES.get(part[1], r"\w+")
        if part.startswith("%") and part != "%%"
        else re.escape(part.replace("%%", "%"))
        for part in parts
    )
    return re.compile(rf"(?<!\d)(?:{pattern})(?!\d)")
