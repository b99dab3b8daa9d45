"""Credible balls: the clusterings around one that hold a share of the posterior (Wade & Ghahramani 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32, Result, pd
from corefsample.calibration._validation import predictions
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import canonical_labels
from corefsample.metrics._metric_counts import Labels, label_codes
from corefsample.summaries import _expected_losses as expected_losses

Distance = Literal["vi", "binder"]

DISTANCES: tuple[Distance, ...] = ("vi", "binder")
_TIE = 1e-9  # distances closer than this differ by rounding only


@dataclass(frozen=True, slots=True, eq=False)
class CredibleBall(Result):
    """Clusterings around a centre that hold a share of the posterior; arrays are read-only.

    Attributes
    ----------
    centre
        int32 (n_mentions,).
    distance
        "vi" (in nats) or "binder" (in [0, 1]).
    level
        Posterior probability that the ball should have; calibrated, the share of documents whose ball contains gold.
    radius
        The smallest distance within which lie at least `level` of the samples, or as many as calibration asks for.
    share
        Share of the samples at most `radius` away; above `level` where distances are tied.
    distances
        float64 (n_samples,): distance of each sample from the centre.
    farthest, coarsest, finest
        int32 (n_clusterings, n_mentions): distinct samples in the ball. The farthest from the centre; of those with the
        fewest entities (coarsest) and of those with the most (finest), the farthest.
    n_samples
        Number of samples.
    """

    centre: Ints32
    distance: Distance
    level: float
    radius: float
    share: float
    distances: Floats
    farthest: Ints32
    coarsest: Ints32
    finest: Ints32
    n_samples: int

    def __repr__(self) -> str:
        unit = " nats" if self.distance == "vi" else ""
        contents = f"{self.share:.3f} of {self.n_samples} samples"
        return f"CredibleBall({self.distance}: radius={self.radius:.4g}{unit}, level={self.level:g}, {contents})"

    def contains(self, labels: np.typing.ArrayLike) -> bool:
        """Whether a clustering of the same mentions lies in the ball."""
        return self._distance_to(labels) <= self.radius + _TIE

    def depth(self, gold: Labels) -> float:
        """Share of the samples that are nearer to the centre than gold; mentions of entity None are singletons."""
        codes = label_codes("gold", gold)
        labels = np.where(codes < 0, codes.shape[0] + np.arange(codes.shape[0]), codes)
        return float((self.distances < self._distance_to(labels) - _TIE).mean())

    def _distance_to(self, labels: np.typing.ArrayLike) -> float:
        canonical = canonical_labels(labels, n_mentions=self.centre.shape[0])
        source = expected_losses.SummaryInput(None, expected_losses.clustering_samples("labels", canonical[None]))
        return float(expected_losses.losses_by_sample(source, self.centre, self.distance, 1.0)[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per clustering and mention: kind, clustering, mention, entity.

        kind is "centre", "farthest", "coarsest" or "finest".
        """
        kinds = {"centre": self.centre[None], "farthest": self.farthest}
        kinds |= {"coarsest": self.coarsest, "finest": self.finest}
        n = self.centre.shape[0]
        frames = [
            pd.DataFrame({"kind": kind, "clustering": c, "mention": np.arange(n), "entity": labels})
            for kind, rows in kinds.items()
            for c, labels in enumerate(rows)
        ]
        return pd.concat(frames, ignore_index=True)


