"""Smooth reliability curves: local likelihood on the scale of log-odds, with an approximate pointwise band.

Legend of dimensions and names
    c : cell of predictions (equal steps of log-odds)     g : point at which the curve is computed
    k : fold of the cross-validation     d : row of a bootstrap weight (a document; or a cell and a label)
    x : log-odds of a prediction     shift, tilt : log-odds of a label less x, and its slope, near a point
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from corefsample._arrays import Floats, Ints
from corefsample.calibration._binning import bin_pairs
from corefsample.calibration._validation import generator

_CLIP = 1e-6  # predictions are clipped to this distance from 0 and 1
_STEP = 0.1  # width of a cell, in log-odds
_BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # in log-odds; the last one is almost one regression for all pairs
_BIN_SIZES = tuple(round(10 ** (1 + k / 4)) for k in range(21))  # 10 to 1,000,000
_N_FOLDS, _N_POINTS, _N_DRAWS = 5, 101, 1000
_MOST_BLOCKS = 5000  # more blocks are joined, which bounds memory; joined blocks are independent too
_MOST_STEPS, _PRECISION = 50, 1e-8
_PRIOR = np.array([5.0**-2, 1.0])  # inverse variances of a weak normal prior of shift and tilt, around 0


@dataclass(frozen=True)
class SmoothCurve:
    """Share of positive labels as a smooth function of the prediction, with an approximate pointwise band.

    At each point a logistic regression on the log-odds of the predictions is fitted to the pairs nearby, weighted by a
    normal kernel. Calibrated predictions, and those that a temperature or a constant would recalibrate, are fitted
    without bias at every bandwidth. The band, `lower` to `upper`, is centred on the curve with half the bandwidth,
    whose bias is smaller. `bandwidth` (standard deviation of the kernel, in log-odds) and `bin_size` (pairs per bin of
    the binned curve) are those with the best held-out log score.
    """

    q: Floats
    share: Floats
    lower: Floats
    upper: Floats
    bandwidth: float
    bin_size: int


def smooth_curve(
    q: Floats,
    y: np.typing.ArrayLike,
    *,
    documents: np.typing.ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> SmoothCurve:
    """Smooth reliability curve; bandwidth, and the bin size to compare with, by cross-validated log score.

    With documents, cross-validation holds out whole documents, and the band resamples them.

    References
    ----------
    Frölich (2006), Econometrics Journal 9, for local likelihood; Nguyen & O'Connor (2015), section 7 and footnote 7,
    which name smooth curves and the choice of the bin size as future work.
    """
    codes = None if documents is None else np.unique(documents, return_inverse=True)[1] % _MOST_BLOCKS
    pairs = _Pairs.of(q, np.asarray(y, np.float64), codes)
    rng = generator(seed)
    folds = _folds(pairs, rng)
    by_bandwidth = {width: _held_out(pairs, folds, width) for width in _BANDWIDTHS}
    by_size = _bin_scores(pairs, folds)
    bandwidth = max(by_bandwidth, key=by_bandwidth.__getitem__)
    points = _points(pairs)
    fit = _fitted(pairs.x, *pairs.sums(), points, bandwidth)
    # At the bandwidth with the best score, bias is as large as the spread; at half of it, it is small.
    rough = _fitted(pairs.x, *pairs.sums(), points, 0.5 * bandwidth)
    half = _half_widths(pairs, rough, points, 0.5 * bandwidth, level, rng)
    return SmoothCurve(
        expit(points),
        expit(points + fit.shift),
        expit(points + rough.shift - half),
        expit(points + rough.shift + half),
        bandwidth,
        int(max(by_size, key=by_size.__getitem__)),
    )


def _log_odds(share: Floats) -> Floats:
    return np.asarray(logit(np.clip(share, _CLIP, 1.0 - _CLIP)))


@dataclass(frozen=True)
class _Pairs:
    """Pairs and their cells: x (n_cells,) of each cell, and cell and block of each pair."""

    q: Floats
    y: Floats
    x: Floats
    cells: Ints
    blocks: Ints | None

    @classmethod
    def of(cls, q: Floats, y: Floats, blocks: Ints | None) -> _Pairs:
        steps = np.rint(_log_odds(q) / _STEP).astype(np.int64)
        _, cells = np.unique(steps, return_inverse=True)
        return cls(q, y, _log_odds(np.bincount(cells, q) / np.bincount(cells)), cells, blocks)

    def sums(self, rows: Ints | None = None, n_rows: int = 1) -> tuple[Floats, Floats]:
        """Pairs and positive labels by row and cell: two arrays (n_rows, n_cells); without rows (n_cells,)."""
        n_cells = self.x.shape[0]
        codes = self.cells if rows is None else rows * n_cells + self.cells
        n, positive = _counts(codes, self.y, n_rows * n_cells)
        return (n, positive) if rows is None else (n.reshape(n_rows, -1), positive.reshape(n_rows, -1))


def _counts(codes: Ints, y: Floats, n: int) -> tuple[Floats, Floats]:
    """Pairs and positive labels of each code: two arrays (n,)."""
    return np.bincount(codes, minlength=n).astype(np.float64), np.bincount(codes, y, n).astype(np.float64)


def _folds(pairs: _Pairs, rng: np.random.Generator) -> Ints:
    """Fold of each pair; those of one block share it."""
    n = pairs.y.shape[0] if pairs.blocks is None else int(pairs.blocks.max()) + 1
    folds = rng.permutation(n) % _N_FOLDS
    return np.asarray(folds if pairs.blocks is None else folds[pairs.blocks], np.int64)


def _points(pairs: _Pairs) -> Floats:
    """Log-odds at which the curve is computed: closer together near 0 and 1, between the extreme predictions."""
    low, high = pairs.x[0], pairs.x[-1]
    inner = _log_odds(np.sin(0.5 * np.pi * np.linspace(0.0, 1.0, _N_POINTS)) ** 2)
    return np.unique(np.concatenate(([low], inner[(inner > low) & (inner < high)], [high])))


# --- local likelihood --------------------------------------------------------------------------------------


class _Fit(NamedTuple):
    """Shift and tilt at each point (n_points,), and the inverse information about both (n_points, 2, 2)."""

    shift: Floats
    tilt: Floats
    inverse: Floats


def _kernel(x: Floats, points: Floats, bandwidth: float) -> tuple[Floats, Floats]:
    """Weight of each cell at each point, and its distance: (n_points, n_cells)."""
    distance = x[None] - points[:, None]
    return np.exp(-0.5 * (distance / bandwidth) ** 2), distance


def _fitted(x: Floats, n: Floats, positive: Floats, points: Floats, bandwidth: float) -> _Fit:
    """Maximise the local likelihood at each point by Newton's method with halved steps.

    A weak prior keeps the maximum finite where all labels agree.
    """
    weights, distance = _kernel(x, points, bandwidth)
    trials, hits = weights * n, weights * positive

    def shares(parameters: Floats) -> tuple[Floats, Floats]:
        """Share of each cell, and the value to maximise."""
        log_odds = x[None] + parameters[0][:, None] + parameters[1][:, None] * distance
        likelihood = (hits * log_odds - trials * np.logaddexp(0.0, log_odds)).sum(axis=1)
        return expit(log_odds), likelihood - 0.5 * _PRIOR @ parameters**2

    parameters = np.zeros((2, points.shape[0]))
    share, value = shares(parameters)
    for _ in range(_MOST_STEPS):
        gap, curvature = hits - trials * share, trials * share * (1.0 - share)
        slope = np.stack((gap.sum(1), (gap * distance).sum(1))) - _PRIOR[:, None] * parameters
        off = (curvature * distance).sum(1)
        rows = [[curvature.sum(1) + _PRIOR[0], off], [off, (curvature * distance**2).sum(1) + _PRIOR[1]]]
        inverse = np.linalg.inv(np.moveaxis(np.array(rows), 2, 0))
        step = np.einsum("gij,jg->ig", inverse, slope)
        if np.einsum("ig,ig->g", step, slope).max() < _PRECISION:
            break
        size = np.ones_like(points)
        while size.max() > 1e-6:
            share, new_value = shares(parameters + size * step)
            worse = new_value < value - 1e-9
            if not worse.any():
                break
            size = np.where(worse, 0.5 * size, size)
        parameters, value = parameters + size * step, new_value
    return _Fit(parameters[0], parameters[1], inverse)


def _held_out(pairs: _Pairs, folds: Ints, bandwidth: float) -> float:
    """Mean log score of a pair under the curve of the other folds."""
    n, positive = pairs.sums(folds, _N_FOLDS)
    score = 0.0
    for k in range(_N_FOLDS):
        is_training = np.arange(_N_FOLDS) != k
        used = n[k] > 0
        fit = _fitted(pairs.x, n[is_training].sum(0), positive[is_training].sum(0), pairs.x[used], bandwidth)
        score += _log_score(n[k, used], positive[k, used], expit(pairs.x[used] + fit.shift))
    return float(score / pairs.y.shape[0])


def _log_score(n: Floats, positive: Floats, share: Floats) -> float:
    return float(np.sum(xlogy(positive, share) + xlog1py(n - positive, -share)))


def _bin_scores(pairs: _Pairs, folds: Ints) -> dict[float, float]:
    """Mean held-out log score of a pair under the binned curve, by bin size; half a label of each kind is added."""
    total = pairs.y.shape[0]
    scores = {float(size): 0.0 for size in _BIN_SIZES if size == _BIN_SIZES[0] or 2 * size <= total}
    for k in range(_N_FOLDS):
        test = folds == k
        train_q, train_y = pairs.q[~test], pairs.y[~test]
        test_q, test_y = pairs.q[test], pairs.y[test]
        for size in scores:
            # The bins of the fold are as many as those of all pairs.
            bins = bin_pairs(train_q, train_y, bin_size=max(round(size * (1.0 - 1.0 / _N_FOLDS)), 1))
            share = (bins.sum_y + 0.5) / (bins.n + 1.0)
            bin_indices = np.minimum(np.searchsorted(bins.q_max, test_q), bins.n_bins - 1)
            scores[size] += _log_score(*_counts(bin_indices, test_y, bins.n_bins), share) / total
    return scores


# --- the band ----------------------------------------------------------------------------------------------


def _half_widths(
    pairs: _Pairs, fit: _Fit, points: Floats, bandwidth: float, level: float, rng: np.random.Generator
) -> Floats:
    """Half of the band's width at each point, in log-odds, from a studentised bootstrap of the blocks' influence.

    The largest studentised deviation over all points of the resamples has the level. Bias and the choice of the
    bandwidth are not in it. A variance is never less than that of independent pairs whose labels vary as the curve
    says, because resampling shows no variation where all labels agree; and that of the prior is added, which matters
    where there is hardly a pair.
    """
    weights, distance = _kernel(pairs.x, points, bandwidth)
    n, positive = pairs.sums()
    share = expit(pairs.x[None] + fit.shift[:, None] + fit.tilt[:, None] * distance)
    # Influence of one unit of residual of a cell on the shift at a point: (n_points, n_cells).
    pull = weights * (fit.inverse[:, :1, 0] + fit.inverse[:, :1, 1] * distance)
    least_variance = np.sum(pull**2 * share * (1.0 - share) * n, axis=1)
    prior_variance = fit.inverse[:, 0] ** 2 @ _PRIOR
    if pairs.blocks is None:
        influence = np.concatenate((pull * (1.0 - share), -pull * share), axis=1).T
        times = np.concatenate((positive, n - positive))
    else:
        n_blocks = int(pairs.blocks.max()) + 1
        pairs_of_block, positive_of_block = pairs.sums(pairs.blocks, n_blocks)
        influence = positive_of_block @ pull.T - pairs_of_block @ (pull * share).T
        times = np.ones(n_blocks)
    total = times.sum()
    errors = np.sqrt(np.maximum(times @ influence**2, least_variance) + prior_variance)
    drawn_times = rng.multinomial(int(total), times / total, _N_DRAWS).astype(np.float64)
    deviations = np.abs((drawn_times - times) @ influence)
    deviations /= np.sqrt(np.maximum(drawn_times @ influence**2, least_variance) + prior_variance)
    # The draws lack the prior's variance, so the factor is at least that of a single point.
    factor = max(float(np.quantile(deviations.max(axis=1), level)), NormalDist().inv_cdf(0.5 * (1.0 + level)))
    return np.asarray(factor * errors)
