"""Runs of AdaGrad over encoded documents, and losses of weights on other documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats, Floats32, Ints, Words32
from corefsample._log import log_step
from corefsample.errors import ParameterError
from corefsample.languages._language import Language
from corefsample.mention_ranking import _kernels, _training_kernels
from corefsample.mention_ranking._model import MentionDocument, gold_entities, required_tokens
from corefsample.mention_ranking._model_file import rounded
from corefsample.mention_ranking._readings import Reading, TrainingMentions, readings
from corefsample.mention_ranking.features._encoding import encode, hashed
from corefsample.mention_ranking.features._hash_kernels import Hashed
from corefsample.mention_ranking.features._pair_kernels import Encoded
from corefsample.mention_ranking.features._templates import TemplateSet

BATCH = 2  # documents per step; each has a gradient buffer of its own, so that threads change no sum
NEGLIGIBLE = 1e-4  # slopes of candidates below this are left out
LINK_FLOOR = 1e-4  # probabilities of antecedents below this count as 0 in link marginals
LINK_SLACK = 0.005  # how far from 0 and 1 marginals are drawn


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Losses of a model on documents with gold.

    Attributes
    ----------
    n_mentions
        Annotated mentions.
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
        The penalty being tried.
    epoch, n_epochs
        From 1, and how many there are.
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


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded document with its entities: int64 (n_mentions,), -1 where not annotated."""

    doc: Encoded
    hashed: Hashed
    entities: Ints

    @property
    def n_annotated(self) -> int:
        """Number of annotated mentions."""
        return int((self.entities >= 0).sum())


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of training; `costs` are those of a false anaphor, a false NEW and a wrong link."""

    n_buckets: int
    epochs: int
    rate: float
    costs: tuple[float, float, float]
    link_weight: float
    seed: int
    orders: int = 1


def examples_of(
    documents: Iterable[MentionDocument],
    vocabulary: Words32,
    templates: TemplateSet,
    scheme: str | None = None,
    *,
    mentions: TrainingMentions = "annotated",
    window_seed: int | None = None,
    language: Language | None = None,
) -> list[Example]:
    """Encode documents, as `readings` says; documents without annotated entities are left out.

    Raises
    ------
    ParameterError
        If a document has no tokens, or cannot be encoded; the text begins with the doc_id.
    """
    examples: list[Example] = []
    for document in documents:
        gold = gold_entities(document)
        if gold is None or all(entity is None for entity in gold):
            continue
        try:
            whole = Reading(required_tokens(document), document.mentions, gold, scheme, language)
            for each in readings(whole, mentions=mentions, window_seed=window_seed, doc_id=document.doc_id):
                doc = encode(each.tokens, each.mentions, vocabulary, scheme=each.scheme, language=language)
                codes: dict[int | str, int] = {}
                entities = [-1 if entity is None else codes.setdefault(entity, len(codes)) for entity in each.gold]
                examples.append(Example(doc, hashed(doc, templates), np.array(entities, np.int64)))
        except ParameterError as error:
            raise error.at(f"doc_id {document.doc_id!r}") from None
        log_step("encoded document %d", len(examples) + 1)
    return examples


class _Descent:
    """AdaGrad over the documents in one of the orders, pass by pass, with the average of its weights."""

    def __init__(self, examples: Sequence[Example], l2: float, options: FitOptions, number: int) -> None:
        self._examples, self._l2, self._options = examples, l2, options
        self._weights, self._squares = np.zeros(options.n_buckets, np.float32), np.zeros(options.n_buckets)
        self._gradients = np.zeros((BATCH, options.n_buckets), np.float32)
        self._sums, self._n_summed = np.zeros(options.n_buckets), 0
        # The first order is that of the seed alone; each further one has a stream of its own.
        self._generator = np.random.Generator(np.random.Philox(options.seed).jumped(number))

    def run(self, epoch: int, threads: Executor) -> float:
        """Go through the documents once; return the loss of the likelihood."""
        if epoch % 2 == 0:  # the average is over the last pass or two, never over the first
            self._sums[:], self._n_summed = 0.0, 0
        averaging = epoch > 1 or self._options.epochs == 1
        order = self._generator.permutation(len(self._examples))
        loss = 0.0
        for start in range(0, len(order), BATCH):
            jobs = [
                threads.submit(
                    _add_slopes, self._examples[d], self._weights, self._gradients[b], self._options, links=epoch > 1
                )
                for b, d in enumerate(order[start : start + BATCH])
            ]
            loss += sum(job.result() for job in jobs)
            _training_kernels.adagrad_step(
                self._weights, self._gradients, self._squares, self._options.rate, self._l2, self._sums, averaging
            )
            self._n_summed += averaging
        return loss

    def average(self) -> Floats:
        """Average of the weights over the last pass or two."""
        return self._sums / self._n_summed if self._n_summed else self._weights.astype(np.float64)


def fit(
    examples: Sequence[Example],
    held_out: Sequence[Example] | None,
    l2: float,
    options: FitOptions,
    threads: Executor,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> tuple[Floats32, EpochReport]:
    """Train with one penalty.

    Returns
    -------
    array of shape (n_buckets,), float32
        Averaged weights after the pass that did best on the held-out documents, or after the last one without any, as
        a model file stores them.
    EpochReport
        Of that pass.
    """
    descents = [_Descent(examples, l2, options, number) for number in range(options.orders)]
    n_mentions = sum(example.n_annotated for example in examples)
    best: tuple[float, Floats32, EpochReport] | None = None
    for epoch in range(1, options.epochs + 1):
        loss = math.fsum(descent.run(epoch, threads) for descent in descents) / options.orders
        mean = sum((descent.average() for descent in descents), np.zeros(options.n_buckets)) / options.orders
        current = rounded(mean.astype(np.float32))
        on_held_out = None if held_out is None else figures(held_out, current, threads)
        report = EpochReport(l2, epoch, options.epochs, loss / n_mentions, on_held_out)
        if on_epoch is not None:
            on_epoch(report)
        value = -float(epoch) if on_held_out is None else on_held_out.loss
        if best is None or value < best[0]:
            best = value, current, report
    assert best is not None  # epochs is at least 1
    return best[1], best[2]


def figures(examples: Sequence[Example], weights: Floats32, threads: Executor | None = None) -> HeldOutFigures:
    """Losses of weights on documents."""
    apply = map if threads is None else threads.map
    losses = list(apply(lambda example: _losses(example, weights), examples))
    n_mentions = sum(example.n_annotated for example in examples)
    return HeldOutFigures(
        n_mentions=n_mentions,
        loss=math.fsum(loss for loss, _ in losses) / n_mentions,
        link_loss=math.fsum(links for _, links in losses) / len(examples),
    )


class _Pass:
    """Scores of one document, losses of the likelihood by mention, and slopes in the scores."""

    def __init__(self, example: Example, weights: Floats32, costs: tuple[float, float, float]) -> None:
        n = len(example.entities)
        self.scores, self.slopes = np.empty(n * (n - 1) // 2), np.empty(n * (n - 1) // 2)
        self.new_scores, self.new_slopes, self.losses = np.empty(n), np.empty(n), np.empty(n)
        self.best = np.zeros((n, 2), np.int32)
        _kernels.score_all(example.doc, example.hashed, weights, self.scores, self.new_scores, self.best)
        _training_kernels.antecedent_losses(
            self.scores,
            self.new_scores,
            example.entities,
            np.array(costs),
            self.losses,
            self.slopes,
            self.new_slopes,
        )

    def link_loss(self, entities: Ints, weight: float) -> float:
        """Loss of the link marginals; `weight` times its slopes are added to the others."""
        probs = np.zeros((len(entities), len(entities)))
        _training_kernels.antecedent_probs(self.scores, self.new_scores, LINK_FLOOR, probs)
        return float(_training_kernels.link_loss(probs, entities, weight, LINK_SLACK, self.slopes, self.new_slopes))


def _add_slopes(example: Example, weights: Floats32, gradient: Floats32, options: FitOptions, *, links: bool) -> float:
    """Add the slopes of one document's loss to a gradient buffer; return the loss of the likelihood.

    The first pass omits links: the marginals of untrained weights are far off, and their slopes are large.
    """
    scored = _Pass(example, weights, options.costs)
    if links and options.link_weight > 0:
        scored.link_loss(example.entities, options.link_weight / len(example.entities))
    _kernels.add_to_weights(
        example.doc, example.hashed, scored.slopes, scored.new_slopes, scored.best, NEGLIGIBLE, gradient
    )
    return float(scored.losses.sum())


def _losses(example: Example, weights: Floats32) -> tuple[float, float]:
    """Losses of one document: summed over mentions, and of its link marginals per mention."""
    scored = _Pass(example, weights, (0.0, 0.0, 0.0))
    return float(scored.losses.sum()), scored.link_loss(example.entities, 0.0) / len(example.entities)
