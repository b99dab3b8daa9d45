"""Calibration of link marginals (overall, by distance, by kind of mention), and the comparison of two scorers by it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints
from corefsample._lazy import pd
from corefsample._log import log_step
from corefsample._results import HtmlTable, fields_of
from corefsample.calibration._binning import default_bin_size
from corefsample.calibration._bins import BlockBins, BrierDecomposition, brier_decomposition
from corefsample.calibration._draws import Interval
from corefsample.calibration._error import binned_error
from corefsample.calibration._intervals import bootstrap_interval, calibration_test, simulated_interval
from corefsample.calibration._paired import PairedComparison, ScorerSums, compare_blocks, log_losses
from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.calibration._table import CalibrationTable, TableBuilder
from corefsample.calibration._validation import Norm, checked_norm
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError
from corefsample.links._pairs import DISTANCES, PAIR_KINDS, LinkTables, Unannotated, gold_codes, link_pairs


@dataclass(frozen=True, slots=True, eq=False)
class GroupCalibration:
    """Calibration of one group of pairs.

    Attributes
    ----------
    partition, group
        Name of the partition and of the group: "all" and "all pairs", or "distance" or "kind" and one of its groups.
    n_documents
        Number of documents with a pair of the group.
    error
        Binned calibration error.
    by_document
        Confidence interval of the error by resampling documents; None for a single document.
    simulated
        Confidence interval of the error by Algorithm 2, which assumes independent pairs.
    debiased
        Calibration error without the sampling variance of independent pairs; None for norms other than "rms" and "mse".
    p_value
        P-value of the test against perfect calibration, by flipping the signs of documents; None for a single document.
    brier
        Brier score of the pairs, and its parts.
    curve
        Reliability curve of the pairs.
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
        Calibration by group: all pairs first, then by distance, then by kind of the two mentions. Groups without a pair
        are left out.
    norm, bin_size, level
        Norm, size of the bins and level of the intervals: see `calibrate_links`.
    tables
        Sums of the pairs from which the calibration is computed, and counts of mentions and documents left out.
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
        """Calibration of all pairs together."""
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
        Sums of the link pairs, from `corefsample.link_tables`.
    bin_size
        Target size of the adaptive bins, in pairs, at least 1. It is the same for all groups, because the error depends
        on it. By default 5,000, or for fewer than 100,000 pairs in all a twentieth of them, but at least 50.
    norm
        Norm of the error: "rms" (the paper's CalibErr), "mse", "l1" or "max".
    level
        Nominal share of the intervals that contain the true error, in (0, 1).
    n_resamples
        Number of draws for each interval and test, at least 2.
    seed
        Seed of the random draws, in [0, 2**64).

    Raises
    ------
    ParameterError
        If `tables` is no LinkTables, the norm is unknown, or another option is out of range.
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
    bins, by_block = blocks.bins, blocks.n_blocks > 1
    return GroupCalibration(
        partition,
        name,
        blocks.n_blocks,
        binned_error(bins, norm=norm),
        bootstrap_interval(blocks, norm=norm, level=level, n_resamples=n_resamples, seed=seed) if by_block else None,
        simulated_interval(bins, norm=norm, level=level, n_resamples=n_resamples, seed=seed),
        binned_error(bins, norm=norm, debiased=True) if norm in ("rms", "mse") else None,
        calibration_test(blocks, norm=norm, n_resamples=n_resamples, seed=seed).p_value if by_block else None,
        brier_decomposition(bins),
        ReliabilityCurve.of_bins(blocks if by_block else bins, level=level),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ScorerLinks:
    """Sums over the link pairs of one scorer, by document.

    Attributes
    ----------
    table
        Pairs summed by document.
    losses
        Sum of -log of the probability of each pair's label, in nats, by doc_id.
    digests
        Checksum of mentions and gold, by doc_id: documents with the same checksum have the same pairs.
    n_without_gold
        Number of documents without gold, which are left out.
    """

    table: CalibrationTable
    losses: dict[str, float]
    digests: dict[str, bytes]
    n_without_gold: int


def scorer_links(documents: Iterable[ScoredDocument], *, unannotated: Unannotated = "skip") -> ScorerLinks:
    """Sum the link pairs of a scorer's documents, one document at a time.

    Parameters
    ----------
    documents
        Documents of the scorer; those without gold are counted and left out.
    unannotated
        Treatment of mentions without an annotated entity: "skip" (the default) leaves out every pair with such a
        mention; "single" treats each as a separate entity.
    """
    builder, n_without_gold = TableBuilder(), 0
    losses: dict[str, float] = {}
    digests: dict[str, bytes] = {}
    for document in _checks.elements("documents", documents, ScoredDocument, hint=_checks.READS):
        if document.gold is None:
            n_without_gold += 1
            continue
        pairs = link_pairs(document, unannotated=unannotated)
        builder.add(pairs.q, pairs.y, block=pairs.doc_id)
        losses[pairs.doc_id] = float(log_losses(pairs.q, pairs.y).sum())
        digests[pairs.doc_id] = _digest(document, gold_codes(document, unannotated))
    return ScorerLinks(builder.table(), losses, digests, n_without_gold)


def _digest(document: ScoredDocument, entities: Ints) -> bytes:
    spans = np.ascontiguousarray(document.mentions[:, :2], np.int64)
    return hashlib.blake2b(spans.tobytes() + entities.tobytes(), digest_size=16).digest()


def compare_links(
    first: ScorerLinks,
    second: ScorerLinks,
    *,
    bin_size: int | None = None,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare the link marginals of two scorers in calibration error, log score and refinement.

    Parameters
    ----------
    first, second
        Link pairs of each scorer, from `scorer_links`; documents, mentions and gold are the same in both.
    bin_size, norm, level, n_resamples, seed
        Size of the bins, norm of the error ("rms" or "mse"), level of the intervals, number of resamples and seed: see
        `calibrate_links`.

    Raises
    ------
    ParameterError
        If `first` or `second` is no ScorerLinks, the norm is neither "rms" nor "mse", or another option is out of
        range.
    InputError
        If documents, their mentions or their gold differ, or fewer than 2 documents have a pair.
    """
    for name, links in (("first", first), ("second", second)):
        _checks.instance(name, links, ScorerLinks, "scorer_links(documents) makes it")
    checked_norm(norm, squared_for="for a paired comparison")
    _checks.whole("n_resamples", n_resamples, 2)
    _require_same(first.digests, second.digests)
    if len(first.table.blocks) < 2:
        rule = "gold must annotate at least two mentions in each of at least 2 documents"
        raise InputError(f"{rule} to compare scorers, got {len(first.table.blocks)} such documents")
    size = default_bin_size(first.table.n_pairs) if bin_size is None else _checks.whole("bin_size", bin_size, 1)
    sums = [
        ScorerSums(each.table.block_bins(bin_size=size), np.array([each.losses[name] for name in each.table.blocks]))
        for each in (first, second)
    ]
    return compare_blocks(*sums, norm=norm, level=level, n_resamples=n_resamples, seed=seed)


def _require_same(first: dict[str, bytes], second: dict[str, bytes]) -> None:
    for digests, other_digests, scorer in ((first, second, "first"), (second, first, "second")):
        missing = [doc_id for doc_id in digests if doc_id not in other_digests]
        if missing:
            rule = "documents with gold must be the same for both scorers"
            raise InputError(f"{rule}, got doc_id {missing[0]!r} only for the {scorer}")
    for doc_id, digest in first.items():
        if second[doc_id] != digest:
            rule = "mentions and gold must be the same for both scorers, got others"
            raise InputError(rule, place=f"doc_id {doc_id!r}")
