"""What a scorer of antecedents is: words and mentions in, distributions over antecedents out; reports of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy.typing as npt

from corefsample._arrays import Bools
from corefsample.coreference._antecedents import Pruned
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.files._paths import PathLike
from corefsample.languages._language import Language

MentionSource = Literal["annotated", "parse"]
MENTION_SOURCES: tuple[MentionSource, ...] = ("annotated", "parse")
MentionDocument = ScoredDocument | AnnotatedDocument
MIN_PROB = 1e-4


class AntecedentScorer(Protocol):
    """A scorer of antecedents, trained for one language.

    `corefsample.scorers.load_scorer` loads one by its name or path; nothing else knows which kind it is.
    """

    @property
    def kind(self) -> str:
        """Name of its folder in `corefsample.scorers`."""

    @property
    def language(self) -> Language:
        """Resources of the language of its training."""

    @property
    def needs(self) -> frozenset[str]:
        """Columns of `Tokens` that it reads beside the words; "dep" stands for a parse."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Data, options and held-out figures of its training; anything that JSON can represent."""

    @property
    def recipe(self) -> dict[str, Any]:
        """Options of its training, for records and for training it again; anything that JSON can represent."""

    @property
    def seen(self) -> frozenset[str]:
        """Checksums of the documents of its training, by `corefsample.scorers._scoring.document_checksum`."""

    def score(
        self,
        tokens: Sequence[Tokens],
        mentions: Sequence[npt.ArrayLike],
        *,
        min_prob: float = MIN_PROB,
        scheme: str | None = None,
    ) -> list[Pruned]:
        """Score the antecedents of the mentions of several texts.

        Parameters
        ----------
        tokens
            Words of each text, with the columns that the scorer needs.
        mentions
            int (n_mentions, 3) for each text: start, end (exclusive) and head, sorted by start, then longest first.
        min_prob
            Candidates of a lower probability are left out; in [0, 1).
        scheme
            Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.

        Returns
        -------
        list of Pruned
            One result per text: the distribution, with scores relative to NEW, and what was left out.
        """

    def knows(self, words: Sequence[str]) -> Bools:
        """True for each of `words`, in lower case, that the scorer knows; in texts of another language it knows few."""

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write a file that `corefsample.scorers.load_scorer` reads.

        Parameters
        ----------
        path
            Path of the new file.
        overwrite
            True if an existing file is replaced; by default it is an error.
        """


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Losses of a model on documents with gold.

    Attributes
    ----------
    n_mentions
        Number of annotated mentions.
    loss
        Mean -log P(gold antecedents) per mention, in nats.
    link_loss
        Mean over documents of the log loss of link marginals, summed over pairs and divided by mentions, in nats.
    """

    n_mentions: int
    loss: float
    link_loss: float


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One pass over the training documents.

    Attributes
    ----------
    l2
        L2 penalty with which the model is trained.
    epoch, n_epochs
        Number of this pass, from 1, and number of all passes.
    loss
        Mean training loss per mention, in nats, costs included, while the weights moved; mean over the orders.
    held_out
        Figures on the held-out documents after the pass, or None without any.
    """

    l2: float
    epoch: int
    n_epochs: int
    loss: float
    held_out: HeldOutFigures | None
