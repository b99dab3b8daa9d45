"""Settings of evidence, which its tables carry as JSON in their schemas."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from corefsample.errors import InputError, ParameterError
from events.evidence._columns import TABLE_METADATA
from events.evidence._periods import Calendar

_KEY = b"corefsample.evidence"


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """What the rows of evidence are about, and how the documents were sampled.

    Attributes
    ----------
    columns
        Names of the columns of roles of each event, by the name of the event.
    n_samples, seed
        Number of samples per document, and seed of the random draws, in [0, 2**64).
    period
        Length of a period: year, quarter, month, week, day, or a pandas alias.
    definitions
        Texts that identify the rules and the lexicon, by "rule" and "lexicon"; empty for a predicate.
    kinds
        Class of each actor that can have an event, by the code of the actor; if empty, any name can have one.
    outcomes
        Patterns of actors with which each outcome is declared, by the name of the outcome.
    has_defaults
        Whether default actors can fill roles.
    is_predicate
        Whether the events are those of a predicate, which may return numbers.
    uncertainty
        Uncertainty of the recalibration that the samples include: "none", "fit" or "domain"; None if scores were used
        without the uncertainty of a recalibration.
    scores
        Recalibration that the metadata of the first document record, if the samples depend on it.
    """

    columns: Mapping[str, Sequence[str]]
    n_samples: int
    seed: int
    period: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_defaults: bool = False
    is_predicate: bool = False
    uncertainty: str | None = None
    scores: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the columns of roles of all events."""
        return tuple(dict.fromkeys(column for columns in self.columns.values() for column in columns))

    @property
    def is_shared(self) -> bool:
        """Whether documents share draws of a recalibration, and are not independent."""
        return self.uncertainty in ("fit", "domain")

    def require_same(self, other: EvidenceSettings) -> None:
        """Raise ParameterError if rule, lexicon, period, seed or number of samples differ."""
        texts, other_texts = (each._compared() for each in (self, other))
        for name in (*texts, *other_texts):
            if texts.get(name) != other_texts.get(name):
                rule = f"must have the same {name} as this counter ({texts.get(name)})"
                raise ParameterError(f"{rule}, got {other_texts.get(name)}", parameter="other")

    def _compared(self) -> dict[str, object]:
        texts = {"events": ", ".join(self.columns), **self.definitions, "period": Calendar(self.period).freq}
        return {**texts, "seed": self.seed, "n_samples": self.n_samples}

    def in_metadata(self, schema: pa.Schema) -> pa.Schema:
        """A schema with these settings in its metadata, and the version of the tables."""
        return schema.with_metadata({**TABLE_METADATA, _KEY: json.dumps(dataclasses.asdict(self)).encode()})

    @classmethod
    def of_schema(cls, schema: pa.Schema, path: str) -> EvidenceSettings:
        """Settings in the metadata of a schema; raises InputError if the table at `path` has none."""
        text = (schema.metadata or {}).get(_KEY)
        if text is None:
            hint = "repeat the run with this version"
            raise InputError("table must be evidence with its settings, got none", place=path, hint=hint)
        return cls(**json.loads(text))
