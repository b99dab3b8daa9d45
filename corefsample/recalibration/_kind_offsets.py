"""Offsets of recalibrated scores by kind of mention and of antecedent, and all parameters as one vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.errors import ParameterError
from corefsample.mention_ranking.features import MENTION_KINDS

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
        rows = [_row("new", self.new), *(_row("links", row) for row in self.links)]
        if len(rows) != 1 + N_KINDS:
            rule = f"must have one row for each kind of mention ({N_KINDS})"
            raise ParameterError(f"{rule}, got {len(rows) - 1}", parameter="links")
        object.__setattr__(self, "new", rows[0])
        object.__setattr__(self, "links", tuple(rows[1:]))

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
        return {
            "new": dict(zip(MENTION_KINDS, self.new, strict=True)),
            "links": {
                kind: dict(zip(MENTION_KINDS, row, strict=True))
                for kind, row in zip(MENTION_KINDS, self.links, strict=True)
            },
        }

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Build from the result of `to_json`; raise ParameterError if a kind is missing or unknown."""
        if not isinstance(content, Mapping) or set(content) != {"new", "links"}:
            raise ParameterError("must have the fields new and links only", parameter="offsets")
        links = _values("links", content["links"])
        return cls(tuple(_values("new", content["new"])), tuple(tuple(_values("links", row)) for row in links))


def _row(name: str, values: Any) -> tuple[float, ...]:
    row = tuple(_checks.finite(name, value) for value in values)
    if len(row) != N_KINDS:
        raise ParameterError(
            f"must have one number for each kind of mention ({N_KINDS}), got {len(row)}", parameter=name
        )
    return row


def _values(name: str, content: Any) -> list[Any]:
    """Values by the names of the kinds, in their order."""
    if not isinstance(content, Mapping) or set(content) != set(MENTION_KINDS):
        found = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
        raise ParameterError(f"must have the kinds {', '.join(MENTION_KINDS)}, got {found}", parameter=name)
    return [content[kind] for kind in MENTION_KINDS]


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
