"""Gradients of proper scores of link marginals in the parameters of a recalibration by kind."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bytes, Floats, Ints
from corefsample.coreference import AntecedentDistribution
from corefsample.recalibration import _derivative_kernels
from corefsample.recalibration._kind_offsets import N_PARAMETERS


def link_gradient(
    antecedents: AntecedentDistribution,
    changed: AntecedentDistribution,
    temperature: float,
    marginals: Floats,
    kinds: Bytes,
    entities: Ints,
    *,
    least: float | None,
) -> Floats:
    """Gradient of the summed score of a document's annotated pairs, exactly.

    The recursion of the link marginals is run in reverse.

    Parameters
    ----------
    antecedents
        The document's distribution as scored.
    changed, temperature, marginals
        The same after a recalibration, its temperature, and the link marginals.
    kinds, entities
        Kind and gold entity (-1: not annotated) of each mention.
    least
        Of the log score, the least probability of what gold has; None: the Brier score.

    Returns
    -------
    array of shape (N_PARAMETERS,), float64
    """
    scaled, gradient = antecedents.scores / temperature, np.zeros(N_PARAMETERS)
    arrays = changed.indptr, changed.antecedents, changed.probs, scaled, kinds, marginals
    _derivative_kernels.link_slopes(*arrays, _score_slopes(marginals, entities, least), gradient)
    return gradient


def _score_slopes(marginals: Floats, entities: Ints, least: float | None) -> Floats:
    """Derivative of the score in each marginal of an annotated pair, below the diagonal."""
    known = entities >= 0
    gold = entities[:, None] == entities
    if least is None:
        slopes: Floats = np.tril(marginals - gold, -1)
        slopes *= 2.0 * known
        slopes[~known] = 0.0
        return slopes
    pairs = np.tril(known[:, None] & known, -1)
    right = np.where(gold, marginals, 1.0 - marginals)
    pairs &= right > least  # elsewhere the score is constant
    return np.where(pairs, np.where(gold, -1.0, 1.0) / np.maximum(right, least), 0.0)
