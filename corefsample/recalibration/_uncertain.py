"""A recalibration with its uncertainty: of its fit, and of the domain that it is applied to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any, Literal, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample.coreference import AntecedentDistribution, sample_clusterings
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike, ReadProgress, open_bytes
from corefsample.recalibration._kind_offsets import N_GLOBAL, N_PARAMETERS
from corefsample.recalibration._kind_search import DomainEffect
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._refits import RecalibrationDraws

ENGLISH = "english"
Uncertainty = Literal["none", "fit", "domain"]
UNCERTAINTIES: tuple[Uncertainty, ...] = ("none", "fit", "domain")


@dataclass(frozen=True, slots=True, eq=False)
class UncertainRecalibration:
    """A recalibration, its refits to resampled documents, and how much it differs between domains.

    Attributes
    ----------
    recalibration
        The fit.
    draws
        Refits to resampled documents, or None.
    domain_effect
        Standard deviations between domains, or None if they are unknown.
    """

    recalibration: Recalibration
    draws: RecalibrationDraws | None = None
    domain_effect: DomainEffect | None = None

    def __repr__(self) -> str:
        n_draws = 0 if self.draws is None else len(self.draws)
        domains = "unknown" if self.domain_effect is None else f"from {self.domain_effect.n_domains} domains"
        return f"UncertainRecalibration({n_draws} refits, domain effect {domains})"

    @property
    def widest(self) -> Uncertainty:
        """The largest uncertainty that is known."""
        if self.domain_effect is not None:
            return "domain"
        return "none" if self.draws is None else "fit"

    def sampled(self, uncertainty: Uncertainty, n_draws: int = 50, *, seed: int = 0) -> tuple[Recalibration, ...]:
        """Draw recalibrations.

        Parameters
        ----------
        uncertainty
            "none": the fit alone, once. "fit": refits to resampled documents. "domain": refits, each moved by a shift
            of its own, as for a domain that the fit has not seen.
        n_draws
            At least 1.
        seed
            In [0, 2**64).

        Raises
        ------
        ParameterError
            If there are no refits, or no domain effect, for the uncertainty.
        """
        _checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
        n_draws = _checks.whole("n_draws", n_draws, 1)
        if uncertainty == "none":
            return (self.recalibration,)
        if self.draws is None or not len(self.draws):
            raise ParameterError(
                "needs refits to resampled documents, got a recalibration without", parameter="uncertainty"
            )
        if uncertainty == "domain" and self.domain_effect is None:
            hint = "fit with domains, such as the field of the documents that names their genre"
            raise ParameterError(
                "needs a domain effect, got a recalibration that was fitted without domains",
                parameter="uncertainty",
                hint=hint,
            )
        vectors = self.draws.vectors()
        vectors = vectors[np.arange(n_draws) % len(vectors)]
        if uncertainty == "domain" and self.domain_effect is not None:
            rng = np.random.Generator(np.random.Philox(_checks.seed(seed)))
            shifts = rng.standard_normal((n_draws, N_PARAMETERS)) * self.domain_effect.sds()
            if vectors.shape[1] == N_GLOBAL:
                vectors = np.column_stack((vectors, np.zeros((n_draws, N_PARAMETERS - N_GLOBAL))))
            vectors = vectors + shifts
        return tuple(map(Recalibration.from_vector, vectors))

    def to_json(self) -> dict[str, Any]:
        """The recalibration, its draws and its domain effect as JSON values."""
        content: dict[str, Any] = {"recalibration": self.recalibration.to_json()}
        if self.draws is not None:
            content["draws"] = {
                "temperature": self.draws.temperature.tolist(),
                "new_bias": self.draws.new_bias.tolist(),
            }
            if self.draws.offsets is not None:
                content["draws"]["offsets"] = np.round(self.draws.offsets, 5).tolist()
        if self.domain_effect is not None:
            content["domain_effect"] = asdict(self.domain_effect)
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Build from the result of `to_json`; other fields are ignored.

        Raises
        ------
        ParameterError
            If a part breaks its rule.
        """
        if not isinstance(content, Mapping) or "recalibration" not in content:
            raise ParameterError("must be the record of a recalibration, got another", parameter="file")
        recalibration = Recalibration.from_json(content["recalibration"])
        try:
            draws, effect = content.get("draws"), content.get("domain_effect")
            return cls(
                recalibration,
                None if draws is None else _draws(draws, recalibration),
                None if effect is None else DomainEffect(**effect),
            )
        except (TypeError, KeyError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(f"must have valid draws and domain effect, got: {error}", parameter="file") from None


def _draws(content: Mapping[str, Any], recalibration: Recalibration) -> RecalibrationDraws:
    temperature, new_bias = (np.asarray(content[name], np.float64) for name in ("temperature", "new_bias"))
    offsets: Floats | None = None
    if recalibration.offsets is not None:
        offsets = np.asarray(content["offsets"], np.float64)
        if offsets.shape != (len(temperature), N_PARAMETERS - N_GLOBAL):
            raise ParameterError(f"must have offsets of each draw, got shape {offsets.shape}", parameter="draws")
    if temperature.shape != new_bias.shape or temperature.ndim != 1 or not (temperature > 0).all():
        raise ParameterError("must have temperatures above 0 and as many NEW biases", parameter="draws")
    return RecalibrationDraws(temperature, new_bias, 0, offsets)


def recalibration_file(name: PathLike) -> str:
    """Path of a record: "english" is that of the English model of the package, others are paths already."""
    text = os.fspath(name)
    if text != ENGLISH:
        return text
    return str(resources.files("corefsample.mention_ranking").joinpath("data", "english.recalibration.json"))


def read_recalibration(path: PathLike) -> UncertainRecalibration:
    """Read the record that `corefsample recalibrate` writes.

    Parameters
    ----------
    path
        The file; or "english" for the recalibration of the English model of the package.

    Raises
    ------
    InputError
        If the file cannot be read, or is not such a record.
    """
    name = recalibration_file(path)
    with open_bytes(name, ReadProgress()) as stream:
        data = stream.read()
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InputError(f"file must be JSON, got: {error}", place=name) from None
    try:
        return UncertainRecalibration.from_json(content)
    except ParameterError as error:
        raise error.as_input_error(name) from None


@dataclass(frozen=True, slots=True, eq=False)
class SampleShare:
    """Some of the samples of a document, such as those with one of its parses.

    Attributes
    ----------
    samples
        int64 (n,): their indices, increasing.
    n_in_all
        Number of all samples of the document.
    """

    samples: Ints
    n_in_all: int


def mixture_labels(
    recalibrations: tuple[Recalibration, ...],
    antecedents: AntecedentDistribution,
    kinds: Bytes | None,
    *,
    n_samples: int,
    seed: int,
    doc_id: str,
    first_sample: int = 0,
    share: SampleShare | None = None,
) -> Ints32:
    """Sample clusterings whose recalibration is uncertain.

    The samples are divided among the recalibrations in order, so sample s has the same one in every document: a count
    over documents, sample by sample, has the uncertainty that they share.

    Parameters
    ----------
    recalibrations
        At least one.
    antecedents, kinds
        Of one document, as scored; its kinds of mentions are needed for offsets by kind.
    n_samples, seed, doc_id, first_sample
        As for `corefsample.coreference.sample_clusterings`.
    share
        Which of the document's samples these n_samples are, if not all: each keeps the recalibration of its index.

    Returns
    -------
    array of shape (n_mentions, n_samples), int32
    """
    n_in_all = n_samples if share is None else share.n_in_all
    bounds = np.linspace(0, n_in_all, min(len(recalibrations), n_in_all) + 1).astype(np.int64)
    if share is not None:
        bounds = np.searchsorted(share.samples, bounds)
    labels = np.empty((antecedents.n_mentions, n_samples), np.int32)
    for recalibration, first, end in zip(recalibrations, bounds[:-1].tolist(), bounds[1:].tolist(), strict=False):
        if first == end:
            continue
        changed = recalibration.apply(antecedents, kinds)
        samples = sample_clusterings(
            changed, n_samples=end - first, seed=seed, doc_id=doc_id, first_sample=first_sample + first
        )
        labels[:, first:end] = samples.labels.T
    return labels
