"""One document's posterior, and samples of it: each has a draw of the recalibration, and a clustering given it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints, Ints32
from corefsample._random import document_key
from corefsample._random_kernels import GAMMA, splitmix64
from corefsample.coreference import _clusterings
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._conditioning import CannotLinks, Conditioned
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError, ParameterHint
from corefsample.recalibration._model import Recalibration, described, kinds_of, places_of, recalibrated_scores
from corefsample.recalibration._uncertain import UncertainRecalibration, Uncertainty, known_recalibration

_CLUSTERINGS = 2**40  # clusterings that each parse of a document has for itself in the document's random stream
_PARSE_WORD = 2**62  # index of the random word that assigns samples to parses; mentions use the first words
_MOST_SCORES = 2**19  # recalibrated at once: 4 MiB
N_DRAWS = 50  # of a recalibration; more samples than draws share each of them


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRecalibration:
    """A recalibration, and the draws of it that the samples of a document share.

    Attributes
    ----------
    recalibration
        The fitted recalibration, with which the likeliest antecedents are computed.
    draws
        Recalibrations among which the samples are divided in order, at least one: sample s has the same one in every
        document, so a count over documents, sample by sample, has the uncertainty that they share.
    temperatures, biases
        float64 (n_draws,): temperature and NEW bias of each draw.
    tables
        float64 (n_draws, N_KINDS ** 2): offsets by kind of mention and antecedent, or None if no draw has offsets.
    """

    recalibration: Recalibration
    draws: tuple[Recalibration, ...]
    temperatures: Floats = field(init=False, repr=False)
    biases: Floats = field(init=False, repr=False)
    tables: Floats | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperatures", np.array([draw.temperature for draw in self.draws]))
        object.__setattr__(self, "biases", np.array([draw.new_bias for draw in self.draws]))
        by_kind = any(draw.offsets is not None for draw in self.draws)
        tables = np.stack([draw.offset_table().ravel() for draw in self.draws]) if by_kind else None
        object.__setattr__(self, "tables", tables)

    @property
    def needs_kinds(self) -> bool:
        """Whether a draw has offsets by kind of mention."""
        return self.recalibration.offsets is not None or self.tables is not None

    def labels(
        self,
        antecedents: AntecedentDistribution,
        kinds: Bytes | None,
        samples: Ints,
        n_samples: int,
        *,
        first_sample: int = 0,
        **stream: Any,
    ) -> tuple[Ints32, Conditioned | None]:
        """Clusterings of some of the samples of a document: int32 (n_mentions, n), and how they were conditioned.

        Parameters
        ----------
        antecedents, kinds
            Antecedent distribution before recalibration, and kinds of the mentions if `needs_kinds`.
        samples, n_samples
            int64 (n,): indices of the samples, increasing, such as those with one of the document's parses; and the
            number of all samples of the document.
        first_sample, stream
            Random stream, and `cannot_link`: see `corefsample.sample_clusterings`.
        """
        bounds = np.linspace(0, n_samples, min(len(self.draws), n_samples) + 1).astype(np.int64)
        bounds = np.searchsorted(samples, bounds)
        sizes = np.diff(bounds)
        used, blocks = np.flatnonzero(sizes), []
        columns = None if self.tables is None else places_of(antecedents, kinds)
        conditioned: Conditioned | None = None
        at_once = max(1, _MOST_SCORES // max(antecedents.n_candidates, 1))
        for start in range(0, len(used), at_once):
            block = used[start : start + at_once]
            offsets = None if self.tables is None or columns is None else self.tables[block].take(columns, axis=1)
            parameters = self.temperatures[block, None], self.biases[block, None], offsets
            scores = recalibrated_scores(antecedents.scores, *parameters)
            stream["first_sample"] = first_sample + int(bounds[block[0]])
            labels, conditioning = _clusterings.sample_rescored(antecedents, scores, sizes[block], **stream)
            blocks.append(labels)
            conditioned = conditioning if conditioned is None or conditioning is None else conditioned + conditioning
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1), conditioned


@lru_cache(maxsize=64)  # domains
def drawn_recalibration(
    source: UncertainRecalibration, uncertainty: Uncertainty, seed: int, domain: str, *, is_applied: bool
) -> DrawnRecalibration:
    """Draws of a recalibration for the documents of one domain; `is_applied` if their scores already have the fit."""
    fit, draws = source.recalibration, source.sampled(uncertainty, N_DRAWS, seed=seed, domain=domain)
    if not is_applied:
        return DrawnRecalibration(fit, draws)
    return DrawnRecalibration(Recalibration(), tuple(draw.relative_to(fit) for draw in draws))


@dataclass(frozen=True, slots=True)
class CorpusRecalibration:
    """Recalibration that all documents of a corpus share.

    If no recalibration is passed, scores to which the recalibration of a shipped model was applied get the uncertainty
    of that recalibration. The first document determines this, and later documents must agree with it, because a count
    has one uncertainty for all its documents. All documents share the draws of the fit; documents of one domain (a
    field of their metadata) also share the shift of that domain.

    Attributes
    ----------
    source
        Recalibration to apply, or, after the first document, the shipped recalibration that its scores already have.
        By default, there is no recalibration.
    requested_uncertainty
        Uncertainty to draw from. By default, the largest uncertainty that the recalibration provides.
    seed
        Seed of the draws of the recalibration, in [0, 2**64).
    as_scored
        True if scores are used unchanged and without any uncertainty. False by default.
    first
        Recalibrations recorded in the first document's metadata, "" if it records none. None before the first
        document, and if documents need not agree with it.

    Raises
    ------
    ParameterError
        On construction, if the seed is invalid or the recalibration does not provide the chosen uncertainty.
    """

    source: UncertainRecalibration | None = None
    requested_uncertainty: Uncertainty | None = None
    seed: int = 0
    as_scored: bool = field(default=False, kw_only=True)
    first: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _checks.seed(self.seed)
        if self.source is not None and self.first is None:
            self.source.sampled(self._uncertainty_of(self.source), 1)

    def _uncertainty_of(self, source: UncertainRecalibration) -> Uncertainty:
        return source.widest if self.requested_uncertainty is None else self.requested_uncertainty

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Uncertainty in the samples of the documents so far; None without a recalibration and a chosen uncertainty."""
        return self.requested_uncertainty if self.source is None else self._uncertainty_of(self.source)

    @property
    def requires_agreement(self) -> bool:
        """Whether the scores of all documents must have the same recalibration as the scores of the first document."""
        is_open = self.source is None and not self.as_scored
        return self.first is not None or (is_open and self.requested_uncertainty != "none")

    @property
    def keeps_scores(self) -> bool:
        """True if scores are used unchanged, whatever recalibration they had."""
        return self.source is None and not self.requires_agreement

    def fixed_by(self, metadata: Mapping[str, Any]) -> CorpusRecalibration:
        """Fix the recalibration by the metadata of the first document; later calls return the object unchanged.

        Raises
        ------
        ParameterError
            If an uncertainty was chosen, and the scores do not have the recalibration of a shipped model.
        """
        if not self.requires_agreement or self.first is not None:
            return self
        applied = Recalibration.applied_to(metadata)
        shipped = known_recalibration(applied)
        if shipped is None and self.requested_uncertainty is not None:
            rule = "needs a recalibration, or scores that had that of a model of the package"
            hint = "name the record of their recalibration"
            raise ParameterError(f"{rule}, got {described(applied)}", parameter="uncertainty", hint=hint)
        if shipped is None and applied:
            _log_unknown(applied)
        return replace(self, source=shipped, first=applied)

    def for_scores(self, metadata: Mapping[str, Any]) -> DrawnRecalibration | None:
        """Draws of the recalibration for one document, or None if its scores are used unchanged.

        The metadata name the document's domain, and the recalibrations that its scores already have. A document that
        comes before any other is treated as the first one.

        Raises
        ------
        ParameterError
            If the scores already have other recalibrations than the scores to which the recalibration was fitted; or if
            only one of this document and the first has scores with the recalibration of a shipped model.
        """
        if self.keeps_scores:
            return None
        recalibration = self.fixed_by(metadata)
        applied = Recalibration.applied_to(metadata)
        # Scores of one model had that of annotated mentions, or that of mentions of the parse.
        source = known_recalibration(applied) if recalibration.requires_agreement else recalibration.source
        if (source is None) != (recalibration.source is None):
            raise unlike_scores(applied, recalibration.first or "")
        if source is None:
            return None
        uncertainty = self._uncertainty_of(source)
        domain = source.domain_of(metadata) if uncertainty == "domain" else ""
        return drawn_recalibration(source, uncertainty, self.seed, domain, is_applied=source.is_in(applied))


