"""Selection of the documents of a corpus to train on, and of those to hold out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from corefsample.errors import ParameterError

_META = "meta::"


class Selection:
    """Conditions on documents, all of which must be true.

    Parameters
    ----------
    conditions
        Each "key=value" or "key=value,value": the document's metadata `key` must be one of the values, in which *, ?
        and [...] stand for other characters; `doc_id` is a key too. A document without that metadata is not selected.

    Raises
    ------
    ParameterError
        If a condition has another form.

    Examples
    --------
    >>> news = Selection(["genre=news,court", "doc_id=GUM_*"])
    >>> news.includes("GUM_news_1", {"genre": "news"}), news.includes("GUM_bio_1", {"genre": "bio"})
    (True, False)
    """

    def __init__(self, conditions: Sequence[str] = ()) -> None:
        self._conditions: list[tuple[str, list[str]]] = []
        for condition in conditions:
            key, sign, values = condition.partition("=")
            key = key.strip().removeprefix(_META)
            patterns = [value.strip() for value in values.split(",")]
            if not (key and sign and all(patterns)):
                raise ParameterError(f"must be KEY=VALUE or KEY=VALUE,VALUE, got {condition!r}", parameter="where")
            self._conditions.append((key, patterns))

    def __str__(self) -> str:
        return " and ".join(f"{key}={','.join(patterns)}" for key, patterns in self._conditions) or "no condition"

    def includes(self, doc_id: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a document meets all conditions."""
        values = {**{name.removeprefix(_META): value for name, value in metadata.items()}, "doc_id": doc_id}
        return all(
            key in values and any(fnmatchcase(str(values[key]), pattern) for pattern in patterns)
            for key, patterns in self._conditions
        )

    def require_known_names(self, names: Iterable[str]) -> None:
        """Raise if the key of a condition is neither `doc_id` nor one of these names of metadata.

        Raises
        ------
        ParameterError
            If there is one.
        """
        known = {"doc_id", *(name.removeprefix(_META) for name in names)}
        for key, _ in self._conditions:
            if key not in known:
                rule = f"must name metadata of the documents ({', '.join(sorted(known))})"
                raise ParameterError(f"{rule}, got {key!r}", parameter="where")


def held_out_ids(doc_ids: Collection[str], share: float, *, seed: int = 0) -> frozenset[str]:
    """Choose documents to hold out.

    Documents are ranked by a hash of the seed and their name, so the choice does not depend on their order.

    Parameters
    ----------
    doc_ids
        Distinct names of the documents.
    share
        Share to hold out, in (0, 1). The number is rounded up, and must leave at least one document to train on.
    seed
        In [0, 2**64).

    Raises
    ------
    ParameterError
        If no document is left to train on.
    """
    n_held_out = math.ceil(share * len(doc_ids))
    if n_held_out >= len(doc_ids):
        rule = "must leave a document to train on in addition to those held out"
        raise ParameterError(
            f"{rule}, got {share} of {len(doc_ids)}", parameter="held_out_share", hint="0 holds out none"
        )
    key = seed.to_bytes(8, "little")
    ranked = sorted(
        doc_ids,
        key=lambda doc_id: (hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), key=key).digest(), doc_id),
    )
    return frozenset(ranked[:n_held_out])
