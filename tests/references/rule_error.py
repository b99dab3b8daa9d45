"""Error of rules by prior sampling: slow and obvious."""

import numpy as np
from scipy.stats import binom, poisson

from corefsample._arrays import Floats
from events.rule_error._model import Prior

# A row: kind, corpus, event, actor, count, size. The new cell comes last, with no count.
Row = tuple[str, str, str, str, int, float]


def new_cell_by_prior_sampling(
    rows: list[Row], new: tuple[str, str, str, str], prior: Prior, family: str, n: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Values of a new cell drawn from the prior, and their weights: the likelihood of the rows under the same draw."""
    sds = {
        name: np.abs(rng.normal(0.0, getattr(prior, name), n)) for name in ("kind", "corpus", "event", "actor", "cell")
    }
    period_sd = np.abs(rng.normal(0.0, prior.period, n))
    common = rng.normal(prior.mean, prior.sd, n)
    effects: dict[object, Floats] = {}

    def effect(name: str, level: object) -> Floats:
        if (name, level) not in effects:
            effects[name, level] = sds[name] * rng.normal(size=n)
        return effects[name, level]

    def value(kind: str, corpus: str, event: str, actor: str) -> Floats:
        value = common + effect("kind", kind) + effect("corpus", corpus) + effect("event", (corpus, event))
        return value + effect("actor", (corpus, actor)) + effect("cell", (corpus, event, actor))

    log_weights = np.zeros(n)
    for kind, corpus, event, actor, count, size in rows:
        period = value(kind, corpus, event, actor) + period_sd * rng.normal(size=n)
        if family == "binomial":
            log_weights += binom.logpmf(count, size, 1.0 / (1.0 + np.exp(-period)))
        else:
            log_weights += poisson.logpmf(count, size * np.exp(period))
    weights = np.exp(log_weights - log_weights.max())
    return value(*new), weights / weights.sum()