@lru_cache(maxsize=64)  # once per process, not for each partition
def _log_unknown(applied: str) -> None:
    logging.getLogger("corefsample.counting").info(
        "%s, which is of no model of the package: its uncertainty is not counted", described(applied)
    )


def unlike_scores(applied: str, first: str) -> ParameterError:
    """Error for a corpus in which only some scores have the recalibration of a shipped model."""
    rule = "must all have had the recalibration of a model of the package, or none of them"
    difference = f"got {described(applied)}, and at first {described(first)}"
    hint = ParameterHint("uncertainty", "none counts all as they are")
    return ParameterError(f"{rule}, {difference}", parameter="scores", hint=hint)


class PosteriorSamples(NamedTuple):
    """Samples of a document, or those of them that have one of its parses.

    Attributes
    ----------
    samples
        int64 (n,), increasing: numbers of these samples among all samples of the document.
    labels
        int32 (n_mentions, n): clusterings of these samples; the label of a mention is the first mention of its entity.
    likeliest
        int32 (n_mentions,): clustering of the likeliest antecedents.
    conditioned
        How the samples were made consistent with the cannot-link pairs: see `Conditioned`. None if no pair of
        mentions was passed, or there is no sample.
    """

    samples: Ints
    labels: Ints32
    likeliest: Ints32
    conditioned: Conditioned | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DocumentPosterior:
    """Posterior distribution of the entities of one document.

    Attributes
    ----------
    doc_id
        Id of the document, which determines the samples together with a seed.
    antecedents
        Distribution over the antecedents of the document's mentions, before any recalibration.
    recalibrated
        Recalibration of which each sample has a draw. By default, the scores are used unchanged. `of` takes a
        `corefsample.recalibration.UncertainRecalibration`, and draws from it.
    kinds
        uint8 (n_mentions,): kinds of the mentions, or None if the recalibration does not need them.
    parse, share
        For one of several parses: its number, which selects a random stream of the document, and the part of the
        document's samples that have this parse, from and to, in [0, 1]. By default, all samples have it.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    >>> DocumentPosterior("a", antecedents).sample(n_samples=6).labels
    array([[0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 1, 1]], dtype=int32)
    """

    doc_id: str
    antecedents: AntecedentDistribution
    recalibrated: DrawnRecalibration | None = None
    kinds: Bytes | None = None
    parse: int = 0
    share: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(
        cls, document: ScoredDocument, recalibrated: UncertainRecalibration | DrawnRecalibration | None = None
    ) -> Self:
        """Posterior of a document; raises ParameterError if a recalibration by kind of mention finds no tokens."""
        if isinstance(recalibrated, UncertainRecalibration):
            recalibrated = CorpusRecalibration(recalibrated).for_scores(document.metadata)
        return cls.of_row(DocumentBatch.of([document]), 0, recalibrated)

    @classmethod
    def of_row(cls, batch: DocumentBatch, row: int, recalibrated: DrawnRecalibration | None = None) -> Self:
        """Posterior of one row of a batch, which has the share of its parse in the samples of its document."""
        doc_id, kinds = batch.doc_ids[row], None
        if recalibrated is not None and recalibrated.needs_kinds:
            kinds = kinds_of(batch.tokens(row), batch.spans(row), batch.metadata(row), doc_id)
        return cls(doc_id, batch.antecedents(row), recalibrated, kinds, batch.parse(row), batch.share(row))

    def without_coreference(self) -> Self:
        """The same document, with every mention an entity of its own."""
        empty: list[tuple[()]] = [()] * self.antecedents.n_mentions
        return replace(self, antecedents=AntecedentDistribution.from_lists(empty, empty), recalibrated=None)

    def sample(
        self,
        *,
        n_samples: int = 1000,
        seed: int = 0,
        n_mentions: int | None = None,
        cannot_link: np.typing.ArrayLike | None = None,
        n_counted: int | None = None,
    ) -> PosteriorSamples:
        """Draw the samples that have this parse.

        A sample depends on (seed, doc_id, its number) alone. Samples are assigned to parses more evenly than by
        independent draws: see `samples_of_share`. The j-th sample with parse k has clustering k 2**40 + j of the
        document's random stream. With a recalibration, sample s has the same draw in every document.

        Parameters
        ----------
        n_samples
            Number of samples of the document, at least 1.
        seed
            Seed of the samples, in [0, 2**64).
        n_mentions
            Number of mentions, from the first, whose clusterings are drawn. By default, all mentions.
        cannot_link
            int (n_pairs, 2): pairs of mentions of different entities; see `corefsample.sample_clusterings`. The samples
            are conditioned on them, the likeliest clustering is not. By default, there are none.
        n_counted
            Number of pairs, from the first, for which draws that join the two mentions are counted. By default, all.
        """
        samples = samples_of_share(self.share, n_samples=n_samples, seed=seed, doc_id=self.doc_id)
        antecedents, kinds, recalibrated = self.antecedents, self.kinds, self.recalibrated
        if n_mentions is not None:  # whose clusterings do not depend on later mentions
            antecedents = antecedents.first_mentions(n_mentions)
            kinds = None if kinds is None else kinds[:n_mentions]
        n = antecedents.n_mentions
        stream: dict[str, Any] = {"seed": seed, "doc_id": self.doc_id, "first_sample": self.parse * _CLUSTERINGS}
        if cannot_link is not None:
            stream["cannot_link"] = CannotLinks.of_pairs(cannot_link, n, n_counted)
        labels, conditioned = np.zeros((n, 0), np.int32), None
        if samples.size and recalibrated is not None:
            labels, conditioned = recalibrated.labels(antecedents, kinds, samples, n_samples, **stream)
        elif samples.size:
            clusterings = _clusterings.sample_clusterings(antecedents, n_samples=samples.size, **stream)
            labels, conditioned = clusterings.labels.T, clusterings.conditioned
        likely = antecedents if recalibrated is None else recalibrated.recalibration.apply(antecedents, kinds)
        return PosteriorSamples(samples, labels, _clusterings.map_clustering(likely), conditioned)

    def clusterings(self, *, n_samples: int = 1000, seed: int = 0) -> _clusterings.ClusteringSamples:
        """Sampled clusterings; of one of several parses, as if all samples had it.

        Parameters
        ----------
        n_samples, seed
            Number of clusterings, at least 1, and seed of the samples, in [0, 2**64).
        """
        samples = replace(self, share=(0.0, 1.0)).sample(n_samples=n_samples, seed=seed)
        return _clusterings.ClusteringSamples(samples.labels.T, seed, self.doc_id)