def credible_ball(
    posterior: AntecedentDistribution | expected_losses.Samples,
    centre: np.typing.ArrayLike | None = None,
    *,
    level: float = 0.95,
    distance: Distance = "vi",
    calibrated: np.typing.ArrayLike | None = None,
) -> CredibleBall:
    """Smallest ball around a clustering that holds a share of the samples, and its most distant samples.

    The ball has all clusterings up to a distance from the centre, its radius. Of the samples in it, the result has the
    most distant ones, and the most distant of those with the fewest and with the most entities.

    By default, the share is `level`. With `calibrated`, it is computed from held-out documents with gold (split
    conformal prediction): the ball of one more document of their kind then contains gold with a probability of at least
    `level`, whether or not posteriors are calibrated.

    Parameters
    ----------
    posterior
        Samples: `ClusteringSamples`, or an int array of shape (n_samples, n_mentions); or a distribution, of which
        1,000 are drawn.
    centre
        int (n_mentions,): labels of the clustering in the centre. By default those of `point_estimate` with `distance`
        as the loss, which `calibrated` requires.
    level
        Share of the samples in the ball, or with `calibrated` the probability that it contains gold, in (0, 1).
    distance
        Distance of two clusterings: "vi" (the default), the variation of information in nats, or "binder".
    calibrated
        For each held-out document, the share of its samples that are nearer to the centre than its gold clustering,
        ``credible_ball(posterior, distance=distance).depth(gold)``: float (n_documents,). The documents must be scored
        by the same scorer, which must not be trained on them, and be at least level / (1 - level): 19 for .95. By
        default, balls are not calibrated.

    Raises
    ------
    ParameterError
        If there is no sample, the centre has another number of mentions, both `centre` and `calibrated` are passed,
        `calibrated` has too few documents or a number outside [0, 1], `level` is not in (0, 1), or `distance` is
        unknown.

    References
    ----------
    Wade & Ghahramani (2018), "Bayesian cluster analysis: point estimation and credible balls", section 4; Vovk,
    Gammerman & Shafer (2005) for `calibrated`.

    Examples
    --------
    >>> credible_ball(np.array([[0, 0, 2], [0, 0, 2], [0, 0, 0], [0, 1, 2]]), [0, 0, 2], level=0.5).radius
    0.0
    """
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    _checks.choice("distance", distance, DISTANCES)
    source_samples = expected_losses.summary_input(posterior)
    rule = "must be left out with calibrated, whose balls have estimates as centres"
    _checks.require("centre", centre is None or calibrated is None, rule, centre)
    if centre is None:
        labels = expected_losses.estimate_of(source_samples, distance).labels
    else:
        labels = canonical_labels(centre, name="centre", n_mentions=source_samples.n_mentions)
    source = expected_losses.SummaryInput(None, source_samples.drawn)
    distances = expected_losses.losses_by_sample(source, labels, distance, 1.0)
    rows = source.rows
    n_samples = rows.shape[0]
    if calibrated is None:  # the 1e-9 keeps 0.95 * 100 from becoming 96 samples by rounding
        n_needed = max(int(np.ceil(level * n_samples - _TIE)), 1)
    else:
        # Gold of one more document exceeds the depth of this rank with probability 1 - level at most.
        depths = np.sort(predictions("calibrated", calibrated))
        rank = int(np.ceil((depths.shape[0] + 1) * level - _TIE))
        rule = f"must be of at least {int(np.ceil(level / (1.0 - level) - _TIE))} documents for level {level:g}"
        _checks.require("calibrated", rank <= depths.shape[0], rule, depths.shape[0])
        n_needed = int(float(depths[rank - 1]) * n_samples + _TIE) + 1
    # A ball beyond all samples has all clusterings: VI is at most log n, the Binder loss below 1.
    largest = max(float(np.log(max(rows.shape[1], 1))) if distance == "vi" else 1.0, float(distances.max()))
    radius = float(np.partition(distances, n_needed - 1)[n_needed - 1]) if n_needed <= n_samples else largest
    rows_inside = np.flatnonzero(distances <= radius + _TIE)
    n_entities = (rows[rows_inside] == np.arange(rows.shape[1])).sum(axis=1)

    def border(rows_of_ball: Ints) -> Ints32:
        most = distances[rows_of_ball].max()
        samples: Ints32 = np.unique(rows[rows_of_ball[distances[rows_of_ball] >= most - _TIE]], axis=0)
        return samples

    return CredibleBall(
        centre=labels,
        distance=distance,
        level=level,
        radius=radius,
        share=rows_inside.shape[0] / n_samples,
        distances=distances,
        farthest=border(rows_inside),
        coarsest=border(rows_inside[n_entities == n_entities.min()]),
        finest=border(rows_inside[n_entities == n_entities.max()]),
        n_samples=n_samples,
    )
