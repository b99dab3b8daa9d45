"""A test of whether errors of P are of the same kind in all periods, with its power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from events.audit._learned_model import sigmoid

_MOST_GROUPS = 4
_LEAST_LABELS = 15  # of a group
_N_SIMULATED = 2000
DRIFT = 4.0  # factor of the odds of yes given P, from the first to the last group, for the power


@dataclass(frozen=True, slots=True)
class PeriodTest:
    """Whether labels of different times agree with P alike.

    Attributes
    ----------
    p_value
        Share of simulated labels whose statistic is at least that of the labels; NaN with labels of one group.
    power
        Probability of a P value below .05 if the odds of yes given P rise evenly to four times from the first group to
        the last: with little power, a high P value says little.
    groups
        First date and number of labels of each group, expected and found yes.
    """

    p_value: float
    power: float
    groups: tuple[tuple[str, int, float, int], ...]


def period_test(dates: npt.NDArray[np.datetime64], y: Floats, p: Floats, *, seed: int = 0) -> PeriodTest:
    """Test whether labels y, given P, depend on their dates.

    The labels are divided by date into up to four groups of about equal numbers. The statistic is the sum over groups
    of (found - expected)^2 / variance, after one shift of all logits of P, so that calibration as a whole is not
    tested. Its distribution is that of labels simulated from the shifted P, each with a shift of its own.

    Parameters
    ----------
    dates, y, p
        Of the labelled documents: dates, labels 0 and 1, and P in (0, 1) that does not know the label.
    seed
        Of the simulation.
    """
    n_groups = min(_MOST_GROUPS, len(y) // _LEAST_LABELS)
    order = np.argsort(dates, kind="stable")
    ranks = np.empty(len(y), np.int64)
    ranks[order] = np.arange(len(y))
    group = ranks * max(n_groups, 1) // max(len(y), 1)
    # Documents of one day stay together: their group is that of the first of them.
    first_rank = np.searchsorted(dates[order], dates, side="left")
    group = group[order][first_rank]
    present, group = np.unique(group, return_inverse=True)
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    logits = np.log(p / (1.0 - p))
    rng = np.random.default_rng(seed)
    fitted = sigmoid(logits + _shift(logits, y[None])[:, None])[0]
    inside = [group == g for g in range(len(present))]
    rows = tuple((str(dates[own].min()), int(own.sum()), float(fitted[own].sum()), int(y[own].sum())) for own in inside)
    if len(present) < 2:
        return PeriodTest(float("nan"), float("nan"), rows)
    observed = _statistic(logits, y[None], group, len(present))[0]
    null = _statistic(logits, _simulated(fitted, rng), group, len(present))
    slope = np.log(DRIFT) * (np.arange(len(present)) / (len(present) - 1) - 0.5)
    drifted = _simulated(sigmoid(np.log(fitted / (1.0 - fitted)) + slope[group]), rng)
    critical = np.quantile(null, 0.95)
    power = float((_statistic(logits, drifted, group, len(present)) > critical).mean())
    return PeriodTest(float((1 + (null >= observed).sum()) / (1 + len(null))), power, rows)


def _simulated(p: Floats, rng: np.random.Generator) -> Floats:
    return (rng.random((_N_SIMULATED, len(p))) < p).astype(np.float64)


def _shift(logits: Floats, y: Floats) -> Floats:
    """For each row of labels the shift of all logits under which as many yes are expected as there are."""
    target = np.clip(y.sum(axis=1), 0.1, y.shape[1] - 0.1)
    # By interpolation: what is expected rises smoothly with the shift.
    shifts = np.linspace(-15.0, 15.0, 601)
    expected = np.array([sigmoid(logits + shift).sum() for shift in shifts])
    return np.asarray(np.interp(target, expected, shifts))


def _statistic(logits: Floats, y: Floats, group: Ints, n_groups: int) -> Floats:
    """Sum over groups of (found - expected)^2 / variance, of each row of labels."""
    p = sigmoid(logits + _shift(logits, y)[:, None])
    found = np.zeros(len(y))
    for g in range(n_groups):
        own = p[:, group == g]
        difference = y[:, group == g].sum(axis=1) - own.sum(axis=1)
        found += difference**2 / np.maximum((own * (1.0 - own)).sum(axis=1), 1e-9)
    return found
