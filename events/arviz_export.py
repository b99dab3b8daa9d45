"""Export of count samples to ArviZ: an xarray DataTree with a posterior group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corefsample import __version__, _checks
from corefsample._lazy import require_extra
from events.counts._count_samples import CountSamples

if TYPE_CHECKING:
    from xarray import DataTree

__all__ = ["to_arviz"]


def to_arviz(samples: CountSamples, *, level: float | None = 0.95) -> DataTree:
    """Convert samples of counts to a tree of datasets for ArviZ.

    The draws are independent, not the steps of a Markov chain, so there is one chain. Effective sample sizes equal the
    number of draws up to noise, and R-hat is not informative.

    ArviZ 1 summarises 89% intervals unless its setting `stats.ci_prob` differs. That setting becomes `level` here, so
    that ArviZ's tables and plots have the level of the counts.

    Parameters
    ----------
    samples
        Joint samples of counts, from `events.count_samples`.
    level
        Probability that ArviZ's intervals have from this call on, in (0, 1). None does not change ArviZ's setting.

    Returns
    -------
    xarray.DataTree
        Group `posterior`: `count` (chain, draw, actor, period). Group `constant_data`: `n_docs` (period) and
        `one_best` (actor, period). Coordinates: actor codes, labels of periods, and `period_start`, the first days
        of the periods.

    Raises
    ------
    ParameterError
        If the package arviz-base is not installed, `samples` are no `CountSamples`, or `level` is not in (0, 1).

    References
    ----------
    ArviZ's InferenceData schema; since arviz-base 0.1 such a tree replaces the InferenceData class.
    """
    _checks.instance("samples", samples, CountSamples, hint="from events.count_samples")
    arviz = require_extra("arviz_base", "arviz-base", "arviz")
    if level is not None:
        arviz.rcParams["stats.ci_prob"] = _checks.probability("level", level, above_zero=True, below_one=True)
    from xarray import DataTree

    tree: DataTree = arviz.from_dict(
        {
            "posterior": {"count": samples.counts[np.newaxis]},
            "constant_data": {"n_docs": samples.n_docs, "one_best": samples.one_best},
        },
        coords={"actor": list(samples.actors), "period": list(samples.periods)},
        dims={"count": ["actor", "period"], "n_docs": ["period"], "one_best": ["actor", "period"]},
        attrs={
            group: {"inference_library": "corefsample", "inference_library_version": __version__}
            for group in ("/", "posterior")
        },
    )
    starts = ("period", samples.period_starts.astype("datetime64[s]"))
    for group in ("posterior", "constant_data"):
        tree[group] = DataTree(tree[group].to_dataset().assign_coords(period_start=starts))
    return tree
