"""Losses of documents as a smooth function of log temperature and bias, which makes refits very cheap.

Each document's loss is computed on a lattice of Chebyshev nodes and replaced by the least-squares polynomial. Losses
add up over documents, so the fit on some of them, or on a bootstrap sample, is the minimum of a weighted sum of the
same polynomials. Sampled losses are noisy; least squares averages their noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats
from corefsample.recalibration._losses import Losses
from corefsample.recalibration._model import Recalibration, no_minimum

_WIDE = np.array([0.35, 0.8])  # half widths of the first search in log temperature and bias
_NARROWEST, _WIDEST = np.array([0.05, 0.1]), np.array([0.6, 1.5])
_ERRORS = 4.0  # half width of the last lattice, in standard errors of the fit
_MOVES = 20
_TOLERANCE = 1e-6  # relative difference of losses that does not count
_GRID = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 21)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
_ZOOMS = (0.15, 0.02, 0.003, 0.0005)


@dataclass(frozen=True, slots=True, eq=False)
class LossSurface:
    """Polynomials of each document's loss around a centre.

    Attributes
    ----------
    center, half_widths
        float64 (2,): of log temperature and bias.
    coefficients
        float64 (n_terms, n_documents), in powers of the coordinates scaled to [-1, 1].
    degree
        Highest total power.
    """

    center: Floats
    half_widths: Floats
    coefficients: Floats
    degree: int

    @classmethod
    def around(cls, losses: Losses, center: Floats, half_widths: Floats, *, n_nodes: int, degree: int) -> LossSurface:
        """Compute the losses on n_nodes x n_nodes nodes, and fit the polynomials."""
        nodes = np.cos(np.pi * (np.arange(n_nodes) + 0.5) / n_nodes)
        lattice = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
        values = np.stack([losses.at(Recalibration.from_vector(center + half_widths * point)) for point in lattice])
        coefficients = np.asarray(np.linalg.lstsq(_powers(lattice, degree), values, rcond=None)[0], np.float64)
        return cls(center, half_widths, coefficients, degree)

    def minimum(self, weights: Floats) -> tuple[Floats, bool]:
        """Minimum of the weighted sum, and whether it lies at the edge.

        Each zoom searches a finer grid around the best point of the previous one.
        """
        summed = self.coefficients @ weights
        best = _GRID[np.argmin(_powers(_GRID, self.degree) @ summed)]
        for zoom in _ZOOMS:
            grid = np.clip(best + zoom * _GRID, -1.0, 1.0)
            best = grid[np.argmin(_powers(grid, self.degree) @ summed)]
        return self.center + self.half_widths * best, bool((np.abs(best) > 0.999).any())

    def standard_errors(self, point: Floats, weights: Floats) -> Floats:
        """Standard errors of the minimum for documents as independent draws; inf if it is not a strict minimum."""
        scaled = (point - self.center) / self.half_widths
        step = 1e-3
        offsets = step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1], [0, 0]])
        f = _powers(scaled + offsets, self.degree) @ self.coefficients * weights
        gradients = np.stack([f[0] - f[1], f[2] - f[3]]) / (2 * step)
        along = (f[[0, 2]] + f[[1, 3]] - 2 * f[8]).sum(axis=1) / step**2
        across = (f[4] + f[5] - f[6] - f[7]).sum() / (4 * step**2)
        hessian = np.array([[along[0], across], [across, along[1]]])
        if np.linalg.eigvalsh(hessian)[0] <= 0.0:
            return np.full(2, np.inf)
        inverse = np.linalg.inv(hessian)
        variance = np.diag(inverse @ (gradients @ gradients.T) @ inverse)
        errors: Floats = np.sqrt(np.maximum(variance, 0.0)) * self.half_widths
        return errors


def find_surface(losses: Losses, start: Floats, weights: Floats, *, at_minimum: bool) -> LossSurface:
    """Compute the polynomials around the minimum, in a region wide enough for refits on bootstrapped documents.

    Parameters
    ----------
    losses
        Of the documents.
    start
        float64 (2,): log temperature and bias to search from.
    weights
        float64 (n_documents,), at least 0.
    at_minimum
        Whether `start` is the minimum already.

    Raises
    ------
    NoMinimumError
        If the search does not end: the losses have no minimum.
    """
    reach = _WIDE
    center, value = start, float(weights @ losses.at(Recalibration.from_vector(start)))
    for _ in range(_MOVES):
        surface = LossSurface.around(losses, center, reach, n_nodes=5, degree=3)
        point, at_edge = (start, False) if at_minimum else surface.minimum(weights)
        # A trust region: where the polynomials promise a lower loss than there is, the region is too large for them.
        # Without this, the search can jump between the two sides of a minimum for ever.
        there = value if at_minimum else float(weights @ losses.at(Recalibration.from_vector(point)))
        if there > value + _TOLERANCE * abs(value):
            reach = reach / 2.0
            continue
        if not at_edge:
            reach = np.clip(_ERRORS * surface.standard_errors(point, weights), _NARROWEST, _WIDEST)
            return LossSurface.around(losses, point, reach, n_nodes=6, degree=3 if losses.sampled else 5)
        center, value = point, there
    raise no_minimum(losses.name)


def _powers(points: Floats, degree: int) -> Floats:
    """Monomials of two coordinates up to a total power: (n_points, n_terms)."""
    x, y = (np.vander(points[:, axis], degree + 1, increasing=True) for axis in range(2))
    return np.concatenate([x[:, i : i + 1] * y[:, : degree + 1 - i] for i in range(degree + 1)], axis=1)
