"""Key and response of one document, over the same mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Ints, Ints32
from corefsample.errors import ParameterError

Labels = Sequence[int | str | None] | npt.NDArray[Any]

_NO_ENTITY = -1


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The mentions of key entities, and the place of each in the response.

    Attributes
    ----------
    members, indptr
        int64: members[indptr[k]:indptr[k+1]] are the mentions of key entity k, as places in `columns`.
    columns
        int64 (n_mentions,): the response's mention that each mention of the document is, -1 if the response lacks it.
        The mentions are those of the key that are annotated, then those that only the response has.
    """

    members: Ints
    indptr: Ints
    columns: Ints

    @property
    def sizes(self) -> Ints:
        """Mentions of each key entity."""
        return np.diff(self.indptr)

    def responses(self, codes: npt.NDArray[np.integer[Any]]) -> Ints32:
        """Labels over the document's mentions of responses given over their own: int32 (n_samples, n_mentions)."""
        labels = np.full((codes.shape[0], self.columns.shape[0]), -1, np.int32)
        shared = np.flatnonzero(self.columns >= 0)
        labels[:, shared] = codes[:, self.columns[shared]]
        return labels


def label_codes(name: str, labels: Labels | None) -> Ints:
    """Number the labels from 0, None as -1; raise unless they are whole numbers, strings and None."""
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
        if array.ndim != 1:
            raise ParameterError(f"must be of one dimension, got {array.ndim}", parameter=name)
        if array.dtype.kind in "iu":
            return np.unique(array, return_inverse=True)[1].astype(np.int64)
        labels = array.tolist()
    if not isinstance(labels, Sequence) or isinstance(labels, (str, bytes)):
        hint = "the document has no gold entities" if labels is None else None
        hint = "pass document.gold" if hasattr(labels, "gold") else hint
        rule = f"must have one entity per mention, got {_checks.shown(labels)}"
        raise ParameterError(rule, parameter=name, hint=hint)
    numbers: dict[Any, int] = {None: _NO_ENTITY}
    for i, label in enumerate(labels):
        if label is not None and (isinstance(label, bool) or not isinstance(label, (int, str, np.integer))):
            rule = "must be a whole number, a string or None"
            raise ParameterError(f"{rule}, got {_checks.shown(label)}", parameter=f"{name}[{i}]")
        numbers.setdefault(label, len(numbers) - 1)
    return np.fromiter((numbers[label] for label in labels), np.int64, len(labels))


def key_over(
    name: str,
    codes: Ints,
    n_response: int,
    *,
    singletons: bool,
    key_spans: npt.ArrayLike | None,
    response_spans: npt.ArrayLike | None,
) -> Key:
    """Key of one document over the mentions of key and response together.

    Without spans mention i of the key is mention i of the response. With spans, the t-th mention of a span in the
    key is the t-th mention of that span in the response. A response that repeats a span more often than the key has
    it loses the later ones.
    """
    if (key_spans is None) != (response_spans is None):
        raise ParameterError("must be given with response_spans or not at all", parameter=f"{name}_spans")
    if key_spans is not None and response_spans is not None:
        key = _occurrences(f"{name}_spans", key_spans, codes.shape[0])
        n_in_key = Counter(mention[:2] for mention in key)
        response = [
            mention if mention[2] < max(n_in_key[mention[:2]], 1) else None
            for mention in _occurrences("response_spans", response_spans, n_response)
        ]
        return key_of(key, codes, response, singletons)
    if codes.shape[0] != n_response:
        rule = f"must have one entry for each mention of the response ({n_response})"
        raise ParameterError(f"{rule}, got {codes.shape[0]}", parameter=name)
    return key_of(range(n_response), codes, range(n_response), singletons)


def key_of(key: Iterable[Hashable], codes: Ints, response: Iterable[Hashable | None], singletons: bool) -> Key:
    """Key of one document.

    Parameters
    ----------
    key
        The mentions of the key, each once.
    codes
        Entity of each, -1 if it is not annotated: such mentions leave key and response.
    response
        The mentions of the response, each once; None: a mention that does not count.
    singletons
        Whether entities of one mention count.
    """
    places = {mention: place for place, mention in enumerate(response) if mention is not None}
    columns = np.array([places.pop(mention, -1) for mention in key], np.int64)
    annotated, only_response = codes != _NO_ENTITY, list(places.values())
    columns = np.append(columns[annotated], np.array(only_response, np.int64))
    _, entities, counts = np.unique(codes[annotated], return_inverse=True, return_counts=True)
    in_key = np.arange(entities.shape[0])
    if not singletons:
        in_key, entities, counts = in_key[counts[entities] > 1], entities[counts[entities] > 1], counts[counts > 1]
    members = in_key[np.argsort(entities, kind="stable")]
    return Key(members, np.append(0, np.cumsum(counts)).astype(np.int64), columns)


def _occurrences(name: str, spans: npt.ArrayLike, n_mentions: int) -> list[tuple[int, int, int]]:
    """Start and end of each mention, and the number of earlier mentions with the same span."""
    try:
        array = np.asarray(spans)
    except ValueError:
        raise ParameterError("must be pairs of start and end, got lists of different length", parameter=name) from None
    if array.size == 0:
        array = np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iu":
        rule = "must be pairs of start and end, or triples with a head"
        raise ParameterError(f"{rule}, got an array of shape {array.shape} of {array.dtype}", parameter=name)
    if array.shape[0] != n_mentions:
        raise ParameterError(f"must be as many as the labels ({n_mentions}), got {array.shape[0]}", parameter=name)
    before: dict[tuple[int, int], int] = {}
    occurrences = []
    for start, end in array[:, :2].tolist():
        before[start, end] = before.get((start, end), -1) + 1
        occurrences.append((start, end, before[start, end]))
    return occurrences
