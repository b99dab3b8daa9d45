"""Antecedent scores of simulated mentions, similar to those of a model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Floats, Ints, Ints32
from events.simulation._notation import NO_COUNTRY, Traits

MIN_PROB = 1e-4  # candidates below are left out
_HOPELESS = -13.0  # noise cannot lift such a score to a probability of MIN_PROB
_NOISE_OF_PAIR = 0.8
_NOISE_OF_MENTION = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScores:
    """Candidates of each mention, as compressed sparse rows.

    Attributes
    ----------
    indptr
        int64 (n_mentions + 1,).
    antecedents
        int32 (n_candidates,), ascending in each row.
    scores
        float64 (n_candidates,): natural logarithms; NEW has 0.
    """

    indptr: Ints
    antecedents: Ints32
    scores: Floats


def candidate_scores(
    traits: Sequence[Traits],
    mentions: Ints32,
    sentences: Ints32,
    subjects: Bools,
    rng: np.random.Generator,
) -> CandidateScores:
    """Score the earlier mentions as antecedents of each, and leave out those of probability below `MIN_PROB`.

    Scores of nouns and names depend on their words, those of pronouns on agreement and distance, so that the
    probability of a pronoun is spread over all entities that it could refer to. The true entity has less influence
    than it should; this makes the uncertainty.

    Parameters
    ----------
    traits
        Of each mention.
    mentions
        int32 (n_mentions, 3), in the order of the text: start, end, head.
    sentences
        int32 (n_tokens,): sentence of each token.
    subjects
        bool (n_mentions,): whether the mention is a subject.
    rng
        Source of the noise.
    """
    n_mentions = len(traits)
    pronouns = np.array([each.pronoun for each in traits], np.bool_)
    features = _Features(traits, sentences[mentions[:, 2]].astype(np.float64), subjects, pronouns)
    scores = np.empty((n_mentions, n_mentions))
    nouns, others = np.flatnonzero(~pronouns), np.flatnonzero(pronouns)
    scores[nouns] = features.scores_of_nouns(nouns)
    scores[others] = features.scores_of_pronouns(others)
    # Antecedents end before their mention begins: a phrase is not an antecedent of its own parts.
    scores[mentions[:, 1][None, :] > mentions[:, 0][:, None]] = -np.inf
    scores += rng.normal(0.0, _NOISE_OF_MENTION, n_mentions)[:, None]
    rows, columns = np.nonzero(scores > _HOPELESS)
    kept_scores = scores[rows, columns] + rng.normal(0.0, _NOISE_OF_PAIR, rows.size)
    weights = np.exp(kept_scores)
    totals = 1.0 + np.bincount(rows, weights, n_mentions)
    likely = weights >= MIN_PROB * totals[rows]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[likely], minlength=n_mentions))))
    return CandidateScores(indptr.astype(np.int64), columns[likely].astype(np.int32), kept_scores[likely])


class _Features:
    """Features of all mentions; scores have the shape (rows, n_mentions)."""

    def __init__(self, traits: Sequence[Traits], sentence: Floats, subjects: Bools, pronouns: Bools) -> None:
        self.entity = _numbered(each.entity for each in traits)
        self.agreement = _numbered(each.agreement for each in traits)
        self.lemma = _numbered(each.lemma for each in traits)
        self.text = _numbered(each.text for each in traits)
        countries = _numbered(each.country for each in traits)
        self.country = np.where([each.country != NO_COUNTRY for each in traits], countries, -1)
        self.definiteness = np.array([each.definiteness for each in traits], np.float64)
        self.sentence = sentence
        self.subjects = subjects
        self.pronouns = pronouns

    def scores_of_nouns(self, rows: Ints) -> Floats:
        """Scores of nouns and names: same words, same country, same entity; "a" favours NEW."""
        scores = np.full((rows.size, self.pronouns.size), -10.3)
        scores += 3.2 * _same(self.agreement, rows)
        same_text = _same(self.text, rows) & ~self.pronouns
        scores += 3.8 * _same(self.lemma, rows) + 0.8 * same_text
        scores += 3.8 * _same(self.entity, rows)
        country = self.country[rows][:, None]
        both = (country >= 0) & (self.country >= 0)
        scores += np.where(both, np.where(country == self.country, 1.2, -2.5), 0.0)
        scores -= 0.08 * (self.sentence[rows][:, None] - self.sentence)
        scores += 1.2 * self.definiteness[rows][:, None]
        return scores

    def scores_of_pronouns(self, rows: Ints) -> Floats:
        """Scores of pronouns: agreement first, then distance, subjects, other pronouns, and the true entity."""
        scores = np.full((rows.size, self.pronouns.size), -8.0)
        scores += 9.8 * _same(self.agreement, rows)
        scores += 1.3 * _same(self.entity, rows)
        scores -= 0.9 * (self.sentence[rows][:, None] - self.sentence)
        scores += 0.8 * self.subjects + 0.7 * self.pronouns
        return scores


def _same(feature: Ints, rows: Ints) -> Bools:
    same: Bools = feature[rows][:, None] == feature
    return same


def _numbered(values: Iterable[Hashable]) -> Ints:
    """Number distinct values in the order of their first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
