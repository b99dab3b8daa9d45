"""What every benchmark shares: two sides timed in turn, and the row that their medians make."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Row", "faster", "in_turn", "timed", "within"]


@dataclass(frozen=True)
class Row:
    """One comparison: medians of both sides in seconds (or bytes), their ratio, and the figure it is to meet."""

    work: str
    against: str
    ours: float
    theirs: float
    ratio: float
    figure: str
    met: bool | None

    def cells(self) -> list[str]:
        met = {True: "yes", False: "NO", None: "-"}[self.met]
        return [self.work, self.against, _shown(self.ours), _shown(self.theirs), f"{self.ratio:.3g}", self.figure, met]


def _shown(value: float) -> str:
    if value > 1e5:
        return f"{value / 2**20:.0f} MiB"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], runs: int, each: int = 1, *, warm: bool = True
) -> tuple[float, float]:
    """Medians of both sides, run in turn, after one warm-up if `warm`.

    A run repeats our side `each` times and takes the median: where it is short, its first calls find the caches full of
    the other side's work, which a corpus of documents would not.
    """
    if warm:
        ours(), theirs()
    pairs = []
    for _ in range(runs):
        mine = statistics.median(timed(ours) for _ in range(each))
        pairs.append((mine, timed(theirs)))
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def faster(work: str, against: str, sides: tuple[float, float], at_least: float | None = None) -> Row:
    ours, theirs = sides
    ratio = theirs / ours
    figure = "" if at_least is None else f">= {at_least:g}x faster"
    return Row(work, against, ours, theirs, ratio, figure, None if at_least is None else ratio >= at_least)


def within(work: str, against: str, sides: tuple[float, float], at_most: float) -> Row:
    ours, theirs = sides
    ratio = ours / theirs
    return Row(work, against, ours, theirs, ratio, f"<= {at_most:g}x of it", ratio <= at_most)
