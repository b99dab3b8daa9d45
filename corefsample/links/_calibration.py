"""Link marginals against annotated entities: tables of pairs, and their calibration."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, HtmlTable, Ints8, Ints32, Result, fields_of, pd
from corefsample.calibration import _binning as binning, _error
from corefsample.calibration._draws import errors_of_sums, multiplicities, rooted
from corefsample.calibration._reliability import ReliabilityCurve
from corefsample.calibration._validation import Norm, checked_level, checked_norm, generator
from corefsample.coreference._clusterings import link_marginals
from corefsample.documents._scored import ScoredDocument, Unannotated, gold_codes
from corefsample.errors import InputError

# Kind of a mention by the part of speech of its head: name, noun (all others), pronoun ("this", "those" are DET).
_NAME, _NOUN, _PRONOUN = 0, 1, 2
_KIND_OF_UPOS = {"PROPN": _NAME, "PRON": _PRONOUN, "DET": _PRONOUN}
# Pairs of kinds, in either order.
PAIR_KINDS = ("name-name", "name-noun", "name-pronoun", "noun-noun", "noun-pronoun", "pronoun-pronoun")
_PAIR_CODE = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]], np.int8)  # by kind of the earlier and of the later mention
# Distance in mentions between the two of a pair.
DISTANCES = ("1", "2-3", "4-7", "8-15", "16-31", "32-63", "64-127", "128+")
_DISTANCE_CODE = np.array([0, *(d.bit_length() - 1 for d in range(1, 2 ** (len(DISTANCES) - 1) + 1))], np.int8)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkTables(Result):
    """Pairs of annotated mentions of many documents, from which calibration is computed; arrays read-only.

    Attributes
    ----------
    q
        float64 (n_pairs,) in [0, 1]: exact link marginal.
    y
        uint8 (n_pairs,): 1 if both mentions belong to one annotated entity, else 0.
    documents
        int32 (n_pairs,): document of each pair, as an index into `doc_ids`.
    distances
        int8 (n_pairs,): group of the distance between the two mentions, as an index into DISTANCES.
    pair_kinds
        int8 (n_pairs,): kind of each pair, as an index into PAIR_KINDS; -1 if the document has no tokens.
    doc_ids
        Ids of the documents with gold, in ascending order.
    digests
        Checksum of mentions and gold, by doc_id: documents with the same checksum have the same pairs.
    n_documents
        Number of documents with gold.
    n_without_gold
        Number of documents without gold, which are left out.
    n_unannotated
        Number of mentions whose entity is not annotated, in the documents with gold.
    """

    q: Floats
    y: Bytes
    documents: Ints32
    distances: Ints8
    pair_kinds: Ints8
    doc_ids: tuple[str, ...]
    digests: dict[str, bytes]
    n_documents: int
    n_without_gold: int
    n_unannotated: int

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.q.shape[0])


def link_tables(documents: Iterable[ScoredDocument], *, unannotated: Unannotated = "skip") -> LinkTables:
    """List the link pairs of documents, one document at a time.

    Memory grows with the number of pairs: 15 bytes each.

    Parameters
    ----------
    documents
        Scored documents; those without gold are counted and left out.
    unannotated
        Treatment of mentions without an annotated entity: "skip" (the default) leaves out every pair with such a
        mention; "single" treats each as a separate entity.
    """
    # Buffers that grow, because a concatenation would take twice the memory.
    columns = [bytearray() for _ in range(4)]
    doc_ids, sizes = list[str](), list[int]()
    digests: dict[str, bytes] = {}
    n_without_gold = n_unannotated = 0
    for document in _checks.elements("documents", documents, ScoredDocument, hint=_checks.READS):
        if document.gold is None:
            n_without_gold += 1
            continue
        entities = gold_codes(document, unannotated)
        annotated = np.flatnonzero(entities >= 0).astype(np.int32)
        later, earlier = (annotated[places] for places in np.tril_indices(annotated.size, -1))
        q = link_marginals(document.antecedents)[later, earlier]
        y = (entities[earlier] == entities[later]).astype(np.uint8)
        distances = _DISTANCE_CODE[np.minimum(later - earlier, len(_DISTANCE_CODE) - 1)]
        pair_kinds = np.full(len(q), -1, np.int8)
        if document.tokens is not None:
            upos = document.tokens.upos
            kinds = np.array(
                [_KIND_OF_UPOS.get(upos[head], _NOUN) for head in document.mentions[:, 2].tolist()], np.intp
            )
            pair_kinds = _PAIR_CODE[kinds[earlier], kinds[later]]
        for column, values in zip(columns, (q, y, distances, pair_kinds), strict=True):
            column += values.data
        sizes.append(len(q))
        doc_ids.append(document.doc_id)
        spans = np.ascontiguousarray(document.mentions[:, :2], np.int64)
        digests[document.doc_id] = hashlib.blake2b(spans.tobytes() + entities.tobytes(), digest_size=16).digest()
        n_unannotated += sum(entity is None for entity in document.gold)
    names = tuple(sorted(digests))
    rank = {doc_id: code for code, doc_id in enumerate(names)}
    arrays = (np.frombuffer(*column) for column in zip(columns, (np.float64, np.uint8, np.int8, np.int8), strict=True))
    q, y, distances, pair_kinds = arrays
    codes = np.repeat(np.array([rank[doc_id] for doc_id in doc_ids], np.int32), sizes)
    return LinkTables(q, y, codes, distances, pair_kinds, names, digests, len(sizes), n_without_gold, n_unannotated)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupCalibration(HtmlTable):
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
        Confidence interval of the error that assumes independent pairs.
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
    by_document: _error.Interval | None
    simulated: _error.Interval
    debiased: float | None
    p_value: float | None
    brier: binning.BrierDecomposition
    curve: ReliabilityCurve

    @property
    def mean_q(self) -> float:
        """Mean link marginal, in [0, 1]."""
        return float(self.curve.bins.sum_q.sum() / self.curve.bins.n_pairs)

    @property
    def share_true(self) -> float:
        """Share of the pairs that corefer in gold, in [0, 1]."""
        return float(self.curve.bins.sum_y.sum() / self.curve.bins.n_pairs)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
        Pairs from which the calibration is computed, and counts of mentions and documents left out.
    """

    groups: tuple[GroupCalibration, ...]
    norm: Norm
    bin_size: int
    level: float
    tables: LinkTables

    @property
    def overall(self) -> GroupCalibration:
        """Calibration of all pairs together."""
        return self.groups[0]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per group.

        Columns: partition, group, n_documents, n_pairs, n_bins, mean_q, share_true, error, lower, upper (by document),
        simulated_lower, simulated_upper, debiased, p_value, brier, refinement, norm, bin_size, level.
        """
        rows: list[dict[str, object]] = [
            {
                **fields_of(group, "partition", "group", "n_documents"),
                **fields_of(group.curve.bins, "n_pairs", "n_bins"),
                **fields_of(group, "mean_q", "share_true", "error"),
                **fields_of(group.by_document, "lower", "upper"),
                "simulated_lower": group.simulated.lower,
                "simulated_upper": group.simulated.upper,
                **fields_of(group, "debiased", "p_value"),
                **fields_of(group.brier, "brier", "refinement"),
            }
            for group in self.groups
        ]
        return pd.DataFrame(rows).assign(norm=self.norm, bin_size=self.bin_size, level=self.level)

    def curves_frame(self) -> pd.DataFrame:
        """Tidy table, one row per group and bin: partition, group, and the columns of `ReliabilityCurve.to_frame`."""
        frames = {(group.partition, group.group): group.curve.to_frame() for group in self.groups}
        return pd.concat(frames, names=["partition", "group", None]).reset_index([0, 1]).reset_index(drop=True)


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
    documents. An interval that assumes independent pairs is given for comparison.

    Parameters
    ----------
    tables
        Link pairs, from `corefsample.link_tables`.
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
    if not tables.n_pairs:
        raise InputError("gold must annotate at least two mentions of some document, got no pair")
    if bin_size is None:
        bin_size = binning.default_bin_size(tables.n_pairs)
    _checks.whole("bin_size", bin_size, 1)
    parts: list[tuple[str, str, Ints8 | None, int]] = [("all", "all pairs", None, 0)]
    for partition, names, codes in (("distance", DISTANCES, tables.distances), ("kind", PAIR_KINDS, tables.pair_kinds)):
        parts += [(partition, name, codes, code) for code, name in enumerate(names) if code in codes]
    groups = []
    for number, (partition, name, codes_of_pairs, code) in enumerate(parts, start=1):
        is_member = slice(None) if codes_of_pairs is None else codes_of_pairs == code
        members = tables.q[is_member], tables.y[is_member], tables.documents[is_member]
        blocks = binning.block_bin_pairs(*members, bin_size=bin_size)
        bins, has_blocks = blocks.bins, blocks.n_blocks > 1
        settings: dict[str, Any] = {"norm": norm, "n_resamples": n_resamples, "seed": seed}
        groups.append(
            GroupCalibration(
                partition,
                name,
                blocks.n_blocks,
                _error.binned_error(bins, norm=norm),
                _error.error_interval(blocks, level=level, **settings) if has_blocks else None,
                _error.error_interval(bins, level=level, **settings),
                _error.binned_error(bins, norm=norm, debiased=True) if norm in ("rms", "mse") else None,
                _error.calibration_test(blocks, **settings).p_value if has_blocks else None,
                binning.brier_decomposition(bins),
                ReliabilityCurve.of_bins(blocks if has_blocks else bins, level=level),
            )
        )
        logging.getLogger("corefsample.steps").info(
            "measured the calibration of %s, group %d of %d", name, number, len(parts)
        )
    return LinkCalibration(tuple(groups), norm, bin_size, level, tables)


LEAST_PROBABILITY = 1e-6  # lower limit in log scores: omitted candidates have probability 0, and some are right
MEASURES = ("calibration error", "log score", "refinement")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairedComparison(Result):
    """Two scorers compared on the same pairs, by resampling the same documents for both; arrays read-only.

    Attributes
    ----------
    measures
        Names of the measures, of which lower values are better: "calibration error" (without the part that chance
        adds), "log score" (mean of -log of the probability of the observed label, in nats) and "refinement".
    first, second
        float64 (n_measures,): value of each measure for the first and for the second scorer.
    difference
        float64 (n_measures,): second - first, negative if the second scorer is better.
    lower, upper
        float64 (n_measures,): ends of the confidence interval of each true difference.
    sd
        float64 (n_measures,): standard deviation of the differences of the resamples.
    n_pairs, n_blocks
        Number of pairs, and of documents that have pairs.
    n_bins
        Number of bins of the first and of the second scorer.
    norm
        Norm of the calibration error: "rms" or "mse".
    level
        Nominal share of the intervals that contain the true difference, in (0, 1).
    n_resamples
        Number of resamples.
    """

    measures: tuple[str, ...]
    first: Floats
    second: Floats
    difference: Floats
    lower: Floats
    upper: Floats
    sd: Floats
    n_pairs: int
    n_blocks: int
    n_bins: tuple[int, int]
    norm: Norm
    level: float
    n_resamples: int

    def __repr__(self) -> str:
        ends = zip(self.measures, self.difference, self.lower, self.upper, strict=True)
        texts = [f"{name} {value:.4g} [{lower:.4g}, {upper:.4g}]" for name, value, lower, upper in ends]
        return f"PairedComparison(second - first: {', '.join(texts)}; n_pairs={self.n_pairs}, n_blocks={self.n_blocks})"

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per measure: measure, first, second, difference, lower, upper, sd."""
        frame = self._columns("first", "second", "difference", "lower", "upper", "sd")
        frame.insert(0, "measure", list(self.measures))
        return frame


