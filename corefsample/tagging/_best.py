"""The likeliest tag sequences of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corefsample._arrays import Floats, Ints32

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class BestSequences:
    """The likeliest tag sequences of a chain, best first.

    Attributes
    ----------
    tags
        int32 (k, n), read-only.
    log_probs
        float64 (k,), read-only, never rising: natural log of each sequence's probability.
    """

    tags: Ints32
    log_probs: Floats

    def __post_init__(self) -> None:
        self.tags.flags.writeable = self.log_probs.flags.writeable = False

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per sequence and token: rank (from 0), log_prob, position, tag."""
        import pandas as pd

        k, n = self.tags.shape
        return pd.DataFrame(
            {
                "rank": np.repeat(np.arange(k), n),
                "log_prob": np.repeat(self.log_probs, n),
                "position": np.tile(np.arange(n), k),
                "tag": self.tags.ravel(),
            }
        )
