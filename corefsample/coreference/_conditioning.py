"""An antecedent distribution given one mention's antecedent."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample._checks import shown
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from corefsample.coreference._antecedents import AntecedentDistribution

__all__ = ["require_possible", "settled_arrays"]

_CERTAIN_SCORE = 1e6  # beside it NEW's probability is exactly 0, by any temperature up to a thousand


def require_possible(distribution: AntecedentDistribution, mention: Any, antecedent: Any) -> None:
    """Refuse what cannot be a mention's antecedent (None: NEW); see `AntecedentDistribution.with_antecedent`."""
    n_mentions = distribution.n_mentions
    if not _is_whole(mention) or not 0 <= mention < n_mentions:
        raise ParameterError(f"mention must be from 0 to below {n_mentions}, got {shown(mention)}")
    if antecedent is None:
        probability = float(distribution.new_probs[mention])
    elif not _is_whole(antecedent) or not 0 <= antecedent < mention:
        raise ParameterError(f"antecedent must be None (NEW) or a mention before {mention}, got {shown(antecedent)}")
    else:
        candidates, probs = distribution.row(mention)
        probability = float(probs[candidates == antecedent].sum())
    if probability == 0.0:
        named = "None (NEW)" if antecedent is None else antecedent
        raise ParameterError(
            f"antecedent must have a probability above 0 for mention {mention}, got {named} of probability 0"
        )


def settled_arrays(
    distribution: AntecedentDistribution, mention: int, antecedent: int | None
) -> tuple[npt.NDArray[Any], ...]:
    """Arrays of the distribution in which a mention has one choice: indptr, antecedents, scores, probs, new_probs.

    The other mentions' are copied, not normalised again, so that not a bit of them changes.
    """
    start, end = int(distribution.indptr[mention]), int(distribution.indptr[mention + 1])
    n_choices = 0 if antecedent is None else 1
    indptr, new_probs = distribution.indptr.copy(), distribution.new_probs.copy()
    indptr[mention + 1 :] -= end - start - n_choices
    new_probs[mention] = 1 - n_choices
    rows = ((distribution.antecedents, antecedent), (distribution.scores, _CERTAIN_SCORE), (distribution.probs, 1.0))
    flat = [
        np.concatenate((array[:start], np.array([choice] * n_choices, array.dtype), array[end:]))
        for array, choice in rows
    ]
    return indptr, *flat, new_probs


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
