"""How well link marginals are calibrated: overall, by distance of the mentions, and by what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corefsample import _checks
from corefsample.calibration.binning import BlockBins, Norm, checked_norm
from corefsample.calibration.intervals import Interval, bootstrap_interval, calibration_test, simulated_interval
from corefsample.calibration.measures import (
    BrierDecomposition,
    ReliabilityCurve,
    binned_error,
    brier_decomposition,
    curve_of_bins,
)
from corefsample.calibration.tables import CalibrationTable
from corefsample.errors import InputError
from corefsample.links._pairs import DISTANCES, PAIR_KINDS, LinkTables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GroupCalibration", "LinkCalibration", "calibrate_links"]


@dataclass(frozen=True, slots=True, eq=False)
class GroupCalibration:
    """Calibration of one group of pairs.

    Attributes
    ----------
    partition, group
        "all" and "all pairs", or "distance" or "kind" and the group of it.
    n_documents
        Documents with such a pair.
    error
        Binned calibration error, of the norm that was asked for.
    by_document
        Its confidence interval by resampling documents; None of a single document.
    simulated
        Its confidence interval by Algorithm 2, which takes pairs to be independent.
    debiased
        The error with the sampling variance of independent pairs taken off; None of a norm that has none.
    p_value
        Of the test against perfect calibration, by flipping the signs of documents; None of a single document.
    brier
        The Brier score and its parts.
    curve
        The reliability curve.
    """

    partition: str
    group: str
    n_documents: int
    error: float
    by_document: Interval | None
    simulated: Interval
    debiased: float | None
    p_value: float | None
    brier: BrierDecomposition
    curve: ReliabilityCurve

    @property
    def mean_q(self) -> float:
        """Mean link marginal, in [0, 1]."""
        return float(self.curve.bins.sum_q.sum() / self.curve.bins.n_pairs)

    @property
    def share_true(self) -> float:
        """Share of the pairs that do corefer, in [0, 1]."""
        return float(self.curve.bins.sum_y.sum() / self.curve.bins.n_pairs)


@dataclass(frozen=True, slots=True, eq=False)
class LinkCalibration:
    """Calibration of the link marginals of documents with gold.

    Attributes
    ----------
    groups
        All pairs first, then by distance, then by kind of the two mentions; groups without a pair are left out.
    norm, bin_size, level
        What was asked for.
    tables
        The sums it comes from, and what was left out.
    """

    groups: tuple[GroupCalibration, ...]
    norm: Norm
    bin_size: int
    level: float
    tables: LinkTables

    @property
    def overall(self) -> GroupCalibration:
        """All pairs."""
        return self.groups[0]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a group.

        Columns: partition, group, n_documents, n_pairs, n_bins, mean_q, share_true, error, lower, upper (by document),
        simulated_lower, simulated_upper, debiased, p_value, brier, refinement, norm, bin_size, level.
        """
        import pandas as pd

        return pd.DataFrame([_row(group) for group in self.groups]).assign(
            norm=self.norm, bin_size=self.bin_size, level=self.level
        )

    def curves_frame(self) -> pd.DataFrame:
        """Tidy table, one row a group and bin: partition, group, and the columns of `ReliabilityCurve.to_frame`."""
        import pandas as pd

        frames = []
        for group in self.groups:
            frame = group.curve.to_frame()
            frame.insert(0, "partition", group.partition)
            frame.insert(1, "group", group.group)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)


def _row(group: GroupCalibration) -> Mapping[str, object]:
    bins = group.curve.bins
    return {
        "partition": group.partition,
        "group": group.group,
        "n_documents": group.n_documents,
        "n_pairs": bins.n_pairs,
        "n_bins": bins.n_bins,
        "mean_q": group.mean_q,
        "share_true": group.share_true,
        "error": group.error,
        "lower": None if group.by_document is None else group.by_document.lower,
        "upper": None if group.by_document is None else group.by_document.upper,
        "simulated_lower": group.simulated.lower,
        "simulated_upper": group.simulated.upper,
        "debiased": group.debiased,
        "p_value": group.p_value,
        "brier": group.brier.brier,
        "refinement": group.brier.refinement,
    }


def calibrate_links(
    tables: LinkTables,
    *,
    bin_size: int = 5000,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> LinkCalibration:
    """Measure the calibration of link marginals, overall and by group of pairs.

    Pairs of one document are far from independent (one wrong link moves many), so the interval to go by resamples
    documents; Algorithm 2's, which takes pairs to be independent, stands beside it as the paper's.

    Parameters
    ----------
    tables
        From `corefsample.links.link_tables`.
    bin_size
        Target size of the adaptive bins, the same for all groups, as the error depends on it.
    norm
        "rms" (the paper's CalibErr), "mse", "l1" or "max".
    level
        Of the intervals, in (0, 1).
    n_resamples
        Draws for each interval and test, at least 2.
    seed
        Of the draws, in [0, 2**64).

    Raises
    ------
    ParameterError
        If an option breaks its rule.
    InputError
        If no two annotated mentions share a document.

    References
    ----------
    Nguyen & O'Connor (2015), section 5.3.
    """
    checked_norm(norm)
    _checks.whole("bin_size", bin_size, 1)
    if not tables.by_distance.n_pairs:
        raise InputError("gold must annotate at least two mentions of some document, got no pair")
    options = {"bin_size": bin_size, "norm": norm, "level": level, "n_draws": n_resamples, "seed": seed}
    groups = tuple(
        _calibrated(partition, name, table, **options)  # type: ignore[arg-type]
        for partition, name, table in _partitions(tables)
    )
    return LinkCalibration(groups, norm, bin_size, level, tables)


def _partitions(tables: LinkTables) -> Iterator[tuple[str, str, CalibrationTable]]:
    yield "all", "all pairs", tables.by_distance
    for partition, names, table in (
        ("distance", DISTANCES, tables.by_distance),
        ("kind", PAIR_KINDS, tables.by_kind),
    ):
        for name in names:
            if name in table.groups:
                yield partition, name, table.group(name)


def _calibrated(
    partition: str,
    name: str,
    table: CalibrationTable,
    *,
    bin_size: int,
    norm: Norm,
    level: float,
    n_draws: int,
    seed: int,
) -> GroupCalibration:
    blocks = table.block_bins(bin_size=bin_size)
    bins = blocks.bins
    several = blocks.n_blocks > 1
    by_block: BlockBins | None = blocks if several else None
    return GroupCalibration(
        partition,
        name,
        blocks.n_blocks,
        binned_error(bins, norm=norm),
        bootstrap_interval(by_block, norm=norm, level=level, n_draws=n_draws, seed=seed) if by_block else None,
        simulated_interval(bins, norm=norm, level=level, n_draws=n_draws, seed=seed),
        binned_error(bins, norm=norm, debiased=True) if norm in ("rms", "mse") else None,
        calibration_test(by_block, norm=norm, n_draws=n_draws, seed=seed).p_value if by_block else None,
        brier_decomposition(bins),
        curve_of_bins(by_block or bins, level=level),
    )
