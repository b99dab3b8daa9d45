"""Calibration of link marginals: overall, by distance of the mentions, and by kind of mention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corefsample import _checks
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample._log import log_step
from corefsample._results import fields_of
from corefsample.calibration._binning import default_bin_size
from corefsample.calibration._bins import BlockBins
from corefsample.calibration._draws import Interval
from corefsample.calibration._error import binned_error
from corefsample.calibration._intervals import bootstrap_interval, calibration_test, simulated_interval
from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.calibration._scores import BrierDecomposition, brier_decomposition
from corefsample.calibration._table import CalibrationTable
from corefsample.calibration._validation import Norm, checked_norm
from corefsample.errors import InputError
from corefsample.links._pairs import DISTANCES, PAIR_KINDS, LinkTables


@dataclass(frozen=True, slots=True, eq=False)
class GroupCalibration:
    """Calibration of one group of pairs.

    Attributes
    ----------
    partition, group
        "all" and "all pairs", or "distance" or "kind" and a group of it.
    n_documents
        Documents with a pair of the group.
    error
        Binned calibration error.
    by_document
        Its confidence interval by resampling documents; None for a single document.
    simulated
        Its confidence interval by Algorithm 2, which assumes independent pairs.
    debiased
        The error minus the sampling variance of independent pairs; None for norms other than "rms" and "mse".
    p_value
        Of the test against perfect calibration, by flipping the signs of documents; None for a single document.
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

    def __repr__(self) -> str:
        interval = f" [{self.by_document.lower:.4f}, {self.by_document.upper:.4f}]" if self.by_document else ""
        return f"GroupCalibration({self.group}: error {self.error:.4f}{interval}, n_pairs={self.curve.bins.n_pairs})"

    @property
    def mean_q(self) -> float:
        """Mean link marginal, in [0, 1]."""
        return float(self.curve.bins.sum_q.sum() / self.curve.bins.n_pairs)

    @property
    def share_true(self) -> float:
        """Share of the pairs that corefer in gold, in [0, 1]."""
        return float(self.curve.bins.sum_y.sum() / self.curve.bins.n_pairs)


@dataclass(frozen=True, slots=True, eq=False)
class LinkCalibration(HtmlTable):
    """Calibration of the link marginals of documents with gold.

    Attributes
    ----------
    groups
        All pairs first, then by distance, then by kind of the two mentions; groups without a pair are left out.
    norm, bin_size, level
        Options of `calibrate_links`.
    tables
        The sums that it is computed from, and counts of what is left out.
    """

    groups: tuple[GroupCalibration, ...]
    norm: Norm
    bin_size: int
    level: float
    tables: LinkTables

    def __repr__(self) -> str:
        sizes = f"{self.tables.n_documents} documents, {len(self.groups)} groups"
        return f"LinkCalibration({sizes}, norm={self.norm!r}, overall={self.overall!r})"

    @property
    def overall(self) -> GroupCalibration:
        """All pairs."""
        return self.groups[0]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per group.

        Columns: partition, group, n_documents, n_pairs, n_bins, mean_q, share_true, error, lower, upper (by document),
        simulated_lower, simulated_upper, debiased, p_value, brier, refinement, norm, bin_size, level.
        """
        return pd.DataFrame([_row(group) for group in self.groups]).assign(
            norm=self.norm, bin_size=self.bin_size, level=self.level
        )

    def curves_frame(self) -> pd.DataFrame:
        """Tidy table, one row per group and bin: partition, group, and the columns of `ReliabilityCurve.to_frame`."""
        frames = {(group.partition, group.group): group.curve.to_frame() for group in self.groups}
        return pd.concat(frames, names=["partition", "group", None]).reset_index([0, 1]).reset_index(drop=True)


def _row(group: GroupCalibration) -> dict[str, object]:
    return {
        **fields_of(group, "partition", "group", "n_documents"),
        **fields_of(group.curve.bins, "n_pairs", "n_bins"),
        **fields_of(group, "mean_q", "share_true", "error"),
        **fields_of(group.by_document, "lower", "upper"),
        "simulated_lower": group.simulated.lower,
        "simulated_upper": group.simulated.upper,
        **fields_of(group, "debiased", "p_value"),
        **fields_of(group.brier, "brier", "refinement"),
    }


def calibrate_links(
    tables: LinkTables,
    *,
    bin_size: int | None = None,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> LinkCalibration:
    """Measure the calibration of link marginals, overall and by group of pairs.

    Pairs of one document are far from independent (one wrong link changes many), so the recommended interval resamples
    documents. The interval of the paper's Algorithm 2, which assumes independent pairs, is given for comparison.

    Parameters
    ----------
    tables
        From `corefsample.link_tables`.
    bin_size
        Target size of the adaptive bins. It is the same for all groups, because the error depends on it. None: 5,000,
        or for fewer than 100,000 pairs in all a twentieth of them, but at least 50.
    norm
        "rms" (the paper's CalibErr), "mse", "l1" or "max".
    level
        Level of the intervals, in (0, 1).
    n_resamples
        Draws for each interval and test, at least 2.
    seed
        Seed of the draws, in [0, 2**64).

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
    _checks.instance("tables", tables, LinkTables, "link_tables(documents) makes them")
    checked_norm(norm)
    _checks.whole("n_resamples", n_resamples, 2)
    if not tables.by_distance.n_pairs:
        raise InputError("gold must annotate at least two mentions of some document, got no pair")
    if bin_size is None:
        bin_size = default_bin_size(tables.by_distance.n_pairs)
    _checks.whole("bin_size", bin_size, 1)
    groups, partitions = [], list(_partitions(tables))
    for number, (partition, name, table) in enumerate(partitions, start=1):
        blocks = table.block_bins(bin_size=bin_size)
        groups.append(_calibrated(partition, name, blocks, norm, level, n_resamples, seed))
        log_step("measured the calibration of %s, group %d of %d", name, number, len(partitions))
    return LinkCalibration(tuple(groups), norm, bin_size, level, tables)


def _partitions(tables: LinkTables) -> Iterator[tuple[str, str, CalibrationTable]]:
    yield "all", "all pairs", tables.by_distance
    for partition, groups, table in (("distance", DISTANCES, tables.by_distance), ("kind", PAIR_KINDS, tables.by_kind)):
        yield from ((partition, group, table.group(group)) for group in groups if group in table.groups)


def _calibrated(
    partition: str, name: str, blocks: BlockBins, norm: Norm, level: float, n_resamples: int, seed: int
) -> GroupCalibration:
    bins, several = blocks.bins, blocks.n_blocks > 1
    return GroupCalibration(
        partition,
        name,
        blocks.n_blocks,
        binned_error(bins, norm=norm),
        bootstrap_interval(blocks, norm=norm, level=level, n_resamples=n_resamples, seed=seed) if several else None,
        simulated_interval(bins, norm=norm, level=level, n_resamples=n_resamples, seed=seed),
        binned_error(bins, norm=norm, debiased=True) if norm in ("rms", "mse") else None,
        calibration_test(blocks, norm=norm, n_resamples=n_resamples, seed=seed).p_value if several else None,
        brier_decomposition(bins),
        ReliabilityCurve.of_bins(blocks if several else bins, level=level),
    )
