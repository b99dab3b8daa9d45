"""What a scorer of antecedents is: words and mentions in, distributions over antecedents out; and the shipped ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, Protocol

import numpy as np

from corefsample._arrays import Bools
from corefsample.coreference._antecedents import Pruned
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterHint
from corefsample.files._paths import PathLike
from corefsample.languages._language import Language

MentionSource = Literal["annotated", "parse"]
MENTION_SOURCES: tuple[MentionSource, ...] = ("annotated", "parse")
MentionDocument = ScoredDocument | AnnotatedDocument
MIN_PROB = 1e-4

# Files of the shipped scorers by the code of their language and the mentions that they score.
SHIPPED: dict[str, dict[MentionSource, str]] = {
    "en": {"parse": "english.npz", "annotated": "english.npz"},
    "es": {"parse": "spanish.npz", "annotated": "spanish-annotated.npz"},
}
DEFAULT = "en"


class AntecedentScorer(Protocol):
    """A scorer of antecedents, trained for one language.

    `corefsample.scorers.load_scorer` loads a scorer by its name or path. No other code depends on the kind of a scorer.
    """

    @property
    def kind(self) -> str:
        """Name of the kind of scorer: the folder of `corefsample.scorers` that has its code."""

    @property
    def language(self) -> Language:
        """Language of the texts on which the scorer was trained, with the word lists of this language."""

    @property
    def needs(self) -> frozenset[str]:
        """Names of the columns of `Tokens` that the scorer reads beside the words; "dep" stands for the whole parse."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Data, options and held-out figures of the training of the scorer, as JSON values."""

    @property
    def recipe(self) -> dict[str, Any]:
        """Options of the training of the scorer, as JSON values: for records, and for training it again."""

    @property
    def seen(self) -> frozenset[str]:
        """Checksums of the documents on which the scorer was trained, which show whether a document was among them."""

    def score(
        self,
        tokens: Sequence[Tokens],
        mentions: Sequence[np.typing.ArrayLike],
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
            Least probability of a candidate that is kept, in [0, 1).
        scheme
            Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.

        Returns
        -------
        list of Pruned
            One result per text: the distribution, with scores relative to NEW, and the probability that was left out.

        Raises
        ------
        ParameterError
            If a text lacks a column that the scorer needs, mentions are invalid, `min_prob` is outside [0, 1), or the
            labels of a parse fit no scheme.
        """

    def knows(self, words: Sequence[str]) -> Bools:
        """True for each of `words` that the scorer knows from training: bool (n_words,).

        The words must be in lower case. Few known words mean that a text is of another language or genre.
        """

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write a file that `corefsample.scorers.load_scorer` reads.

        Parameters
        ----------
        path
            Path of the new file.
        overwrite
            True if an existing file may be replaced; by default it may not.

        Raises
        ------
        ParameterError
            If the file exists and `overwrite` is false.
        OutputError
            If the file cannot be written.
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

    def to_json(self) -> dict[str, Any]:
        """Penalty, number of the pass, and losses in training and on held-out documents, None without these."""
        values: dict[str, Any] = {"l2": self.l2, "epoch": self.epoch, "loss": self.loss}
        losses = self.held_out
        return values | {"held_out_loss": losses and losses.loss, "held_out_link_loss": losses and losses.link_loss}


def data_file(name: str) -> str:
    """Path of a file that comes with the scorers: a model or the recalibration of its scores."""
    return str(resources.files("corefsample.scorers.log_linear").joinpath("data", name))


def other_scorer(language: str | None) -> ParameterHint:
    """The next step where a scorer is of another language than the documents."""
    if language == DEFAULT:
        return ParameterHint("model", "is left out for the English one of the package")
    if language in SHIPPED:
        return ParameterHint("model", f"{language} takes that of the package")
    return ParameterHint("model", f"names one of the language {language}, which `corefsample train` makes")
