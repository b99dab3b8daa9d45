"""What a run counts and how, and what it found."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any

from corefsample import _checks
from corefsample.documents import ON_ERROR
from corefsample.errors import ParameterError
from corefsample.posterior import CorpusRecalibration
from corefsample.recalibration import (
    ENGLISH,
    NO_RECALIBRATION,
    UNCERTAINTIES,
    Uncertainty,
    named_recalibration,
    read_recalibration,
)
from corefsample.syntax import scheme_names
from events.counting import INTERVALS, Interval

__all__ = ["EventsOptions", "RunSummary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions:
    """What to count, and how.

    Attributes
    ----------
    rule, preset
        Shipped rule or path of a rule file, or several of them, and one preset that they all have.
    lexicon
        Path of a lexicon file or name of a shipped one, or None for the shipped countries.
    scheme
        Dependency scheme, or None to recognise each document's from its labels.
    period
        year, quarter, month, week, day, or a pandas alias.
    n_samples
        Sampled clusterings per document, at least 1.
    level
        Of the credible intervals, in (0, 1).
    interval
        quantile, hdi or normal: see `events.counting.EventCounts`.
    seed
        In [0, 2**64).
    compare
        Two actors whose counts to compare, or None.
    threads
        Of the sampler, at least 1; None: one per processor. Results do not depend on it.
    on_error
        "stop" at the first invalid document, or "quarantine" it and continue.
    recalibration
        Record of `corefsample recalibrate` that is applied to the scores; "english": that of the English model. Scores
        that had it already get its uncertainty alone. None: the scores as they are, with the uncertainty of the
        recalibration that they had if it is that of the English model, as `corefsample score` writes them. "none": the
        scores as they are, without it.
    uncertainty
        "none", "fit" or "domain": of the recalibration, which all documents share; None: all that it has.
    partition_size
        Documents of a partition of a Parquet file, about: a partition has whole row groups. Results do not depend on
        it.
    """

    rule: str | tuple[str, ...] = "attack"
    preset: str = "paper"
    lexicon: str | None = None
    scheme: str | None = None
    period: str = "quarter"
    n_samples: int = 1000
    level: float = 0.95
    interval: Interval = "quantile"
    seed: int = 0
    compare: tuple[str, str] | None = None
    threads: int | None = None
    on_error: str = "stop"
    recalibration: str | None = None
    uncertainty: Uncertainty | None = None
    partition_size: int = 5000

    def __post_init__(self) -> None:
        if not self.rules:
            raise ParameterError("must name at least one rule, got none", parameter="rule")
        repeated = [rule for i, rule in enumerate(self.rules) if rule in self.rules[:i]]
        if repeated:
            raise ParameterError(f"must name different rules, got {repeated[0]!r} twice", parameter="rule")
        _checks.n_samples(self.n_samples, 1)
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.choice("interval", self.interval, INTERVALS)
        _checks.choice("on_error", self.on_error, ON_ERROR)
        _checks.seed(self.seed)
        _checks.whole("partition_size", self.partition_size, 1)
        if self.recalibration is not None:
            object.__setattr__(self, "recalibration", os.fspath(self.recalibration))
        if self.uncertainty is not None:
            _checks.choice("uncertainty", self.uncertainty, UNCERTAINTIES)
            if self.recalibration == NO_RECALIBRATION and self.uncertainty != "none":
                raise ParameterError("needs a recalibration, got none", parameter="uncertainty")
        if self.threads is not None:
            _checks.whole("threads", self.threads, 1)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        if self.compare is not None and self.compare[0] == self.compare[1]:
            raise ParameterError(f"must name two different actors, got {self.compare[0]!r} twice", parameter="compare")

    @property
    def record(self) -> str | None:
        """Name or path of the record of a recalibration on which the counts depend, or may depend; None: on none."""
        if self.recalibration is None:  # scores may have had that of the English model
            return None if self.uncertainty == "none" else ENGLISH
        return named_recalibration(self.recalibration)

    def recalibrated(self) -> CorpusRecalibration:
        """What the documents of a corpus are recalibrated with.

        Raises
        ------
        InputError
            If the file is no such record.
        ParameterError
            If the record lacks the uncertainty that is asked for.
        """
        name = named_recalibration(self.recalibration)
        given = None if name is None else read_recalibration(name)
        as_scored = self.recalibration == NO_RECALIBRATION
        return CorpusRecalibration(given, self.uncertainty, self.seed, as_scored=as_scored)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, one or several."""
        return (self.rule,) if isinstance(self.rule, str) else tuple(self.rule)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Summary of a run.

    Attributes
    ----------
    out
        The folder.
    n_documents
        Documents counted.
    n_sampled
        Documents in which an event is possible; only these are sampled.
    n_with_events
        Documents with P(event) > 0 for some event and actor.
    n_quarantined
        Invalid documents set aside.
    n_ambiguous
        Names in the sampled documents that the lexicon declares ambiguous, and that match nothing.
    actors, periods
        Actors with any evidence, after the name of their event if there are several rules, and the first and the last
        period.
    seconds
        Wall time.
    n_partitions, n_computed
        Partitions of the run, and those of them that this call computed; earlier ones had computed the others.
    n_mixtures
        Documents with several parses.
    uncertainty
        "fit" or "domain" if the intervals cover this uncertainty of a recalibration, "none" if they do not; None if no
        recalibration was considered.
    """

    out: str
    n_documents: int
    n_sampled: int
    n_with_events: int
    n_quarantined: int
    n_ambiguous: int
    actors: tuple[str, ...]
    periods: tuple[str, str]
    seconds: float
    n_partitions: int = 1
    n_computed: int = 1
    n_mixtures: int = 0
    uncertainty: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self)
