"""Simulated news with known truth: dated, parsed articles whose true antecedents follow the scores they come with.

The antecedents of each mention are drawn from the very distribution that the scores stand for, so that a method that
takes the scores at their word is calibrated by construction; a temperature makes the scores over- or underconfident.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import ScoredDocument, Tokens
from corefsample.errors import ParameterError
from events.simulation._countries import SimulatedCountry, Timeline, default_countries
from events.simulation._scores import CandidateScores, candidate_scores
from events.simulation._story import PhraseBook, Story, Uniform, pick, written
from events.simulation._text import ATTACKS, OTHER_ATTACKS, TOPICS

__all__ = ["SimulatedCountry", "SimulatedDocument", "default_countries", "simulate_documents"]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

NEW = -1
_SPREAD = 0.6  # standard deviation of the logarithm of the number of mentions
_FEWEST_MENTIONS, _MOST_MENTIONS = 5, 700
_MORE_ATTACKS = 0.4  # probability of each further attack in an article that has one
_MOST_ATTACKS = 4
_BY_OTHERS = 0.35  # share of the further attacks
_ORDINARY = tuple(topic for topic in TOPICS for _ in range(2 if topic in ("markets", "politics") else 1))


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedDocument:
    """A simulated article and the truth about it.

    Attributes
    ----------
    document
        As a scorer would have written it; its gold is each mention's true entity: the index of its first mention.
    true_antecedents
        int32 (n_mentions,), read-only: each mention's true antecedent, one of its candidates; -1 for NEW.
    """

    document: ScoredDocument
    true_antecedents: Labels


def simulate_documents(
    n_documents: int,
    *,
    seed: int = 0,
    start: datetime.date = datetime.date(1990, 1, 1),
    end: datetime.date = datetime.date(1999, 12, 31),
    temperature: float = 1.0,
    event_share: float = 0.1,
    median_mentions: float = 130.0,
    countries: Sequence[SimulatedCountry] | None = None,
) -> Iterator[SimulatedDocument]:
    """Simulate articles one after another; document i depends on the seed, i and the other parameters alone.

    Articles that can hold an event cluster in time where countries attack more; the others are spread evenly. All
    that is told is invented.

    Parameters
    ----------
    n_documents
        At least 0. The first documents of a larger number are those of a smaller one.
    seed
        In [0, 2**64).
    start, end
        First and last day.
    temperature
        What the scores would have to be divided by to be calibrated, in [0.01, 100]: 1 calibrated, above 1
        overconfident, below 1 underconfident. The text and the candidates do not depend on it.
    event_share
        Probability in [0, 1] that an article can hold an event: that "attack" has a subject or an agent in it, and
        some country is named.
    median_mentions
        Median of the number of mentions, in [10, 500]. The numbers are log-normal, cut at 5 and near 700.
    countries
        Who is told of; the 31 of `default_countries` by default. At least three must exist on every day.

    Yields
    ------
    SimulatedDocument
        doc_ids are "sim-000000" and so on.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, at once and not with the first document.

    Examples
    --------
    >>> first = next(simulate_documents(1, seed=0))
    >>> first.document.doc_id, len(first.true_antecedents) == first.document.n_mentions
    ('sim-000000', True)
    """
    n_documents = _checks.whole("n_documents", n_documents, 0)
    if start > end:
        raise ParameterError(f"end must not be before start, {start}, got {end}")
    timeline = Timeline(default_countries() if countries is None else countries, start, end)
    simulation = _Simulation(timeline, seed, temperature, event_share, median_mentions)
    return map(simulation.document, range(n_documents))


class _Simulation:
    """Makes any of the documents by its number; the parameters are those of `simulate_documents`."""

    def __init__(
        self, timeline: Timeline, seed: int, temperature: float, event_share: float, median_mentions: float
    ) -> None:
        if not 0.01 <= temperature <= 100.0:
            raise ParameterError(f"temperature must lie in [0.01, 100], got {temperature!r}")
        if not 10.0 <= median_mentions <= 500.0:
            raise ParameterError(f"median_mentions must lie in [10, 500], got {median_mentions!r}")
        _checks.probability("event_share", event_share)
        if event_share > 0.0 and not timeline.has_attacks:
            raise ParameterError(f"event_share must be 0 where no country has a rate above 0, got {event_share!r}")
        self._timeline = timeline
        self._seed = _checks.seed(seed)
        self._temperature = temperature
        self._event_share = event_share
        self._median_mentions = median_mentions
        self._book = PhraseBook()

    def document(self, number: int) -> SimulatedDocument:
        """Simulate one document, from a generator of its own."""
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(number,)))
        uniform = _uniforms(rng).__next__
        date, story = self._article(uniform, float(rng.standard_normal()))
        marks = sorted(story.marks, key=lambda mark: (mark[0], -mark[1]))
        mentions = np.array([mark[:3] for mark in marks], np.int32).reshape(-1, 3)
        words = story.words
        tokens = Tokens(words.text, words.lemma, words.upos, words.dep, np.array(words.head), np.array(story.sent))
        subjects = np.array([words.dep[mark[2]].startswith("nsubj") for mark in marks])
        calibrated = candidate_scores([mark[3] for mark in marks], mentions, tokens.sent, subjects, rng)
        scores = np.round(calibrated.scores * self._temperature, 3)
        true_antecedents = _drawn(calibrated, scores / self._temperature, rng)
        document = ScoredDocument(
            doc_id=f"sim-{number:06d}",
            mentions=mentions,
            antecedents=AntecedentDistribution.from_csr(calibrated.indptr, calibrated.antecedents, scores),
            date=date,
            tokens=tokens,
            gold=_entities(true_antecedents),
            metadata={"simulated": True},
        )
        return SimulatedDocument(document, true_antecedents)

    def _article(self, uniform: Uniform, normal: float) -> tuple[datetime.date, Story]:
        n_mentions = self._median_mentions * float(np.exp(_SPREAD * normal))
        n_mentions = int(np.clip(n_mentions, _FEWEST_MENTIONS, _MOST_MENTIONS))
        attacks: list[str] = []
        if uniform() < self._event_share:
            date, first = self._timeline.attack(uniform(), uniform())
            topic, attacks = "conflict", _attacks(uniform)
        else:
            date = self._timeline.date(int(uniform() * self._timeline.n_days))
            first = pick(uniform, self._existing(date))
            topic = pick(uniform, _ORDINARY)
        countries = self._three(uniform, first, date)
        return date, written(topic, countries, attacks, n_mentions, self._book, uniform)

    def _existing(self, date: datetime.date) -> list[SimulatedCountry]:
        return [country for country in self._timeline.countries if country.exists(date)]

    def _three(
        self, uniform: Uniform, first: SimulatedCountry, date: datetime.date
    ) -> tuple[SimulatedCountry, SimulatedCountry, SimulatedCountry]:
        """Return a country with an opponent and an ally."""
        others = [country for country in self._existing(date) if country is not first]
        opponents = [country for country in others if country.code in first.opponents]
        second = pick(uniform, opponents or others)
        return first, second, pick(uniform, [country for country in others if country is not second])


def _uniforms(rng: np.random.Generator) -> Iterator[float]:
    while True:
        yield from rng.random(512).tolist()


def _attacks(uniform: Uniform) -> list[str]:
    """Sentences with "attack" for one article; the first one is surely seen by the paper's rule."""
    ours, others = ATTACKS.strip().splitlines(), OTHER_ATTACKS.strip().splitlines()
    chosen = [pick(uniform, ours)]
    while len(chosen) < _MOST_ATTACKS and uniform() < _MORE_ATTACKS:
        chosen.append(pick(uniform, others if uniform() < _BY_OTHERS else ours))
    return chosen


def _drawn(candidates: CandidateScores, scores: Floats, rng: np.random.Generator) -> Labels:
    """Draw each mention's antecedent from softmax(scores), NEW having the score 0."""
    indptr, n_mentions = candidates.indptr, candidates.indptr.size - 1
    cumulative = np.concatenate(([0.0], np.cumsum(np.exp(scores))))
    begin, end = cumulative[indptr[:-1]], cumulative[indptr[1:]]
    target = begin + rng.random(n_mentions) * (end - begin + 1.0)
    places = np.searchsorted(cumulative, target, side="right") - 1
    linked = target < end
    drawn = np.full(n_mentions, NEW, np.int32)
    drawn[linked] = candidates.antecedents[places[linked]]
    drawn.flags.writeable = False
    return drawn


def _entities(antecedents: Labels) -> list[int]:
    """Label each mention with the first mention of its entity: the connected components of the links."""
    labels: list[int] = []
    for mention, antecedent in enumerate(antecedents.tolist()):
        labels.append(mention if antecedent == NEW else labels[antecedent])
    return labels
