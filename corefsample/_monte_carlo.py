"""How far a share of samples may be from the probability that it stands for."""

from __future__ import annotations

__all__ = ["agreement_bound"]

_CONFIDENCE = 0.95


def agreement_bound(n_samples: int) -> float:
    """Distance from 0 or 1, where all samples agree, to the 95% one-sided confidence limit: about 3 / n_samples."""
    return float(1.0 - (1.0 - _CONFIDENCE) ** (1.0 / n_samples))
