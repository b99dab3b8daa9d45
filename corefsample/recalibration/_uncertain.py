"""A recalibration with its uncertainty, of its fit and of the domain that it is applied to, and its records."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample._random import document_key
from corefsample.errors import ParameterError, shown
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_json
from corefsample.recalibration._model import BLOCKS, N_PARAMETERS, Recalibration, described, json_fields
from corefsample.scorers.protocol import MentionSource, data_file

Uncertainty = Literal["none", "fit", "domain"]
UNCERTAINTIES: tuple[Uncertainty, ...] = ("none", "fit", "domain")
DOMAIN_FIELD = "genre"


@dataclass(frozen=True, slots=True)
class DomainEffect:
    """Differences between the parameters of a recalibration by kind in different domains, such as genres.

    A domain's parameters are normal around those of all domains, with one standard deviation for each group of
    parameters.

    Attributes
    ----------
    log_temperature, new_bias, new_offsets, link_offsets
        Standard deviation between domains of each group of parameters, at least 0.
    n_domains
        Number of domains from which the standard deviations are estimated.
    """

    log_temperature: float
    new_bias: float
    new_offsets: float
    link_offsets: float
    n_domains: int

    def sds(self) -> Floats:
        """Standard deviation of each parameter: float64 (N_PARAMETERS,)."""
        sds = np.empty(N_PARAMETERS)
        for name, block in BLOCKS.items():
            sds[block] = getattr(self, name)
        return sds


@dataclass(frozen=True, slots=True, eq=False)
class UncertainRecalibration:
    """A recalibration, its refits to resampled documents, and how much it differs between domains.

    Attributes
    ----------
    recalibration
        The recalibration fitted to all documents.
    draws
        Refits to resampled documents, which `RecalibrationFitter.bootstrap` returns; empty by default.
    domain_effect
        Standard deviations of the parameters between domains, or None if they are unknown.
    base
        Fingerprints of the recalibrations that were applied to the scores before this one was fitted to them: see
        `Recalibration.applied_to`. By default "", for none.
    domain_field
        Field of documents' metadata that names their domain.
    language
        Code of the language of the documents to which the recalibration was fitted, or None if it is not recorded.
    """

    recalibration: Recalibration
    draws: tuple[Recalibration, ...] = ()
    domain_effect: DomainEffect | None = None
    base: str = ""
    domain_field: str = DOMAIN_FIELD
    language: str | None = None

    def __repr__(self) -> str:
        domains = "unknown" if self.domain_effect is None else f"from {self.domain_effect.n_domains} domains"
        return f"UncertainRecalibration({len(self.draws)} refits, domain effect {domains})"

    @property
    def widest(self) -> Uncertainty:
        """The largest uncertainty that `sampled` can include: "domain", "fit" or "none"."""
        if self.domain_effect is not None:
            return "domain"
        return "fit" if self.draws else "none"

    def domain_of(self, metadata: Mapping[str, Any]) -> str:
        """Domain that the metadata of a document name; "" if they do not name one."""
        domain = metadata.get(self.domain_field)
        return "" if domain is None else str(domain)

    def is_in(self, applied: str) -> bool:
        """True if scores have this recalibration already, False if it can be applied to them.

        Parameters
        ----------
        applied
            Fingerprints of the recalibrations that were applied to the scores, as `Recalibration.applied_to` returns
            them; "" if none was applied.

        Raises
        ------
        ParameterError
            If the scores cannot have this recalibration, because other recalibrations were applied to them than to the
            scores to which this one was fitted.
        """
        if applied == self.base:
            return False
        if applied == f"{self.base} {self.recalibration.fingerprint()}".strip():
            return True
        hint = "take scores as they were before, such as those of corefsample score without a recalibration"
        raise ParameterError(self.other_scores(applied), parameter="scores", hint=hint)

    def other_scores(self, applied: str) -> str:
        """Error message for scores to which `applied` was applied, unlike those to which this one was fitted."""
        rule = f"must be like those to which the recalibration was fitted ({described(self.base)})"
        return f"{rule}, got {described(applied)}"

    def sampled(
        self, uncertainty: Uncertainty, n_draws: int = 50, *, seed: int = 0, domain: str = ""
    ) -> tuple[Recalibration, ...]:
        """Draw recalibrations.

        Parameters
        ----------
        uncertainty
            "none": the fit alone, once. "fit": refits to resampled documents. "domain": refits, each moved by a
            different random shift, as for a domain to which the recalibration was not fitted.
        n_draws
            Number of recalibrations to draw, at least 1.
        seed
            Seed of the draws, in [0, 2**64).
        domain
            Name of the domain. All domains have the same refits; each domain has different shifts.

        Raises
        ------
        ParameterError
            If `uncertainty` needs refits or a domain effect that this recalibration does not have, `n_draws` is below
            1, or `seed` is out of range.
        """
        _checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
        n_draws = _checks.whole("n_draws", n_draws, 1)
        if uncertainty == "none":
            return (self.recalibration,)
        _checks.require("uncertainty", self.draws, "needs refits to resampled documents", "a recalibration without")
        refits = [self.draws[draw % len(self.draws)] for draw in range(n_draws)]
        if uncertainty == "fit":
            return tuple(refits)
        if self.domain_effect is None:
            rule = "needs a domain effect, got a recalibration that was fitted without domains"
            hint = "fit with domains, such as the field of the documents that names their genre"
            raise ParameterError(rule, parameter="uncertainty", hint=hint)
        key = document_key(seed, domain) if domain else _checks.seed(seed)
        rng = np.random.Generator(np.random.Philox(key))
        shifts = rng.standard_normal((n_draws, N_PARAMETERS)) * self.domain_effect.sds()
        return tuple(
            Recalibration.from_vector(shift + refit.vector()) for shift, refit in zip(shifts, refits, strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """Dict of JSON values: the recalibration, its draws, its domain effect and the other attributes."""
        record: dict[str, Any] = {"recalibration": self.recalibration.to_json()}
        if self.draws:
            record["draws"] = {
                name: [getattr(draw, name) for draw in self.draws] for name in ("temperature", "new_bias")
            }
            if self.draws[0].offsets is not None:
                record["draws"]["offsets"] = np.round([draw.offsets for draw in self.draws], 5).tolist()
        if self.domain_effect is not None:
            record["domain_effect"] = asdict(self.domain_effect)
        for name, default in (("domain_field", DOMAIN_FIELD), ("language", None), ("base", "")):
            if getattr(self, name) != default:
                record[name] = getattr(self, name)
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Build from `record`, the result of `to_json`; other fields are ignored.

        Raises
        ------
        ParameterError
            If a field is missing, or has a value of another type or outside its range.
        """
        if not isinstance(record, Mapping) or "recalibration" not in record:
            raise ParameterError("must be the record of a recalibration, got another", parameter="file")
        recalibration, effect = Recalibration.from_json(record["recalibration"]), None
        texts = {name: record[name] for name in ("base", "domain_field", "language") if record.get(name) is not None}
        for name, text in texts.items():
            _checks.require(name, isinstance(text, str), "must be a text", repr(text))
        if record.get("domain_effect") is not None:
            *sds, n_domains = json_fields("domain_effect", record["domain_effect"], (*BLOCKS, "n_domains"))
            for name, value in zip(BLOCKS, sds, strict=True):
                _checks.at_least_zero(f"domain_effect.{name}", value)
            _checks.whole("domain_effect.n_domains", n_domains, 1)
            effect = DomainEffect(**record["domain_effect"])
        draws = _draws_of(record.get("draws"), by_kind=recalibration.offsets is not None)
        return cls(recalibration, draws, effect, **texts)


