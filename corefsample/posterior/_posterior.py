"""One document's posterior, and samples of it: a parse, a draw of the recalibration, and a clustering given both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bytes, Ints, Ints32
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._exact import map_clustering
from corefsample.coreference._sampling import Apart, Conditioned, sample_clusterings
from corefsample.documents import sample_parses
from corefsample.documents._batch import DocumentBatch, from_documents
from corefsample.documents._scored import ScoredDocument
from corefsample.posterior._recalibrated import DrawnRecalibration
from corefsample.recalibration._model import kinds_of
from corefsample.recalibration._uncertain import mixture_labels

_CLUSTERINGS = 2**40  # clusterings that each parse of a document has for itself in the document's random stream


@dataclass(frozen=True, slots=True, eq=False)
class ParsePosterior:
    """One of the weighted parses of a document.

    Attributes
    ----------
    antecedents
        Distribution over the antecedents of its mentions, as scored.
    weight
        As of `corefsample.documents.Parse`.
    kinds
        uint8 (n_mentions,): kinds of its mentions, if a recalibration needs them.
    """

    antecedents: AntecedentDistribution
    weight: float = 1.0
    kinds: Bytes | None = None

    def first_mentions(self, n_mentions: int | None) -> ParsePosterior:
        """The parse with its first mentions alone; later ones do not change the clusterings of these."""
        if n_mentions is None:
            return self
        kinds = None if self.kinds is None else self.kinds[:n_mentions]
        return ParsePosterior(self.antecedents.first_mentions(n_mentions), self.weight, kinds)


class ParseSamples(NamedTuple):
    """The samples of a document that have one of its parses.

    Attributes
    ----------
    samples
        int64 (n,), increasing: their numbers among all samples.
    labels
        int32 (n_mentions, n): their clusterings; the label of a mention is the first mention of its entity.
    likeliest
        int32 (n_mentions,): clustering of the likeliest antecedents given this parse.
    conditioned
        What it took to keep mentions apart, where some were given.
    """

    samples: Ints
    labels: Ints32
    likeliest: Ints32
    conditioned: Conditioned | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DocumentPosterior:
    """What is known about the entities of one document: 1 to k weighted parses with their antecedents.

    Attributes
    ----------
    doc_id
        Fixes the samples, together with a seed.
    parses
        At least one; the first is the usual parse.
    recalibrated
        A recalibration, whose draws the samples share; None: the scores as they are.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
    >>> posterior = DocumentPosterior("a", (ParsePosterior(antecedents),))
    >>> posterior.sample(n_samples=6).of_parse(0).labels
    array([[0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 1, 1]], dtype=int32)
    """

    doc_id: str
    parses: tuple[ParsePosterior, ...]
    recalibrated: DrawnRecalibration | None = None

    @classmethod
    def of(cls, document: ScoredDocument, recalibrated: DrawnRecalibration | None = None) -> Self:
        """Posterior of a document; raises ParameterError if a recalibration by kind of mention finds no tokens."""
        return cls.of_row(from_documents([document]), 0, recalibrated)

    @classmethod
    def of_row(cls, batch: DocumentBatch, row: int, recalibrated: DrawnRecalibration | None = None) -> Self:
        """Posterior of one document of a batch, as `of` gives it."""
        by_kind = recalibrated is not None and recalibrated.needs_kinds
        parses = tuple(
            ParsePosterior(each.antecedents(place), weight, _kinds(each, place) if by_kind else None)
            for weight, each, place in parse_rows(batch, row)
        )
        return cls(batch.doc_ids[row], parses, recalibrated)

    def sample(self, *, n_samples: int = 1000, seed: int = 0) -> PosteriorSamples:
        """Draw samples.

        A sample depends on (seed, doc_id, its number) alone. Parses are drawn by
        `corefsample.documents.sample_parses`, more evenly than independent draws would be. The j-th sample with parse
        k has clustering k 2**40 + j of the document's random stream. With a recalibration, sample s has the same draw
        in every document.

        Parameters
        ----------
        n_samples
            At least 1.
        seed
            In [0, 2**64).
        """
        n_samples = _checks.n_samples(n_samples, 1)
        drawn = np.zeros(n_samples, np.int32)
        if len(self.parses) > 1:
            weights = [parse.weight for parse in self.parses]
            drawn = sample_parses(weights, n_samples=n_samples, seed=seed, doc_id=self.doc_id)
        return PosteriorSamples(self, _checks.seed(seed), drawn)


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorSamples:
    """Samples of a document's posterior; the clusterings are drawn parse by parse, when they are asked for.

    Attributes
    ----------
    posterior, seed
        What they are samples of.
    parses
        int32 (n_samples,): number of the parse of each sample.
    """

    posterior: DocumentPosterior
    seed: int
    parses: Ints32

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.parses)

    @property
    def parse_counts(self) -> Ints:
        """int64 (n_parses,): samples with each parse."""
        return np.bincount(self.parses, minlength=len(self.posterior.parses)).astype(np.int64)

    @property
    def draws(self) -> Ints:
        """int64 (n_samples,): number of the draw of the recalibration that each sample has."""
        recalibrated = self.posterior.recalibrated
        n_draws = 1 if recalibrated is None else min(len(recalibrated.draws), self.n_samples)
        bounds = np.linspace(0, self.n_samples, n_draws + 1).astype(np.int64)
        return np.repeat(np.arange(n_draws), np.diff(bounds))

    def of_parse(
        self,
        parse: int,
        n_mentions: int | None = None,
        apart: npt.ArrayLike | None = None,
        n_counted: int | None = None,
    ) -> ParseSamples:
        """The samples with one of the parses, and its likeliest clustering.

        Parameters
        ----------
        parse
            Number of the parse.
        n_mentions
            Draw only the first mentions, where the others do not matter.
        apart
            int (n_pairs, 2): mentions of different entities, on which the clusterings are conditioned, as of
            `corefsample.sample_clusterings`. The likeliest clustering is not.
        n_counted
            How many of the first pairs are counted where independent draws have them in one entity; None: all.
        """
        own, recalibrated = self.posterior.parses[parse].first_mentions(n_mentions), self.posterior.recalibrated
        samples = np.flatnonzero(self.parses == parse)
        pairs = None if apart is None else Apart.of_pairs(apart, own.antecedents.n_mentions, n_counted)
        labels, conditioned = np.zeros((own.antecedents.n_mentions, 0), np.int32), None
        likely = own.antecedents
        stream: dict[str, Any] = {
            "seed": self.seed,
            "doc_id": self.posterior.doc_id,
            "first_sample": parse * _CLUSTERINGS,
            "apart": pairs,
        }
        if recalibrated is not None:
            likely = recalibrated.recalibration.apply(own.antecedents, own.kinds)
        if recalibrated is not None and samples.size:
            given = recalibrated.mixed, own.antecedents, own.kinds, samples, self.n_samples
            labels, conditioned = mixture_labels(*given, **stream)
        elif samples.size:
            drawn = sample_clusterings(own.antecedents, n_samples=samples.size, **stream)
            labels, conditioned = drawn.labels.T, drawn.conditioned
        return ParseSamples(samples, labels, map_clustering(likely), conditioned)


def parse_rows(batch: DocumentBatch, row: int) -> list[tuple[float, DocumentBatch, int]]:
    """The parses of one document of a batch: for each its weight, and the batch and the row that have it."""
    if batch.parses is None:
        return [(1.0, batch, row)]
    return [(float(batch.parses.weights[place]), batch.parses.batch, place) for place in batch.parses.rows(row)]


def _kinds(batch: DocumentBatch, row: int) -> Bytes:
    return kinds_of(batch.tokens(row), batch.spans(row), batch.metadata(row), batch.doc_ids[row])