def samples_of_share(share: tuple[float, float], *, n_samples: int = 1000, seed: int = 0, doc_id: str = "") -> Ints:
    """Samples that have one of the parses of a document.

    Sample s has the parse at (u + s / phi) mod 1 of the cumulative shares, where u is uniform and fixed by seed and
    doc_id, and phi is the golden ratio. Each sample alone has exactly the probabilities of the shares, to 53 bits.
    Together they cover the parses more evenly than independent draws: the number of samples of a parse differs from its
    share of n by about log(n) instead of sqrt(n), which makes estimates from them more precise, and whether a sample is
    among them never depends on n_samples.

    Parameters
    ----------
    share
        Cumulative share of the parses before this one, and with this one, in [0, 1].
    n_samples
        Number of samples of the document, at least 1.
    seed
        Seed of the random stream, in [0, 2**64).
    doc_id
        Id of the document: documents with different ids have independent random streams.

    Returns
    -------
    int64 (n,), increasing

    Raises
    ------
    ParameterError
        If `n_samples` or `seed` is out of range.

    References
    ----------
    Cranley & Patterson (1976), "Randomization of number theoretic methods for multiple integration"; Weyl (1916).
    The steps are those of SplitMix64 (Steele, Lea & Flood 2014), whose increment is 2**64 / phi.

    Examples
    --------
    >>> [len(samples_of_share(share, n_samples=1000)) for share in [(0.0, 0.7), (0.7, 1.0)]]
    [699, 301]
    """
    n_samples, key = _checks.n_samples(n_samples, 1), document_key(seed, doc_id)
    if share == (0.0, 1.0):
        return np.arange(n_samples)
    start = np.empty(1, np.uint64)
    splitmix64(np.uint64(key), _PARSE_WORD, start)
    words = start + np.arange(n_samples, dtype=np.uint64) * GAMMA
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53  # a double has 53 bits
    return np.flatnonzero((share[0] <= uniform) & (uniform < share[1]))
