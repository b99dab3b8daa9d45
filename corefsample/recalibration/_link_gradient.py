"""Gradients of proper scores of link marginals in the parameters of a recalibration by kind."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints
from corefsample.coreference import AntecedentDistribution, link_marginals
from corefsample.recalibration import _derivative_kernels
from corefsample.recalibration._kind_offsets import N_PARAMETERS
from corefsample.recalibration._model import Recalibration


def link_gradient(
    antecedents: AntecedentDistribution,
    recalibration: Recalibration,
    kinds: Bytes,
    entities: Ints,
    *,
    least: float | None,
) -> Floats:
    """Gradient of the summed score of a document's annotated pairs, exactly.

    The recursion of the link marginals is run in reverse.

    Parameters
    ----------
    antecedents, recalibration
        The document's distribution as scored, and what changes it.
    kinds, entities
        Kind and gold entity (-1: not annotated) of each mention.
    least
        Of the log score, the least probability of what gold has; None: the Brier score.

    Returns
    -------
    array of shape (N_PARAMETERS,), float64
    """
    changed = recalibration.apply(antecedents, kinds)
    marginals = link_marginals(changed)
    scaled, gradient = antecedents.scores / recalibration.temperature, np.zeros(N_PARAMETERS)
    arrays = changed.indptr, changed.antecedents, changed.probs, scaled, kinds, marginals
    _derivative_kernels.link_slopes(*arrays, _score_slopes(marginals, entities, least), gradient)
    return gradient


def _score_slopes(marginals: Floats, entities: Ints, least: float | None) -> Floats:
    """Derivative of the score in each marginal of an annotated pair, below the diagonal."""
    known = entities >= 0
    pairs = np.tril(known[:, None] & known, -1)
    gold = entities[:, None] == entities
    if least is None:
        return np.where(pairs, 2.0 * (marginals - gold), 0.0)
    right = np.where(gold, marginals, 1.0 - marginals)
    pairs &= right > least  # elsewhere the score is constant
    return np.where(pairs, np.where(gold, -1.0, 1.0) / np.maximum(right, least), 0.0)
