"""Offsets of recalibrated scores by kind of mention and of antecedent, and all parameters as one vector."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.errors import ParameterError
from corefsample.mention_ranking.features._mention_kinds import MENTION_KINDS

N_KINDS = len(MENTION_KINDS)
# Places in the vector of parameters: log temperature, NEW bias, an offset of NEW for each kind of mention, and an
# offset for each kind of mention with each kind of antecedent.
LOG_TEMPERATURE, NEW_BIAS, NEW_OFFSETS, LINK_OFFSETS = 0, 1, 2, 2 + N_KINDS
N_GLOBAL, N_PARAMETERS = 2, 2 + N_KINDS + N_KINDS * N_KINDS


@dataclass(frozen=True, slots=True)
class KindOffsets:
    """What is added to a score by the kinds of a mention and of its candidate antecedent, in natural-log units.

    The offset of mention kind a and antecedent kind k is links[a][k] - new[a]. Kinds are those of `MENTION_KINDS`, in
    that order.

    Attributes
    ----------
    new
        By kind of mention: a positive offset makes NEW more likely.
    links
        By kind of mention, then by kind of antecedent.

    Raises
    ------
    ParameterError
        On construction, if there is not one finite number for each kind.
    """

    new: tuple[float, ...]
    links: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "new", _row("new", self.new, _checks.finite))
        object.__setattr__(self, "links", _row("links", self.links, lambda name, row: _row(name, row, _checks.finite)))

    def table(self) -> Floats:
        """Offsets of candidates: float64 (n_kinds, n_kinds), by kind of mention and of antecedent."""
        return np.asarray(np.array(self.links) - np.array(self.new)[:, None])

    def vector(self) -> Floats:
        """Offsets of NEW, then those of links, row-major."""
        return np.append(self.new, self.links)

    @classmethod
    def from_vector(cls, vector: Floats) -> Self:
        """Build from the result of `vector`."""
        return cls(tuple(vector[:N_KINDS]), tuple(map(tuple, vector[N_KINDS:].reshape(N_KINDS, N_KINDS))))

    def to_json(self) -> dict[str, Any]:
        """Offsets by the names of the kinds."""
        return {"new": _by_kind(self.new), "links": _by_kind(map(_by_kind, self.links))}

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Build from the result of `to_json`; raise ParameterError if a kind is missing or unknown."""
        new, links = json_fields("offsets", content, ("new", "links"))
        rows = json_fields("links", links, MENTION_KINDS)
        return cls(json_fields("new", new, MENTION_KINDS), tuple(json_fields("links", r, MENTION_KINDS) for r in rows))


def _row(name: str, values: Iterable[Any], checked: Callable[[str, Any], Any]) -> tuple[Any, ...]:
    row = tuple(checked(name, value) for value in values)
    if len(row) != N_KINDS:
        raise ParameterError(f"must be one for each kind of mention ({N_KINDS}), got {len(row)}", parameter=name)
    return row


def _by_kind(values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(MENTION_KINDS, values, strict=True))


def json_fields(parameter: str, content: Any, names: Sequence[str], optional: Collection[str] = ()) -> tuple[Any, ...]:
    """Values of the fields of a JSON object in this order; raise if one is missing, or there are others."""
    if not isinstance(content, Mapping) or set(content) - set(optional) != set(names):
        found = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
        raise ParameterError(f"must have the fields {', '.join(names)}, got {found or 'none'}", parameter=parameter)
    return tuple(content[name] for name in names)


def changes_by_parameters(*, by_kind: bool) -> Floats:
    """Changes of log temperature and of each pair of kinds' offset of a score, by each parameter.

    Returns
    -------
    array of shape (1 + n_kinds ** 2, n_parameters), float64
        With the offsets of `Recalibration.scores` and `KindOffsets.table` together, row-major. Without kinds there is
        one kind of mention, and the parameters are log temperature and NEW bias.
    """
    if not by_kind:
        return np.diag([1.0, -1.0])
    changes = np.zeros((1 + N_KINDS**2, N_PARAMETERS))
    changes[0, LOG_TEMPERATURE] = 1.0
    changes[1:, NEW_BIAS] = -1.0
    changes[1:, NEW_OFFSETS:LINK_OFFSETS] = -np.repeat(np.eye(N_KINDS), N_KINDS, axis=0)
    changes[1:, LINK_OFFSETS:] = np.eye(N_KINDS**2)
    return changes
