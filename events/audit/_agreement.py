"""Agreement of two labellers: Cohen's kappa, with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints8
from corefsample.errors import ParameterError
from events.audit._sheets import MISSING, RESOLVED

_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two labellers on the documents that both labelled.

    Attributes
    ----------
    first, second
        Names of the labellers.
    n_documents, n_agreed
        Labels that both gave, of all targets, and those that are the same.
    kappa, lower, upper
        Cohen's kappa and its interval; NaN without a common label.
    level
        Of the interval.
    """

    first: str
    second: str
    n_documents: int
    n_agreed: int
    kappa: float
    lower: float
    upper: float
    level: float


def cohen_kappa(table: npt.ArrayLike, *, level: float = 0.95) -> tuple[float, float, float]:
    """Cohen's kappa of a square table of two labellers' answers, with a credible interval.

    The interval is that of the posterior under a Dirichlet prior with 1/2 in every cell, from 20,000 draws with a fixed
    seed. Unlike intervals from a standard error, it has a width where the labellers always agree.

    Parameters
    ----------
    table
        Whole numbers (n_answers, n_answers): documents by the first and the second labeller's answer.
    level
        Of the interval, in (0, 1).

    Returns
    -------
    kappa, lower, upper
        Kappa is 1 where both always give the same one answer, and NaN for an empty table.

    References
    ----------
    Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20, Eq. 1.

    Examples
    --------
    >>> cohen_kappa([[20, 5], [10, 15]])[0]
    0.4
    """
    counts = np.asarray(table)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not len(counts) or (counts < 0).any():
        raise ParameterError("must be a square table of numbers of documents", parameter="table")
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    if not counts.sum():
        return float("nan"), float("nan"), float("nan")
    shares = np.random.default_rng(0).dirichlet(counts.ravel() + 0.5, _DRAWS).reshape(-1, *counts.shape)
    tail = 0.5 * (1.0 - level)
    lower, upper = np.quantile(_kappa(shares), [tail, 1.0 - tail])
    kappa = float(_kappa(counts[None] / counts.sum())[0])
    return round(kappa, 12), min(kappa, float(lower)), max(kappa, float(upper))


def _kappa(shares: Floats) -> Floats:
    agreed = np.trace(shares, axis1=1, axis2=2)
    by_chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(by_chance < 1.0, (agreed - by_chance) / (1.0 - by_chance), 1.0)


def agreements(by_labeller: Mapping[str, Ints8], level: float) -> list[Agreement]:
    """Agreement of every two labellers who labelled a document both."""
    found = []
    names = [name for name in by_labeller if name != RESOLVED]
    for first, second in combinations(names, 2):
        one, other = by_labeller[first], by_labeller[second]
        both = (one != MISSING) & (other != MISSING)
        if both.any():
            answers = sorted({*one[both].tolist(), *other[both].tolist(), 0, 1})
            table = np.array([[int(((one == a) & (other == b) & both).sum()) for b in answers] for a in answers])
            kappa, lower, upper = cohen_kappa(table, level=level)
            found.append(Agreement(first, second, int(both.sum()), int(np.trace(table)), kappa, lower, upper, level))
    return found
