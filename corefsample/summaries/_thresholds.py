"""Clusterings by threshold, with the scores that the posterior expects of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints32
from corefsample._lazy import pd
from corefsample.calibration.binning._results import Result
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.errors import ParameterError
from corefsample.metrics._counts import ratio
from corefsample.metrics._posterior import metric_posterior
from corefsample.summaries._point_estimate import average_linkage, estimate_of
from corefsample.summaries._posterior import Posterior, Samples, posterior_from

By = Literal["link", "cost"]
BY: tuple[By, ...] = ("link", "cost")
ExpectedMetric = Literal["pairs", "muc", "b3", "ceafe", "lea", "conll"]
EXPECTED_METRICS: tuple[ExpectedMetric, ...] = ("pairs", "muc", "b3", "ceafe", "lea", "conll")
PARTS = ("precision", "recall", "f1")
_THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve(Result):
    """Clusterings at several thresholds, and their expected scores; arrays are read-only.

    Attributes
    ----------
    thresholds
        float64 (n_thresholds,).
    by
        "link" or "cost": see `threshold_curve`.
    labels
        int32 (n_thresholds, n_mentions).
    metrics
        Names of the metrics.
    expected
        float64 (n_thresholds, n_metrics, 3) in [0, 1]: posterior means of precision, recall and F1.
    mc_se
        The same shape: their Monte Carlo standard errors.
    n_samples
        Samples behind them.
    """

    thresholds: Floats
    by: By
    labels: Ints32
    metrics: tuple[ExpectedMetric, ...]
    expected: Floats
    mc_se: Floats
    n_samples: int

    def best(self, metric: ExpectedMetric = "conll", part: str = "f1") -> int:
        """Place of the threshold whose clustering has the largest expected score; of equal ones the first."""
        _checks.choice("metric", metric, self.metrics)
        _checks.choice("part", part, PARTS)
        return int(np.argmax(self.expected[:, self.metrics.index(metric), PARTS.index(part)]))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per threshold and metric.

        threshold, n_entities, metric, precision, recall, f1, precision_mc_se, recall_mc_se, f1_mc_se.
        """
        n_metrics = len(self.metrics)
        n_entities = (self.labels == np.arange(self.labels.shape[1])).sum(axis=1)
        columns = {"threshold": np.repeat(self.thresholds, n_metrics), "n_entities": np.repeat(n_entities, n_metrics)}
        table = pd.DataFrame({**columns, "metric": list(self.metrics) * self.thresholds.shape[0]})
        for p, part in enumerate(PARTS):
            table[part] = self.expected[:, :, p].ravel()
        for p, part in enumerate(PARTS):
            table[f"{part}_mc_se"] = self.mc_se[:, :, p].ravel()
        return table


def threshold_curve(
    posterior: AntecedentDistribution | Samples,
    *,
    by: By = "link",
    thresholds: Sequence[float] = _THRESHOLDS,
    metrics: Sequence[ExpectedMetric] = ("pairs", "b3", "conll"),
    samples: Samples | None = None,
    n_samples: int = 1000,
    seed: int = 0,
    doc_id: str = "",
) -> ThresholdCurve:
    """Trade precision for recall without gold: clusterings by threshold, with their expected scores.

    Parameters
    ----------
    posterior, samples, n_samples, seed, doc_id
        As for `expected_loss`.
    by
        "link": average-linkage clusters, joined while the mean link marginal between them is at least the threshold.
        "cost": the clustering with the smallest Binder loss if joining two mentions that do not corefer costs t, and
        separating two that do costs 1 - t: a pair on its own is joined if its link marginal is above t.
    thresholds
        In [0, 1], at least one. A high one gives few links of high precision.
    metrics
        "pairs" (coreferent pairs), "muc", "b3", "ceafe", "lea", "conll"; a sample is the key, singletons count.

    Raises
    ------
    ParameterError
        If a threshold lies outside [0, 1], a metric is unknown, or there is no threshold, metric or second sample.
    """
    _checks.choice("by", by, BY)
    for name, values in (("thresholds", thresholds), ("metrics", metrics)):
        if np.ndim(values) != 1 or len(values) == 0:
            raise ParameterError(f"must be a list of at least one, got {_checks.shown(values)}", parameter=name)
    cuts = tuple(_checks.probability(f"thresholds[{t}]", cut) for t, cut in enumerate(thresholds))
    for m, metric in enumerate(metrics):
        _checks.choice(f"metrics[{m}]", metric, EXPECTED_METRICS)
    source = posterior_from(posterior, samples=samples, n_samples=n_samples, seed=seed, doc_id=doc_id)
    _checks.whole("samples.n_samples", source.drawn.n_samples, 2)
    if by == "link":
        clusterings = average_linkage(source.marginals, cuts)
    else:
        clusterings = [estimate_of(source, "binder", 2.0 * (1.0 - cut)).labels for cut in cuts]
    known: dict[bytes, Floats] = {}
    for labels in clusterings:
        if labels.tobytes() not in known:
            known[labels.tobytes()] = np.array([_scores(source, labels, metric) for metric in metrics])
    table = np.array([known[labels.tobytes()] for labels in clusterings])  # threshold, metric, mean or error, part
    return ThresholdCurve(
        thresholds=np.array(cuts),
        by=by,
        labels=np.array(clusterings, np.int32),
        metrics=tuple(metrics),
        expected=table[:, :, 0].copy(),
        mc_se=table[:, :, 1].copy(),
        n_samples=source.drawn.n_samples,
    )


def _scores(source: Posterior, labels: Ints32, metric: ExpectedMetric) -> Floats:
    """Mean and Monte Carlo error of precision, recall and F1: float64 (2, 3)."""
    # The metrics take one key and many responses. Here the samples are the keys, so precision and recall change places.
    found = metric_posterior(labels, source.drawn, metric="blanc" if metric == "pairs" else metric)
    if metric == "pairs":
        correct, ours, theirs = found.counts["blanc"].T[:3]
        values = np.stack([ratio(correct, ours), ratio(correct, theirs), ratio(2.0 * correct, ours + theirs)])
    else:
        names = ("muc", "b3", "ceafe") if metric == "conll" else (metric,)
        counts = [found.counts[name].T for name in names]
        precision = sum((ratio(c[0], c[1]) for c in counts), np.zeros(1)) / len(counts)
        recall = sum((ratio(c[2], c[3]) for c in counts), np.zeros(1)) / len(counts)
        values = np.stack([precision, recall, found.values])
    return np.array([values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])])
