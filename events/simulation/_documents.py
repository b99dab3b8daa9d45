"""Simulated news with known truth: dated, parsed articles with scores and true antecedents.

The antecedents of each mention are drawn from the distribution that the scores define, so that a method that uses the
scores as they are is calibrated by construction; a temperature makes the scores over- or underconfident.
"""

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from corefsample import AntecedentDistribution, ScoredDocument, Tokens, _checks, sample_clusterings
from corefsample._arrays import Bools, Floats, Ints, Ints32
from events.simulation import _story

NEW = -1


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedDocument:
    """A simulated article and the truth about it.

    Attributes
    ----------
    document
        Article with the scores that a model would give; its gold is the true entity of each mention, named by the index
        of the entity's first mention.
    true_antecedents
        int32 (n_mentions,), read-only: true antecedent of each mention among its candidates; -1 for NEW.
    """

    document: ScoredDocument
    true_antecedents: Ints32


def simulate_documents(
    n_documents: int,
    *,
    seed: int = 0,
    start: datetime.date = datetime.date(1990, 1, 1),
    end: datetime.date = datetime.date(1999, 12, 31),
    temperature: float = 1.0,
    event_share: float = 0.1,
    median_mentions: float = 130.0,
    countries: Sequence[_story.SimulatedCountry] | None = None,
    apart: Callable[[ScoredDocument], np.typing.ArrayLike] | None = None,
) -> Iterator[SimulatedDocument]:
    """Simulate articles one after another; article i depends only on i, the seed and the other parameters.

    Articles that can contain an event are more frequent when countries attack more; the other articles are spread
    evenly over time. All text is invented.

    Parameters
    ----------
    n_documents
        Number of documents, at least 0. A larger number adds documents after the same first documents.
    seed
        Seed of the random draws, in [0, 2**64).
    start, end
        First and last day of the simulated news.
    temperature
        Divisor that would calibrate the scores, in [0.01, 100]: 1 means calibrated, above 1 overconfident, below 1
        underconfident. The text and the candidates do not depend on it.
    event_share
        Probability in [0, 1] that an article can contain an event: "attack" has a subject or an agent in it, and a
        country is named.
    median_mentions
        Median of the number of mentions of an article, in [10, 500]. The numbers are log-normal, clipped at 5 and near
        700.
    countries
        Countries in the news; by default the 31 of `default_countries`. At least three must exist on every day.
    apart
        Function that returns pairs of mentions of a document that belong to different entities, int (n_pairs, 2). The
        true antecedents are then drawn from the distribution of the scores under this condition. With
        `events.TrueEvents.apart`, which returns the pairs that a rule keeps apart, counts of the rule are calibrated.
        The text and the scores do not depend on `apart`. By default, true antecedents have no such condition.

    Yields
    ------
    SimulatedDocument
        One simulated article with its true antecedents; the doc_ids are "sim-000000" and so on.

    Raises
    ------
    ParameterError
        If a number is below or above its limits, `end` is before `start`, or fewer than three countries exist on some
        day. The call raises it, before the first document is requested.

    Examples
    --------
    >>> first = next(simulate_documents(1, seed=0))
    >>> first.document.doc_id, len(first.true_antecedents) == first.document.n_mentions
    ('sim-000000', True)
    """
    n_documents = _checks.whole("n_documents", n_documents, 0)
    _checks.require("end", start <= end, f"must not be before start, {start}", str(end))
    _checks.require("temperature", 0.01 <= temperature <= 100.0, "must lie in [0.01, 100]", temperature)
    _checks.require("median_mentions", 10.0 <= median_mentions <= 500.0, "must lie in [10, 500]", median_mentions)
    _checks.probability("event_share", event_share)
    all_countries = _story.default_countries() if countries is None else tuple(countries)
    rates = _attack_rates(all_countries, start, end)
    # Their number falls on the day after a country's last one, and the first day may be low as well.
    days = {start, *(country.until + datetime.timedelta(1) for country in all_countries if country.until is not None)}
    for day in sorted(day for day in days if start <= day <= end):
        n = sum(country.exists(day) for country in all_countries)
        _checks.require("countries", n >= 3, "must be at least three on every day", f"{n} on {day}")
    seed = _checks.seed(seed)

    def simulated(number: int) -> SimulatedDocument:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        uniform = _uniforms(rng).__next__
        n_mentions = int(np.clip(median_mentions * float(np.exp(0.6 * float(rng.standard_normal()))), 5, 700))
        date, story, sentences = _article(all_countries, rates, start, event_share, n_mentions, uniform)
        marks = sorted(story.marks, key=lambda mark: (mark[0], -mark[1]))
        mentions = np.array([mark[:3] for mark in marks], np.int32).reshape(-1, 3)
        text, lemma, upos, dep, head, *_ = zip(*story.words, strict=True)
        tokens = Tokens(text, lemma, upos, dep, np.array(head), np.array(sentences))
        subjects = np.array([dep[mark[2]].startswith("nsubj") for mark in marks])
        traits = [mark[3] for mark in marks]
        indptr, candidates, calibrated = candidate_scores(traits, mentions, tokens.sent, subjects, rng)
        scores = np.round(calibrated * temperature, 3)
        true_antecedents = _drawn(indptr, candidates, scores / temperature, rng)
        document = ScoredDocument(
            doc_id=f"sim-{number:06d}",
            mentions=mentions,
            antecedents=AntecedentDistribution.from_csr(indptr, candidates, scores),
            date=date,
            tokens=tokens,
            gold=_entities(true_antecedents),
            metadata={"simulated": True},
        )
        pairs = np.zeros((0, 2)) if apart is None else np.asarray(apart(document))
        if len(pairs):
            true_antecedents = _drawn_apart(indptr, candidates, scores / temperature, pairs, rng)
            document = replace(document, gold=_entities(true_antecedents))
        return SimulatedDocument(document, true_antecedents)

    return map(simulated, range(n_documents))


