"""Training of a scorer whose penalty and number of passes are chosen by held-out documents."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from corefsample.errors import ParameterError
from corefsample.scorers._loading import train_scorer
from corefsample.scorers.protocol import AntecedentScorer, EpochReport, MentionDocument

_L2_GRID = (0.02, 0.05)
_L2_DEFAULT = (0.02,)  # without held-out documents


def held_out_ids(doc_ids: Collection[str], share: float, *, seed: int = 0) -> frozenset[str]:
    """Draw documents to hold out.

    Documents are ranked by a hash of the seed and their doc_id, so the result does not depend on their order.

    Parameters
    ----------
    doc_ids
        Distinct identifiers of the documents.
    share
        Share of the documents to hold out, in (0, 1). The number is rounded up, and must leave at least one document to
        train on.
    seed
        Seed of the draw, in [0, 2**64).

    Raises
    ------
    ParameterError
        If no document remains for training.
    """
    n_held_out = math.ceil(share * len(doc_ids))
    if n_held_out >= len(doc_ids):
        rule = f"must leave a document to train on in addition to those held out, got {share} of {len(doc_ids)}"
        raise ParameterError(rule, parameter="held_out_share", hint="0 holds out none")
    key = seed.to_bytes(8, "little")

    def rank(doc_id: str) -> tuple[bytes, str]:
        return hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), key=key).digest(), doc_id

    return frozenset(sorted(doc_ids, key=rank)[:n_held_out])


def train_with_held_out(
    documents: Sequence[MentionDocument],
    held_out: Sequence[MentionDocument],
    *,
    l2: Sequence[float],
    epochs: int,
    refit: bool,
    provenance: Mapping[str, Any],
    on_epoch: Callable[[EpochReport], None] | None,
    **settings: Any,
) -> tuple[AntecedentScorer, tuple[EpochReport, ...]]:
    """Train a scorer with the penalty and the number of passes that have the lowest loss on held-out documents.

    Parameters
    ----------
    documents, held_out
        Documents to train on, and documents by which penalty and passes are chosen; may be empty.
    l2, epochs
        Penalties that are tried, 0.02 and 0.05 if there are none, and largest number of passes.
    refit
        True to train again on all documents, held-out ones included, with the chosen penalty and number of passes.
    provenance
        Description of the origin of the scorer, which is stored in it.
    on_epoch
        Function that is called with the report of each pass.
    settings
        Other options of the kind of scorer: see `train_scorer`.

    Returns
    -------
    AntecedentScorer
        The scorer, whose provenance has the best penalty and number of passes.
    tuple of EpochReport
        Reports of all passes.
    """
    reports: list[EpochReport] = []

    def report(epoch: EpochReport) -> None:
        reports.append(epoch)
        if on_epoch is not None:
            on_epoch(epoch)

    penalties = tuple(l2) or (_L2_GRID if held_out else _L2_DEFAULT)
    fixed: dict[str, Any] = {**settings, "on_epoch": report}
    tried = {"held_out": held_out or None, "l2": penalties, "epochs": epochs}
    scorer = train_scorer(documents, **tried, provenance=provenance, **fixed)
    if refit and held_out:
        choice = scorer.provenance
        figures = {"n_documents": len(held_out), "l2_tried": list(penalties), **choice["held_out"]}
        best = {"l2": (choice["l2"],), "epochs": choice["epoch"], "provenance": {**provenance, "chosen_on": figures}}
        scorer = train_scorer([*documents, *held_out], **best, **fixed)
    return scorer, tuple(reports)


def pass_values(report: EpochReport) -> dict[str, Any]:
    """Penalty, number of the pass, and losses in training and on held-out documents, None without these."""
    losses = report.held_out
    values = {name: getattr(report, name) for name in ("l2", "epoch", "loss")}
    return values | {"held_out_loss": losses and losses.loss, "held_out_link_loss": losses and losses.link_loss}
