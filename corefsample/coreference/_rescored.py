"""Clusterings of one document under several sets of scores, as many small samples in one call."""

from __future__ import annotations

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._random import document_key
from corefsample.coreference import _kernels
from corefsample.coreference._antecedents import AntecedentDistribution, probabilities, require_distribution
from corefsample.coreference._distinct import Apart, Conditioned, condition
from corefsample.errors import ParameterError


def sample_rescored(
    antecedents: AntecedentDistribution,
    scores: Floats,
    n_samples: Ints,
    *,
    seed: int = 0,
    doc_id: str = "",
    first_sample: int = 0,
    apart: Apart | None = None,
) -> tuple[Ints32, Conditioned | None]:
    """Draw clusterings of the same candidates under several sets of scores, one after another.

    They are those of `sample_clusterings` for `antecedents.with_scores` of each set, from the sample on with which the
    set before ended. A call for each set would spend more time in Python than in sampling.

    Parameters
    ----------
    antecedents
        Distribution of one document, of which only the candidates count.
    scores
        float64 (n_sets, n_candidates): natural-log scores relative to NEW = 0, in the order of `antecedents`.
    n_samples
        int64 (n_sets,): samples of each set, at least 1.
    seed, doc_id, first_sample
        As of `sample_clusterings`.
    apart
        Mentions on whose being apart the clusterings are conditioned.

    Returns
    -------
    array of shape (n_mentions, n_samples of all sets), int32
    Conditioned or None
        What it took to keep mentions apart, where some were given.

    Raises
    ------
    ParameterError
        If a score is not finite, an array has another shape, or a parameter is outside its range.
    """
    require_distribution(antecedents)
    n_sets, n = len(n_samples), antecedents.n_mentions
    if scores.shape != (n_sets, antecedents.n_candidates) or not np.isfinite(scores).all():
        rule = f"must be {n_sets} sets of {antecedents.n_candidates} finite numbers"
        raise ParameterError(f"{rule}, got others of the shape {scores.shape}", parameter="scores")
    if not n_sets or n_samples.min() < 1:
        raise ParameterError("must be at least one, of at least 1 each", parameter="n_samples")
    first_sample = _checks.whole("first_sample", first_sample, 0)
    bounds = np.concatenate(([0], np.cumsum(n_samples, dtype=np.int64)))
    starts = antecedents.indptr[:-1] + antecedents.n_candidates * np.arange(n_sets)[:, None]
    rows = np.append(starts.ravel(), scores.size)
    probs, new_probs = probabilities(rows, np.ascontiguousarray(scores).ravel())
    probs.flags.writeable = new_probs.flags.writeable = False  # as those of a distribution: one kernel serves both
    labels = np.empty((n, int(bounds[-1])), np.int32)
    by_set = probs.reshape(n_sets, -1), new_probs.reshape(n_sets, -1)
    _kernels.sample_sets(
        antecedents.indptr,
        antecedents.antecedents,
        *by_set,
        bounds,
        np.uint64(document_key(seed, doc_id)),
        first_sample,
        labels,
    )
    if apart is None:
        return labels, None
    return labels, condition(
        antecedents,
        apart,
        labels,
        probs=by_set[0],
        new_probs=by_set[1],
        bounds=bounds,
        seed=seed,
        doc_id=doc_id,
        first_sample=first_sample,
    )
