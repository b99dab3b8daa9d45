"""Which documents of a corpus to train on, and which to hold out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from corefsample.errors import ParameterError

__all__ = ["Selection", "held_out_ids"]

_META = "meta::"


class Selection:
    """Conditions on documents; all have to hold.

    Parameters
    ----------
    conditions
        Each "key=value" or "key=value,value": the document's metadata `key` must be one of the values, in which *, ?
        and [...] stand for other characters; `doc_id` is a key too. A document without that metadata is not selected.

    Raises
    ------
    ParameterError
        If a condition is not written like that.

    Examples
    --------
    >>> news = Selection(["genre=news,court", "doc_id=GUM_*"])
    >>> news.holds("GUM_news_1", {"genre": "news"}), news.holds("GUM_bio_1", {"genre": "bio"})
    (True, False)
    """

    def __init__(self, conditions: Sequence[str] = ()) -> None:
        self._conditions: list[tuple[str, list[str]]] = []
        self._seen: set[str] = {"doc_id"}
        for condition in conditions:
            key, sign, values = condition.partition("=")
            key = key.strip().removeprefix(_META)
            patterns = [value.strip() for value in values.split(",")]
            if not (key and sign and all(patterns)):
                raise ParameterError(f"where must be KEY=VALUE or KEY=VALUE,VALUE, got {condition!r}")
            self._conditions.append((key, patterns))

    def __str__(self) -> str:
        return " and ".join(f"{key}={','.join(patterns)}" for key, patterns in self._conditions) or "no condition"

    def holds(self, doc_id: str, metadata: Mapping[str, Any]) -> bool:
        """Whether all conditions hold of a document."""
        if self._conditions:
            self._seen.update(metadata)
        values = {**{name.removeprefix(_META): value for name, value in metadata.items()}, "doc_id": doc_id}
        return all(
            key in values and any(fnmatchcase(str(values[key]), pattern) for pattern in patterns)
            for key, patterns in self._conditions
        )

    def require_known_keys(self) -> None:
        """Refuse a key that no document so far had.

        Raises
        ------
        ParameterError
            If there is one.
        """
        known = {name.removeprefix(_META) for name in self._seen}
        for key, _ in self._conditions:
            if key not in known:
                raise ParameterError(
                    f"where must name metadata of the documents ({', '.join(sorted(known))}), got {key!r}"
                )


def held_out_ids(doc_ids: Collection[str], share: float, *, seed: int = 0) -> frozenset[str]:
    """Choose whole documents to hold out.

    The choice hangs on the seed and the names alone, not on the order: documents are ranked by a hash of both.

    Parameters
    ----------
    doc_ids
        Of the documents, all distinct.
    share
        In (0, 1): the number is rounded up, and leaves one document at least to train on.
    seed
        In [0, 2**64).

    Raises
    ------
    ParameterError
        If there is no document to spare.
    """
    n_held_out = math.ceil(share * len(doc_ids))
    if n_held_out >= len(doc_ids):
        raise ParameterError(
            f"held_out_share must leave a document to train on beside those held out, got {share} of {len(doc_ids)} "
            "(0 holds out none)"
        )
    key = seed.to_bytes(8, "little")
    ranked = sorted(
        doc_ids,
        key=lambda doc_id: (hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), key=key).digest(), doc_id),
    )
    return frozenset(ranked[:n_held_out])
