"""Sampled counts as arrays; the exact posterior of one count, from memory and from a folder."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from expected_errors import error
from references import events as er
from run_cases import CountOptions, count_events
from small_counts import names

from corefsample import ParameterError, ScoredDocument, read_documents, write_documents
from events import EventCounter, count_posterior, count_samples, load_rules, simulate_documents
from events.counts import read_count_posterior, read_count_samples
from events.counts._distributions import CountSamples
from events.counts._event_counts import EventCounts

N_SAMPLES = 40


@pytest.fixture(scope="module")
def documents() -> list[ScoredDocument]:
    start, end = datetime.date(1998, 5, 1), datetime.date(1999, 8, 1)
    options: dict[str, Any] = {"start": start, "end": end, "event_share": 0.8, "median_mentions": 30.0}
    return [each.document for each in simulate_documents(40, seed=2, **options)]


@pytest.fixture(scope="module")
def counts(documents: list[ScoredDocument]) -> EventCounts:
    counter = EventCounter(load_rules("attack", preset="extended"), n_samples=N_SAMPLES, seed=1)
    counter.update(documents)
    return counter.counts(level=0.8)


@pytest.fixture(scope="module")
def samples(counts: EventCounts) -> CountSamples:
    return count_samples(counts)


def test_each_sample_counts_the_documents_with_an_event(documents: list[ScoredDocument], samples: CountSamples) -> None:
    # The slow way: document by document, event by event.
    expected = np.zeros_like(samples.counts)
    one_best = np.zeros_like(samples.one_best)
    counter = EventCounter(load_rules("attack", preset="extended"), n_samples=N_SAMPLES, seed=1)
    for document in documents:
        events = counter.add(document)
        quarter = f"{document.date.year}Q{(document.date.month - 1) // 3 + 1}"
        for e, key in enumerate(() if events is None else names(events)):
            if key in samples.actors and events is not None:
                place = samples.actors.index(key), samples.periods.index(quarter)
                one_best[place] += int(events.one_best[e])
                for s in range(N_SAMPLES):
                    expected[s, *place] += int(events.hits[e, s])
    np.testing.assert_array_equal(samples.counts, expected)
    np.testing.assert_array_equal(samples.one_best, one_best)
    assert samples.counts.sum() > 100


def test_every_run_keeps_its_samples_where_there_is_evidence(tmp_path: Path) -> None:
    """Whether or not its scores had a recalibration; the tables of the run have the same mean."""
    corpus = er.write_lines(tmp_path / "corpus.jsonl", er.corpus())
    count_events(corpus, tmp_path / "run", CountOptions(n_samples=40, threads=1))
    counter = EventCounter(load_rules("attack"), n_samples=40)
    counter.update(read_documents(corpus))
    read, drawn = read_count_samples(tmp_path / "run"), count_samples(counter.counts())
    assert (read.actors, read.periods) == (drawn.actors, drawn.periods)
    np.testing.assert_array_equal(read.counts, drawn.counts)
    kept = pd.read_parquet(tmp_path / "run" / "count_samples.parquet")
    counts = pd.read_parquet(tmp_path / "run" / "counts.parquet")
    with_evidence = counts[counts["mean"] > 0]
    assert kept[["actor", "period"]].to_numpy().tolist() == with_evidence[["actor", "period"]].to_numpy().tolist()
    assert 0 < len(kept) < len(counts)
    means = [np.mean(drawn) for drawn in kept["counts"]]
    assert means == pytest.approx(with_evidence["mean"].tolist(), abs=1e-12)


def test_countries_can_be_chosen(counts: EventCounts, samples: CountSamples) -> None:
    last, first = samples.actors[-1], samples.actors[0]
    chosen = count_samples(counts, [last, "ISL", first])
    np.testing.assert_array_equal(chosen.counts[:, 0], samples.counts[:, -1])
    np.testing.assert_array_equal(chosen.counts[:, 2], samples.counts[:, 0])
    assert not chosen.counts[:, 1].any()  # a country of the lexicon without an event


@pytest.mark.parametrize("actors", [["QQQ"], ["ISL", "ISL"], "ISL"])
def test_countries_that_cannot_be_counted_are_rejected(counts: EventCounts, actors: Any) -> None:
    with error(ParameterError, "actors"):
        count_samples(counts, actors)


def test_no_document_gives_empty_samples() -> None:
    empty = count_samples(EventCounter(n_samples=5).counts())
    assert empty.counts.shape == (5, 0, 0)
    assert len(empty.to_frame()) == 0


# --- one count ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", ["quantile", "hdi", "normal"])
def test_the_posterior_of_one_count_is_its_row_of_the_table(counts: EventCounts, interval: Any) -> None:
    table = dataclasses.replace(counts, level=0.6, interval=interval).to_frame()
    for row in table.sort_values("sd", ascending=False).head(4).itertuples():
        distribution = count_posterior(counts, row.actor, row.period, level=0.6, interval=interval)
        for name in ("actor", "period", "n_docs", "mean", "sd", "lower", "upper", "level", "interval", "one_best"):
            assert getattr(distribution, name) == getattr(row, name), name
        assert distribution.pmf.sum() == pytest.approx(1.0)
        assert distribution.pmf @ np.arange(distribution.pmf.size) == pytest.approx(row.mean)
        assert distribution.to_frame()["probability"].tolist() == distribution.pmf.tolist()
        assert distribution.to_frame()["count"].tolist() == list(range(distribution.pmf.size))


# --- a run's folder ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(documents: list[ScoredDocument], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write_documents(iter(documents), folder / "news.jsonl")
    options = CountOptions(preset="extended", n_samples=N_SAMPLES, seed=1, level=0.8)
    count_events(folder / "news.jsonl", folder / "run", options)
    return folder / "run"


def test_a_folder_gives_the_posterior_that_memory_gives(counts: EventCounts, run: Path) -> None:
    for row in counts.to_frame().sort_values("sd", ascending=False).head(3).itertuples():
        distribution = count_posterior(counts, row.actor, row.period)
        read = read_count_posterior(run, row.actor, row.period)
        assert read.pmf == pytest.approx(distribution.pmf, abs=1e-12)
        for name in ("n_docs", "mean", "sd", "lower", "upper", "level", "interval", "one_best"):
            assert getattr(read, name) == pytest.approx(getattr(distribution, name)), name
    with error(ParameterError, "actor"):
        read_count_posterior(run, "QQQ", "1999Q1")
