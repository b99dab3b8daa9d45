"""Losses of a clustering that stands for the posterior, and their expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints32
from corefsample._results import HtmlTable
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import ClusteringSamples, canonical_labels
from corefsample.errors import ParameterError
from corefsample.metrics._scores import metric_posterior
from corefsample.summaries import _kernels as kernels
from corefsample.summaries._posterior import Samples, SummaryInput, cell_sums, posterior_from

Loss = Literal["binder", "vi", "vi-bound", "b3", "lea", "conll"]
LOSSES: tuple[Loss, ...] = ("binder", "vi", "vi-bound", "b3", "lea", "conll")
MARGINAL: tuple[Loss, ...] = ("binder", "vi-bound")  # computed from link marginals
ScoreName = Literal["b3", "lea", "conll"]
SCORES: tuple[ScoreName, ...] = ("b3", "lea", "conll")


@dataclass(frozen=True, slots=True, repr=False)
class ExpectedLoss(HtmlTable):
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
) -> ExpectedLoss:
    """Expected loss of a clustering that stands for the posterior.

    Parameters
    ----------
    posterior
        A distribution, or samples: `ClusteringSamples`, a `DocumentPosterior` that draws them
        (under the draws of its recalibration), or an int array of shape (n_samples, n_mentions).
    labels
        int (n_mentions,): mentions with the same label form a cluster.
    loss
        Loss of a clustering, given the true one. "vi" (the default): variation of information, in nats. "binder":
        2 / n_mentions**2 times the cost of the wrong pairs. "vi-bound": the lower bound of the expected VI from link
        marginals, without the term that is the same for all clusterings; it can be negative. "b3", "lea": 1 - F1,
        singletons counted. "conll": 1 - mean F1 of MUC, B3 and CEAFe.
    split_cost
        Cost of separating mentions that corefer, in [0, 2], for "binder", "vi" and "vi-bound"; that of joining others
        is 2 - split_cost. For VI, the two are the weights of H(clustering | sample) and H(sample | clustering).
    samples
        Samples of the distribution. By default, 1,000 are drawn where the loss needs them, with seed 0.

    Returns
    -------
    ExpectedLoss
        Expected loss with its Monte Carlo error; exact for "binder" and "vi-bound" of a distribution.

    Raises
    ------
    ParameterError
        If labels are not n_mentions whole numbers, `loss` is unknown, `split_cost` is outside [0, 2], or samples have
        another number of mentions than the distribution.

    References
    ----------
    Binder (1978); Wade & Ghahramani (2018), section 3, for VI and its bound; Dahl, Johnson & Müller (2022), section 3,
    for the two costs.

    Examples
    --------
    >>> even = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])  # one entity or two, each with 1/2
    >>> expected_loss(even, [0, 0], loss="binder").value  # 2 / 4 of one pair that is wrong with 1/2
    0.25
    """
    check_loss(loss, split_cost)
    source = posterior_from(posterior, samples, draw=loss not in MARGINAL)
    return loss_under(source, canonical_labels(labels, n_mentions=source.n_mentions), loss, split_cost)


def check_loss(loss: Loss, split_cost: float) -> None:
    """Raise unless the loss is known, and its cost is in its range."""
    _checks.choice("loss", loss, LOSSES)
    _checks.at_least_zero("split_cost", split_cost)
    if split_cost > 2.0:
        raise ParameterError(f"must lie in [0, 2], got {split_cost!r}", parameter="split_cost")
    if split_cost != 1.0 and loss in SCORES:
        raise ParameterError(f"must be 1 for {loss}, got {split_cost!r}", parameter="split_cost")


def loss_under(source: SummaryInput, labels: Ints32, loss: Loss, split_cost: float) -> ExpectedLoss:
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
    together = labels[:, None] == labels
    if loss == "binder":
        costs = np.where(together, merge_cost * (1.0 - marginals), split_cost * marginals)
        return float(costs.sum() / n**2)
    within = np.where(together, marginals, 0.0).sum(axis=1)
    return float((merge_cost * np.log(together.sum(axis=1)) - 2.0 * np.log(within)).sum() / n)


def losses_by_sample(source: SummaryInput, labels: Ints32, loss: Loss, split_cost: float) -> Floats:
    """Loss of a clustering where a sample is the truth: float64 (n_samples,)."""
    if labels.shape[0] == 0:
        return np.zeros(source.drawn.n_samples)
    if loss in SCORES:
        samples = source.drawn
        if loss == "conll":
            _checks.whole("samples.n_samples", samples.n_samples, 2)
        # A posterior of scores needs two samples.
        repeated = samples if samples.n_samples > 1 else ClusteringSamples(np.repeat(samples.labels, 2, axis=0), 0, "")
        return 1.0 - metric_posterior(labels, repeated, metric=loss).values[: samples.n_samples]
    row = labels[None]
    sums = cell_sums(row, source.rows), cell_sums(row, row), source.own_sums
    return losses_of_sums(*sums, labels.shape[0], loss, split_cost)


def losses_of_sums(common: Floats, own: Floats, truth: Floats, n: int, loss: Loss, split_cost: float = 1.0) -> Floats:
    """VI or Binder losses, from sums over common cells, over the clusters of the clustering, and over each sample's."""
    losses: Floats
    if loss == "vi":
        joint, entropy, sample_entropy = (np.log(n) - sums[kernels.JOINT] / n for sums in (common, own, truth))
        # H(clustering | sample) = joint - sample_entropy, the cost of splits.
        split, merged = np.maximum(joint - sample_entropy, 0.0), np.maximum(joint - entropy, 0.0)
        losses = split_cost * split + (2.0 - split_cost) * merged
        return losses
    pairs, common_pairs, sample_pairs = own[kernels.PAIRS], common[kernels.PAIRS], truth[kernels.PAIRS]
    losses = 2.0 * (split_cost * (sample_pairs - common_pairs) + (2.0 - split_cost) * (pairs - common_pairs)) / n**2
    return losses


def lower_bound(source: SummaryInput, loss: Loss, split_cost: float) -> float | None:
    """Lower bound of the smallest expected loss over all clusterings, or None where we know none.

    Binder: each pair costs at least the smaller of its two costs. VI is a distance, so by the triangle inequality two
    samples are at most as far apart as the sum of their distances to any clustering; with the samples in pairs, half
    their mean distance bounds the mean over the samples.
    """
    n = source.n_mentions
    if loss == "binder":
        costs = np.minimum(split_cost * source.marginals, (2.0 - split_cost) * (1.0 - source.marginals))
        return float(costs.sum()) / max(n, 1) ** 2
    if loss != "vi" or source.samples is None:
        return None
    if n == 0:
        return 0.0
    half = source.drawn.n_samples // 2
    first, second = slice(half), slice(half, 2 * half)
    sums = cell_sums(source.rows[first], source.rows[second]), source.own_sums[:, first], source.own_sums[:, second]
    distances = losses_of_sums(*sums, n, loss)
    return min(split_cost, 2.0 - split_cost) * float(distances.sum()) / source.drawn.n_samples
