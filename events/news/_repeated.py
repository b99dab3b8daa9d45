"""Texts that come again under another name, as copies of news agencies do: they inflate counts."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import re
from typing import Literal

from events.news._fields import Article

Duplicates = Literal["keep", "drop", "group"]
GROUP, IS_COPY = "text_group", "is_copy"  # metadata of grouped articles

_FEWEST_WORDS = 20  # of a text that is compared: shorter ones are alike by chance


class RepeatedTexts:
    """Finds articles whose words are those of an earlier one, whatever their case, punctuation and headline.

    Some 150 bytes are kept of each text.

    Parameters
    ----------
    duplicates
        What becomes of a copy: it stays ("keep"), it is left out ("drop"), or it stays and all articles have the
        metadata `text_group`, the doc_id of the first of its text, and `is_copy`, yes or no ("group").

    Attributes
    ----------
    rows
        Copies: their doc_id and date, and the doc_id of the first.
    """

    def __init__(self, duplicates: Duplicates = "keep") -> None:
        self._duplicates = duplicates
        self._first: dict[bytes, str] = {}
        self.rows: list[tuple[str, datetime.date, str]] = []

    def taken(self, article: Article) -> Article | None:
        """The article as it is used; None if it is left out."""
        words = re.findall(r"\w+", article.text.casefold())
        first = article.doc_id
        if len(words) >= _FEWEST_WORDS:
            digest = hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=12).digest()
            first = self._first.setdefault(digest, article.doc_id)
        is_copy = first != article.doc_id
        if is_copy:
            self.rows.append((article.doc_id, article.date, first))
        if self._duplicates == "drop" and is_copy:
            return None
        if self._duplicates == "group":
            of_group = {GROUP: first, IS_COPY: "yes" if is_copy else "no"}
            return dataclasses.replace(article, metadata={**article.metadata, **of_group})
        return article
