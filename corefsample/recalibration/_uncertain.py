"""A recalibration with its uncertainty: of its fit, and of the domain that it is applied to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints, Ints32, Result, pd
from corefsample._random import document_key
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import sample_rescored
from corefsample.coreference._conditioning import CannotLinks, Conditioned
from corefsample.errors import ParameterError, shown
from corefsample.recalibration._model import (
    LINK_OFFSETS,
    LOG_TEMPERATURE,
    N_GLOBAL,
    N_PARAMETERS,
    NEW_BIAS,
    NEW_OFFSETS,
    Recalibration,
    after,
    described,
    json_fields,
    places_of,
    recalibrated_scores,
)

Uncertainty = Literal["none", "fit", "domain"]
DOMAIN_FIELD = "genre"
_MOST_SCORES = 2**19  # recalibrated at once: 4 MiB
UNCERTAINTIES: tuple[Uncertainty, ...] = ("none", "fit", "domain")

BLOCKS = {
    "log_temperature": slice(LOG_TEMPERATURE, LOG_TEMPERATURE + 1),
    "new_bias": slice(NEW_BIAS, NEW_BIAS + 1),
    "new_offsets": slice(NEW_OFFSETS, LINK_OFFSETS),
    "link_offsets": slice(LINK_OFFSETS, N_PARAMETERS),
}


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

    @classmethod
    def from_json(cls, record: Any) -> Self:
        """Build from its fields by name; raise ParameterError if one is missing, unknown or out of range."""
        *sds, n_domains = json_fields("domain_effect", record, (*BLOCKS, "n_domains"))
        for name, value in zip(BLOCKS, sds, strict=True):
            _checks.at_least_zero(f"domain_effect.{name}", value)
        _checks.whole("domain_effect.n_domains", n_domains, 1)
        return cls(**record)

    def sds(self) -> Floats:
        """Standard deviation of each parameter: float64 (N_PARAMETERS,)."""
        sds = np.empty(N_PARAMETERS)
        for name, block in BLOCKS.items():
            sds[block] = getattr(self, name)
        return sds


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrationDraws(Result):
    """Recalibrations fitted to bootstrapped documents: the uncertainty of the fit.

    Attributes
    ----------
    temperature, new_bias
        float64 (n_draws,), read-only: draw b of each belongs to one refit.
    offsets
        float64 (n_draws, n_offsets), read-only: offsets by kind in the order of `Recalibration.vector`, or None.
    """

    temperature: Floats
    new_bias: Floats
    offsets: Floats | None = None

    @classmethod
    def from_vectors(cls, vectors: Floats) -> Self:
        """Build from rows of `Recalibration.vector`, with all parameters or the first two."""
        offsets = None if vectors.shape[1] == N_GLOBAL else vectors[:, N_GLOBAL:].copy()
        return cls(np.exp(vectors[:, 0]), vectors[:, 1].copy(), offsets)

    def vectors(self) -> Floats:
        """Parameters of each draw, in the order of `Recalibration.vector`: (n_draws, n_parameters)."""
        both = np.column_stack((np.log(self.temperature), self.new_bias))
        return both if self.offsets is None else np.column_stack((both, self.offsets))

    def __repr__(self) -> str:
        temperature = f"temperature {self.temperature.mean():.3g} (sd {self.temperature.std():.2g})"
        new_bias = f"new_bias {self.new_bias.mean():.3g} (sd {self.new_bias.std():.2g})"
        return f"RecalibrationDraws({len(self)} draws, {temperature}, {new_bias})"

    def __len__(self) -> int:
        return int(self.temperature.shape[0])

    def __getitem__(self, draw: int) -> Recalibration:
        offsets = None if self.offsets is None else tuple(self.offsets[draw].tolist())
        return Recalibration(float(self.temperature[draw]), float(self.new_bias[draw]), offsets)

    def __iter__(self) -> Iterator[Recalibration]:
        return (self[draw] for draw in range(len(self)))

    def shrunk(self, recalibration: Recalibration) -> Recalibration:
        """Shrink a fit towards no change, according to its own uncertainty.

        A fit to few documents is partly noise, which makes other documents worse. With v = (log temperature, new_bias)
        and S the covariance of the draws, the weight that remains is max(0, 1 - 2 / (v' S^-1 v)): the empirical-Bayes
        weight of v if v is normal around the true value with covariance S, and the true value is normal around no
        change with a covariance proportional to S. With hundreds of documents it is close to 1.

        Parameters
        ----------
        recalibration
            The fit to the documents that the draws come from.

        Raises
        ------
        ParameterError
            If there are fewer than three draws, or their covariance is singular.

        References
        ----------
        Efron & Morris (1973), "Stein's estimation rule and its competitors", section 2.
        """
        if self.offsets is not None:
            raise ParameterError("cannot be shrunk again: offsets by kind have a prior already", parameter="draws")
        if len(self) < 3:
            raise ParameterError(f"draws must be at least 3 to shrink a fit, got {len(self)}")
        covariance = np.cov(self.vectors().T)
        if not np.linalg.cond(covariance) < 1e12:
            raise ParameterError("draws must differ in both numbers to shrink a fit, got a singular covariance")
        fit = recalibration.vector()[:N_GLOBAL]
        distance = float(fit @ np.linalg.solve(covariance, fit))
        weight = max(0.0, 1.0 - fit.size / distance) if distance > 0.0 else 0.0
        return Recalibration(recalibration.temperature**weight, weight * recalibration.new_bias)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per draw: draw, temperature, new_bias."""
        return pd.DataFrame({"draw": np.arange(len(self)), "temperature": self.temperature, "new_bias": self.new_bias})


@dataclass(frozen=True, slots=True, eq=False)
class UncertainRecalibration:
    """A recalibration, its refits to resampled documents, and how much it differs between domains.

    Attributes
    ----------
    recalibration
        The recalibration fitted to all documents.
    draws
        Refits to resampled documents, or None if there are none.
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
    draws: RecalibrationDraws | None = None
    domain_effect: DomainEffect | None = None
    base: str = ""
    domain_field: str = DOMAIN_FIELD
    language: str | None = None

    def __repr__(self) -> str:
        n_draws = 0 if self.draws is None else len(self.draws)
        domains = "unknown" if self.domain_effect is None else f"from {self.domain_effect.n_domains} domains"
        return f"UncertainRecalibration({n_draws} refits, domain effect {domains})"

    @property
    def widest(self) -> Uncertainty:
        """The largest uncertainty that `sampled` can include: "domain", "fit" or "none"."""
        if self.domain_effect is not None:
            return "domain"
        return "none" if self.draws is None else "fit"

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
        if applied == after(self.base, self.recalibration.fingerprint()):
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
        if self.draws is None or not len(self.draws):
            rule = "needs refits to resampled documents, got a recalibration without"
            raise ParameterError(rule, parameter="uncertainty")
        vectors = self.draws.vectors()[np.arange(n_draws) % len(self.draws)]
        if uncertainty == "domain":
            if self.domain_effect is None:
                rule = "needs a domain effect, got a recalibration that was fitted without domains"
                hint = "fit with domains, such as the field of the documents that names their genre"
                raise ParameterError(rule, parameter="uncertainty", hint=hint)
            key = document_key(seed, domain) if domain else _checks.seed(seed)
            rng = np.random.Generator(np.random.Philox(key))
            shifts = rng.standard_normal((n_draws, N_PARAMETERS)) * self.domain_effect.sds()
            shifts[:, : vectors.shape[1]] += vectors
            vectors = shifts
        return tuple(map(Recalibration.from_vector, vectors))

    def to_json(self) -> dict[str, Any]:
        """Dict of JSON values: the recalibration, its draws, its domain effect and the other attributes."""
        record: dict[str, Any] = {"recalibration": self.recalibration.to_json()}
        if self.draws is not None:
            temperature, new_bias = self.draws.temperature.tolist(), self.draws.new_bias.tolist()
            record["draws"] = {"temperature": temperature, "new_bias": new_bias}
            if self.draws.offsets is not None:
                record["draws"]["offsets"] = np.round(self.draws.offsets, 5).tolist()
        if self.domain_effect is not None:
            record["domain_effect"] = asdict(self.domain_effect)
        if self.domain_field != DOMAIN_FIELD:
            record["domain_field"] = self.domain_field
        if self.language is not None:
            record["language"] = self.language
        return {**record, "base": self.base} if self.base else record

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
        recalibration = Recalibration.from_json(record["recalibration"])
        draws, effect = record.get("draws"), record.get("domain_effect")
        texts = {"base": record.get("base", ""), "domain_field": record.get("domain_field", DOMAIN_FIELD)}
        for name, text in texts.items():
            if not isinstance(text, str):
                raise ParameterError(f"must be a text, got {text!r}", parameter=name)
        language = record.get("language")
        if language is not None and not isinstance(language, str):
            raise ParameterError(f"must be a text, got {language!r}", parameter="language")
        draws = None if draws is None else _draws(draws, by_kind=recalibration.offsets is not None)
        domains = None if effect is None else DomainEffect.from_json(effect)
        return cls(recalibration, draws, domains, language=language, **texts)


def _draws(record: Any, *, by_kind: bool) -> RecalibrationDraws:
    offsets = {"offsets": (N_PARAMETERS - N_GLOBAL,)} if by_kind else {}
    widths = {"temperature": (), "new_bias": (), **offsets}
    every = record if isinstance(record, Mapping) else ()
    json_fields("draws", record, tuple(widths), set(every) - set(widths))
    columns: dict[str, Floats] = {}
    for name, width in widths.items():
        try:
            values = np.asarray(record[name])
        except ValueError:  # lists of different lengths
            values = np.empty(0, object)
        shape = (*columns.get("temperature", values).shape[:1], *width)
        if values.shape != shape or not values.size or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            rule = f"must be finite numbers in the shape {shape}"
            raise ParameterError(f"{rule}, got {shown(record[name])}", parameter=f"draws.{name}")
        columns[name] = values.astype(np.float64)
    if not (columns["temperature"] > 0).all():
        raise ParameterError(f"must be above 0, got {columns['temperature'].min()}", parameter="draws.temperature")
    return RecalibrationDraws(columns["temperature"], columns["new_bias"], columns.get("offsets"))


class MixedRecalibrations:
    """Recalibrations as arrays, for many documents.

    Parameters
    ----------
    recalibrations
        Recalibrations, at least one.

    Attributes
    ----------
    temperatures, biases
        float64 (n,): temperature and NEW bias of each recalibration.
    tables
        float64 (n, N_KINDS ** 2): offsets by kind of mention and antecedent, or None if no recalibration has offsets.
    """

    __slots__ = ("biases", "tables", "temperatures")

    def __init__(self, recalibrations: Sequence[Recalibration]) -> None:
        self.temperatures = np.array([each.temperature for each in recalibrations])
        self.biases = np.array([each.new_bias for each in recalibrations])
        by_kind = any(each.offsets is not None for each in recalibrations)
        self.tables: Floats | None = (
            np.stack([each.offset_table().ravel() for each in recalibrations]) if by_kind else None
        )

    def __len__(self) -> int:
        return len(self.temperatures)

    def scores(self, rows: Ints, scores: Floats, places: Ints | None) -> Floats:
        """Scores under the recalibrations in some rows: float64 (n_rows, n_candidates).

        Raises
        ------
        ParameterError
            If a score would overflow.
        """
        offsets = None if self.tables is None else self.tables[rows][:, places]
        return recalibrated_scores(scores, self.temperatures[rows, None], self.biases[rows, None], offsets)


def mixture_labels(
    recalibrations: MixedRecalibrations,
    antecedents: AntecedentDistribution,
    kinds: Bytes | None,
    samples: Ints,
    n_samples: int,
    cannot_link: CannotLinks | None = None,
    *,
    seed: int,
    doc_id: str,
    first_sample: int = 0,
) -> tuple[Ints32, Conditioned | None]:
    """Sample clusterings under an uncertain recalibration.

    The samples are divided among the recalibrations in order, so sample s has the same one in every document: a count
    over documents, sample by sample, has the uncertainty that they share.

    Parameters
    ----------
    recalibrations
        Recalibrations among which the samples are divided, at least one.
    antecedents
        Antecedent distribution of one document, before recalibration.
    kinds
        uint8 (n_mentions,): kinds of the document's mentions; may be None if no recalibration has offsets by kind.
    samples
        int64 (n,): indices of the samples to draw, increasing, such as those with one of the document's parses; each
        keeps the recalibration of its index.
    n_samples
        Number of all samples of the document.
    cannot_link
        Pairs of mentions of different entities, on which the clusterings are conditioned without changing which
        recalibration a sample has. By default, there are none.
    seed, doc_id, first_sample
        Random stream of the samples: see `corefsample.sample_clusterings`.

    Returns
    -------
    array of shape (n_mentions, n), int32
        Clusterings of the samples; the label of a mention is the first mention of its entity.
    Conditioned or None
        How the samples were made consistent with `cannot_link`, or None without it.
    """
    bounds = np.linspace(0, n_samples, min(len(recalibrations), n_samples) + 1).astype(np.int64)
    bounds = np.searchsorted(samples, bounds)
    sizes = np.diff(bounds)
    used = np.flatnonzero(sizes)
    places = None if recalibrations.tables is None else places_of(antecedents, kinds)
    blocks = []
    conditioned: Conditioned | None = None
    at_once = max(1, _MOST_SCORES // max(antecedents.n_candidates, 1))
    for start in range(0, len(used), at_once):
        block = used[start : start + at_once]
        changed = recalibrations.scores(block, antecedents.scores, places)
        first = first_sample + int(bounds[block[0]])
        arguments = antecedents, changed, sizes[block], cannot_link
        labels, conditioning = sample_rescored(*arguments, seed=seed, doc_id=doc_id, first_sample=first)
        blocks.append(labels)
        conditioned = conditioning if conditioned is None or conditioning is None else conditioned + conditioning
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1), conditioned
