"""Rows of benchmarks/run.py about trees: sampled parses against the usual parse, and arc distributions."""

from __future__ import annotations

import datetime
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from measure import Row, in_turn, timed, within

from corefsample.parses import parse_samples
from corefsample.spacy_bridge.pipelines import UNUSED
from corefsample.trees import ArcDistribution
from events.corpora._document_inputs import ReadDocument
from events.news._fields import Article
from events.runs._run_options import ScoringOptions
from events.runs._scorer import Scorer

MODELS = Path(__file__).parents[2] / "shared" / "models"
PIPELINES = ("en_gum_ud", "en_core_web_sm")
N_WORDS, N_SAMPLES = 25, 1000
PARAGRAPHS = 6
# A paragraph of news as the job parses it, written for this benchmark.
PARAGRAPH = (
    "The president of the republic met her generals on Monday near the old border, two days after rebels who had left "
    "the talks attacked a convoy. Officials said that the soldiers, most of whom were young, had been warned by people "
    "from the villages but decided to cross the bridge before it was dark. A spokesman for the movement denied that "
    "its fighters were involved and blamed a group from the north, which has never signed the agreement. Neither side "
    "would say how many of the wounded were able to leave the hospital in the capital, where doctors have worked "
    "without electricity since the storm."
)


def parsing_rows(runs: int) -> Iterator[Row]:
    yield from _sampled_parses(runs)
    yield from _scored_parses(runs)
    scores = np.random.default_rng(0).normal(size=(N_WORDS, N_WORDS + 1)) * 3.0
    distribution = ArcDistribution.from_scores(scores)
    distribution.sample(N_SAMPLES)  # compiles

    def marginals() -> None:
        ArcDistribution(distribution.scores).marginals()

    marginals()
    yield _limit(f"arc marginals, {N_WORDS} words", min(timed(marginals) for _ in range(20 * runs)), 1e-4)
    samples = min(timed(lambda: distribution.sample(N_SAMPLES)) for _ in range(5 * runs))
    yield _limit(f"{N_SAMPLES:,} exact samples of trees, {N_WORDS} words", samples, 5e-3)


def _sampled_parses(runs: int) -> Iterator[Row]:
    import spacy

    for name in PIPELINES:
        if not (MODELS / name).exists():
            print(f"left out: sampled parses of {name}, which is not there", file=sys.stderr)
            continue
        nlp = spacy.load(MODELS / name)
        doc = nlp(PARAGRAPH)
        sides = in_turn(lambda nlp=nlp, doc=doc: parse_samples(nlp, doc, 100), lambda nlp=nlp: nlp(PARAGRAPH), runs)  # type: ignore[misc]
        yield within(f"100 parse samples, {len(doc)} tokens", f"usual parse ({name})", sides, 15)


def _scored_parses(runs: int) -> Iterator[Row]:
    """The job `score` with ten parses a text against one, and one against the parser alone; without start-up."""
    import spacy

    article = Article("news", datetime.date(2000, 1, 1), "\n\n".join([PARAGRAPH] * PARAGRAPHS), "", {})
    item = ReadDocument("news", "article 1", article)
    for name in PIPELINES:
        if not (MODELS / name).exists():
            continue
        options = {"pipeline": str(MODELS / name)}
        one, ten = Scorer(ScoringOptions(**options)), Scorer(ScoringOptions(**options, parses=10))
        sides = _processor_times(lambda ten=ten: ten.score(item), lambda one=one: one.score(item), 3 * runs)  # type: ignore[misc]
        yield within(f"score --parses 10, {PARAGRAPHS} paragraphs, processor time", f"one parse ({name})", sides, 4)
        nlp = spacy.load(MODELS / name, exclude=list(UNUSED))
        own = _processor_times(
            lambda one=one: one.score(item), lambda nlp=nlp: list(nlp.pipe([article.text])), 3 * runs
        )  # type: ignore[misc]
        yield within(
            f"score, {PARAGRAPHS} paragraphs, processor time", f"spaCy's parse, same components ({name})", own, 1.35
        )


def _processor_times(ours: Callable[[], object], theirs: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median processor times of both sides, run in turn, after one warm-up."""
    ours(), theirs()
    times: list[list[float]] = [[], []]
    for _ in range(runs):
        for side, work in enumerate((ours, theirs)):
            start = time.process_time()
            work()
            times[side].append(time.process_time() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def _limit(work: str, seconds: float, most: float) -> Row:
    return Row(work, f"{most * 1e3:g} ms", seconds, most, seconds / most, "<= 1x of it", seconds <= most)
