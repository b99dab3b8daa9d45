"""Training of the antecedent model: AdaGrad on the summed likelihood of gold antecedents, and losses of documents.

A second term is added to the likelihood: the log loss of the model's exact link marginals over all pairs of mentions.
The likelihood does not depend on which gold antecedent has the probability, nor on how errors add up along a chain of
links, but the marginals do.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats32, Words32
from corefsample.errors import ParameterError
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.scorers._scoring import document_checksum
from corefsample.scorers.log_linear import _kernels
from corefsample.scorers.log_linear._encoding import DEFAULT_TEMPLATES, TemplateSet
from corefsample.scorers.log_linear._examples import Example, TrainingMentions, TrainingTexts, examples_of
from corefsample.scorers.log_linear._model import LARGEST_TABLE, AntecedentModel, load_model, rounded
from corefsample.scorers.protocol import EpochReport, HeldOutFigures, MentionDocument, data_file
from corefsample.syntax._words import word_hashes

Start = Literal["english", "none"]
BATCH = 2  # documents per step; each has a thread and a gradient buffer of its own, so that threads change no sum
PENALTY_STEPS = 16  # number of steps whose penalty is applied at once, because it changes every weight
NEGLIGIBLE = 1e-4  # slopes of candidates below this are left out
LINK_FLOOR = 1e-4  # probabilities of antecedents below this count as 0 in link marginals
LINK_SLACK = 0.005  # how far from 0 and 1 marginals are drawn


def fit(
    examples: Sequence[Example],
    held_out: Sequence[Example] | None,
    l2: float,
    *,
    n_buckets: int,
    epochs: int,
    rate: float,
    link_weight: float,
    seed: int,
    orders: int,
    threads: Executor,
    on_epoch: Callable[[EpochReport], None] | None,
    start: Floats32 | None,
) -> tuple[Floats32, EpochReport]:
    """Train with one penalty, from the weights `start`, or from zeros: AdaGrad over the documents in several orders.

    Returns
    -------
    array of shape (n_buckets,), float32
        Averaged weights after the pass that did best on the held-out documents, or after the last one without any, as
        a model file stores them.
    EpochReport
        Report on the pass whose weights are returned.
    """
    weights, squares = np.zeros((orders, n_buckets), np.float32), np.zeros((orders, n_buckets))
    if start is not None:  # what another language taught is not forgotten at the first slope
        weights[:], squares[:] = start, 1.0
    gradients = np.zeros((BATCH, n_buckets), np.float32)
    # An average is the last weights less the moves, each times the share of the averaged steps before it.
    late_moves, n_averaged = np.zeros((orders, n_buckets)), 0
    # The first order is that of the seed alone; each further one has a stream of its own.
    generators = [np.random.Generator(np.random.Philox(seed).jumped(number)) for number in range(orders)]
    n_mentions, n_steps = sum(example.n_annotated for example in examples), -(-len(examples) // BATCH)
    best: tuple[float, Floats32, EpochReport] | None = None
    for epoch in range(1, epochs + 1):
        # The average is over the last pass or two; if there are several passes, never over the first.
        if epoch == 1 or epoch % 2 == 0:
            late_moves[:], n_averaged = 0.0, 0
        # The first pass omits links: the marginals of untrained weights are far off, and their slopes are large.
        weight_of_links = link_weight if epoch > 1 else 0.0
        losses = [0.0] * orders
        for order, generator in enumerate(generators):
            moving = weights[order], squares[order], late_moves[order]
            shuffled = [examples[d] for d in generator.permutation(len(examples))]
            for step in range(n_steps):
                batch = shuffled[step * BATCH : (step + 1) * BATCH]
                jobs = [
                    threads.submit(_losses, example, weights[order], weight_of_links, gradient)
                    for example, gradient in zip(batch, gradients, strict=False)
                ]
                losses[order] += sum(job.result()[0] for job in jobs)
                _kernels.adagrad_step(*moving, gradients, rate, n_averaged + step)
                n_waiting = step % PENALTY_STEPS + 1
                if n_waiting == PENALTY_STEPS or step == n_steps - 1:
                    _kernels.shrink(*moving, rate * l2 * n_waiting, n_averaged + step)
        n_averaged += n_steps
        current = rounded((weights - late_moves / n_averaged).mean(axis=0).astype(np.float32))
        on_held_out = None if held_out is None else figures(held_out, current, threads)
        report = EpochReport(l2, epoch, epochs, math.fsum(losses) / orders / n_mentions, on_held_out)
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
    losses, link_losses = zip(*apply(lambda example: _losses(example, weights), examples), strict=True)
    n_mentions = sum(example.n_annotated for example in examples)
    return HeldOutFigures(n_mentions, math.fsum(losses) / n_mentions, math.fsum(link_losses) / len(examples))


def _losses(
    example: Example, weights: Floats32, link_weight: float = 0.0, gradient: Floats32 | None = None
) -> tuple[float, float]:
    """Losses of one document: of the likelihood, summed over mentions, and of its link marginals per mention.

    The slopes of both in the weights, with a weight of the second one, are added to `gradient` if it is not None.
    """
    doc, hashed, entities = example.doc, example.hashed, example.entities
    n, loss_of_links = len(entities), 0.0
    scores, slopes = np.empty(n * (n - 1) // 2), np.empty(n * (n - 1) // 2)
    new_scores, new_slopes, losses, best = np.empty(n), np.empty(n), np.empty(n), np.zeros((n, 2), np.int32)
    _kernels.score_all(doc, hashed, weights, scores, new_scores, best)
    _kernels.antecedent_losses(scores, new_scores, entities, losses, slopes, new_slopes)
    if gradient is None or link_weight > 0.0:
        probs = np.zeros((n, n))
        _kernels.antecedent_probs(scores, new_scores, LINK_FLOOR, probs)
        loss_of_links = _kernels.link_loss(probs, entities, link_weight / n, LINK_SLACK, slopes, new_slopes)
    if gradient is not None:
        slopes *= example.weight
        new_slopes *= example.weight
        _kernels.add_to_weights(doc, hashed, slopes, new_slopes, best, NEGLIGIBLE, gradient)
    return float(losses.sum()), loss_of_links / n


def train(
    documents: Iterable[MentionDocument],
    *,
    held_out: Iterable[MentionDocument] | None = None,
    l2: float | Sequence[float] = 0.02,
    epochs: int = 5,
    learning_rate: float = 0.1,
    link_weight: float = 10.0,
    templates: TemplateSet = DEFAULT_TEMPLATES,
    bits: int = 20,
    min_count: int = 1,
    orders: int = 3,
    seed: int = 0,
    scheme: str | None = None,
    mentions: TrainingMentions = "annotated",
    windows: bool = False,
    language: str | Language = ENGLISH,
    start: Start | None = None,
    further: Sequence[TrainingTexts] = (),
    provenance: Mapping[str, Any] | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> AntecedentModel:
    """Train an antecedent model on annotated documents.

    The result is a function of the documents, their order and the options.
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
    penalties = tuple(_checks.at_least_zero("l2", value) for value in (l2 if isinstance(l2, Sequence) else (l2,)))
    _checks.require("l2", penalties, "must have at least one penalty", "none")
    if len(penalties) > 1 and held_out is None:
        raise ParameterError(f"is required to choose among penalties, got l2={list(penalties)}", parameter="held_out")
    _checks.at_most("bits", _checks.whole("bits", bits, 8), int(math.log2(LARGEST_TABLE)))
    _checks.choice("mentions", mentions, get_args(TrainingMentions))
    options: dict[str, Any] = {
        "n_buckets": 1 << bits,
        "epochs": _checks.whole("epochs", epochs, 1),
        "rate": _checks.above_zero("learning_rate", learning_rate),
        "link_weight": _checks.at_least_zero("link_weight", link_weight),
        "seed": _checks.seed(seed),
        "orders": _checks.whole("orders", orders, 1),
    }
    resources = language if isinstance(language, Language) else load_language(language)
    corpora = [TrainingTexts(list(documents), 1.0, mentions, windows), *further]
    every_document = [document for texts in corpora for document in texts.documents]
    vocabulary = _vocabulary(every_document, resources, _checks.whole("min_count", min_count, 1))

    encoding = vocabulary, templates, resources, scheme, seed
    examples = [example for texts in corpora for example in examples_of(texts, *encoding)]
    _checks.require("documents", examples, "must have annotated entities to train on", "none")
    held_out_texts = None if held_out is None else TrainingTexts(list(held_out), 1.0, mentions, windows)
    tested = None if held_out_texts is None else examples_of(held_out_texts, *encoding)
    _checks.require("held_out", tested is None or tested, "must have annotated entities", "none")
    checksums = {document_checksum(document.tokens) for document in every_document}
    begun = _start(start, checksums, templates, bits, resources)
    weights_of_start = None if begun is None else begun.weights
    with ThreadPoolExecutor(BATCH) as threads:
        runs = [
            fit(examples, tested, penalty, **options, threads=threads, on_epoch=on_epoch, start=weights_of_start)
            for penalty in penalties
        ]
    weights, report = min(runs, key=lambda run: run[1].held_out.loss if run[1].held_out else 0.0)
    notes = dict(provenance or {})
    if begun is not None:  # the model has learned from those documents too
        checksums.update(begun.provenance["documents"])
        notes["start"] = {"attribution": begun.provenance["attribution"]}
    options |= {"mentions": mentions, "windows": windows, "bits": bits, "min_count": min_count}
    notes |= {
        "options": {**options, "l2_tried": list(penalties), "start": "none" if begun is None else "english"},
        "l2": report.l2,
        "epoch": report.epoch,
        "n_documents": len(examples),
        "n_mentions": sum(example.n_annotated for example in examples),
        "documents": sorted(checksums),
        "held_out": None if report.held_out is None else asdict(report.held_out),
    }
    return AntecedentModel(weights, vocabulary, templates, notes, resources)


def _vocabulary(documents: Iterable[MentionDocument], language: Language, min_count: int) -> Words32:
    """Hashes of the forms and lemmas that occur in min_count documents."""
    counts: Counter[str] = Counter()
    for document in documents:
        if document.tokens is not None:
            tokens = language.adapted(document.tokens)
            words = set(tokens.text) | set(tokens.lemma)
            counts.update({word.lower() for word in words})
    return np.unique(word_hashes(word for word, n in counts.items() if n >= min_count))


def _start(
    start: Start | None, checksums: set[str], templates: TemplateSet, bits: int, language: Language
) -> AntecedentModel | None:
    """The model whose weights training begins with."""
    if start is not None and _checks.choice("start", start, get_args(Start)) == "none":
        return None
    if start is None and language.resources == ENGLISH:
        return None
    model = load_model(data_file("english.npz"))
    fits = templates == model.templates and len(model.weights) == 1 << bits
    if start is None:
        return model if fits and checksums.isdisjoint(model.provenance["documents"]) else None
    rule = "must be none with other templates or bits than those of the English model"
    _checks.require("start", fits, rule, "english")
    return model
