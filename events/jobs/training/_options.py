"""Options of training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corefsample import _checks
from corefsample.documents import ON_ERROR
from corefsample.errors import ParameterError
from corefsample.mention_ranking import LARGEST_TABLE
from corefsample.syntax import scheme_names


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """Which documents to train on, and how.

    Attributes
    ----------
    where
        Conditions on documents, "key=value,value": see `events.jobs.training._selection.Selection`.
    held_out_share
        Share of documents, in [0, 1), to hold out if no held-out files are given; 0: none.
    refit
        Whether to train once more on all documents, the held-out ones included, with the chosen penalty and passes.
    l2
        Penalties to choose from on the held-out documents; empty: 0.02 and 0.05, or 0.02 without held-out documents.
    epochs, learning_rate, link_weight, bits, min_count, orders, scheme, seed
        As of `corefsample.mention_ranking.train`; `seed` also chooses the held-out documents.
    margin
        Costs of a false anaphor, a false NEW and a wrong link, each at least 0.
    templates
        A YAML file with the lists pronoun, phrase and new; None: the default ones.
    entity_fields
        Fields of ``Entity=`` for CoNLL-U files that do not declare them.
    attribution, note
        Texts for the provenance of the model.
    threads
        At least 1; more than two are not faster. The result does not depend on it.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    where: Sequence[str] = ()
    held_out_share: float = 0.1
    refit: bool = False
    l2: Sequence[float] = ()
    epochs: int = 5
    learning_rate: float = 0.1
    link_weight: float = 10.0
    margin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    templates: str | None = None
    bits: int = 20
    min_count: int = 1
    orders: int = 3
    scheme: str | None = None
    entity_fields: str | None = None
    attribution: str | None = None
    note: str | None = None
    seed: int = 0
    threads: int = 2
    on_error: str = "stop"

    def __post_init__(self) -> None:
        _checks.probability("held_out_share", self.held_out_share, below_one=True)
        _checks.whole("epochs", self.epochs, 1)
        _checks.whole("threads", self.threads, 1)
        _checks.seed(self.seed)
        _checks.choice("on_error", self.on_error, ON_ERROR)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        _checks.whole("min_count", self.min_count, 1)
        _checks.whole("orders", self.orders, 1)
        _checks.at_most("bits", _checks.whole("bits", self.bits, 8), int(math.log2(LARGEST_TABLE)))
        _checks.above_zero("learning_rate", self.learning_rate)
        weights = {"l2": self.l2, "margin": self.margin, "link_weight": (self.link_weight,)}
        for name, values in weights.items():
            for value in values:
                _checks.at_least_zero(name, value)
        if len(self.margin) != 3:
            raise ParameterError(f"must be three costs, got {len(self.margin)}", parameter="margin")
