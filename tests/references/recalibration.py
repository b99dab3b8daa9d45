"""Slow, simple versions of recalibration and of entity queries, independent of the library.

A document is lists: candidates and scores of each mention, and its gold entity (None: not annotated).
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from references import coreference as references, events as er
from strategies.documents import Lists, one_word_document as document

from corefsample import ScoredDocument

Gold = Sequence[int | str | None]

# --- recalibration ------------------------------------------------------------------------------------------


def recalibrated(lists: Lists, temperature: float, new_bias: float) -> Lists:
    """The same candidates with new scores."""
    return Lists(lists.antecedents, [[s / temperature - new_bias for s in row] for row in lists.scores])


def gold_antecedents(lists: Lists, gold: Gold) -> list[set[int | str] | None]:
    """Gold antecedents of each mention among its candidates: "NEW" for an entity's first annotated mention.

    Empty if no earlier mention of the entity is a candidate; None without a gold entity.
    """
    answers: list[set[int | str] | None] = []
    for i, entity in enumerate(gold):
        if entity is None:
            answers.append(None)
        elif entity not in gold[:i]:
            answers.append({"NEW"})
        else:
            answers.append({k for k in lists.antecedents[i] if gold[k] == entity})
    return answers


def mention_losses(lists: Lists, gold: Gold) -> list[float | None]:
    """-log P(a gold antecedent) of each mention, without candidates of unknown entity; None without a term."""
    losses: list[float | None] = []
    for i, answers in enumerate(gold_antecedents(lists, gold)):
        known = [(k, s) for k, s in zip(lists.antecedents[i], lists.scores[i], strict=True) if gold[k] is not None]
        if not answers:
            losses.append(None)
            continue
        row = references.softmax_rows([[k for k, _ in known]], [[s for _, s in known]])[0]
        weights: dict[int | str, float] = {k: math.exp(s) for k, s in known}
        weights["NEW"] = 1.0
        assert math.isclose(sum(row.values()), 1.0)
        losses.append(-math.log(sum(weights[a] for a in answers) / sum(weights.values())))
    return losses


def likelihood_loss(lists: Lists, gold: Gold) -> float:
    """Sum over the mentions that have a term."""
    return math.fsum(loss for loss in mention_losses(lists, gold) if loss is not None)


def link_loss(lists: Lists, gold: Gold) -> float:
    """-log of the probability of each pair's gold label, by enumeration, over pairs of annotated mentions."""
    n = len(gold)
    marginals = references.link_marginals(references.clustering_probs(references.softmax_rows(*lists)), n)
    terms = []
    for i, j in itertools.combinations(range(n), 2):
        if gold[i] is not None and gold[j] is not None:
            together = gold[i] == gold[j]
            right = marginals[i, j] if together else 1.0 - marginals[i, j]
            terms.append(-math.log(max(right, 1e-6)))
    return math.fsum(terms)


def drawn_gold(lists: Lists, rng: np.random.Generator) -> list[int]:
    """Entities of a clustering drawn from the scores: gold under which these scores are calibrated."""
    labels: list[int] = []
    for i, row in enumerate(references.softmax_rows(*lists)):
        antecedent = int(rng.choice(list(row), p=list(row.values())))
        labels.append(i if antecedent == i else labels[antecedent])
    return labels


def random_lists(rng: np.random.Generator, n_mentions: int, width: int = 6) -> Lists:
    """Mentions with up to `width` nearest candidates and scores near that of NEW."""
    antecedents = [list(range(max(0, i - width), i)) for i in range(n_mentions)]
    return Lists(antecedents, [rng.normal(-1.0, 1.5, len(row)).tolist() for row in antecedents])


def calibrated_documents(n_documents: int, n_mentions: int, seed: int) -> list[ScoredDocument]:
    """Documents whose gold is drawn from their scores."""
    rng = np.random.default_rng(seed)
    made = [random_lists(rng, n_mentions) for _ in range(n_documents)]
    return [document(lists, drawn_gold(lists, rng), f"doc {d}") for d, lists in enumerate(made)]


# --- entity queries -----------------------------------------------------------------------------------------


def true_queries(labels: Sequence[int], types: Sequence[str | None], roles: Sequence[set[str]]) -> set[tuple[str, str]]:
    """Type of mention and verb of every query that is true for some entity of a clustering."""
    return {
        (mention_type, verb)
        for entity in er.entities(labels)
        for mention_type in {types[i] for i in entity} - {None}
        for verb in set().union(*(roles[i] for i in entity))
    }


def query_distribution(
    lists: Lists, types: Sequence[str | None], roles: Sequence[set[str]]
) -> dict[tuple[str, str], float]:
    """P of each query, over every antecedent vector."""
    distribution: dict[tuple[str, str], float] = {}
    for labels, probability in references.clustering_probs(references.softmax_rows(*lists)).items():
        for query in true_queries(labels, types, roles):
            distribution[query] = distribution.get(query, 0.0) + probability
    return distribution


_NAMES = ("Ann", "Bob", "Cem", "Dag")
_NOUNS = (("cat", "cats"), ("dog", "dogs"), ("child", "children"))
_VERBS = (("see", "saw"), ("run", "ran"), ("say", "said"))


def told_story(rng: np.random.Generator, n_sentences: int) -> list[str]:
    """Sentences of a subject and a verb, in the notation of event_references: names, nouns and pronouns by turns."""
    sentences = []
    for _ in range(n_sentences):
        lemma, verb = _VERBS[rng.integers(len(_VERBS))]
        kind = rng.integers(4)
        if kind == 0:
            subject = f"{_NAMES[rng.integers(len(_NAMES))]}/PROPN"
        elif kind == 1:
            singular, plural = _NOUNS[rng.integers(len(_NOUNS))]
            subject = f"{plural}={singular}/NOUN" if rng.integers(2) else f"{singular}/NOUN"
        else:
            subject = "they/PRON"
        sentences.append(f"{subject}>2:nsubj {verb}={lemma}/VERB>0:root")
    return sentences


def story_corpus(n_documents: int, n_sentences: int, seed: int, temperature: float = 1.0) -> list[dict[str, Any]]:
    """Documents as lines of a file, with gold drawn from their scores, which are then multiplied by `temperature`."""
    rng = np.random.default_rng(seed)
    corpus = []
    for d in range(n_documents):
        sentences = told_story(rng, n_sentences)
        lists = random_lists(rng, n_sentences)
        gold = drawn_gold(lists, rng)
        links = {
            i: {k: temperature * s for k, s in zip(lists.antecedents[i], lists.scores[i], strict=True)}
            for i in range(n_sentences)
        }
        corpus.append(er.json_document(f"story {d}", "2001-01-01", sentences, links, gold=gold))
    return corpus
