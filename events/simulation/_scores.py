"""Antecedent scores of simulated mentions, made to look like a model's."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from events.simulation._notation import NO_COUNTRY, Traits

__all__ = ["CandidateScores", "candidate_scores"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MIN_PROB = 1e-4  # candidates below are left out
_HOPELESS = -13.0  # no noise lifts such a score to where it counts
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
        float64 (n_candidates,): natural logarithms, NEW having 0.
    """

    indptr: Ints
    antecedents: npt.NDArray[np.int32]
    scores: Floats


def candidate_scores(
    traits: Sequence[Traits],
    mentions: npt.NDArray[np.int32],
    sentences: npt.NDArray[np.int32],
    subjects: Bools,
    rng: np.random.Generator,
) -> CandidateScores:
    """Score the earlier mentions as antecedents of each, and leave out those of probability below `MIN_PROB`.

    Nouns and names go by words, pronouns by agreement and nearness, so that a pronoun's probability spreads over all
    that it could stand for. What the author meant counts too, less than it should: that is the uncertainty.

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
    # Antecedents end before their mention begins: a phrase is no antecedent of its own parts.
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
    """What is compared, as one array over mentions a feature; all scores are (rows asked for, all mentions)."""

    def __init__(self, traits: Sequence[Traits], sentence: Floats, subjects: Bools, pronouns: Bools) -> None:
        self.entity = _numbered(each.entity for each in traits)
        self.agreement = _numbered(each.agreement for each in traits)
        self.lemma = _numbered(each.lemma for each in traits)
        self.text = _numbered(each.text for each in traits)
        countries = _numbered(each.country for each in traits)
        self.country = np.where([each.country != NO_COUNTRY for each in traits], countries, -1)
        self.definiteness = np.array([each.definiteness for each in traits], np.float64)
        self.sentence = sentence
        self.subject_bonus = 0.8 * subjects
        self.pronouns = pronouns

    def _same(self, feature: Ints, rows: Ints) -> Bools:
        same: Bools = feature[rows][:, None] == feature[None, :]
        return same

    def _sentences_between(self, rows: Ints) -> Floats:
        between: Floats = self.sentence[rows][:, None] - self.sentence[None, :]
        return between

    def scores_of_nouns(self, rows: Ints) -> Floats:
        """Scores of mentions that are nouns or names: same words, same country, same entity; an "a" speaks for NEW."""
        scores = np.full((rows.size, self.pronouns.size), -10.3)
        scores += 3.2 * self._same(self.agreement, rows)
        same_text = self._same(self.text, rows)
        same_text &= ~self.pronouns
        scores += 3.8 * self._same(self.lemma, rows) + 0.8 * same_text
        scores += 3.8 * self._same(self.entity, rows)
        country = self.country[rows][:, None]
        both = (country >= 0) & (self.country >= 0)
        scores += np.where(both, np.where(country == self.country, 1.2, -2.5), 0.0)
        scores -= 0.08 * self._sentences_between(rows)
        scores += 1.2 * self.definiteness[rows][:, None]
        return scores

    def scores_of_pronouns(self, rows: Ints) -> Floats:
        """Scores of pronouns: agreement first, then nearness, subjects, other pronouns, and what was meant."""
        scores = np.full((rows.size, self.pronouns.size), -8.0)
        scores += 9.8 * self._same(self.agreement, rows)
        scores += 1.3 * self._same(self.entity, rows)
        scores -= 0.9 * self._sentences_between(rows)
        scores += self.subject_bonus + 0.7 * self.pronouns
        return scores


def _numbered(values: Iterable[Hashable]) -> Ints:
    """Equal values as equal numbers, in the order in which they come."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
