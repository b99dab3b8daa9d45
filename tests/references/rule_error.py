"""Error of rules by prior sampling: slow and obvious."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import binom, norm

from corefsample._arrays import Floats
from events.rule_error import _model
from events.rule_error._model import Prior


class Row(NamedTuple):
    """Documents of one class in a cell, and those that a reader counts."""

    kind: str
    corpus: str
    event: str
    actor: str
    of_class: int
    odds: float
    yes: int
    size: int


def value_by_prior_sampling(
    rows: list[Row], new: Row, prior: Prior, n: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Values of a new cell drawn from the prior, and their weights: the likelihood of the rows under the same draw."""
    factor = rng.choice(_model.FACTORS, n, p=(w := norm.pdf(_model.FACTORS) * _model.FACTORS) / w.sum())
    common, slope = rng.normal(0.0, prior.common, n), rng.normal(prior.slope, prior.slope_sd, n)
    effects: dict[object, Floats] = {}

    def effect(name: str, sd: Floats | float, *level: object) -> Floats:
        return effects.setdefault((name, level), sd * rng.normal(size=n))

    def value(row: Row) -> Floats:
        value = prior.means[row.of_class] + common + slope * row.odds + effect("class", prior.of_class, row.of_class)
        value = value + effect("kind", prior.kind, row.kind) + effect("corpus", prior.corpus, row.corpus)
        value += effect("event", prior.event * factor, row.corpus, row.event)
        value += effect("actor", prior.actor * factor, row.corpus, row.actor)
        return np.asarray(value + effect("cell", prior.cell * factor, *row[:4]))

    log_weights = sum((binom.logpmf(row.yes, row.size, expit(value(row))) for row in rows), np.zeros(n))
    weights = np.exp(log_weights - log_weights.max())
    return value(new), weights / weights.sum()


def uncovered_shares(yes: list[int], rates: list[Floats], sizes: list[int]) -> Floats:
    """Posterior of the share of events whose words do not cover the question, at the middle of 1,000 bins.

    Parameters
    ----------
    yes, sizes
        Documents of each event with neither word nor name that a reader counts, and all of them.
    rates
        Draws of their probability from the prior, (2, n_draws): if words cover the question, and if they do not.
    """
    shares = (np.arange(1000) + 0.5) / 1000
    posterior = (1.0 - shares) ** _model.N_COVERED
    for count, size, (covered, uncovered) in zip(yes, sizes, rates, strict=True):
        likelihoods = [binom.pmf(count, size, rate).mean() for rate in (covered, uncovered)]
        posterior = posterior * ((1.0 - shares) * likelihoods[0] + shares * likelihoods[1])
    return np.asarray(posterior / posterior.sum())
