"""What taggers and classifiers share: parameters by name, the content of a fit, and checks of its arrays."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from corefsample._arrays import Ints
from corefsample.errors import ParameterError
from corefsample.tagging._chain import LinearChain

Content = TypeVar("Content")


class TrainedModel(ABC, Generic[Content]):
    """A model whose constructor takes its parameters by name, and whose fit is a dataclass of names and arrays."""

    _content_type: ClassVar[type[Any]]  # with `tags`, the names of words or attributes, and arrays
    _content: Content | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters().items())})"

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def _fitted(self) -> Content:
        """What was fitted; raises before `fit`."""
        if self._content is None:
            raise ParameterError(f"{type(self).__name__} must be fitted before it is used")
        return self._content

    @abstractmethod
    def _with(self, content: Content) -> Self:
        """Take over what was fitted, and compute what every posterior needs."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags, in the order of a chain's; raises before `fit`."""
        found: Any = self._fitted()
        return tuple(found.tags)

    @abstractmethod
    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence."""


def require_rows(indptr: Ints, codes: Ints, n_values: int, n_rows: int, n_tags: int, name: str) -> None:
    """Raise unless arrays describe rows of few tags each: starts that never fall, and tags that exist.

    Parameters
    ----------
    indptr
        int64 (n_rows + 1,): where each row starts, and where the last one ends.
    codes
        int64 (n_values,): tags, in 0 to n_tags - 1.
    name
        Of `codes`, for errors.
    """
    good = indptr.shape == (n_rows + 1,) and indptr[0] == 0 and indptr[-1] == codes.shape[0] == n_values
    if not good or (np.diff(indptr) < 0).any():
        raise ParameterError(f"must describe {n_rows} rows of {n_values} values", parameter="indptr")
    outside = (codes < 0) | (codes >= n_tags)
    if outside.any():
        raise ParameterError(f"must lie in 0 to {n_tags - 1}, got {codes[outside][0]}", parameter=name)
