"""Key and response of one document brought over the same mentions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError

Entities = Iterable[Iterable[Hashable]]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Labels = Sequence[int | str | None] | npt.NDArray[Any]

_NOT_ANNOTATED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The mentions of key entities, and where each is found in the response.

    Attributes
    ----------
    members, indptr
        int64: members[indptr[k]:indptr[k+1]] are the mentions of key entity k, as places in `columns`.
    columns
        int64 (n_mentions,): the mention of the response that each mention of the document is, -1 where the response
        has none. The response's mentions outside the key are here too; those not annotated are not.
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
        found = np.flatnonzero(self.columns >= 0)
        labels[:, found] = codes[:, self.columns[found]]
        return labels


def label_codes(name: str, labels: Labels | None) -> Ints:
    """Number the labels from 0, None as -1, or refuse what is no sequence of whole numbers, strings and None."""
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
        if array.ndim != 1:
            raise ParameterError(f"{name} must be of one dimension, got {array.ndim}")
        if array.dtype.kind in "iu":
            return np.unique(array, return_inverse=True)[1].astype(np.int64)
        labels = array.tolist()
    if not isinstance(labels, Sequence) or isinstance(labels, (str, bytes)):
        raise ParameterError(f"{name} must hold one entity a mention, got {_checks.shown(labels)}")
    numbers: dict[Any, int] = {None: -1}
    for i, label in enumerate(labels):
        if label is not None and (isinstance(label, bool) or not isinstance(label, (int, str, np.integer))):
            raise ParameterError(f"{name}[{i}] must be a whole number, a string or None, got {_checks.shown(label)}")
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
    key is the t-th mention of that span in the response.
    """
    if (key_spans is None) != (response_spans is None):
        raise ParameterError(f"{name}_spans and response_spans must be given both or neither, got one")
    if key_spans is None or response_spans is None:
        if codes.shape[0] != n_response:
            raise ParameterError(f"{name} must have an entry a response mention ({n_response}), got {codes.shape[0]}")
        columns = np.arange(n_response)
        return _key(codes, columns, singletons, codes == _NOT_ANNOTATED)
    places = {
        mention: place for place, mention in enumerate(_occurrences("response_spans", response_spans, n_response))
    }
    of_key = [places.pop(mention, -1) for mention in _occurrences(f"{name}_spans", key_spans, codes.shape[0])]
    twinless = sorted(places.values())
    all_codes = np.append(codes, np.full(len(twinless), _NOT_ANNOTATED))
    not_annotated = np.append(codes == _NOT_ANNOTATED, np.zeros(len(twinless), bool))
    return _key(all_codes, np.array(of_key + twinless, np.int64), singletons, not_annotated)


def entity_labels(name: str, entities: Entities) -> dict[Hashable, int]:
    """Entity of each mention, or a refusal of what is no partition."""
    if isinstance(entities, (str, bytes)) or not isinstance(entities, Iterable):
        raise ParameterError(f"{name} must be sets of mentions, got {_checks.shown(entities)}")
    labels: dict[Hashable, int] = {}
    for number, entity in enumerate(entities):
        if isinstance(entity, (str, bytes)) or not isinstance(entity, Iterable):
            raise ParameterError(f"{name}[{number}] must be a set of mentions, got {_checks.shown(entity)}")
        try:
            mentions = set(entity)
        except TypeError:
            raise ParameterError(
                f"{name}[{number}] must hold hashable mentions, (start, end) for instance, got {_checks.shown(entity)}"
            ) from None
        if not mentions:
            raise ParameterError(f"{name}[{number}] must hold a mention, got none")
        for mention in mentions:
            if labels.setdefault(mention, number) != number:
                raise ParameterError(
                    f"{name} must hold each mention once, got {_checks.shown(mention)} in entities"
                    f" {labels[mention]} and {number}"
                )
    return labels


def key_of_entities(key: dict[Hashable, int], response: dict[Hashable, int], singletons: bool) -> Key:
    """Key of one document whose mentions are known by what they are, spans for instance."""
    places = {mention: place for place, mention in enumerate(response)}
    twinless = [place for mention, place in places.items() if mention not in key]
    columns = [places.get(mention, -1) for mention in key] + twinless
    codes = np.array([*key.values(), *([-1] * len(twinless))], np.int64)
    return _key(codes, np.array(columns, np.int64), singletons, np.zeros(codes.shape[0], bool))


def _key(codes: Ints, columns: Ints, singletons: bool, not_annotated: npt.NDArray[np.bool_]) -> Key:
    """Group the mentions by key entity; those not annotated leave."""
    codes, columns = codes[~not_annotated], columns[~not_annotated]
    in_key = np.flatnonzero(codes >= 0)
    _, entities, counts = np.unique(codes[in_key], return_inverse=True, return_counts=True)
    if not singletons:
        in_key, entities, counts = in_key[counts[entities] > 1], entities[counts[entities] > 1], counts[counts > 1]
    members = in_key[np.argsort(entities, kind="stable")]
    return Key(members.astype(np.int64), np.append(0, np.cumsum(counts)).astype(np.int64), columns)


def _occurrences(name: str, spans: npt.ArrayLike, n_mentions: int) -> list[tuple[int, int, int]]:
    """Start and end of each mention, and how many mentions of the same span came before it."""
    try:
        array = np.asarray(spans)
    except ValueError:
        raise ParameterError(f"{name} must have a start and an end each, got lists of unlike length") from None
    if array.size == 0:
        array = np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iu":
        raise ParameterError(
            f"{name} must have a start and an end each (and a head, if they like), got an array of shape {array.shape}"
            f" of {array.dtype}"
        )
    if array.shape[0] != n_mentions:
        raise ParameterError(f"{name} must be as many as the labels ({n_mentions}), got {array.shape[0]}")
    before: dict[tuple[int, int], int] = {}
    found = []
    for start, end in array[:, :2].tolist():
        before[start, end] = before.get((start, end), -1) + 1
        found.append((start, end, before[start, end]))
    return found
