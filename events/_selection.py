"""Selection of the documents of a corpus by doc_id and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from corefsample.errors import ParameterError

_META = "meta::"


class Selection:
    """Conditions on documents, all of which must be true.

    Parameters
    ----------
    conditions
        Conditions of the form "key=value" or "key=value,value": the document's metadata `key` must match one of the
        values, in which *, ? and [...] are wildcards; if the metadata is a list, one item must match. `doc_id` is a key
        too. A document without metadata of this key is not selected. By default, every document is selected.

    Raises
    ------
    ParameterError
        If a condition is not of the form "key=value" or "key=value,value".

    Examples
    --------
    >>> news = Selection(["genre=news,court", "doc_id=GUM_*"])
    >>> news.includes("GUM_news_1", {"genre": "news"}), news.includes("GUM_bio_1", {"genre": "bio"})
    (True, False)
    """

    def __init__(self, conditions: Sequence[str] = ()) -> None:
        self.n_not_selected = 0  # number of documents that calls did not select
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
        fields = {**{name.removeprefix(_META): value for name, value in metadata.items()}, "doc_id": doc_id}
        return all(
            any(fnmatchcase(text, pattern) for text in _texts(fields.get(key)) for pattern in patterns)
            for key, patterns in self._conditions
        )

    def __call__(self, doc_id: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a document meets all conditions (see `includes`); documents that do not are counted."""
        is_included = self.includes(doc_id, metadata)
        self.n_not_selected += not is_included
        return is_included

    def require_known_names(self, names: Iterable[str]) -> None:
        """Check the keys of the conditions against the names of metadata that documents have.

        Raises
        ------
        ParameterError
            If the key of a condition is neither `doc_id` nor one of the `names`.
        """
        names_of_metadata = {"doc_id", *(name.removeprefix(_META) for name in names)}
        for key, _ in self._conditions:
            if key not in names_of_metadata:
                rule = f"must name metadata of the documents ({', '.join(sorted(names_of_metadata))})"
                raise ParameterError(f"{rule}, got {key!r}", parameter="where")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [str(each) for each in values]
