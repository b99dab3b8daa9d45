"""Tags in groups of similar frequency."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import _rows
from corefsample.calibration.tags import _kranzlein
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Convention", "TagGroups", "tag_frequency_groups"]

Ints = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Convention = Literal["default", "kranzlein2021"]
CONVENTIONS: tuple[Convention, ...] = ("default", "kranzlein2021")


@dataclass(frozen=True, slots=True, eq=False)
class TagGroups:
    """Tags grouped by their frequency in training; group 1 has the most frequent ones. Arrays read-only.

    Attributes
    ----------
    tags
        The tags, by descending frequency.
    frequencies
        float64 (n_tags,): what each was counted in training, never rising.
    group
        int64 (n_tags,): group of each, from 1 to n_groups, never falling.
    asked_n_groups
        The number of groups asked for.
    convention
        "default" or "kranzlein2021".
    """

    tags: tuple[Any, ...]
    frequencies: FloatArray
    group: Ints
    asked_n_groups: int
    convention: Convention

    def __post_init__(self) -> None:
        self.frequencies.flags.writeable = False
        self.group.flags.writeable = False

    @property
    def n_groups(self) -> int:
        """Number of groups, none of them empty."""
        return int(self.group[-1])

    @property
    def shares(self) -> FloatArray:
        """Share of each tag in training: float64 (n_tags,) in [0, 1]."""
        return np.asarray(self.frequencies / self.frequencies.sum())

    def of(self, tags: npt.ArrayLike) -> Ints:
        """Group of each tag: int64 (n,) for (n,) names.

        A tag that training did not have is as rare as can be, so it belongs to the last group. Names of which not one
        is known are refused: they are then of another tagset.
        """
        names = np.asarray(tags)
        codes, found = _rows.coded("tags", names, names)
        return self._groups_of_names(found)[codes]

    def seen(self, tags: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether training had each tag: bool (n,) for (n,) names."""
        names = np.asarray(tags)
        codes, found = _rows.coded("tags", names, names)
        known = set(self.tags)
        return np.array([name in known for name in found], np.bool_)[codes]

    def _groups_of_names(self, names: tuple[Any, ...]) -> Ints:
        known = dict(zip(self.tags, self.group.tolist(), strict=True))
        if names and not any(name in known for name in names):
            raise ParameterError(
                f"tags must share one with those of training ({_checks.shown(self.tags[0])}, ...), "
                f"got {_checks.shown(names[0])}, ..."
            )
        return np.array([known.get(name, self.n_groups) for name in names], np.int64)

    def tags_of(self, group: int) -> tuple[Any, ...]:
        """The tags of one group, by descending frequency; a group that is not there is refused."""
        number = require_group(group, self.n_groups)
        return tuple(tag for tag, place in zip(self.tags, self.group.tolist(), strict=True) if place == number)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a tag: tag, group, frequency, share."""
        import pandas as pd

        return pd.DataFrame(
            {"tag": list(self.tags), "group": self.group, "frequency": self.frequencies, "share": self.shares}
        )


def require_group(group: object, n_groups: int) -> int:
    """Return the number of a group, or refuse it."""
    if isinstance(group, bool) or not isinstance(group, numbers.Integral) or not 1 <= int(group) <= n_groups:
        raise ParameterError(f"group must be one of 1 to {n_groups}, got {_checks.shown(group)}")
    return int(group)


def tag_frequency_groups(
    frequencies: Mapping[Any, float], *, n_groups: int = 5, convention: Convention = "default"
) -> TagGroups:
    """Group tags of similar frequency, so that rare ones have enough scores together to be measured and recalibrated.

    Tags are taken by descending frequency, and a group closes with the tag that fills it.

    - "default": a group is full when it holds at least its equal share of the mass not yet in a closed group: what is
      left, divided by the groups left. Tags of equal frequency are taken in the order of their names. There are then
      always exactly `n_groups` groups, none empty, however heavy the first tags are, and the order of the mapping
      cannot matter.
    - "kranzlein2021": as the code of that paper does. A group is full when its share of all the mass is above
      1 / n_groups (the paper says "at least"), and the next one starts again from 0, so that what a heavy tag has
      taken beyond its share is missing from the later groups: the last ones may come out small or, being empty, be
      left out. Tags of equal frequency keep the order of the mapping.

    Parameters
    ----------
    frequencies
        Gold counts of the tags in training, such as a `collections.Counter` of them; 0 for a tag that could be
        predicted and never occurred, which goes to the last group.
    n_groups
        Number of groups; by default at most one a tag of positive frequency.
    convention
        "default" or "kranzlein2021".

    Returns
    -------
    TagGroups

    Raises
    ------
    ParameterError
        If frequencies are not numbers of at least 0 with one above, tags are of several kinds, or there are more
        groups than tags to fill them.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), section 3.3.

    Examples
    --------
    >>> counts = {"N": 12, "V": 2, "A": 2, "R": 2, "X": 2}
    >>> [tag_frequency_groups(counts, n_groups=4).tags_of(group) for group in (1, 2, 3, 4)]
    [('N',), ('A', 'R'), ('V',), ('X',)]
    >>> old = tag_frequency_groups(counts, n_groups=4, convention="kranzlein2021")
    >>> [old.tags_of(group) for group in range(1, old.n_groups + 1)]  # the fourth would be empty
    [('N',), ('V', 'A', 'R'), ('X',)]
    """
    _checks.choice("convention", convention, CONVENTIONS)
    asked = _checks.whole("n_groups", n_groups, 1)
    counts = _checked_frequencies(frequencies)
    if convention == "kranzlein2021":
        items = sorted(counts.items(), key=lambda item: -item[1])
        group = _kranzlein.frequency_groups([count for _, count in items], asked)
    else:
        try:
            items = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        except TypeError:
            kinds = ", ".join(sorted({type(tag).__name__ for tag in counts}))
            raise ParameterError(f"frequencies must be of tags of one kind, got {kinds}") from None
        group = _groups_of_what_is_left([count for _, count in items], asked)
    return TagGroups(tuple(tag for tag, _ in items), np.array([count for _, count in items]), group, asked, convention)


def _checked_frequencies(frequencies: Mapping[Any, float]) -> dict[Any, float]:
    if not isinstance(frequencies, Mapping):
        raise ParameterError(f"frequencies must be a mapping of tags to counts, got {_checks.shown(frequencies)}")
    for tag, count in frequencies.items():
        good = isinstance(count, numbers.Real) and not isinstance(count, bool) and 0.0 <= float(count) < math.inf
        if not good:
            raise ParameterError(f"frequencies[{tag!r}] must be a finite number of at least 0, got {count!r}")
    counts = {tag: float(count) for tag, count in frequencies.items()}
    if not any(counts.values()):
        raise ParameterError(f"frequencies must hold one above 0, got {len(counts)} without")
    return counts


def _groups_of_what_is_left(counts: list[float], n_groups: int) -> Ints:
    n_positive = sum(count > 0.0 for count in counts)
    if n_groups > n_positive:
        raise ParameterError(f"n_groups must be at most the tags of positive frequency ({n_positive}), got {n_groups}")
    group = np.empty(len(counts), np.int64)
    number, held, left = 1, 0.0, math.fsum(counts)
    for place, count in enumerate(counts):
        group[place] = number
        held += count
        if number < n_groups and held * (n_groups - number + 1) >= left:
            left -= held
            held = 0.0
            number += 1
    return group
