"""Credible balls around a clustering (Wade & Ghahramani 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference._exact import canonical_labels
from corefsample.summaries._losses import losses_by_sample
from corefsample.summaries._posterior import Posterior, Samples, clustering_samples

if TYPE_CHECKING:
    import pandas as pd

Distance = Literal["vi", "nvi", "binder"]
DISTANCES: tuple[Distance, ...] = ("vi", "nvi", "binder")
_TIE = 1e-9  # distances closer than this differ by rounding only


@dataclass(frozen=True, slots=True, eq=False)
class CredibleBall:
    """Clusterings around a centre that hold a share of the posterior; arrays are read-only.

    Attributes
    ----------
    centre
        int32 (n_mentions,).
    distance
        "vi" (in nats), "nvi" or "binder" (both in [0, 1]).
    level
        Posterior probability that the ball should have.
    radius
        The smallest distance within which lie at least `level` of the samples.
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

    def __post_init__(self) -> None:
        for array in (self.centre, self.distances, self.farthest, self.coarsest, self.finest):
            array.flags.writeable = False

    def __repr__(self) -> str:
        unit = " nats" if self.distance == "vi" else ""
        held = f"{self.share:.3f} of {self.n_samples} samples"
        return f"CredibleBall({self.distance}: radius={self.radius:.4g}{unit}, level={self.level:g}, {held})"

    def contains(self, labels: npt.ArrayLike) -> bool:
        """Whether a clustering of the same mentions lies in the ball."""
        canonical = canonical_labels(labels, n_mentions=self.centre.shape[0])
        source = Posterior(None, clustering_samples("labels", canonical[None]))
        return bool(losses_by_sample(source, self.centre, self.distance, 1.0)[0] <= self.radius + _TIE)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per clustering and mention: kind, clustering, mention, entity.

        kind is "centre", "farthest", "coarsest" or "finest".
        """
        import pandas as pd

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
    samples: Samples, centre: npt.ArrayLike, *, level: float = 0.95, distance: Distance = "vi"
) -> CredibleBall:
    """Smallest ball around a clustering that holds a share of the samples, and the clusterings at its border.

    Parameters
    ----------
    samples
        `ClusteringSamples`, or an int array of shape (n_samples, n_mentions).
    centre
        int (n_mentions,): for example the labels of `point_estimate`.
    level
        In (0, 1).
    distance
        "vi", variation of information in nats; "nvi"; or "binder".

    Raises
    ------
    ParameterError
        If there is no sample, the centre has another number of mentions, or an option breaks its rule.

    References
    ----------
    Wade & Ghahramani (2018), "Bayesian cluster analysis: point estimation and credible balls", section 4.

    Examples
    --------
    >>> credible_ball(np.array([[0, 0, 2], [0, 0, 2], [0, 0, 0], [0, 1, 2]]), [0, 0, 2], level=0.5).radius
    0.0
    """
    level = _checks.probability("level", level, below_one=True, above_zero=True)
    _checks.choice("distance", distance, DISTANCES)
    source = Posterior(None, clustering_samples("samples", samples))
    labels = canonical_labels(centre, name="centre", n_mentions=source.n_mentions)
    distances = losses_by_sample(source, labels, distance, 1.0)
    rows = source.rows
    n_samples = rows.shape[0]
    # The 1e-9 keeps 0.95 * 100 from becoming 96 samples by rounding.
    needed = max(int(np.ceil(level * n_samples - _TIE)), 1)
    radius = float(np.partition(distances, needed - 1)[needed - 1])
    inside = np.flatnonzero(distances <= radius + _TIE)
    n_entities = (rows[inside] == np.arange(rows.shape[1])).sum(axis=1)

    def border(chosen: Ints) -> Ints32:
        most = distances[chosen].max()
        found: Ints32 = np.unique(rows[chosen[distances[chosen] >= most - _TIE]], axis=0)
        return found

    return CredibleBall(
        centre=labels,
        distance=distance,
        level=level,
        radius=radius,
        share=inside.shape[0] / n_samples,
        distances=distances,
        farthest=border(inside),
        coarsest=border(inside[n_entities == n_entities.min()]),
        finest=border(inside[n_entities == n_entities.max()]),
        n_samples=n_samples,
    )