def _article(
    countries: tuple[_story.SimulatedCountry, ...],
    rates: Floats,
    start: datetime.date,
    event_share: float,
    n_mentions: int,
    uniform: _story.Uniform,
) -> tuple[datetime.date, _story.ParsedPhrase, list[int]]:
    """Choose the date, the topic and the countries of an article, and write it: see `written`."""
    has_attack = uniform() < event_share
    if has_attack:
        day = _quantile_index(rates.sum(axis=1), uniform())
        main = countries[_quantile_index(rates[day], uniform())]
    else:
        day = int(uniform() * len(rates))
    date = start + datetime.timedelta(days=day)
    existing = [country for country in countries if country.exists(date)]
    if has_attack:
        # The paper preset of the rule matches the first sentence.
        topic, by_main = "conflict", _story.news_texts()["attacks"].splitlines()
        attacks = [_story.pick(uniform, by_main)]
        while len(attacks) < 4 and uniform() < 0.4:
            by_others = uniform() < 0.35
            sentences = _story.news_texts()["other_attacks"].splitlines() if by_others else by_main
            attacks.append(_story.pick(uniform, sentences))
    else:
        main = _story.pick(uniform, existing)
        topics = [name for name, texts in _story.news_texts()["topics"].items() for _ in range(texts.get("weight", 1))]
        topic = _story.pick(uniform, topics)
        attacks = []
    others = [country for country in existing if country is not main]
    opponent = _story.pick(uniform, [country for country in others if country.code in main.opponents] or others)
    ally = _story.pick(uniform, [country for country in others if country is not opponent])
    return date, *_story.written(topic, (main, opponent, ally), attacks, n_mentions, uniform)


@lru_cache(maxsize=16)
def _attack_rates(countries: tuple[_story.SimulatedCountry, ...], start: datetime.date, end: datetime.date) -> Floats:
    """Rate of attacks of each country on each day, 0 while it does not exist: float64 (n_days, n_countries)."""

    def rate(country: _story.SimulatedCountry, day: datetime.date) -> float:
        if not country.exists(day):
            return 0.0
        return sum((more for first, last, more in country.episodes if first <= day <= last), start=country.rate)

    days = [start + datetime.timedelta(days=number) for number in range((end - start).days + 1)]
    return np.array([[rate(country, day) for country in countries] for day in days])


def _quantile_index(weights: Floats, share: float) -> int:
    """Index at which cumulative weights exceed a share in [0, 1) of their total; its weight is positive."""
    cumulative = np.cumsum(weights)
    index = int(np.searchsorted(cumulative, share * cumulative[-1], side="right"))
    # share * total may round up to the total, which lies after the last index of positive weight
    return min(index, int(np.searchsorted(cumulative, cumulative[-1], side="left")))


def _uniforms(rng: np.random.Generator) -> Iterator[float]:
    while True:
        yield from rng.random(512).tolist()


def _drawn_apart(
    indptr: Ints, antecedents: Ints32, scores: Floats, pairs: np.typing.ArrayLike, rng: np.random.Generator
) -> Ints32:
    """Draw antecedents from the scores' distribution, given that `pairs` of mentions are in different entities."""
    distribution = AntecedentDistribution.from_csr(indptr, antecedents, scores)
    labels = sample_clusterings(distribution, n_samples=1, seed=int(rng.integers(2**63)), cannot_link=pairs).labels[0]
    # Given the entities, antecedents are independent: a candidate in the mention's entity, or NEW for a first mention.
    is_possible = labels[antecedents] == np.repeat(labels, np.diff(indptr))
    new = labels == np.arange(len(labels))
    return _drawn(indptr, antecedents, np.where(is_possible, scores, -np.inf), rng, new=new)


