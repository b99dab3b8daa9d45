"""Losses of a clustering that stands for the posterior, and their expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference import AntecedentDistribution, canonical_labels
from corefsample.errors import ParameterError
from corefsample.metrics import metric_posterior
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._posterior import Posterior, Samples, SampleTables, grouped, posterior_from

Loss = Literal["binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea", "conll"]
LOSSES: tuple[Loss, ...] = ("binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea", "conll")
WEIGHTED: tuple[Loss, ...] = ("binder", "vi", "vi-bound")
MARGINAL: tuple[Loss, ...] = ("binder", "vi-bound")  # computed from link marginals
METRIC_LOSSES: tuple[Loss, ...] = ("nvi", "vi", "binder")  # distances for which the triangle inequality holds
SCORES: tuple[Loss, ...] = ("b3", "lea")  # their numerators are not sums over all cells alike
_NO_ENTROPY = 1e-10


@dataclass(frozen=True, slots=True)
class ExpectedLoss:
    """Expected loss of one clustering under the posterior.

    Attributes
    ----------
    value
        The expectation; VI in nats.
    mc_se
        Its Monte Carlo standard error; 0 where it is exact, NaN for a single sample.
    n_samples
        Samples behind it; 0 where it is exact.
    """

    value: float
    mc_se: float
    n_samples: int


def expected_loss(
    posterior: AntecedentDistribution | Samples,
    labels: npt.ArrayLike,
    *,
    loss: Loss = "vi",
    split_cost: float = 1.0,
    samples: Samples | None = None,
    n_samples: int = 1000,
    seed: int = 0,
    doc_id: str = "",
) -> ExpectedLoss:
    """Expected loss of a clustering that stands for the posterior.

    Parameters
    ----------
    posterior
        A distribution, or samples: `ClusteringSamples`, or an int array of shape (n_samples, n_mentions).
    labels
        int (n_mentions,): mentions with the same label form a cluster.
    loss
        "binder": 2 / n_mentions**2 times the cost of the wrong pairs. "vi": variation of information, in nats.
        "vi-bound": the lower bound of the expected VI from link marginals, without the term that is the same for all
        clusterings; it can be negative. "nvi": VI divided by the joint entropy. "ari": 1 - adjusted Rand index. "muc",
        "b3", "lea": 1 - F1, singletons counted. "conll": 1 - mean F1 of MUC, B3 and CEAFe.
    split_cost
        In [0, 2], for "binder", "vi" and "vi-bound": cost of separating mentions that corefer; that of joining others
        is 2 - split_cost. For VI, the two are the weights of H(clustering | sample) and H(sample | clustering).
    samples
        Samples of the distribution; None: `n_samples` are drawn where the loss needs them.
    n_samples, seed, doc_id
        As for `corefsample.sample_clusterings`.

    Returns
    -------
    ExpectedLoss
        Exact for "binder" and "vi-bound" of a distribution.

    Raises
    ------
    ParameterError
        If labels have the wrong number, or an option breaks its rule.

    References
    ----------
    Binder (1978); Wade & Ghahramani (2018), section 3, for VI and its bound; Vinh, Epps & Bailey (2010) for NVI; Hubert
    & Arabie (1985) for the adjusted Rand index; Dahl, Johnson & Müller (2022), section 3, for the two costs.

    Examples
    --------
    >>> even = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])  # one entity or two, each with 1/2
    >>> expected_loss(even, [0, 0], loss="binder").value  # 2 / 4 of one pair that is wrong with 1/2
    0.25
    """
    check_loss(loss, split_cost)
    source = posterior_from(
        posterior, samples=samples, draw=loss not in MARGINAL, n_samples=n_samples, seed=seed, doc_id=doc_id
    )
    return loss_under(source, canonical_labels(labels, n_mentions=source.n_mentions), loss, split_cost)


def check_loss(loss: Loss, split_cost: float) -> None:
    """Raise unless the loss is known, and its cost is in its range."""
    _checks.choice("loss", loss, LOSSES)
    _checks.at_least_zero("split_cost", split_cost)
    if split_cost > 2.0:
        raise ParameterError(f"must lie in [0, 2], got {split_cost!r}", parameter="split_cost")
    if split_cost != 1.0 and loss not in WEIGHTED:
        raise ParameterError(f"must be 1 for {loss}, got {split_cost!r}", parameter="split_cost")


def loss_under(source: Posterior, labels: Ints32, loss: Loss, split_cost: float) -> ExpectedLoss:
    """Expected loss of canonical labels."""
    if loss == "vi-bound" or (loss == "binder" and source.antecedents is not None):
        value = _marginal_loss(source.marginals, labels, loss, split_cost)
        return ExpectedLoss(value, 0.0, 0 if source.antecedents is not None else source.drawn.n_samples)
    values = losses_by_sample(source, labels, loss, split_cost)
    n = values.shape[0]
    mc_se = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return ExpectedLoss(float(values.mean()), mc_se, n)


def _marginal_loss(marginals: Floats, labels: Ints32, loss: Loss, split_cost: float) -> float:
    """Binder loss, or the lower bound of VI without its constant term."""
    n = max(labels.shape[0], 1)
    merge_cost = 2.0 - split_cost
    if loss == "binder":
        apart, joined = kernels.marginal_costs(marginals, labels)
        return float((split_cost * apart + merge_cost * joined) / n**2)
    together = labels[:, None] == labels
    within = np.where(together, marginals, 0.0).sum(axis=1)
    return float((merge_cost * np.log(together.sum(axis=1)) - 2.0 * np.log(within)).sum() / n)


def losses_by_sample(source: Posterior, labels: Ints32, loss: Loss, split_cost: float) -> Floats:
    """Loss of a clustering where a sample is the truth: float64 (n_samples,)."""
    if loss == "conll":
        _checks.whole("samples.n_samples", source.drawn.n_samples, 2)
        return 1.0 - metric_posterior(labels, source.drawn, metric="conll").values
    if loss == "vi-bound":
        raise ParameterError("must be a loss of single samples, got 'vi-bound'", parameter="loss")
    clustering = grouped(labels)
    statistics, sizes = source.tables.statistics(clustering, scores=loss in SCORES), clustering.sizes
    own = OwnSums(np.log(sizes) @ sizes, (sizes * (sizes - 1) // 2).sum(), sizes.shape[0])
    return losses_of_statistics(statistics, own, labels.shape[0], loss, split_cost)


class OwnSums(NamedTuple):
    """Sums over the clusters of a clustering, or arrays of such sums: size * log(size), pairs, number."""

    entropy: Floats | float
    pairs: Floats | float
    n_clusters: Floats | float


def distances_of_samples(tables: SampleTables, first: Ints, second: Ints, loss: Loss) -> Floats:
    """Loss of samples `first` where samples `second` are the truth, with equal costs: float64 (n_pairs,)."""
    columns = tables.own_sums[first].T
    own = OwnSums(columns[kernels.SAMPLE_ENTROPY], columns[kernels.SAMPLE_PAIRS], columns[kernels.SAMPLE_ENTITIES])
    return losses_of_statistics(tables.pair_statistics(first, second), own, tables.n_mentions, loss, 1.0)


def losses_of_statistics(statistics: Floats, own: OwnSums, n: int, loss: Loss, split_cost: float) -> Floats:
    """Losses by sample from the sums over cells, and those of the clustering itself."""
    if n == 0:
        return np.zeros(statistics.shape[0])
    columns = statistics.T
    losses: Floats
    if loss in ("vi", "nvi"):
        joint = np.maximum(np.log(n) - columns[kernels.JOINT] / n, 0.0)
        entropy = np.log(n) - own.entropy / n
        of_sample = np.log(n) - columns[kernels.SAMPLE_ENTROPY] / n
        if loss == "vi":
            # H(clustering | sample) = joint - of_sample: what the sample does not know is what was split.
            split, merged = np.maximum(joint - of_sample, 0.0), np.maximum(joint - entropy, 0.0)
            losses = split_cost * split + (2.0 - split_cost) * merged
            return losses
        distance = np.maximum(2.0 * joint - entropy - of_sample, 0.0)
        losses = np.divide(distance, joint, out=np.zeros_like(joint), where=joint > _NO_ENTROPY)
        return losses
    pairs = own.pairs
    if loss == "binder":
        common = columns[kernels.PAIRS]
        wrong = split_cost * (columns[kernels.SAMPLE_PAIRS] - common) + (2.0 - split_cost) * (pairs - common)
        losses = 2.0 * wrong / n**2
        return losses
    if loss == "ari":
        expected = pairs * columns[kernels.SAMPLE_PAIRS] / max(n * (n - 1) / 2, 1.0)
        most = (pairs + columns[kernels.SAMPLE_PAIRS]) / 2.0 - expected
        found = columns[kernels.PAIRS] - expected
        # Both clusterings have all pairs, or both have none: they are the same.
        losses = 1.0 - np.divide(found, most, out=np.ones_like(most), where=most > _NO_ENTROPY)
        return losses
    return 1.0 - _f1(columns, own.n_clusters, n, loss)


def _f1(columns: Floats, n_clusters: Floats | float, n: int, loss: Loss) -> Floats:
    f1: Floats
    if loss == "muc":
        found = n - columns[kernels.CELLS]
        wanted = (n - columns[kernels.SAMPLE_ENTITIES]) + (n - n_clusters)
        f1 = np.divide(2.0 * found, wanted, out=np.zeros_like(wanted), where=wanted > 0.0)
        return f1
    parts = {"b3": (kernels.B3_RECALL, kernels.B3_PRECISION), "lea": (kernels.LEA_RECALL, kernels.LEA_PRECISION)}
    recall, precision = (columns[part] / n for part in parts[loss])
    total = recall + precision
    f1 = np.divide(2.0 * recall * precision, total, out=np.zeros_like(total), where=total > 0.0)
    return f1


def lower_bound(source: Posterior, loss: Loss, split_cost: float) -> float | None:
    """Lower bound of the smallest expected loss over all clusterings, or None where we know none.

    Binder: each pair costs at least the smaller of its two costs. VI and NVI are distances, so by the triangle
    inequality two samples are at most as far apart as the sum of their distances to any clustering; with the samples
    in pairs, half their mean distance bounds the mean over the samples.
    """
    n = source.n_mentions
    if loss == "binder":
        costs = np.minimum(split_cost * source.marginals, (2.0 - split_cost) * (1.0 - source.marginals))
        return float(costs.sum()) / max(n, 1) ** 2
    if loss not in METRIC_LOSSES or source.samples is None:
        return None
    n_samples = source.drawn.n_samples
    first = np.arange(n_samples // 2)
    distances = distances_of_samples(source.tables, first, first + n_samples // 2, loss)
    return min(split_cost, 2.0 - split_cost) * float(distances.sum()) / n_samples
