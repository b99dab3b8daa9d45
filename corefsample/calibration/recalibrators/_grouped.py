"""A recalibrator of its own for each group of pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import FloatArray, _rows, checked_pairs, predictions, sample_weights
from corefsample.calibration.recalibrators._base import FittedModel, Recalibrator
from corefsample.errors import ParameterError

__all__ = ["GroupedRecalibrator"]

Unknown = Literal["shared", "refuse"]
UNKNOWN: tuple[Unknown, ...] = ("shared", "refuse")


class GroupedRecalibrator(FittedModel):
    """One recalibrator fitted to each group of pairs, and one to all pairs together.

    With tag frequency groups (`TagScores.groups`) this is recalibration by TFG; the fit to all pairs is shared
    class-wise binning.

    Parameters
    ----------
    base
        The recalibrator to fit, which itself stays as it is.
    unknown
        What becomes of a group met in `predict` that `fit` did not see: "shared", the fit to all pairs, or "refuse".
    min_pairs
        A group of fewer pairs gets the fit to all pairs.

    Attributes
    ----------
    shared_
        The fit to all pairs.
    groups_
        Names (text or int) of the groups seen, ascending.
    recalibrators_
        The fit of each; None where the group had fewer than `min_pairs` pairs.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), section 3.3.

    Examples
    --------
    >>> from corefsample.calibration.recalibrators import HistogramBinning
    >>> model = GroupedRecalibrator(HistogramBinning(n_bins=1))
    >>> model.fit([0.3, 0.4, 0.5, 0.6], [0, 0, 1, 1], ["a", "a", "b", "b"]).predict([0.5, 0.5, 0.5], ["a", "b", "c"])
    array([0. , 1. , 0.5])
    """

    _fitted: ClassVar[tuple[str, ...]] = ("shared_", "groups_", "recalibrators_")

    shared_: Recalibrator
    groups_: list[str | int]
    recalibrators_: list[Recalibrator | None]

    def __init__(self, base: Recalibrator, *, unknown: Unknown = "shared", min_pairs: int = 1) -> None:
        self.base = base
        self.unknown = unknown
        self.min_pairs = min_pairs

    def fit(
        self,
        q: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        documents: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit to pairs and their groups.

        Parameters
        ----------
        q, y, sample_weight, documents
            As in `Recalibrator.fit`.
        groups
            (n,) names (text or whole numbers): the group of each pair.

        Returns
        -------
        Self
            The model itself, fitted.

        Raises
        ------
        ParameterError
            As `Recalibrator.fit`; what the fit of one group refuses is told with the group's name.
        """
        if not isinstance(self.base, Recalibrator):
            raise ParameterError(f"base must be a recalibrator, got {_checks.shown(self.base)}")
        _checks.choice("unknown", self.unknown, UNKNOWN)
        min_pairs = _checks.whole("min_pairs", self.min_pairs, 1)
        pairs = checked_pairs(q, y, sample_weight, documents)
        weights = sample_weights(sample_weight, np.size(q))
        codes, found = _rows.coded("groups", groups, weights)
        codes = codes[weights > 0.0]  # as the pairs of no weight went
        shared = self.base._unfitted_copy()
        shared._fit(pairs)
        present = np.unique(codes).tolist()
        fits: list[Recalibrator | None] = []
        for code in present:
            name, part = found[code], pairs.taken(codes == code)
            model = self.base._unfitted_copy() if part.n >= min_pairs else None
            if model is not None:
                try:
                    model._fit(part)
                except ParameterError as error:
                    raise ParameterError(f"group {name!r}: {error}") from error
            fits.append(model)
        self.shared_, self.groups_, self.recalibrators_ = shared, [found[code] for code in present], fits
        return self

    def predict(self, q: npt.ArrayLike, groups: npt.ArrayLike) -> FloatArray:
        """Recalibrate predictions (n,) in [0, 1] of groups (n,): float64 (n,) in [0, 1]; refused before `fit`."""
        self._require_fit()
        values = predictions("q", q)
        codes, found = _rows.coded("groups", groups, values)
        models: dict[Any, Recalibrator | None] = dict(zip(self.groups_, self.recalibrators_, strict=True))
        result = np.empty_like(values)
        for code, name in enumerate(found):
            if name not in models and self.unknown == "refuse":
                known = _checks.shown(self.groups_)
                raise ParameterError(f"groups must be among those of the fit {known}, got {name!r}")
            chosen = codes == code
            result[chosen] = (models.get(name) or self.shared_)._predict(values[chosen])
        return result

    def _check_fit(self) -> None:
        if len(self.groups_) != len(self.recalibrators_) or not isinstance(self.shared_, Recalibrator):
            raise ParameterError(f"fitted of GroupedRecalibrator must fit together, got {_checks.shown(self.groups_)}")
