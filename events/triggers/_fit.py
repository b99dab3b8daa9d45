"""Fitting of a trigger model to texts with answers: logistic regressions with a ridge penalty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from corefsample.adapters._systems import spacy_tokens
from corefsample.errors import ParameterError
from corefsample.syntax._paths import ParseView
from corefsample.syntax._schemes import SCHEMES
from events.matching._encoder import SentenceEncoder
from events.matching._matching import LemmaIndex, readable_schemes, rule_words
from events.matching._trigger_model import (
    CONDITION,
    PREDICATES,
    TRIGGER,
    PredicateFeatures,
    TriggerModel,
    condition_features,
    feature_hash,
    prototype_of,
)
from events.rules._rules import Rule
from events.triggers._texts import AnsweredText, Mark

LEAST_COUNT = 3  # of predicates with a feature
# Precisions of the weights of a type, and of those that all types share, and scale of the vectors of an encoder, whose
# weights have precision 1: chosen by the log loss of batches left out (benchmarks/trigger_study.py --only left-out).
PENALTY, SHARED_PENALTY, _SCALE = 4.0, 5.0, 1.4
# Of what rules say: prior means, and penalty. A trigger of a rule reports, unless a condition that excludes it holds.
_TRIGGER, _CONDITION, _OF_RULES = 2.0, -3.0, 1.0
_STEPS = 150
_NO_VECTOR = np.zeros(0, np.float32)


class Predicates(NamedTuple):
    """Predicates of parsed texts.

    Attributes
    ----------
    text
        int64 (n,): index of the text of each predicate.
    features
        Hashes of the features of each predicate, those of rules included.
    lemmas
        Lemma of each predicate, in lower case.
    reports
        bool (n, n_types): whether the predicate reports an event of each type.
    vectors
        float32 (n, 2 * n_dimensions): vectors of an encoder for each predicate; (n, 0) without one.
    triggers
        Index of the predicate, index of the rule, and hashes of the features that all types share, for each trigger of
        a rule.
    """

    text: Ints
    features: list[list[int]]
    lemmas: list[str]
    reports: Bools
    vectors: np.typing.NDArray[np.float32]
    triggers: list[tuple[int, int, list[int]]]


def predicates_of(
    texts: Sequence[AnsweredText], rules: Sequence[Rule], pipeline: Any, encoder: SentenceEncoder | None = None
) -> Predicates:
    """Predicates of texts that a spaCy pipeline parses, with their answers; one rule for each type."""
    index: list[int] = []
    features, lemmas, reports, vectors = [], [], [], []
    of_triggers: list[tuple[int, int, list[int]]] = []
    words, parses = rule_words(rules), []
    for doc in pipeline.pipe(text.text for text in texts):
        tokens = spacy_tokens(doc)
        scheme = readable_schemes(tokens.dep, None)[0]
        view = ParseView(tokens, SCHEMES[scheme])
        parses.append((view, scheme, [token.idx for token in doc]))
    event_nouns = frozenset(
        view.lemma[head].lower()
        for text, (view, _, starts) in zip(texts, parses, strict=True)
        for mark in text.marks
        for head in _heads(_inside(mark, view, starts), view)
        if mark.types and view.upos[head] == "NOUN"
    )
    for number, (text, (view, scheme, starts)) in enumerate(zip(texts, parses, strict=True)):
        of_parse, lemma_index = PredicateFeatures(view), LemmaIndex(view, words)
        triggers = [{t for frame in rule.frames for t in lemma_index.triggers(frame)} for rule in rules]
        reported = _reported(text, view, starts, event_nouns, {r.name: t for r, t in zip(rules, triggers, strict=True)})
        all_tokens = {t for t, upos in enumerate(view.upos) if upos in PREDICATES}.union(reported, *triggers)
        for token in sorted(all_tokens):
            of_rules = [TRIGGER + rule.name for rule, of_rule in zip(rules, triggers, strict=True) if token in of_rule]
            conditions = {n: c for rule in rules for n, c in rule.conditions.items() if n in rule.unless}
            held = [name for name, c in conditions.items() if c.holds(view, token, scheme)]
            of_rules += [CONDITION + name for name in held]
            shared = of_parse.of(token, with_lemma=False)
            for column, (rule, of_rule) in enumerate(zip(rules, triggers, strict=True)):
                if token in of_rule:
                    of_type = condition_features(name for name in held if name in rule.unless)
                    of_triggers.append((len(index), column, sorted(shared.union(map(feature_hash, of_type)))))
            index.append(number)
            features.append(sorted(of_parse.of(token).union(map(feature_hash, of_rules))))
            lemmas.append(view.lemma[token].lower())
            reports.append([rule.name in reported.get(token, ()) for rule in rules])
            vectors.append(_NO_VECTOR if encoder is None else of_parse.vector(encoder, token))
    answers = np.array(reports, np.bool_).reshape(-1, len(rules))
    return Predicates(np.array(index), features, lemmas, answers, np.array(vectors, np.float32), of_triggers)


def _inside(mark: Mark, view: ParseView, starts: Sequence[int]) -> list[int]:
    """Tokens of a mark; `starts` has the first character of each token."""
    return [t for t, start in enumerate(starts) if start < mark.end and start + len(view.text[t]) > mark.start]


def _heads(tokens: Sequence[int], view: ParseView) -> list[int]:
    return [token for token in tokens if view.heads[token] not in tokens]


def _reported(
    text: AnsweredText,
    view: ParseView,
    starts: Sequence[int],
    event_nouns: Collection[str],
    triggers: Mapping[str, set[int]],
) -> dict[int, frozenset[str]]:
    """Types that predicates report: of each mark its verbs and nouns of events, or the word that governs the others.

    In "held talks" the verb and the noun report a meeting: the paths to who met may start at either. In "took the son"
    the verb alone reports an arrest. Nouns of events are those that govern the other words of some mark. The trigger of
    the type's rule within a mark reports it too, whatever its part of speech: "police" in "police firing".
    """
    reported: dict[int, frozenset[str]] = {}
    for mark in text.marks:
        inside = _inside(mark, view, starts)
        if mark.types and inside:
            nouns = [t for t in inside if view.upos[t] == "NOUN" and view.lemma[t].lower() in event_nouns]
            predicates = [*nouns, *(t for t in inside if view.upos[t] == "VERB")]
            for token in predicates or _heads(inside, view)[:1]:
                reported[token] = reported.get(token, frozenset()) | mark.types
            for name in mark.types:
                for token in triggers.get(name, set()).intersection(inside):
                    reported[token] = reported.get(token, frozenset()) | {name}
    return reported


def fit_trigger_model(
    predicates: Sequence[Predicates],
    rules: Sequence[Rule],
    encoder: SentenceEncoder | None = None,
    *,
    penalty: float = PENALTY,
    shared_penalty: float = SHARED_PENALTY,
) -> TriggerModel:
    """Fit a model: the maximum of the posterior of a logistic regression for each type.

    The score of a trigger of a rule is the sum of the score of its type and of one that the triggers of all types
    share, which has no feature with the predicate's lemma. So the shared part learns what makes any trigger report
    (tense, negation, governing verbs, sections of a paper), and serves rules of types without texts. With an encoder,
    the similarity of other predicates to the examples of each rule is fitted for these.

    Parameters
    ----------
    predicates
        Results of `predicates_of` for the same rules, of one or several pipelines.
    rules
        One rule for each type.
    encoder
        Encoder of the vectors of `predicates`.
    penalty
        Precision of the normal prior of the weights of words and labels.
    shared_penalty
        Precision of the normal prior of the weights that all types share.

    Raises
    ------
    ParameterError
        If no feature occurs often enough.
    """
    from scipy.optimize import minimize

    counts = Counter(feature for part in predicates for features in part.features for feature in features)
    names = [hashed for hashed, n in counts.items() if n >= LEAST_COUNT]
    if not names:
        rule = f"must have at least {LEAST_COUNT} predicates (verbs and nouns) with a feature in common"
        raise ParameterError(rule, parameter="texts", hint="hundreds of texts of a type are needed")
    names.append(feature_hash(CONDITION))
    rows = {feature: row for row, feature in enumerate(names)}
    design = design_matrix([features for part in predicates for features in part.features], rows)
    vectors = np.concatenate([part.vectors for part in predicates]) * np.float32(_SCALE)
    signs = np.where(np.concatenate([part.reports for part in predicates]), 1.0, -1.0)
    starts = np.cumsum([0, *(len(part.features) for part in predicates)])
    shared = [(i + start, *rest) for part, start in zip(predicates, starts, strict=False) for i, *rest in part.triggers]
    triggers = tuple(np.array([each[axis] for each in shared], np.int64) for axis in (0, 1))  # predicate, type
    of_shared, shared_vectors = design_matrix([features for *_, features in shared], rows), vectors[triggers[0]]
    penalties, means = np.full((len(names), len(rules) + 1), penalty), np.zeros((len(names), len(rules) + 1))
    penalties[:, -1] = shared_penalty
    is_used = np.ones(means.shape, np.bool_)
    is_used[:, -1] = of_shared.sum(axis=0) > 0
    for feature, users in _of_rules(rules).items():
        row = rows.get(feature_hash(feature))
        if row is not None:
            is_used[row, :-1], penalties[row, :-1] = users, _OF_RULES
            means[row, :-1] = np.where(users, _TRIGGER if feature.startswith(TRIGGER) else _CONDITION, 0.0)

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights, of_vectors = np.split(flat.reshape(-1, len(rules) + 1), [len(names)])
        singles = of_vectors.astype(np.float32)
        scores = design @ weights[:, :-1] + vectors @ singles[:, :-1]
        scores[triggers] += of_shared @ weights[:, -1] + shared_vectors @ singles[:, -1]
        margins = signs * scores
        slopes = -signs / (1.0 + np.exp(margins))
        of_triggers = slopes[triggers]
        value = np.logaddexp(0.0, -margins).sum() + 0.5 * (penalties * (weights - means) ** 2).sum()
        gradient = np.column_stack((design.T @ slopes, of_shared.T @ of_triggers)) + penalties * (weights - means)
        of_slopes = (vectors.T @ slopes.astype(np.float32), shared_vectors.T @ of_triggers.astype(np.float32))
        gradients = is_used * gradient, np.column_stack(of_slopes) + of_vectors
        return float(value) + 0.5 * float((of_vectors**2).sum()), np.concatenate(gradients).ravel()

    start = np.concatenate((means, np.zeros((vectors.shape[1], len(rules) + 1)))).ravel()
    fitted = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    weights, of_vectors = np.split(fitted.reshape(-1, len(rules) + 1).astype(np.float32), [len(names)])
    reporting = [part.lemmas[i] for part in predicates for i in np.flatnonzero(part.reports.any(axis=1))]
    model = TriggerModel(
        tuple(rule.name for rule in rules),
        rows,
        weights,
        frozenset(reporting),
        encoder=encoder,
        of_vectors=of_vectors * np.float32(_SCALE),
    )
    of_rules = [] if encoder is None else [prototype_of(rule, encoder) for rule in rules]
    prototypes = {column: prototype for column, prototype in enumerate(of_rules) if prototype}
    if not prototypes:
        return model
    is_other = np.ones(signs.shape, np.bool_)
    is_other[triggers] = False
    cosines = [
        (vectors @ np.array(prototype, np.float32))[is_other[:, column]] / _SCALE
        for column, prototype in prototypes.items()
    ]
    answers = [signs[is_other[:, column], column] for column in prototypes]
    similarity = _logistic_weights(np.concatenate(cosines), np.concatenate(answers))
    vocabulary = frozenset(lemma for part in predicates for lemma in part.lemmas)
    return replace(model, similarity=similarity, vocabulary=vocabulary)


def _logistic_weights(x: Floats, signs: Floats) -> np.typing.NDArray[np.float32]:
    """Intercept and weight of x in a logistic regression; the prior of both is normal with precision 1."""
    from scipy.optimize import minimize

    def objective(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (weights[0] + weights[1] * x)
        slopes = -signs / (1.0 + np.exp(margins))
        value = np.logaddexp(0.0, -margins).sum() + 0.5 * (weights**2).sum()
        return float(value), np.array([slopes.sum(), slopes @ x]) + weights

    return np.asarray(minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B").x, np.float32)


def design_matrix(features: Sequence[Sequence[int]], rows: Mapping[int, int]) -> Any:
    """Sparse matrix with a 1 for each feature of a predicate: float64 (n, n_features)."""
    from scipy.sparse import csr_array

    columns = [[rows[feature] for feature in of_predicate if feature in rows] for of_predicate in features]
    indptr = np.cumsum([0, *map(len, columns)])
    indices = np.array([row for of_predicate in columns for row in of_predicate], np.int64)
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(features), len(rows)))


def _of_rules(rules: Sequence[Rule]) -> dict[str, list[bool]]:
    """Features that come from rules, with the types that use each: a type uses what its rule says."""
    used = {TRIGGER + rule.name: [other is rule for other in rules] for rule in rules}
    names = {name for rule in rules for name in rule.unless}
    return used | {CONDITION + name: [name in rule.unless for rule in rules] for name in sorted(names)}