def _draws_of(record: Any, *, by_kind: bool) -> tuple[Recalibration, ...]:
    """Refits from their columns in a record."""
    if record is None:
        return ()
    names = ("temperature", "new_bias", "offsets")[: 2 + by_kind]
    others = set(record) - set(names) if isinstance(record, Mapping) else ()
    columns = json_fields("draws", record, names, others)
    for name, column in zip(names, columns, strict=True):
        good = isinstance(column, list) and column and len(column) == len(columns[0])
        _checks.require(f"draws.{name}", good, "must be a list with an element for each draw", shown(column))
    try:
        return tuple(Recalibration(*row) for row in zip(*columns, strict=True))
    except ParameterError as error:
        raise ParameterError(error.message, parameter=f"draws.{error.parameter}") from None


# --- records by name or path, and those of the models of the package -----------------------------------------

ENGLISH, SPANISH, NO_RECALIBRATION = "english", "spanish", "none"
_OF_MODELS = {None: ENGLISH, "en": ENGLISH, "es": SPANISH}  # by the model's name; None: the default
# For annotated mentions; the Spanish model of these is calibrated better without one.
_ANNOTATED: dict[str | None, str | None] = {ENGLISH: "english-annotated", SPANISH: None}
SHIPPED = {  # names, and what they are
    ENGLISH: "the English model's recalibration",
    "english-annotated": "the English model's recalibration for annotated mentions",
    SPANISH: "the Spanish model's recalibration",
}
_MOST_MIB = 16  # of a record: a thousand refits with offsets by kind take half a MiB


