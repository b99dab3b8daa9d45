"""Training of the antecedent model: AdaGrad on the summed likelihood of gold antecedents, and losses of documents.

Two terms can be added to the likelihood. Softmax-margin costs (Durrett & Klein 2013) raise the scores of wrong
decisions while training. The link term is the log loss of the model's exact link marginals over all pairs of mentions:
the likelihood does not depend on which gold antecedent has the probability, nor on how errors add up along a chain of
links, but the marginals do.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Floats32, Ints, Words32
from corefsample.errors import ParameterError
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.scorers._scoring import document_checksum, document_scheme, gold_entities, required_tokens
from corefsample.scorers.log_linear import _kernels
from corefsample.scorers.log_linear._model import LARGEST_TABLE, AntecedentModel, load_model, rounded
from corefsample.scorers.log_linear._readings import TRAINING_MENTIONS, Reading, TrainingMentions, readings
from corefsample.scorers.log_linear.features._encoding import Encoder
from corefsample.scorers.log_linear.features._encoding_kernels import Hashed
from corefsample.scorers.log_linear.features._feature_codes import Atom
from corefsample.scorers.log_linear.features._pair_kernels import Encoded
from corefsample.scorers.log_linear.features._templates import DEFAULT_TEMPLATES, TemplateSet
from corefsample.scorers.protocol import EpochReport, HeldOutFigures, MentionDocument, data_file
from corefsample.syntax._words import WordTable

Start = Literal["english", "none"]
BATCH = 2  # documents per step; each has a gradient buffer of its own, so that threads change no sum
PENALTY_STEPS = 16  # number of steps whose penalty is applied at once, because it changes every weight
NEGLIGIBLE = 1e-4  # slopes of candidates below this are left out
LINK_FLOOR = 1e-4  # probabilities of antecedents below this count as 0 in link marginals
LINK_SLACK = 0.005  # how far from 0 and 1 marginals are drawn
COSTS = ("false_anaphor", "false_new", "wrong_link")
NO_COSTS = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded document with its entities: int64 (n_mentions,), -1 where not annotated; and weight of its losses."""

    doc: Encoded
    hashed: Hashed
    entities: Ints
    weight: float = 1.0

    @property
    def n_annotated(self) -> int:
        """Number of annotated mentions."""
        return int((self.entities >= 0).sum())