def _drawn(
    indptr: Ints, antecedents: Ints32, scores: Floats, rng: np.random.Generator, new: Bools | float = 1.0
) -> Ints32:
    """Draw the antecedent of each mention from softmax(scores); `new` is the weight of NEW, 0 if it is impossible."""
    cumulative = np.concatenate(([0.0], np.cumsum(np.exp(scores))))
    begin, end = cumulative[indptr[:-1]], cumulative[indptr[1:]]
    target = begin + rng.random(len(begin)) * (end - begin + new)
    candidate_indices = np.searchsorted(cumulative, target, side="right") - 1
    is_linked = target < end
    drawn = np.full(len(begin), NEW, np.int32)
    drawn[is_linked] = antecedents[candidate_indices[is_linked]]
    drawn.flags.writeable = False
    return drawn


def _entities(antecedents: Ints32) -> list[int]:
    """Index of the first mention of each mention's entity; entities are the connected components of the links."""
    labels: list[int] = []
    for mention, antecedent in enumerate(antecedents.tolist()):
        labels.append(mention if antecedent == NEW else labels[antecedent])
    return labels


MIN_PROB = 1e-4  # candidates of lower probability are left out


def candidate_scores(
    traits: Sequence[_story.Traits], mentions: Ints32, sentences: Ints32, subjects: Bools, rng: np.random.Generator
) -> tuple[Ints, Ints32, Floats]:
    """Score earlier mentions as antecedents of each mention, and leave out those of probability below `MIN_PROB`.

    Scores of nouns and names depend on their words, and scores of pronouns on agreement and distance, so that the
    probability of a pronoun is spread over all entities to which it could refer. The true entity has only a limited
    influence on scores, which makes entities uncertain.

    Parameters
    ----------
    traits
        Properties of each mention on which scores depend.
    mentions
        int32 (n_mentions, 3): first token, exclusive end and head of each mention, in the order of the text.
    sentences
        int32 (n_tokens,): sentence of each token.
    subjects
        bool (n_mentions,): whether the mention is a subject.
    rng
        Generator of the noise in the scores.

    Returns
    -------
    tuple
        As compressed sparse rows: int64 (n_mentions + 1,), bounds of each mention's candidates; int32 (n_candidates,),
        the candidates, ascending for each mention; and their scores, where NEW has 0.
    """
    n_mentions = len(traits)
    is_pronoun = np.array([each.pronoun for each in traits], np.bool_)
    nouns, pronouns = np.flatnonzero(~is_pronoun), np.flatnonzero(is_pronoun)

    def same(name: str, rows: Ints) -> Bools:
        """Whether mentions in rows have the same trait as others: (n_rows, n_mentions)."""
        codes = np.unique([getattr(each, name) for each in traits], return_inverse=True)[1]
        return np.asarray(codes[rows][:, None] == codes)

    # Nouns and names: same words, country and entity raise the score, "a" lowers it.
    sentence = sentences[mentions[:, 2]].astype(np.float64)
    of_nouns = np.full((nouns.size, n_mentions), -10.3)
    of_nouns += 3.2 * same("agreement", nouns)
    of_nouns += 3.8 * same("lemma", nouns) + 0.8 * (same("text", nouns) & ~is_pronoun)
    of_nouns += 3.8 * same("entity", nouns)
    has_country = np.array([each.country != _story.NO_COUNTRY for each in traits])
    both = has_country[nouns][:, None] & has_country
    of_nouns += np.where(both, np.where(same("country", nouns), 1.2, -2.5), 0.0)
    of_nouns -= 0.08 * (sentence[nouns][:, None] - sentence)
    of_nouns += 1.2 * np.array([each.definiteness for each in traits], np.float64)[nouns][:, None]
    # Pronouns: by agreement, distance, true entity, and whether a candidate is subject or pronoun.
    of_pronouns = np.full((pronouns.size, n_mentions), -8.0)
    of_pronouns += 9.8 * same("agreement", pronouns)
    of_pronouns += 1.3 * same("entity", pronouns)
    of_pronouns -= 0.9 * (sentence[pronouns][:, None] - sentence)
    of_pronouns += 0.8 * subjects + 0.7 * is_pronoun
    scores = np.empty((n_mentions, n_mentions))
    scores[nouns], scores[pronouns] = of_nouns, of_pronouns
    # An antecedent ends before its mention begins: a phrase is not an antecedent of the mentions inside it.
    scores[mentions[:, 1][None, :] > mentions[:, 0][:, None]] = -np.inf
    scores += rng.normal(0.0, 1.0, n_mentions)[:, None]  # noise of mentions
    rows, columns = np.nonzero(scores > -13.0)  # noise of pairs cannot raise others to MIN_PROB
    kept_scores = scores[rows, columns] + rng.normal(0.0, 0.8, rows.size)
    weights = np.exp(kept_scores)
    totals = 1.0 + np.bincount(rows, weights, n_mentions)
    is_likely = weights >= MIN_PROB * totals[rows]
    indptr = np.append(0, np.cumsum(np.bincount(rows[is_likely], minlength=n_mentions))).astype(np.int64)
    return indptr, columns[is_likely].astype(np.int32), kept_scores[is_likely]
