"""The comparison of two scorers by their link probabilities."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints
from corefsample.calibration._binning import default_bin_size
from corefsample.calibration._paired import PairedComparison, ScorerSums, compare_blocks, log_losses
from corefsample.calibration._table import CalibrationTable, TableBuilder
from corefsample.calibration._validation import Norm, checked_norm
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError
from corefsample.links._pairs import Unannotated, gold_codes, link_pairs


@dataclass(frozen=True, slots=True, eq=False)
class ScorerLinks:
    """Sums over the link pairs of one scorer, by document.

    Attributes
    ----------
    table
        The pairs by document.
    losses
        Sum of -log of the probability of each pair's label, by doc_id.
    digests
        Of mentions and gold, by doc_id: pairs are the same where these are.
    n_without_gold
        Documents without gold, which are left out.
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
        Documents; those without gold are counted and left out.
    unannotated
        How to treat mentions without an annotated entity: see `gold_codes`.
    """
    builder, n_without_gold = TableBuilder(), 0
    losses: dict[str, float] = {}
    digests: dict[str, bytes] = {}
    for document in documents:
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
        From `scorer_links`, of the same documents, mentions and gold.
    bin_size, norm, level, n_resamples, seed
        As of `calibrate_links`.

    Raises
    ------
    ParameterError
        If an option breaks its rule.
    InputError
        If documents, their mentions or their gold differ, or fewer than 2 documents have a pair.
    """
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
    for one, other, place in ((first, second, "first"), (second, first, "second")):
        missing = [doc_id for doc_id in one if doc_id not in other]
        if missing:
            rule = "documents with gold must be the same for both scorers"
            raise InputError(f"{rule}, got doc_id {missing[0]!r} only for the {place}")
    for doc_id, digest in first.items():
        if second[doc_id] != digest:
            rule = "mentions and gold must be the same for both scorers, got others"
            raise InputError(rule, place=f"doc_id {doc_id!r}")
