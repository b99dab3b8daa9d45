"""Settings of the spaCy component, and its model and recalibration in the folder of a saved pipeline."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import corefsample as cs
from corefsample import _checks
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import write_bytes
from corefsample.syntax._schemes import SCHEMES

if TYPE_CHECKING:
    from corefsample.recalibration._uncertain import UncertainRecalibration
    from corefsample.scorers.protocol import MentionSource


FROM_PARSE = "parse"


def component_groups(spans_key: str) -> re.Pattern[str]:
    """Names of the groups of spans that the component writes, and replaces when it scores a Doc again."""
    return re.compile(rf"{re.escape(spans_key)}_(map|clusters_\d+|sample_\d+)")


def require_text(name: str, value: object) -> None:
    """Raise if a value is not a string, or is empty."""
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
        configured = cs.Recalibration(self.temperature, self.new_bias)
        if self.recalibration is not None:
            require_text("recalibration", self.recalibration)
            if configured != cs.Recalibration() and self.named_recalibration is not None:
                rule = "must be null with a temperature or a new_bias"
                raise ParameterError(f"{rule}, got {self.recalibration!r}", parameter="recalibration")
        _checks.n_samples(self.n_samples, 1)
        _checks.seed(self.seed)
        _checks.at_most("sample_groups", _checks.whole("sample_groups", self.sample_groups, 0), self.n_samples)

    @property
    def mention_source(self) -> MentionSource:
        """Source of the mentions: "parse", or "annotated" for mentions that the Doc marks."""
        return "parse" if self.mentions == FROM_PARSE else "annotated"

    @property
    def named_recalibration(self) -> str | None:
        """Name or path of the recalibration, by default that of a model of the package; None for none."""
        from corefsample.recalibration._shipped import chosen_recalibration

        if self.recalibration is None and cs.Recalibration(self.temperature, self.new_bias) != cs.Recalibration():
            return None
        return chosen_recalibration(self.recalibration, self.model, self.mention_source)


_MODEL, _RECORD = "model.npz", "record.json"


class Saved(NamedTuple):
    """Model and recalibration of a saved component.

    The model is None if the config names another one now; `has_recalibration` is false if the config names another
    recalibration, and the recalibration is None if the component had none.
    """

    model: cs.scorers.AntecedentScorer | None
    recalibration: UncertainRecalibration | None
    has_recalibration: bool


def write_model(
    model: cs.scorers.AntecedentScorer, recalibration: UncertainRecalibration | None, settings: Settings, folder: Path
) -> None:
    """Write a model and a recalibration, with their names in the config, into a folder, which is made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / _MODEL, overwrite=True)
    fields = None if recalibration is None else recalibration.to_json()
    record: dict[str, Any] = {
        "model": settings.model,
        "recalibration": {"path": settings.named_recalibration, "content": fields},
    }
    write_bytes(folder / _RECORD, json.dumps(record).encode(), overwrite=True)


def read_model(folder: Path, settings: Settings) -> Saved:
    """Read the model and the recalibration of a folder.

    Raises
    ------
    InputError
        If a file is missing, or is not of this version.
    """
    record = folder / _RECORD
    recalibration = None
    try:
        fields = json.loads(record.read_text(encoding="utf-8"))
        saved_path, saved_recalibration = fields["model"], fields.get("recalibration")
        # Without the field it was saved by an earlier version, without a recalibration.
        if saved_recalibration is None:
            has_recalibration = settings.recalibration is None
        else:
            has_recalibration = saved_recalibration["path"] == settings.named_recalibration
            if has_recalibration and saved_recalibration["content"] is not None:
                recalibration = _recalibration(saved_recalibration["content"])
    except OSError as error:
        raise InputError(f"must be readable, got: {error.strerror or error}", place=str(record)) from None
    except ParameterError as error:
        raise error.as_input_error(str(record)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("must be JSON with model, got something else", place=str(record)) from None
    model = cs.scorers.load_scorer(folder / _MODEL) if saved_path == settings.model else None
    return Saved(model, recalibration, has_recalibration)


def _recalibration(fields: dict[str, Any]) -> UncertainRecalibration:
    """A recalibration with its uncertainty, which earlier versions did not save."""
    from corefsample.recalibration._uncertain import UncertainRecalibration

    if "recalibration" in fields:
        return UncertainRecalibration.from_json(fields)
    return UncertainRecalibration(cs.Recalibration.from_json(fields))


def packed(folder: Path) -> bytes:
    """Return the files of a saved component as bytes."""
    from spacy import util

    return util.to_bytes({file: (folder / file).read_bytes for file in (_MODEL, _RECORD)}, ())


def unpack(data: bytes, folder: Path) -> None:
    """Write the files of a saved component from the bytes of `packed` into a folder.

    Raises
    ------
    InputError
        If they are something else.
    """
    from spacy import util

    files: dict[str, Any] = {}
    try:
        util.from_bytes(data, {file: partial(files.__setitem__, file) for file in (_MODEL, _RECORD)}, ())
        for file in (_MODEL, _RECORD):
            (folder / file).write_bytes(files[file])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("must be of a component corefsample, got something else", parameter="bytes_data") from None