def chosen_recalibration(
    choice: PathLike | None, model: PathLike | None = None, mentions: MentionSource = "parse"
) -> str | None:
    """Name of the recalibration that is applied to the scores of a model.

    Parameters
    ----------
    choice
        One of `SHIPPED`, "none" or a path. By default, "english" and "spanish" for the shipped models, and no
        recalibration for other models.
    model
        Path of the model, or "en" or "es" for a shipped model. By default, the English model.
    mentions
        Source of the scored mentions. Annotated mentions corefer more often than mentions from a parse, so with
        "annotated", "english" is replaced by "english-annotated", and "spanish" by no recalibration.

    Returns
    -------
    str or None
        Name for `read_recalibration`, or None for no recalibration.
    """
    name = named_recalibration(choice)
    if choice is None:
        name = _OF_MODELS.get(None if model is None else os.fspath(model))
    return _ANNOTATED.get(name, name) if mentions == "annotated" else name


def named_recalibration(name: PathLike | None) -> str | None:
    """Name or path for `read_recalibration`; None if the argument is None or "none"."""
    text = None if name is None else os.fspath(name)
    return None if text == NO_RECALIBRATION else text


def recalibration_file(name: PathLike) -> str:
    """Path of the record with one of the names of `SHIPPED`; any other argument is a path and returned as it is."""
    text = _checks.path("path", name)
    return data_file(f"{text}.recalibration.json") if text in SHIPPED else text


def read_recalibration(path: PathLike) -> UncertainRecalibration:
    """Read the record that `corefsample recalibrate` writes.

    Parameters
    ----------
    path
        Path of the record; or "english", "english-annotated" or "spanish" for a record of the shipped models.

    Raises
    ------
    InputError
        If the file cannot be read, or is not a record of a recalibration.
    """
    name = recalibration_file(path)
    record = read_json(name, _MOST_MIB)
    try:
        return UncertainRecalibration.from_json(record)
    except ParameterError as error:
        raise error.as_input_error(name) from None


@cache
def _by_fingerprint() -> dict[str, UncertainRecalibration]:
    records = map(read_recalibration, SHIPPED)
    return {record.recalibration.fingerprint(): record for record in records}


def known_recalibration(applied: str) -> UncertainRecalibration | None:
    """The shipped recalibration that was applied to scores, with its uncertainty; None for any other, or for several.

    Parameters
    ----------
    applied
        Fingerprints of the recalibrations of the scores, as `Recalibration.applied_to` returns them; "" for none.
    """
    return _by_fingerprint().get(applied) if applied else None