@dataclass(frozen=True, slots=True)
class FurtherTexts:
    """Documents to train on beside the main corpus.

    Attributes
    ----------
    documents
        Documents with tokens, mentions and annotated entities.
    weight
        Weight of their losses, above 0; those of the main corpus have 1.
    mentions, windows
        Mentions and windows of the training examples: see `train`.
    partial
        True if only some kinds of entities are annotated. Phrases of the parse that are not annotated are then left out
        of the losses, and NEW has weights of its own for these documents.
    """

    documents: Sequence[MentionDocument]
    weight: float = 1.0
    mentions: TrainingMentions = "annotated"
    windows: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of training; `costs` are those of a false anaphor, a false NEW and a wrong link."""

    n_buckets: int
    epochs: int
    rate: float
    costs: tuple[float, ...]
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
    weight: float = 1.0,
    partial: bool = False,
) -> list[Example]:
    """Encode documents, as `readings` says; documents without annotated entities are left out.

    See `FurtherTexts` for `weight` and `partial`.

    Raises
    ------
    ParameterError
        If a document has no tokens, or cannot be encoded; the text begins with the doc_id.
    """
    encoder = Encoder(vocabulary, language or load_language(ENGLISH))
    examples: list[Example] = []
    for document in documents:
        gold = gold_entities(document)
        if gold is None or all(entity is None for entity in gold):
            continue
        try:
            own_scheme = scheme or document_scheme(document)
            annotated = Reading(required_tokens(document), document.mentions, gold, own_scheme, language, partial)
            for reading in readings(annotated, mentions=mentions, window_seed=window_seed, doc_id=document.doc_id):
                doc = encoder.encode(reading.tokens, reading.mentions, scheme=reading.scheme)
                doc.atoms[:, Atom.PARTIAL] = partial
                codes: dict[int | str, int] = {}
                entities = [-1 if entity is None else codes.setdefault(entity, len(codes)) for entity in reading.gold]
                examples.append(Example(doc, templates.hashed(doc), np.array(entities, np.int64), weight))
        except ParameterError as error:
            raise error.at(f"doc_id {document.doc_id!r}") from None
        logging.getLogger("corefsample.steps").info("encoded document %d", len(examples) + 1)
    return examples


class _Descent:
    """AdaGrad over the documents in one of the orders, pass by pass, with the average of its weights."""

    def __init__(
        self, examples: Sequence[Example], l2: float, options: FitOptions, number: int, start: Floats32 | None
    ) -> None:
        self._examples, self._l2, self._options = examples, l2, options
        self._weights, self._squares = np.zeros(options.n_buckets, np.float32), np.zeros(options.n_buckets)
        if start is not None:  # what another language taught is not forgotten at the first slope
            self._weights[:], self._squares[:] = start, 1.0
        self._gradients = np.zeros((BATCH, options.n_buckets), np.float32)
        # An average is the last weights less the moves, each times the share of the averaged steps before it.
        self._late_moves, self._n_averaged = np.zeros(options.n_buckets), 0
        # The first order is that of the seed alone; each further one has a stream of its own.
        self._generator = np.random.Generator(np.random.Philox(options.seed).jumped(number))

    def run(self, epoch: int, threads: Executor) -> float:
        """Go through the documents once; return the loss of the likelihood."""
        # The average is over the last pass or two; if there are several passes, never over the first.
        if epoch == 1 or epoch % 2 == 0:
            self._late_moves[:], self._n_averaged = 0.0, 0
        order = self._generator.permutation(len(self._examples))
        loss, waiting = 0.0, 0
        for start in range(0, len(order), BATCH):
            jobs = [
                threads.submit(
                    _add_slopes, self._examples[d], self._weights, self._gradients[b], self._options, links=epoch > 1
                )
                for b, d in enumerate(order[start : start + BATCH])
            ]
            loss += sum(job.result() for job in jobs)
            _kernels.adagrad_step(
                self._weights, self._gradients, self._squares, self._options.rate, self._n_averaged, self._late_moves
            )
            waiting += 1
            if waiting == PENALTY_STEPS or start + BATCH >= len(order):
                strength = self._options.rate * self._l2 * waiting
                _kernels.shrink(self._weights, self._squares, strength, self._n_averaged, self._late_moves)
                waiting = 0
            self._n_averaged += 1
        return loss

    def average(self) -> Floats:
        """Average of the weights over the last pass or two."""
        average: Floats = self._weights - self._late_moves / max(self._n_averaged, 1)
        return average


def fit(
    examples: Sequence[Example],
    held_out: Sequence[Example] | None,
    l2: float,
    options: FitOptions,
    threads: Executor,
    on_epoch: Callable[[EpochReport], None] | None = None,
    start: Floats32 | None = None,
) -> tuple[Floats32, EpochReport]:
    """Train with one penalty, from the weights `start`, or from zeros.

    Returns
    -------
    array of shape (n_buckets,), float32
        Averaged weights after the pass that did best on the held-out documents, or after the last one without any, as
        a model file stores them.
    EpochReport
        Report on the pass whose weights are returned.
    """
    descents = [_Descent(examples, l2, options, number, start) for number in range(options.orders)]
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

    def __init__(self, example: Example, weights: Floats32, costs: tuple[float, ...]) -> None:
        n = len(example.entities)
        self.scores, self.slopes = np.empty(n * (n - 1) // 2), np.empty(n * (n - 1) // 2)
        self.new_scores, self.new_slopes, self.losses = np.empty(n), np.empty(n), np.empty(n)
        self.best = np.zeros((n, 2), np.int32)
        _kernels.score_all(example.doc, example.hashed, weights, self.scores, self.new_scores, self.best)
        _kernels.antecedent_losses(
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
        _kernels.antecedent_probs(self.scores, self.new_scores, LINK_FLOOR, probs)
        return float(_kernels.link_loss(probs, entities, weight, LINK_SLACK, self.slopes, self.new_slopes))


def _add_slopes(example: Example, weights: Floats32, gradient: Floats32, options: FitOptions, *, links: bool) -> float:
    """Add the slopes of one document's loss to a gradient buffer; return the loss of the likelihood.

    The first pass omits links: the marginals of untrained weights are far off, and their slopes are large.
    """
    scored = _Pass(example, weights, options.costs)
    if links and options.link_weight > 0:
        scored.link_loss(example.entities, options.link_weight / len(example.entities))
    if example.weight != 1.0:
        scored.slopes *= example.weight
        scored.new_slopes *= example.weight
    _kernels.add_to_weights(
        example.doc, example.hashed, scored.slopes, scored.new_slopes, scored.best, NEGLIGIBLE, gradient
    )
    return float(scored.losses.sum())


def _losses(example: Example, weights: Floats32) -> tuple[float, float]:
    """Losses of one document: summed over mentions, and of its link marginals per mention."""
    scored = _Pass(example, weights, NO_COSTS)
    return float(scored.losses.sum()), scored.link_loss(example.entities, 0.0) / len(example.entities)


def retrain(
    model: AntecedentModel, documents: Iterable[MentionDocument], *, language: Language, scheme: str | None
) -> AntecedentModel:
    """Train a model with the options and templates of another one."""
    recipe = {"costs": {}, **model.recipe}
    costs = tuple(recipe.pop("costs").values()) or NO_COSTS
    return train(documents, **recipe, costs=costs, templates=model.templates, language=language, scheme=scheme)


def train(
    documents: Iterable[MentionDocument],
    *,
    held_out: Iterable[MentionDocument] | None = None,
    l2: float | Sequence[float] = 0.02,
    epochs: int = 5,
    learning_rate: float = 0.1,
    costs: Sequence[float] = NO_COSTS,
    link_weight: float = 10.0,
    templates: TemplateSet = DEFAULT_TEMPLATES,
    bits: int = 20,
    min_count: int = 1,
    orders: int = 3,
    seed: int = 0,
    n_threads: int = 2,
    scheme: str | None = None,
    mentions: TrainingMentions = "annotated",
    windows: bool = False,
    language: str | Language = ENGLISH,
    start: Start | None = None,
    further: Sequence[FurtherTexts] = (),
    provenance: Mapping[str, Any] | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> AntecedentModel:
    """Train an antecedent model on annotated documents.

    The result is a function of the documents, their order and the options; the number of threads has no effect.
    Memory grows with the square of the mentions of the longest document.

    Parameters
    ----------
    documents
        Documents with tokens, mentions and annotated entities. Mentions without an entity are ignored, as in the
        likelihood of `corefsample.recalibration`.
    held_out
        Documents whose likelihood determines the penalty and the number of passes. By default, there are none, and the
        weights after the last pass are used.
    l2
        L2 penalty, at least 0; or several penalties, of which the one with the best likelihood of the held-out
        documents is used.
    epochs
        Passes over the documents, at least 1; weights are averaged over the later ones.
    learning_rate
        Learning rate of AdaGrad, above 0.
    costs
        Softmax-margin costs, at least 0, which training adds to the scores of wrong decisions: of a false anaphor (a
        first mention is linked), of a false NEW, and of a link to a mention of another entity. Durrett & Klein's system
        has 0.1, 3 and 1.
    link_weight
        Weight of the log loss of link marginals, at least 0; with 0 the likelihood is the only loss.
    templates
        Templates of features.
    bits
        The table has 2 ** bits weights, 8 to 22.
    min_count
        Words that occur in fewer training documents are replaced by their endings. At least 1.
    orders
        Runs, each with the documents in another order, whose weights are averaged: at least 1. Time is proportional to
        it; more orders reduce the random part of a single run.
    seed
        Seed of the orders of documents.
    n_threads
        Number of threads, at least 1; more than two have no effect.
    scheme
        Dependency scheme of the documents: ud2, ud1 or clearnlp. By default, it is recognised from the labels of each
        document.
    mentions
        "annotated": the annotated mentions. "parse": mentions found in the parse, with the entity of the annotated
        mention of the same span, or else of the same head; each other mention is an entity by itself. "both": each
        document once with either. The same applies to held-out documents.
    windows
        True to train on windows of 1 to 6 sentences, too, half of them with the document's first sentence in front.
    language
        Code or folder of a language for `load_language`, or the language that it returned.
    start
        "english": begin with the weights of the English model, whose features other languages share; "none": with
        zeros. By default, "english" for other languages, unless `bits` or `templates` differ from those of that
        model, or it was trained on one of the documents.
    further
        Documents to train on too, each set with a weight and readings of its own.
    provenance
        Further entries of the model's provenance, in addition to options and held-out figures.
    on_epoch
        Function that is called with a report after each pass.

    Raises
    ------
    ParameterError
        If no document has annotated entities, one has no tokens or its labels fit no scheme, several penalties come
        without held-out documents, or an option is outside its range.

    References
    ----------
    Durrett & Klein (2013); Duchi, Hazan & Singer (2011) for AdaGrad; Nguyen & O'Connor (2015), section 5.1 and Eq. 2.
    """
    penalties = _penalties(l2)
    if len(penalties) > 1 and held_out is None:
        raise ParameterError(f"is required to choose among penalties, got l2={list(penalties)}", parameter="held_out")
    _checks.at_most("bits", _checks.whole("bits", bits, 8), int(math.log2(LARGEST_TABLE)))
    margin = dict(zip(COSTS, costs, strict=True))
    options = FitOptions(
        n_buckets=1 << bits,
        epochs=_checks.whole("epochs", epochs, 1),
        rate=_checks.above_zero("learning_rate", learning_rate),
        costs=tuple(_checks.at_least_zero(name, cost) for name, cost in margin.items()),
        link_weight=_checks.at_least_zero("link_weight", link_weight),
        seed=_checks.seed(seed),
        orders=_checks.whole("orders", orders, 1),
    )
    n_workers = min(_checks.whole("n_threads", n_threads, 1), BATCH)
    resources = language if isinstance(language, Language) else load_language(language)
    corpus = list(documents)
    every_document = [*corpus, *(document for texts in further for document in texts.documents)]
    vocabulary = _vocabulary(every_document, resources, _checks.whole("min_count", min_count, 1))
    read: dict[str, Any] = {
        "mentions": _checks.choice("mentions", mentions, TRAINING_MENTIONS),
        "window_seed": options.seed if windows else None,
        "language": resources,
    }
    examples = examples_of(corpus, vocabulary, templates, scheme, **read)
    if not examples:
        raise ParameterError("must have annotated entities to train on, got none", parameter="documents")
    held_out_examples = None if held_out is None else examples_of(held_out, vocabulary, templates, scheme, **read)
    if held_out_examples is not None and not held_out_examples:
        raise ParameterError("must have annotated entities, got none", parameter="held_out")
    for texts in further:
        examples += examples_of(
            texts.documents,
            vocabulary,
            templates,
            scheme,
            mentions=texts.mentions,
            window_seed=options.seed if texts.windows else None,
            language=resources,
            weight=texts.weight,
            partial=texts.partial,
        )
    checksums = {document_checksum(document.tokens) for document in every_document}
    begun = _start(start, checksums, templates, bits, resources)
    weights_of_start = None if begun is None else begun.weights
    with ThreadPoolExecutor(n_workers) as threads:
        runs = [
            fit(examples, held_out_examples, penalty, options, threads, on_epoch, weights_of_start)
            for penalty in penalties
        ]
    weights, report = min(runs, key=lambda run: run[1].held_out.loss if run[1].held_out else 0.0)
    more = {
        "mentions": mentions,
        "windows": windows,
        "costs": margin,
        "bits": bits,
        "min_count": min_count,
        "l2_tried": list(penalties),
        "start": "none" if begun is None else "english",
    }
    notes = dict(provenance or {})
    if begun is not None:  # the model has learned from those documents too
        checksums.update(begun.provenance["documents"])
        notes["start"] = {"attribution": begun.provenance["attribution"]}
    notes |= {
        "options": {**asdict(options), **more},
        "l2": report.l2,
        "epoch": report.epoch,
        "n_documents": len(examples),
        "n_mentions": sum(example.n_annotated for example in examples),
        "documents": sorted(checksums),
        "held_out": None if report.held_out is None else asdict(report.held_out),
    }
    return AntecedentModel(weights, vocabulary, templates, notes, resources)


def held_out_figures(
    model: AntecedentModel, documents: Iterable[MentionDocument], *, scheme: str | None = None
) -> HeldOutFigures:
    """Losses of a model on documents with gold; nothing is pruned.

    Raises
    ------
    ParameterError
        If no document has annotated entities, one has no tokens, or its labels fit no scheme.
    """
    examples = examples_of(documents, model.vocabulary, model.templates, scheme, language=model.language)
    if not examples:
        raise ParameterError("must have annotated entities, got none", parameter="documents")
    return figures(examples, model.weights)


def _vocabulary(documents: Iterable[MentionDocument], language: Language, min_count: int) -> Words32:
    """Hashes of the forms and lemmas that occur in min_count documents."""
    counts: Counter[str] = Counter()
    for document in documents:
        if document.tokens is not None:
            tokens = language.adapted(document.tokens)
            words = set(tokens.text) | set(tokens.lemma)
            counts.update({word.lower() for word in words})
    return np.unique(WordTable.hashes(word for word, n in counts.items() if n >= min_count))


def _start(
    start: Start | None, checksums: set[str], templates: TemplateSet, bits: int, language: Language
) -> AntecedentModel | None:
    """The model whose weights training begins with."""
    if start is not None and _checks.choice("start", start, get_args(Start)) == "none":
        return None
    if start is None and language.resources == ENGLISH:
        return None
    model = _english_model()
    fits = templates == model.templates and len(model.weights) == 1 << bits
    if start is None:
        return model if fits and checksums.isdisjoint(model.provenance["documents"]) else None
    if not fits:
        raise ParameterError(
            "must be none with other templates or bits than those of the English model, got english", parameter="start"
        )
    return model


def _penalties(l2: float | Sequence[float]) -> tuple[float, ...]:
    values = tuple(l2) if isinstance(l2, Sequence) else (l2,)
    if not values:
        raise ParameterError("must have at least one penalty, got none", parameter="l2")
    return tuple(_checks.at_least_zero("l2", value) for value in values)


@cache
def _english_model() -> AntecedentModel:
    return load_model(data_file("english.npz"))
