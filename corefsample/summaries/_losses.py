"""Losses of a clustering that stands for the posterior, and their expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference import AntecedentDistribution, canonical_labels
from corefsample.errors import ParameterError
from corefsample.metrics import metric_posterior
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._posterior import OwnSums, Posterior, Samples, SampleTables, grouped, posterior_from

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


def mean_loss(source: Posterior, labels: Ints32, loss: Loss, split_cost: float) -> float:
    """Value of the expected loss, as `loss_under`; faster for VI, whose terms are known by cluster."""
    if loss != "vi":
        return loss_under(source, labels, loss, split_cost).value
    tables, n = source.tables, labels.shape[0]
    if n == 0:
        return 0.0
    clustering = grouped(labels)
    parts = np.split(clustering.members, clustering.indptr[1:-1])
    joint = np.log(n) - sum(tables.mean_joint(part) for part in parts) / n
    entropy = np.log(n) - own_sums_of(clustering.sizes).entropy / n
    of_samples = np.log(n) - np.mean(tables.own_sums().entropy) / n
    return float(split_cost * (joint - of_samples) + (2.0 - split_cost) * (joint - entropy))


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
    sums = source.tables.cell_sums(clustering, scores=loss in SCORES)
    own, truth = own_sums_of(clustering.sizes), source.tables.own_sums()
    return losses_of_sums(sums, own, truth, labels.shape[0], loss, split_cost)


def own_sums_of(sizes: Ints) -> OwnSums:
    """Sums over the clusters of a clustering, from their sizes."""
    return OwnSums(float(np.log(sizes) @ sizes), float((sizes * (sizes - 1) // 2).sum()), float(sizes.shape[0]))


def distances_of_samples(tables: SampleTables, first: Ints, second: Ints, loss: Loss) -> Floats:
    """Loss of samples `first` where samples `second` are the truth, with equal costs: float64 (n_pairs,)."""
    own, truth = tables.own_sums(first), tables.own_sums(second)
    return losses_of_sums(tables.pair_sums(first, second), own, truth, tables.n_mentions, loss, 1.0)


def losses_of_sums(sums: Floats, own: OwnSums, truth: OwnSums, n: int, loss: Loss, split_cost: float) -> Floats:
    """Losses by sample from sums over cells, and over the clusters of the clustering itself and of the samples."""
    if n == 0:
        return np.zeros(sums.shape[1])
    losses: Floats
    if loss in ("vi", "nvi"):
        joint = np.maximum(np.log(n) - sums[kernels.JOINT] / n, 0.0)
        entropy = np.log(n) - own.entropy / n
        of_sample = np.log(n) - truth.entropy / n
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
        common = sums[kernels.PAIRS]
        wrong = split_cost * (truth.pairs - common) + (2.0 - split_cost) * (pairs - common)
        losses = 2.0 * wrong / n**2
        return losses
    if loss == "ari":
        expected = pairs * truth.pairs / max(n * (n - 1) / 2, 1.0)
        most = (pairs + truth.pairs) / 2.0 - expected
        found = sums[kernels.PAIRS] - expected
        # Both clusterings have all pairs, or both have none: they are the same.
        losses = 1.0 - np.divide(found, most, out=np.ones_like(most), where=most > _NO_ENTROPY)
        return losses
    return 1.0 - _f1(sums, own, truth, n, loss)


def _f1(sums: Floats, own: OwnSums, truth: OwnSums, n: int, loss: Loss) -> Floats:
    f1: Floats
    if loss == "muc":
        found = n - sums[kernels.CELLS]
        wanted = (n - truth.n_clusters) + (n - own.n_clusters)
        f1 = np.divide(2.0 * found, wanted, out=np.zeros_like(wanted), where=wanted > 0.0)
        return f1
    parts = {"b3": (kernels.B3_RECALL, kernels.B3_PRECISION), "lea": (kernels.LEA_RECALL, kernels.LEA_PRECISION)}
    recall, precision = (sums[part] / n for part in parts[loss])
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
