"""One recalibrator for each group of pairs, and one for all of them."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.calibration import _binners, _logistic  # noqa: F401 (kinds that a saved fit may contain)
from corefsample.calibration._recalibrator import FittedModel, Recalibrator
from corefsample.calibration._validation import checked_pairs, coded, predictions, sample_weights
from corefsample.errors import ParameterError

Unknown = Literal["shared", "raise"]


class GroupedRecalibrator(FittedModel):
    """One recalibrator fitted to each group of pairs, and one to all pairs together.

    With tag frequency groups (`TagScores.groups`) this is recalibration by TFG; the fit to all pairs is shared
    class-wise binning.

    Parameters
    ----------
    base
        The recalibrator to fit; it is copied and itself not changed.
    unknown
        How `predict` treats a group that `fit` did not see: "shared" uses the fit to all pairs, "raise" raises.
    min_pairs
        A group of fewer pairs uses the fit to all pairs.

    Attributes
    ----------
    shared_
        The fit to all pairs.
    groups_
        Names (text or int) of the fitted groups, ascending.
    recalibrators_
        The fit of each group; None if it had fewer than `min_pairs` pairs.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), section 3.3.

    Examples
    --------
    >>> from corefsample.calibration._binners import HistogramBinning
    >>> model = GroupedRecalibrator(HistogramBinning(n_bins=1))
    >>> model.fit([0.3, 0.4, 0.5, 0.6], [0, 0, 1, 1], ["a", "a", "b", "b"]).predict([0.5, 0.5, 0.5], ["a", "b", "c"])
    array([0. , 1. , 0.5])
    """

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
            As `Recalibrator.fit`; an error in the fit of one group names the group.
        """
        if not isinstance(self.base, Recalibrator):
            raise ParameterError(f"must be a recalibrator, got {_checks.shown(self.base)}", parameter="base")
        _checks.choice("unknown", self.unknown, get_args(Unknown))
        min_pairs = _checks.whole("min_pairs", self.min_pairs, 1)
        pairs = checked_pairs(q, y, sample_weight, documents)
        codes, names = coded("groups", groups, np.size(q))
        codes = codes[sample_weights(sample_weight, np.size(q)) > 0.0]  # `pairs` leaves out those of weight 0 as well
        self.shared_ = self.base._unfitted_copy()
        self.shared_._fit(pairs)
        self.groups_, self.recalibrators_ = [], []
        for code in np.unique(codes).tolist():
            part = pairs.subset(codes == code)
            model = self.base._unfitted_copy() if part.n >= min_pairs else None
            if model is not None:
                try:
                    model._fit(part)
                except ParameterError as error:
                    raise error.at(f"group {names[code]!r}") from error
            self.groups_.append(names[code])
            self.recalibrators_.append(model)
        return self

    def predict(self, q: npt.ArrayLike, groups: npt.ArrayLike) -> Floats:
        """Recalibrate predictions (n,) in [0, 1] of groups (n,): float64 (n,) in [0, 1]; raise before `fit`."""
        self._require_fit()
        values = predictions("q", q)
        codes, names = coded("groups", groups, values.shape[0])
        models: dict[Any, Recalibrator | None] = dict(zip(self.groups_, self.recalibrators_, strict=True))
        result = np.empty_like(values)
        for code, name in enumerate(names):
            if name not in models and self.unknown == "raise":
                known = _checks.shown(self.groups_)
                raise ParameterError(f"must be among those of the fit {known}, got {name!r}", parameter="groups")
            chosen = codes == code
            result[chosen] = (models.get(name) or self.shared_)._predict(values[chosen])
        return result
