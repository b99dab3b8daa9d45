"""Training of the antecedent model: AdaGrad on the summed likelihood of gold antecedents.

Two things may be added to the likelihood. Softmax-margin costs (Durrett & Klein 2013) make wrong decisions look better
than they are while training. The link term is the log loss of the model's exact link marginals over all pairs of
mentions: the likelihood is indifferent to which gold antecedent has the probability, and to how errors add up along a
chain of links, but the marginals are not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.mention_ranking import _kernels, _training_kernels
from corefsample.mention_ranking.features import encode, hashed
from corefsample.mention_ranking.model import LARGEST_TABLE, AntecedentModel, MentionDocument, gold_entities
from corefsample.mention_ranking.templates import DEFAULT_TEMPLATES, TemplateSet
from corefsample.mention_ranking.words import word_hash

__all__ = ["EpochReport", "HeldOutFigures", "SoftmaxMargin", "held_out_figures", "train"]

Floats = npt.NDArray[np.float64]

_BATCH = 2  # documents a step; each has a gradient buffer of its own, so that threads change no sum
_NEGLIGIBLE = 1e-4  # slopes of candidates below this are left out
_LINK_FLOOR = 1e-4  # probabilities of antecedents below this count as 0 in link marginals
_LINK_SLACK = 0.005


@dataclass(frozen=True, slots=True)
class SoftmaxMargin:
    """Costs that are added to the scores of wrong decisions while training; 0 leaves the likelihood as it is.

    Attributes
    ----------
    false_anaphor
        A first mention is linked.
    false_new
        A mention that has an antecedent is NEW.
    wrong_link
        A mention is linked to one of another entity.

    References
    ----------
    Durrett & Klein (2013), whose system has 0.1, 3 and 1.
    """

    false_anaphor: float = 0.0
    false_new: float = 0.0
    wrong_link: float = 0.0

    def __post_init__(self) -> None:
        for name, cost in asdict(self).items():
            _at_least_zero(name, cost)


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """How well a model does on documents with gold.

    Attributes
    ----------
    n_mentions
        Annotated mentions.
    loss
        Mean -log P(gold antecedents) a mention, in nats.
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
        Mean training loss a mention, in nats, costs included, while the weights moved.
    held_out
        Figures on the held-out documents after the pass, or None without any.
    """

    l2: float
    epoch: int
    n_epochs: int
    loss: float
    held_out: HeldOutFigures | None


@dataclass(frozen=True, slots=True, eq=False)
class _Example:
    doc: Any
    hashed: Any
    entities: npt.NDArray[np.int64]

    @property
    def n_annotated(self) -> int:
        return int((self.entities >= 0).sum())


@dataclass(frozen=True, slots=True)
class _Options:
    epochs: int
    rate: float
    costs: Floats
    link_weight: float
    seed: int
    n_threads: int


def train(
    documents: Iterable[MentionDocument],
    *,
    held_out: Iterable[MentionDocument] | None = None,
    l2: float | Sequence[float] = 0.1,
    epochs: int = 5,
    learning_rate: float = 0.1,
    costs: SoftmaxMargin | None = None,
    link_weight: float = 10.0,
    templates: TemplateSet = DEFAULT_TEMPLATES,
    bits: int = 18,
    min_count: int = 3,
    seed: int = 0,
    n_threads: int = 2,
    scheme: str | None = None,
    provenance: dict[str, Any] | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> AntecedentModel:
    """Train an antecedent model on annotated documents.

    The result is a function of the documents, their order and the options; threads change nothing.

    Parameters
    ----------
    documents
        With tokens, mentions and annotated entities. Mentions without an entity have no part, as in the likelihood of
        `corefsample.recalibration`.
    held_out
        Documents to choose the penalty and the number of passes on, by their likelihood.
    l2
        The penalty, or several to choose from on the held-out documents. At least 0.
    epochs
        Passes over the documents, at least 1; weights are averaged over the later ones.
    learning_rate
        Of AdaGrad, above 0.
    costs
        Softmax-margin costs; None: none.
    link_weight
        How much the log loss of link marginals counts, at least 0; 0 leaves the likelihood alone.
    templates
        What features there are.
    bits
        The table has 2 ** bits weights, 8 to 22.
    min_count
        Words that occur in fewer documents of training stand as their endings. At least 1.
    seed
        Of the order of documents.
    n_threads
        At least 1; more than two bring nothing.
    scheme
        ud2, ud1 or clearnlp; None: told from the labels, by document.
    provenance
        What to keep in the model besides options and held-out figures.
    on_epoch
        Called after each pass.

    Raises
    ------
    ParameterError
        If no document has annotated entities, one has no tokens or labels of no scheme, several penalties come without
        held-out documents, or an option is outside its range.

    References
    ----------
    Durrett & Klein (2013); Duchi, Hazan & Singer (2011) for AdaGrad; Nguyen & O'Connor (2015), section 5.1 and Eq. 2.
    """
    penalties = _penalties(l2)
    if len(penalties) > 1 and held_out is None:
        raise ParameterError(f"held_out must be given to choose among penalties, got None and l2={list(penalties)}")
    options = _Options(
        epochs=_checks.whole("epochs", epochs, 1),
        rate=_above_zero("learning_rate", learning_rate),
        costs=np.array(list(asdict(costs or SoftmaxMargin()).values()), float),
        link_weight=_at_least_zero("link_weight", link_weight),
        seed=_checks.seed(seed),
        n_threads=_checks.whole("n_threads", n_threads, 1),
    )
    _checks.at_most("bits", _checks.whole("bits", bits, 8), int(math.log2(LARGEST_TABLE)))
    given = list(documents)
    vocabulary = _vocabulary(given, _checks.whole("min_count", min_count, 1))
    examples = _examples(given, vocabulary, templates, scheme)
    if not any(example.n_annotated for example in examples):
        raise ParameterError("documents must have annotated entities to train on, got none")
    tried = None if held_out is None else _examples(held_out, vocabulary, templates, scheme)
    if tried is not None and not any(example.n_annotated for example in tried):
        raise ParameterError("held_out must have annotated entities, got none")
    best: tuple[float, npt.NDArray[np.float32], EpochReport] | None = None
    with ThreadPoolExecutor(min(options.n_threads, _BATCH)) as threads:
        for penalty in penalties:
            weights, report = _fit(examples, tried, penalty, 1 << bits, options, threads, on_epoch)
            loss = report.held_out.loss if report.held_out else 0.0
            if best is None or loss < best[0]:
                best = loss, weights, report
    assert best is not None  # there is a penalty at least
    notes = {
        **(provenance or {}),
        "options": {
            "l2": best[2].l2,
            "l2_tried": list(penalties),
            "epochs": best[2].epoch,
            "epochs_tried": epochs,
            "learning_rate": learning_rate,
            "costs": asdict(costs or SoftmaxMargin()),
            "link_weight": link_weight,
            "bits": bits,
            "min_count": min_count,
            "seed": seed,
        },
        "n_documents": len(examples),
        "n_mentions": sum(example.n_annotated for example in examples),
        "held_out": None if best[2].held_out is None else asdict(best[2].held_out),
    }
    return AntecedentModel(best[1], vocabulary, templates, notes)


def held_out_figures(model: AntecedentModel, documents: Iterable[MentionDocument]) -> HeldOutFigures:
    """Losses of a model on documents with gold; unlike `recalibration`, nothing is pruned.

    Raises
    ------
    ParameterError
        If no document has annotated entities, or one has no tokens.
    """
    examples = _examples(documents, model.vocabulary, model.templates, None)
    if not any(example.n_annotated for example in examples):
        raise ParameterError("documents must have annotated entities, got none")
    return _figures(examples, model.weights)


def _fit(
    examples: Sequence[_Example],
    held_out: Sequence[_Example] | None,
    l2: float,
    n_buckets: int,
    options: _Options,
    threads: ThreadPoolExecutor,
    on_epoch: Callable[[EpochReport], None] | None,
) -> tuple[npt.NDArray[np.float32], EpochReport]:
    """Train with one penalty; return the averaged weights of the best pass, and its report."""
    weights, squares = np.zeros(n_buckets, np.float32), np.zeros(n_buckets)
    gradients = np.zeros((_BATCH, n_buckets), np.float32)
    generator = np.random.Generator(np.random.Philox(options.seed))
    n_mentions = sum(example.n_annotated for example in examples)
    best: tuple[float, npt.NDArray[np.float32], EpochReport] | None = None
    averages, n_averaged = np.zeros(n_buckets), 0
    for epoch in range(1, options.epochs + 1):
        if epoch % 2 == 0:  # the average is over the last pass or two, never over the first
            averages[:], n_averaged = 0.0, 0
        order = generator.permutation(len(examples))
        loss = 0.0
        for start in range(0, len(order), _BATCH):
            batch = [examples[d] for d in order[start : start + _BATCH]]
            jobs = [threads.submit(_add_slopes, e, weights, g, epoch, options) for e, g in zip(batch, gradients, strict=False)]
            loss += sum(job.result() for job in jobs)
            averaging = epoch > 1 or options.epochs == 1
            _training_kernels.adagrad_step(weights, gradients, squares, options.rate, l2, averages, averaging)
            n_averaged += averaging
        current = (averages / n_averaged if n_averaged else weights).astype(np.float32)
        figures = None if held_out is None else _figures(held_out, current, threads)
        report = EpochReport(l2, epoch, options.epochs, loss / n_mentions, figures)
        if on_epoch is not None:
            on_epoch(report)
        value = -epoch if figures is None else figures.loss
        if best is None or value < best[0]:
            best = value, current, report
    assert best is not None  # there is a pass at least
    return best[1], best[2]


def _add_slopes(
    example: _Example, weights: npt.NDArray[np.float32], gradient: npt.NDArray[np.float32], epoch: int, options: _Options
) -> float:
    """Add the slopes of one document's loss to a gradient buffer; return the likelihood's part of the loss."""
    n = len(example.entities)
    scores, slopes = np.empty(n * (n - 1) // 2), np.empty(n * (n - 1) // 2)
    new_scores, new_slopes, losses = np.empty(n), np.empty(n), np.empty(n)
    best = np.zeros((n, 2), np.int32)
    _kernels.score_all(example.doc, example.hashed, weights, scores, new_scores, best)
    _training_kernels.antecedent_losses(
        scores, new_scores, example.entities, options.costs, losses, slopes, new_slopes
    )
    # In the first pass marginals are far off, and their slopes large.
    if options.link_weight > 0 and epoch > 1 and n > 1:
        probs = np.zeros((n, n))
        _training_kernels.antecedent_probs(scores, new_scores, _LINK_FLOOR, probs)
        _training_kernels.link_loss(
            probs, example.entities, options.link_weight / n, _LINK_SLACK, slopes, new_slopes
        )
    _kernels.add_to_weights(example.doc, example.hashed, slopes, new_slopes, best, _NEGLIGIBLE, gradient)
    return float(losses.sum())


def _losses(example: _Example, weights: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Losses of one document: summed over mentions, and of its link marginals a mention."""
    n = len(example.entities)
    scores, slopes = np.empty(n * (n - 1) // 2), np.empty(n * (n - 1) // 2)
    new_scores, new_slopes, losses = np.empty(n), np.empty(n), np.empty(n)
    _kernels.score_all(example.doc, example.hashed, weights, scores, new_scores, np.zeros((n, 2), np.int32))
    _training_kernels.antecedent_losses(
        scores, new_scores, example.entities, np.zeros(3), losses, slopes, new_slopes
    )
    probs = np.zeros((n, n))
    _training_kernels.antecedent_probs(scores, new_scores, _LINK_FLOOR, probs)
    links = _training_kernels.link_loss(probs, example.entities, 0.0, _LINK_SLACK, slopes, new_slopes)
    return float(losses.sum()), links / max(n, 1)


def _figures(
    examples: Sequence[_Example], weights: npt.NDArray[np.float32], threads: ThreadPoolExecutor | None = None
) -> HeldOutFigures:
    apply = map if threads is None else threads.map
    losses = list(apply(lambda example: _losses(example, weights), examples))
    n_mentions = sum(example.n_annotated for example in examples)
    return HeldOutFigures(
        n_mentions=n_mentions,
        loss=math.fsum(loss for loss, _ in losses) / n_mentions,
        link_loss=math.fsum(links for _, links in losses) / len(examples),
    )


def _examples(
    documents: Iterable[MentionDocument],
    vocabulary: npt.NDArray[np.uint32],
    templates: TemplateSet,
    scheme: str | None,
) -> list[_Example]:
    """Encode documents; those without gold or mentions are left out."""
    examples = []
    for document in documents:
        gold = gold_entities(document)
        if gold is None or not gold:
            continue
        try:
            if document.tokens is None:
                raise ParameterError("tokens must be there to train on, got none")
            _, doc = encode(document.tokens, document.mentions, vocabulary, scheme=scheme)
        except ParameterError as error:
            raise ParameterError(f"doc_id {document.doc_id!r}: {error}") from None
        codes: dict[int | str, int] = {}
        entities = [-1 if entity is None else codes.setdefault(entity, len(codes)) for entity in gold]
        examples.append(_Example(doc, hashed(doc, templates), np.array(entities, np.int64)))
    return examples


def _vocabulary(documents: Iterable[MentionDocument], min_count: int) -> npt.NDArray[np.uint32]:
    """Hashes of the forms and lemmas that occur in min_count documents."""
    counts: Counter[str] = Counter()
    for document in documents:
        if document.tokens is not None:
            words = set(document.tokens.text) | set(document.tokens.lemma)
            counts.update({word.lower() for word in words})
    return np.unique(np.array([word_hash(word) for word, n in counts.items() if n >= min_count], np.uint32))


def _penalties(l2: float | Sequence[float]) -> tuple[float, ...]:
    values = tuple(l2) if isinstance(l2, Sequence) else (l2,)
    if not values:
        raise ParameterError("l2 must have a penalty, got none")
    return tuple(_at_least_zero("l2", value) for value in values)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def _at_least_zero(name: str, value: object) -> float:
    number = _number(name, value)
    if number < 0:
        raise ParameterError(f"{name} must be at least 0, got {value!r}")
    return number


def _above_zero(name: str, value: object) -> float:
    number = _number(name, value)
    if number <= 0:
        raise ParameterError(f"{name} must be above 0, got {value!r}")
    return number
