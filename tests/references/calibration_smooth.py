"""Smooth reliability curves, slowly: pairs one by one, a general optimiser, and loops over folds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def local_shares(q: Sequence[float], y: Sequence[float], places: Sequence[float], bandwidth: float) -> list[float]:
    """Share of positive labels at each place: a weighted logistic regression around it, with a weak normal prior."""
    found = []
    for place in places:

        def loss(parameters: np.ndarray, place: float = place) -> float:
            shift, tilt = parameters
            total = 0.5 * (shift / 5.0) ** 2 + 0.5 * tilt**2
            for prediction, label in zip(q, y, strict=True):
                x = math.log(prediction / (1.0 - prediction))
                weight = math.exp(-0.5 * ((x - place) / bandwidth) ** 2)
                log_odds = x + shift + tilt * (x - place)
                total -= weight * (label * log_odds - math.log1p(math.exp(log_odds)))
            return total

        shift = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x[0]
        found.append(1.0 / (1.0 + math.exp(-(place + shift))))
    return found


def fold_log_score(q: np.ndarray, y: np.ndarray, folds: np.ndarray, bandwidth: float) -> float:
    """Mean log score of the pairs of each fold under the curve of the others."""
    total = 0.0
    for fold in set(folds.tolist()):
        inside = folds == fold
        values = sorted(set(q[inside].tolist()))
        places = [math.log(value / (1.0 - value)) for value in values]
        shares = dict(zip(values, local_shares(q[~inside], y[~inside], places, bandwidth), strict=True))
        for prediction, label in zip(q[inside].tolist(), y[inside].tolist(), strict=True):
            total += math.log(shares[prediction] if label else 1.0 - shares[prediction])
    return total / len(y)


def binned_log_score(q: np.ndarray, y: np.ndarray, folds: np.ndarray, size: int) -> float:
    """The same of the binned curve: bins of the same number as with all pairs, ties together."""
    total = 0.0
    for fold in set(folds.tolist()):
        train = sorted(zip(q[folds != fold].tolist(), y[folds != fold].tolist(), strict=True))
        target = round(size * 0.8)
        bins: list[list[tuple[float, float]]] = [[]]
        for place, pair in enumerate(train):
            ends = place % target == 0 and place > 0
            if ends and len(train) - place >= target and pair[0] != train[place - 1][0]:
                bins.append([])
            bins[-1].append(pair)
        for prediction, label in zip(q[folds == fold].tolist(), y[folds == fold].tolist(), strict=True):
            own = next((each for each in bins if prediction <= each[-1][0]), bins[-1])
            share = (sum(pair[1] for pair in own) + 0.5) / (len(own) + 1.0)
            total += math.log(share if label else 1.0 - share)
    return total / len(y)
