"""What scored and annotated documents have in common: an id, a date, tokens, and mentions with their rules."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample._equality import ByValue
from corefsample.documents import _faults
from corefsample.documents._tokens import Tokens, counted
from corefsample.errors import ParameterError

FIELDS = ("version", "doc_id", "date", "mentions", "antecedents", "scores", "tokens", "gold")
# Field of the metadata: the recalibrations that the scores of a document have had.
RECALIBRATION_FIELD = "recalibration"
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def iso_date(text: str) -> datetime.date | None:
    """Day of a text such as "2024-05-31", or None if it has another form."""
    try:
        return datetime.date.fromisoformat(text) if _ISO_DATE.fullmatch(text) else None
    except ValueError:
        return None


def checked_mentions(mentions: npt.ArrayLike, n_tokens: int | None) -> Ints32:
    """Return mentions as a new, read-only array of shape (n_mentions, 3).

    Parameters
    ----------
    mentions
        Token offsets start, end (exclusive) and head of each mention, sorted by start, then longest first.
    n_tokens
        Number of tokens of the document, or None if unknown.

    Raises
    ------
    ParameterError
        If mentions are not such numbers, lie outside the tokens, or are not sorted.
    """
    rule = "mentions must have three numbers each"
    try:
        given = np.asarray(mentions)
    except ValueError:
        raise ParameterError(f"{rule}, got lists of unlike length") from None
    array = np.zeros((0, 3), np.int32)
    if given.size:
        if given.ndim != 2 or given.shape[1] != 3:
            raise ParameterError(f"{rule}, got an array of shape {given.shape}")
        array = _checks.integers_32("mentions", given.ravel()).reshape(-1, 3)
    fault = _faults.mention_fault(array, n_tokens)
    if fault is not None:
        raise ParameterError(fault)
    array.flags.writeable = False
    return array


def require_one_each(name: str, length: int, noun: str, wanted: int, item: str = "entry") -> None:
    """Raise unless a field has as many entries as there are mentions, or sentences."""
    if length != wanted:
        raise ParameterError(f"must have one {item} per {noun} ({wanted}), got {length}", parameter=name)


class BaseDocument(ByValue):
    """Base of the documents: validation of their common fields, and how they are displayed."""

    __slots__ = ()

    doc_id: str
    mentions: Ints32
    tokens: Tokens | None
    date: datetime.date | None
    metadata: Mapping[str, Any]

    def _check_common_fields(self) -> None:
        """Validate the fields that all documents have, and store mentions as an array."""
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise ParameterError(f"must be a non-empty string, got {self.doc_id!r}", parameter="doc_id")
        mentions = checked_mentions(self.mentions, None if self.tokens is None else len(self.tokens))
        object.__setattr__(self, "mentions", mentions)
        if self.date is not None and (
            not isinstance(self.date, datetime.date) or isinstance(self.date, datetime.datetime)
        ):
            raise ParameterError(f"must be a datetime.date, got {self.date!r}", parameter="date")
        for name in FIELDS:
            if name in self.metadata:
                raise ParameterError(f"must contain no field of the document, got {name!r}", parameter="metadata")

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.mentions.shape[0])

    def mention_text(self, mention: int) -> str:
        """Words of one mention, joined by blanks.

        Raises
        ------
        ParameterError
            If the document has no tokens.
        """
        if self.tokens is None:
            raise ParameterError(
                "tokens is missing, without which mentions have no text", place=f"doc_id {self.doc_id!r}"
            )
        start, end, _ = self.mentions[mention]
        return " ".join(self.tokens.text[start:end])

    def _mention_columns(self) -> dict[str, Any]:
        """First columns of a table with one row for each mention."""
        columns: dict[str, Any] = {"doc_id": [self.doc_id] * self.n_mentions, "mention": np.arange(self.n_mentions)}
        return columns | {name: self.mentions[:, c] for c, name in enumerate(("start", "end", "head"))}

    def _facts(self) -> list[str]:
        """Facts in a few words each, for display."""
        facts = [] if self.date is None else [self.date.isoformat()]
        facts.append(counted(self.n_mentions, "mention"))
        return facts if self.tokens is None else [*facts, self.tokens.size_in_words()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(self.doc_id), *self._facts()])})"

    def _marked_text(self) -> str:
        """HTML of the text, with its entities."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        text = "" if self.tokens is None else self._marked_text()
        facts = html.escape(", ".join([type(self).__name__, *self._facts()]))
        return f"<div><b>{html.escape(self.doc_id)}</b> <small>{facts}</small><br>{text}</div>"
