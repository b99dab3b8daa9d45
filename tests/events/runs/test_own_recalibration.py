"""Scores that had the recalibration of the English model are counted with its uncertainty, unless it is turned off."""

import dataclasses
import json
import logging
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Calls
from expected_errors import error
from run_cases import CountOptions, count_events

import corefsample as cs
from corefsample.recalibration._uncertain import chosen_recalibration, read_recalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource
from corefsample.syntax._words import mention_kinds
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.commands.recalibrate import RecalibrateOptions, run_recalibrate
from events.counts import read_count_samples
from events.evidence._columns import Calendar
from events.evidence._evaluation import evaluate_clustering
from events.matching._matching import match_document

N_SAMPLES, N_DRAWS = 100, 50
GENRES = ("news", "news", "speech", None)


@cache
def scored(n: int = 14) -> list[cs.ScoredDocument]:
    """Documents as of a model without a recalibration, most of which name their genre."""
    documents = [each.document for each in simulate_documents(n, seed=2, event_share=1.0)]
    return [
        dataclasses.replace(each, metadata={} if GENRES[d % 4] is None else {"genre": GENRES[d % 4]})
        for d, each in enumerate(documents)
    ]


@cache
def recalibrated(n: int = 14) -> list[cs.ScoredDocument]:
    return [read_recalibration("english").recalibration.apply_document(each) for each in scored(n)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents with the recalibration (own), without (plain), and with another (other)."""
    folder = tmp_path_factory.mktemp("files")
    cs.write_documents(recalibrated(), folder / "own.jsonl")
    cs.write_documents(scored(), folder / "plain.jsonl")
    change = cs.Recalibration(1.3, 0.1)
    cs.write_documents((change.apply_document(each) for each in scored()), folder / "other.jsonl")
    return folder


def counted(source: Any, out: Path, **options: Any) -> Path:
    chosen = CountOptions(
        **{"n_samples": N_SAMPLES, "period": "year", "compare": ("YUG", "RUS"), "triggers": "rules", **options}
    )
    count_events(source, out, chosen)
    return out


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return counted(folder / "own.jsonl", folder / "run")


def without_genre(document: cs.ScoredDocument) -> cs.ScoredDocument:
    return dataclasses.replace(document, metadata={"recalibration": document.metadata["recalibration"]})


def reference_counts(documents: list[cs.ScoredDocument]) -> dict[tuple[str, str], np.ndarray[Any, Any]]:
    """Counts by sample of each country and year, by one loop over documents, draws and samples."""
    rule, lexicon = load_rules("attack"), load_lexicon()
    shipped = {
        each.recalibration.fingerprint(): each for each in map(read_recalibration, ("english", "english-annotated"))
    }
    assert len(shipped) == 2
    calendar, counts = Calendar("year"), defaultdict(lambda: np.zeros(N_SAMPLES, int))
    for document in documents:
        matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
        kinds = mention_kinds(document.tokens, document.mentions)
        (period,) = calendar.periods(calendar.numbers([document.date]))
        english = shipped[str(document.metadata["recalibration"])]
        draws = english.sampled("domain", N_DRAWS, domain=str(document.metadata.get("genre", "")))
        changed = [draw.relative_to(english.recalibration).apply(document.antecedents, kinds) for draw in draws]
        for sample in range(N_SAMPLES):
            stream: dict[str, Any] = {"n_samples": 1, "doc_id": document.doc_id, "first_sample": sample}
            draw = changed[sample // (N_SAMPLES // N_DRAWS)]
            drawn = cs.sample_clusterings(draw, **stream, cannot_link=matches.apart)
            for (country,) in evaluate_clustering(matches, drawn.labels[0]):
                counts[country, period.label][sample] += 1
    return counts


def test_a_run_counts_sample_by_sample_under_the_draws_of_each_genre_and_of_the_model_of_its_mentions(
    tmp_path: Path,
) -> None:
    change = read_recalibration("english-annotated").recalibration
    annotated = [change.apply_document(each) for each in scored()]
    mixed = [other if d % 3 else own for d, (other, own) in enumerate(zip(annotated, recalibrated(), strict=True))]
    cs.write_documents(mixed, tmp_path / "mixed.jsonl")
    samples = read_count_samples(counted(tmp_path / "mixed.jsonl", tmp_path / "run"))
    expected = reference_counts(mixed)
    assert samples.counts.sum() == sum(each.sum() for each in expected.values()) > 100
    for c, country in enumerate(samples.actors):
        for t, period in enumerate(samples.periods):
            np.testing.assert_array_equal(samples.counts[:, c, t], expected[country, period])
    # Without the genres all documents share one shift, which gives other samples.
    few = recalibrated(3)
    with_genres, without = reference_counts(few), reference_counts([without_genre(d) for d in few])
    assert any((without[key] != each).any() for key, each in with_genres.items())


def test_the_uncertainty_can_be_turned_off(folder: Path, run: Path, tmp_path: Path) -> None:
    tables = {}
    for name, options in {"uncertainty": {"uncertainty": "none"}, "recalibration": {"recalibration": "none"}}.items():
        tables[name] = pd.read_parquet(counted(folder / "own.jsonl", tmp_path / name, **options) / "counts.parquet")
    assert set(tables["uncertainty"].pop("uncertainty")) == {"none"}
    assert tables["uncertainty"].equals(tables["recalibration"])
    shared = pd.read_parquet(run / "counts.parquet")
    assert shared["mean"].tolist() != tables["recalibration"]["mean"].tolist()


def test_scores_of_two_kinds_are_not_counted_together(folder: Path, tmp_path: Path) -> None:
    half = [*recalibrated(4), *scored(8)[4:]]
    cs.write_documents(half, tmp_path / "mixed.jsonl")
    cs.write_documents(scored(30)[24:], tmp_path / "more.jsonl")
    rule = "scores must all have had the recalibration of a model of the package"
    two_files = [folder / "own.jsonl", tmp_path / "more.jsonl"]
    for inputs, place in ((tmp_path / "mixed.jsonl", "mixed.jsonl: line 5: doc_id"), (two_files, "more.jsonl")):
        for on_error in ("stop", "quarantine"):  # the corpus is wrong, not a document
            options = CountOptions(n_samples=20, period="year", on_error=on_error)  # type: ignore[arg-type]
            with error(cs.InputError, place=place, hint="uncertainty") as caught:
                count_events(inputs, tmp_path / f"run-{on_error}", options)
            assert caught.value.message.startswith(rule)
    with pytest.raises(cs.InputError, match=rule):
        EventCounter(n_samples=N_SAMPLES).update(half)
    count_events(two_files, tmp_path / "none", CountOptions(n_samples=20, uncertainty="none"))


def test_other_recalibrations_are_reported(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="corefsample"):
        found = counted(folder / "other.jsonl", tmp_path / "run")
    mark = next(cs.read_documents(folder / "other.jsonl")).metadata["recalibration"]
    text = f"scores with the recalibration {mark}, which is of no model of the package: its uncertainty is not counted"
    assert caplog.text.count(text) == 1
    expected = counted(folder / "other.jsonl", tmp_path / "none", recalibration="none")
    assert (found / "counts.csv").read_bytes() == (expected / "counts.csv").read_bytes()


def test_an_uncertainty_that_is_not_known_is_an_error(folder: Path, tmp_path: Path) -> None:
    for source in ("plain", "other"):
        with error(cs.ParameterError, "uncertainty"):
            counted(folder / f"{source}.jsonl", tmp_path / "run", uncertainty="domain")
    with error(cs.InputError, place="doc_id"):
        EventCounter(uncertainty="fit").update(scored(2))


# --- fits to recalibrated scores, and the English model as a command ---------------------------------------


def test_a_fit_to_recalibrated_scores_is_for_such_scores(tmp_path: Path) -> None:
    options = partial(RecalibrateOptions, objective="likelihood", form="global", n_folds=2, n_resamples=2)
    documents = [each.document for each in simulate_documents(16, seed=1, event_share=1.0)]
    change, other = cs.Recalibration(1.3, 0.2), cs.Recalibration(1.5, 0.1)
    cs.write_documents(map(change.apply_document, documents), tmp_path / "gold.jsonl")
    cs.write_documents(map(other.apply_document, documents), tmp_path / "other.jsonl")
    run = run_recalibrate(tmp_path / "gold.jsonl", tmp_path / "gold.jsonl", options(out=tmp_path / "again.jsonl"))
    record = json.loads(Path(run["record"]).read_text(encoding="utf-8"))
    assert record["base"] == change.fingerprint()
    marks = {document.metadata["recalibration"] for document in cs.read_documents(run["out"])}
    assert marks == {f"{change.fingerprint()} {run.result.uncertain.recalibration.fingerprint()}"}
    with error(cs.InputError, place="other.jsonl: line 1: doc_id 'sim-000000'"):
        run_recalibrate(tmp_path / "gold.jsonl", tmp_path / "other.jsonl", options(out=tmp_path / "out.jsonl"))


@pytest.mark.parametrize("mentions", MENTION_SOURCES)
def test_the_english_model_scores_as_the_command_does(mentions: MentionSource, tmp_path: Path, call: Calls) -> None:
    documents = [each.document for each in simulate_documents(3, seed=4)]
    plain = list(score_documents(load_scorer(), documents, mentions=mentions))
    change = read_recalibration(chosen_recalibration("english", mentions=mentions) or "").recalibration
    cs.write_documents(documents, tmp_path / "d.jsonl")
    call("score", tmp_path / "d.jsonl", "--mentions", mentions, "--out", tmp_path / "s.jsonl")
    by_command = cs.read_documents(tmp_path / "s.jsonl")
    for other, document in zip(by_command, plain, strict=True):
        expected = change.apply_document(document)
        np.testing.assert_allclose(other.antecedents.scores, expected.antecedents.scores, atol=1e-5)
        assert other.metadata["recalibration"] == change.fingerprint()
    record = json.loads((tmp_path / "s.jsonl.scoring.json").read_text(encoding="utf-8"))
    assert record["recalibration"]["fingerprint"] == change.fingerprint()
    assert record["model"]["path"] == "the English model of the package"
    assert record["summary"]["recalibration"] == ("english" if mentions == "parse" else "english-annotated")


def test_a_predicate_gets_the_samples_of_the_draws() -> None:
    documents = recalibrated(4)
    seen: list[Any] = []

    def predicate(document: cs.ScoredDocument, labels: Any) -> dict[str, Any]:
        seen.append(labels.copy())
        return {"links": labels[:, -1] != document.n_mentions - 1}

    EventCounter(predicate=predicate, n_samples=N_SAMPLES, period="year").update(documents[:1])
    english, document = read_recalibration("english"), documents[0]
    kinds = mention_kinds(document.tokens, document.mentions)
    draws = english.sampled("domain", N_DRAWS, domain="news")
    for sample in (0, 1, 2, 55, N_SAMPLES - 1):
        changed = draws[sample // 2].relative_to(english.recalibration).apply(document.antecedents, kinds)
        expected = cs.sample_clusterings(changed, n_samples=1, doc_id=document.doc_id, first_sample=sample)
        np.testing.assert_array_equal(seen[0][sample], expected.labels[0])
