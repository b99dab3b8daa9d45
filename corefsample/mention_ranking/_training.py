"""Training of the antecedent model: AdaGrad on the summed likelihood of gold antecedents.

Two terms can be added to the likelihood. Softmax-margin costs (Durrett & Klein 2013) raise the scores of wrong
decisions while training. The link term is the log loss of the model's exact link marginals over all pairs of mentions:
the likelihood does not depend on which gold antecedent has the probability, nor on how errors add up along a chain of
links, but the marginals do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Words32
from corefsample.errors import ParameterError
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.mention_ranking._fitting import (
    BATCH,
    EpochReport,
    FitOptions,
    HeldOutFigures,
    examples_of,
    figures,
    fit,
)
from corefsample.mention_ranking._model import LARGEST_TABLE, AntecedentModel, MentionDocument, document_checksum
from corefsample.mention_ranking._readings import TRAINING_MENTIONS, TrainingMentions
from corefsample.mention_ranking.features._templates import DEFAULT_TEMPLATES, TemplateSet
from corefsample.mention_ranking.features._words import word_hash


@dataclass(frozen=True, slots=True)
class SoftmaxMargin:
    """Costs that are added to the scores of wrong decisions while training; 0 leaves the likelihood unchanged.

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
    Durrett & Klein (2013), whose system uses 0.1, 3 and 1.
    """

    false_anaphor: float = 0.0
    false_new: float = 0.0
    wrong_link: float = 0.0

    def __post_init__(self) -> None:
        for name, cost in asdict(self).items():
            _checks.at_least_zero(name, cost)


def train(
    documents: Iterable[MentionDocument],
    *,
    held_out: Iterable[MentionDocument] | None = None,
    l2: float | Sequence[float] = 0.02,
    epochs: int = 5,
    learning_rate: float = 0.1,
    costs: SoftmaxMargin | None = None,
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
    provenance: Mapping[str, Any] | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> AntecedentModel:
    """Train an antecedent model on annotated documents.

    The result is a function of the documents, their order and the options; the number of threads has no effect.
    Memory grows with the square of the mentions of the longest document.

    Parameters
    ----------
    documents
        With tokens, mentions and annotated entities. Mentions without an entity are ignored, as in the likelihood of
        `corefsample.recalibration`.
    held_out
        Documents to choose the penalty and the number of passes on, by their likelihood.
    l2
        The penalty, or several of which the held-out documents choose one. At least 0.
    epochs
        Passes over the documents, at least 1; weights are averaged over the later ones.
    learning_rate
        Of AdaGrad, above 0.
    costs
        Softmax-margin costs; None: none.
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
        Of the orders of documents.
    n_threads
        At least 1; more than two have no effect.
    scheme
        ud2, ud1 or clearnlp; None recognises it from the labels of each document.
    mentions
        "annotated": the document's own. "parse": those found in its parse, with the entity of the annotated mention of
        the same span, or else of the same head; the others are of no entity but their own. "both": each document once
        with either. Held-out documents likewise.
    windows
        Whether to train on windows of 1 to 6 sentences, too, half of them with the document's first sentence in front.
    language
        As of `corefsample.languages.load_language`, or its result.
    provenance
        Further entries of the model's provenance, in addition to options and held-out figures.
    on_epoch
        Called after each pass.

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
    margin = costs or SoftmaxMargin()
    options = FitOptions(
        n_buckets=1 << bits,
        epochs=_checks.whole("epochs", epochs, 1),
        rate=_checks.above_zero("learning_rate", learning_rate),
        costs=(margin.false_anaphor, margin.false_new, margin.wrong_link),
        link_weight=_checks.at_least_zero("link_weight", link_weight),
        seed=_checks.seed(seed),
        orders=_checks.whole("orders", orders, 1),
    )
    n_workers = min(_checks.whole("n_threads", n_threads, 1), BATCH)
    resources = language if isinstance(language, Language) else load_language(language)
    corpus = list(documents)
    vocabulary = _vocabulary(corpus, resources, _checks.whole("min_count", min_count, 1))
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
    with ThreadPoolExecutor(n_workers) as threads:
        runs = [fit(examples, held_out_examples, penalty, options, threads, on_epoch) for penalty in penalties]
    weights, report = min(runs, key=lambda run: run[1].held_out.loss if run[1].held_out else 0.0)
    more = {
        "mentions": mentions,
        "windows": windows,
        "costs": asdict(margin),
        "bits": bits,
        "min_count": min_count,
        "l2_tried": list(penalties),
    }
    notes = {
        **(provenance or {}),
        "options": {**asdict(options), **more},
        "l2": report.l2,
        "epoch": report.epoch,
        "n_documents": len(examples),
        "n_mentions": sum(example.n_annotated for example in examples),
        "documents": sorted({document_checksum(document.tokens) for document in corpus}),
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
    return np.unique(np.array([word_hash(word) for word, n in counts.items() if n >= min_count], np.uint32))


def _penalties(l2: float | Sequence[float]) -> tuple[float, ...]:
    values = tuple(l2) if isinstance(l2, Sequence) else (l2,)
    if not values:
        raise ParameterError("must have at least one penalty, got none", parameter="l2")
    return tuple(_checks.at_least_zero("l2", value) for value in values)