def compare_links(
    first: LinkTables,
    second: LinkTables,
    *,
    bin_size: int | None = None,
    norm: Norm = "rms",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare the link marginals of two scorers in calibration error, log score and refinement.

    Documents are resampled, the same ones for both scorers, so that what makes documents hard or easy for both cancels;
    the bins stay the same. Chance adds to a measured calibration error, and more to that of a well calibrated scorer.
    Here it is subtracted, as estimated from the scatter of the documents, so an error is smaller than that of
    `calibrate_links`.

    Parameters
    ----------
    first, second
        Link pairs of each scorer, from `corefsample.link_tables`; documents, mentions and gold are the same in both.
    bin_size, norm, level, n_resamples, seed
        Size of the bins, norm of the error ("rms" or "mse"), level of the intervals, number of resamples and seed: see
        `calibrate_links`.

    Raises
    ------
    ParameterError
        If `first` or `second` is no LinkTables, the norm is neither "rms" nor "mse", or another option is out of
        range.
    InputError
        If documents, their mentions or their gold differ, or fewer than 2 documents have a pair.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.2, for the interval.
    """
    for name, tables, other in (("first", first, second), ("second", second, first)):
        for table in (tables, other):
            _checks.instance(name, table, LinkTables, "link_tables(documents) makes it")
        missing = [doc_id for doc_id in tables.digests if doc_id not in other.digests]
        if missing:
            rule = "documents with gold must be the same for both scorers"
            raise InputError(f"{rule}, got doc_id {missing[0]!r} only for the {name}")
    for doc_id, digest in first.digests.items():
        if second.digests[doc_id] != digest:
            rule = "mentions and gold must be the same for both scorers, got others"
            raise InputError(rule, place=f"doc_id {doc_id!r}")
    n_documents = len(np.unique(first.documents))
    if n_documents < 2:
        rule = "gold must annotate at least two mentions in each of at least 2 documents"
        raise InputError(f"{rule} to compare scorers, got {n_documents} such documents")
    norm, tail = checked_norm(norm, squared_for="for a paired comparison"), (1.0 - checked_level(level)) / 2.0
    n_resamples = _checks.whole("n_resamples", n_resamples, 2)
    bin_size = binning.default_bin_size(first.n_pairs) if bin_size is None else bin_size
    # By document: pairs, residuals and labels of each bin, and the losses.
    sums: list[Floats] = []
    noises, n_bins = [], []
    for tables in (first, second):
        blocks = binning.block_bin_pairs(tables.q, tables.y, tables.documents, bin_size=bin_size)
        total, residual = blocks.bins.n, blocks.sum_q - blocks.sum_y
        deviations = residual - blocks.n * (residual.sum(axis=0) / total)
        # The squared calibration error that chance adds to the true one.
        noises.append(float((np.square(deviations).sum(axis=0) / total).sum() / total.sum()))
        clipped = np.clip(tables.q, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        losses = np.bincount(tables.documents, -np.log(np.where(tables.y == 1, clipped, 1.0 - clipped)))
        losses = losses[np.flatnonzero(np.bincount(tables.documents))]
        sums.append(np.hstack((blocks.n, residual, blocks.sum_y, losses[:, None])))
        n_bins.append(blocks.bins.n_bins)

    def measures(scorer: int, times: Floats, n_noises: int) -> Floats:
        """Measures of resamples with these multiplicities of documents: (n_rows, n_measures).

        The noise is subtracted `n_noises` times from the squared calibration error: all documents have it once,
        resamples twice.
        """
        drawn: Floats = times @ sums[scorer]
        b = n_bins[scorer]
        n, residual, positive, losses = drawn[:, :b], drawn[:, b : 2 * b], drawn[:, 2 * b : 3 * b], drawn[:, -1]
        n_pairs, share = n.sum(axis=1), positive / np.maximum(n, 1.0)  # an empty bin has no positive label
        refinement = (positive * (1.0 - share)).sum(axis=1) / n_pairs
        squared = np.maximum(errors_of_sums(n, residual, norm) - n_noises * noises[scorer], 0.0)
        return np.column_stack((rooted(squared, norm), losses / n_pairs, refinement))

    n_blocks = sums[0].shape[0]
    ends = [measures(scorer, np.ones((1, n_blocks)), 1)[0] for scorer in (0, 1)]
    draws = np.empty((len(MEASURES), n_resamples))
    width = max(n_blocks, *(each.shape[1] for each in sums))
    for rows, times in multiplicities(n_blocks, n_resamples, width, generator(seed)):
        draws[:, rows] = (measures(1, times, 2) - measures(0, times, 2)).T
    # The quantiles of the resamples are reflected about the difference: the basic interval.
    difference, (low, high) = ends[1] - ends[0], np.quantile(draws, (tail, 1.0 - tail), axis=1)
    lower, upper, sd = 2.0 * difference - high, 2.0 * difference - low, draws.std(axis=1, ddof=1)
    figures = MEASURES, ends[0], ends[1], difference, lower, upper, sd
    return PairedComparison(*figures, first.n_pairs, n_blocks, (n_bins[0], n_bins[1]), norm, level, n_resamples)
