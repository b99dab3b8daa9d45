"""Settings of the spaCy component and their checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import corefsample as cs
from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.syntax._schemes import SCHEMES

if TYPE_CHECKING:
    from corefsample.scorers.protocol import MentionSource

FROM_PARSE = "parse"


def component_groups(spans_key: str) -> re.Pattern[str]:
    """Names of the groups of spans that the component writes, and replaces when it scores a Doc again."""
    return re.compile(rf"{re.escape(spans_key)}_(map|clusters_\d+|sample_\d+)")


def require_text(name: str, value: object) -> None:
    """Raise unless a value is a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ParameterError(f"must be a string that is not empty, got {value!r}", parameter=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a component, as `corefsample.spacy_bridge.component.corefsample_component` describes them.

    Raises
    ------
    ParameterError
        On construction, if one breaks its rule.
    """

    model: str | None = None
    mentions: str = FROM_PARSE
    min_prob: float = 1e-4
    scheme: str | None = None
    temperature: float = 1.0
    new_bias: float = 0.0
    recalibration: str | None = None
    n_samples: int = 1000
    seed: int = 0
    spans_key: str = "coref"
    sample_groups: int = 0
    require_parser: bool = True
    n_parses: int = 0
    parse_temperature: float | None = None

    def __post_init__(self) -> None:
        if self.model is not None:
            require_text("model", self.model)
        require_text("mentions", self.mentions)
        require_text("spans_key", self.spans_key)
        if component_groups(self.spans_key).fullmatch(self.mentions):
            raise ParameterError(
                f"must not be a group that the component writes, got {self.mentions!r}", parameter="mentions"
            )
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, tuple(SCHEMES))
        _checks.probability("min_prob", self.min_prob, below_one=True)
        own = cs.Recalibration(self.temperature, self.new_bias)
        if self.recalibration is not None:
            require_text("recalibration", self.recalibration)
            if own != cs.Recalibration() and self.named_recalibration is not None:
                rule = "must be null with a temperature or a new_bias"
                raise ParameterError(f"{rule}, got {self.recalibration!r}", parameter="recalibration")
        _checks.n_samples(self.n_samples, 1)
        _checks.seed(self.seed)
        _checks.whole("n_parses", self.n_parses, 0)
        if self.parse_temperature is not None:
            _checks.above_zero("parse_temperature", self.parse_temperature)
        if self.n_parses and self.mentions != FROM_PARSE:
            raise ParameterError("must be 0 unless mentions are found in the parse", parameter="n_parses")
        _checks.at_most("sample_groups", _checks.whole("sample_groups", self.sample_groups, 0), self.n_samples)

    @property
    def mention_source(self) -> MentionSource:
        """Whether mentions are found in the parse, or marked."""
        return "parse" if self.mentions == FROM_PARSE else "annotated"

    @property
    def named_recalibration(self) -> str | None:
        """Name or path of the recalibration, by default that of a model of the package; None for none."""
        from corefsample.recalibration._shipped import chosen_recalibration

        if self.recalibration is None and cs.Recalibration(self.temperature, self.new_bias) != cs.Recalibration():
            return None
        return chosen_recalibration(self.recalibration, self.model, self.mention_source)
