"""An antecedent distribution given one mention's antecedent."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample._checks import shown
from corefsample.errors import ParameterError

_CERTAIN_SCORE = 1e6  # NEW then has a probability of exactly 0, also after recalibration by a temperature up to 1,000


def settled_arrays(
    indptr: Ints, antecedents: Ints32, scores: Floats, probs: Floats, new_probs: Floats, mention: Any, antecedent: Any
) -> tuple[Ints, Ints32, Floats, Floats, Floats]:
    """Validate a mention and its antecedent (None: NEW); return the arrays in which the mention has this one choice.

    The other mentions' probabilities are copied, not normalised again, so that their bits stay the same.
    """
    n_mentions = new_probs.shape[0]
    if not _is_whole(mention) or not 0 <= mention < n_mentions:
        raise ParameterError(f"must be from 0 to below {n_mentions}, got {shown(mention)}", parameter="mention")
    start, end = indptr[mention : mention + 2].tolist()
    if antecedent is None:
        probability = new_probs[mention]
    elif not _is_whole(antecedent) or not 0 <= antecedent < mention:
        rule = f"must be None (NEW) or a mention before {mention}"
        raise ParameterError(f"{rule}, got {shown(antecedent)}", parameter="antecedent")
    else:
        probability = probs[start:end][antecedents[start:end] == antecedent].sum()
    if probability == 0.0:
        choice = "None (NEW)" if antecedent is None else antecedent
        rule = f"must have a probability above 0 for mention {mention}"
        raise ParameterError(f"{rule}, got {choice} of probability 0", parameter="antecedent")

    choices = [] if antecedent is None else [antecedent]
    indptr, new_probs = indptr.copy(), new_probs.copy()
    indptr[mention + 1 :] -= end - start - len(choices)
    new_probs[mention] = 1 - len(choices)
    return (
        indptr,
        np.concatenate((antecedents[:start], np.array(choices, np.int32), antecedents[end:])),
        np.concatenate((scores[:start], [_CERTAIN_SCORE] * len(choices), scores[end:])),
        np.concatenate((probs[:start], [1.0] * len(choices), probs[end:])),
        new_probs,
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
