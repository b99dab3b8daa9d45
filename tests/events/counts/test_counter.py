"""The Python way in."""

import dataclasses
import datetime
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from expected_errors import error
from mention_matches import evaluate_matches
from references import events as er

from corefsample import InputError, ParameterError, ScoredDocument, read_documents, write_documents
from corefsample.coreference import _conditioning
from corefsample.errors import DamagedFileError
from corefsample.formats import DocumentStream
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.counts import _counter

DOCUMENTS = [er.scored(document) for document in er.corpus()]


def counted(**options: Any) -> EventCounter:
    counter = EventCounter(**{"n_samples": 100, **options})
    counter.update(DOCUMENTS)
    return counter


def test_adding_a_document_returns_its_events() -> None:
    counter = EventCounter(n_samples=100)
    result = {document.doc_id: counter.add(document) for document in DOCUMENTS}
    assert [doc_id for doc_id, found in result.items() if found is None] == ["doc 4", "doc 6", "doc 8", "doc 10"]
    third = result["doc 3"]
    assert (third.doc_id, third.date, third.keys) == ("doc 3", datetime.date(1999, 2, 6), (("KWT",), ("USA",)))
    matches = third.parses[0].matches
    direct = evaluate_matches(DOCUMENTS[2].antecedents, matches, "doc 3", datetime.date(1999, 2, 6), n_samples=100)
    assert third.hits.tolist() == direct.hits.tolist()


@pytest.mark.parametrize("missing", ["date", "tokens"])
def test_a_document_without_what_events_need_is_rejected(missing: str) -> None:
    counter = EventCounter()
    good = {**er.corpus()[1], "doc_id": "x"}
    with error(InputError, place="doc_id 'x'") as caught:
        counter.add(er.scored({**good, missing: None}))
    assert caught.value.message.startswith(missing)
    assert counter.add(er.scored(good)) is not None  # a rejected document does not count
    assert counter.n_documents == 1


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 10**8 + 1}, "n_samples"),
        ({"seed": -1}, "seed"),
        ({"period": "2Q"}, "period"),
        ({"scheme": "ud3"}, "scheme"),
        ({"rule": load_rules(), "predicate": lambda document, labels: {}}, "predicate"),
    ],
)
def test_options_that_break_their_rules_are_rejected(options: dict[str, Any], parameter: str) -> None:
    with error(ParameterError, parameter):
        EventCounter(**options)


@pytest.mark.parametrize("wrong", ["file.jsonl", 5, ["attack"]])
def test_an_argument_of_another_kind_is_named(wrong: Any) -> None:
    for parameter in ("rule", "lexicon", "predicate"):
        with error(ParameterError, parameter):
            EventCounter(**{parameter: wrong})
    counter = EventCounter()
    with error(ParameterError, "document"):
        counter.add(wrong)
    with error(ParameterError, "document" if isinstance(wrong, list) else "documents"):
        counter.update(wrong)
    assert counter.n_documents == 0


def test_an_outlying_date_is_rejected_with_its_document_and_not_counted() -> None:
    counter = EventCounter(period="day", n_samples=10)
    counter.update(DOCUMENTS)
    outlier = dataclasses.replace(DOCUMENTS[1], doc_id="outlier", date=datetime.date(999, 2, 6))
    rule = r"date must leave at most 100,000 periods \(day\) from first to last document, got 0999-02-06"
    with pytest.raises(InputError, match=f"^doc_id 'outlier': {rule}$"):
        counter.add(outlier)
    assert counter.n_documents == len(DOCUMENTS)
    assert counter.add(dataclasses.replace(outlier, date=DOCUMENTS[1].date)) is not None  # it was not counted


# --- batches and parts -------------------------------------------------------------------------------------


def tables(counter: EventCounter) -> list[Any]:
    return [counter.counts_of_all().to_frame(), counter.evidence(), counter.near_half(3), counter.all_documents()]


def assert_same(counter: EventCounter, other: EventCounter) -> None:
    for found, expected in zip(tables(counter), tables(other), strict=True):
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("in_folder", [True, False])
def test_batches_are_counted_as_their_documents(tmp_path: Path, threads: int, is_stream: bool, in_folder: bool) -> None:
    stream = DocumentStream(er.write_lines(tmp_path / "d.jsonl", er.corpus()), needs=("date", "tokens"), batch_size=3)
    counter = EventCounter(n_samples=100, folder=tmp_path if in_folder else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_counter, "_LONG", 300)  # documents of three mentions and more are sampled in threads
        counter.update(stream if is_stream else iter(stream), threads=threads)
    assert_same(counter, counted())
    with error(InputError, place="d.jsonl: line 1: doc_id 'doc 1'" if is_stream else "doc_id 'doc 1'"):
        counter.update(stream if is_stream else iter(stream))


@pytest.mark.parametrize("options", [{}, {"rule": [load_rules("attack"), load_rules("arrest")], "period": "year"}])
def test_the_merged_counts_of_parts_are_those_of_the_corpus(tmp_path: Path, options: dict[str, Any]) -> None:
    parts = [EventCounter(n_samples=100, **options) for _ in range(3)]
    for number, part in enumerate(parts):
        part.update(DOCUMENTS[number::3])
        folder = tmp_path / str(number)
        folder.mkdir()
        part.save(folder)
    whole = counted(**options)
    for third, second, first in (parts[::-1], [EventCounter.load(tmp_path / str(number)) for number in range(3)]):
        first.merge(second)
        first.merge(third)
        assert_same(first, whole)
        assert first.document_counts() == whole.document_counts()
        with error(InputError):  # its documents are there already
            first.merge(third)


SENTENCES = (
    "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Iran/PROPN>2:obj",
    "they/PRON>2:nsubj attacked=attack/VERB>0:root soldiers/NOUN>2:obj",
    "they/PRON>2:nsubj killed=kill/VERB>0:root soldiers/NOUN>2:obj",
    "soldiers/NOUN>3:nsubj:pass were=be/AUX>3:aux:pass killed=kill/VERB>0:root",
    "they/PRON>3:nsubj:pass were=be/AUX>3:aux:pass arrested=arrest/VERB>0:root",
    "it/PRON>2:nsubj met=meet/VERB>0:root Kuwait/PROPN>2:obj",
)


@pytest.mark.parametrize("draws", ["repeated", "of chains"])
def test_a_rule_has_the_same_evidence_and_counts_alone_and_with_others(
    monkeypatch: pytest.MonkeyPatch, draws: str
) -> None:
    if draws == "of chains":
        for name, value in (("_ENOUGH", _conditioning._PILOT + 1), ("_LEAST", 2.0), ("_MOST_TRIES", 2)):
            monkeypatch.setattr(_conditioning, name, value)
    rng, documents = np.random.default_rng(5), []
    for number in range(60):
        sentences = rng.choice(SENTENCES, rng.integers(1, 6)).tolist()
        n_mentions = len(er.nominal_mentions(er.parsed(*sentences).upos))
        links = {i: {j: float(rng.normal(0.0, 3.0)) for j in range(i)} for i in range(n_mentions)}
        documents.append(er.scored(er.json_document(f"d{number}", "1999-01-05", sentences, links)))
    presets = (("attack", "paper"), ("kill", "asserted"), ("attack_target", "asserted"), ("meet", "asserted"))
    rules = [load_rules(*names) for names in (*presets, ("arrest", "asserted"))]
    together = EventCounter(rules, load_lexicon("police"), n_samples=200)
    found = [[events.event for events in together.add_to_each(document)] for document in documents]
    assert all(names == [rule.name for rule in rules if rule.name in names] for names in found)
    evidence, n_rows = together.rows.read(*together.rows.schema.names), 0
    for rule in rules:
        alone = EventCounter(rule, load_lexicon("police"), n_samples=200)
        alone.update(documents)
        expected = alone.rows.read(*alone.rows.schema.names)
        columns = [name for name in expected.column_names if name in evidence.column_names]
        rows = evidence.filter(pc.equal(evidence["event"], rule.name)).select(columns)
        assert rows.to_pylist() == expected.select(columns).to_pylist()
        counts = alone.counts().to_frame()
        pd.testing.assert_frame_equal(together.counts(event=rule.name).to_frame()[counts.columns], counts)
        n_rows += rows.num_rows
    assert n_rows == evidence.num_rows > 200
    assert (max(evidence["inefficiency"].to_pylist()) > 1.0) == (draws == "of chains")


def test_only_counters_of_the_same_events_are_merged() -> None:
    with error(ParameterError, "other"):
        counted().merge(counted(period="year"))
    outlying = EventCounter(period="day", n_samples=100)
    outlying.add(dataclasses.replace(DOCUMENTS[1], doc_id="outlier", date=datetime.date(999, 2, 6)))
    with error(InputError, place="doc_id 'outlier'"):
        counted(period="day").merge(outlying)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"rule": load_rules("attack", "extended")}, "rule"),
        ({"rule": dataclasses.replace(load_rules(), unless=(), examples=())}, "rule"),
        ({"filled": "named"}, "rule"),
        ({"lexicon": load_lexicon("police")}, "lexicon"),
        ({"seed": 1}, "seed"),
        ({"n_samples": 50}, "n_samples"),
    ],
)
def test_counts_of_another_preset_lexicon_or_seed_are_not_merged(
    tmp_path: Path, options: dict[str, Any], name: str
) -> None:
    counter, other = EventCounter(n_samples=100), EventCounter(**{"n_samples": 100, **options})
    other.update(DOCUMENTS)
    other.save(tmp_path)
    for each in (other, EventCounter.load(tmp_path)):
        with pytest.raises(ParameterError, match=f"^other must have the same {name} as this counter"):
            counter.merge(each)
    assert counter.n_documents == 0


def test_loaded_counts_are_merged_into_a_counter_that_goes_on(tmp_path: Path) -> None:
    first, second = EventCounter(n_samples=100), EventCounter(n_samples=100)
    first.update(DOCUMENTS[:4])
    first.save(tmp_path)
    second.merge(EventCounter.load(tmp_path))
    with error(InputError, place="doc_id 'doc 3'"):
        second.add(DOCUMENTS[2])
    second.update(DOCUMENTS[4:])
    assert_same(second, counted())


def test_saved_evidence_that_is_damaged_or_other_content_is_not_loaded(tmp_path: Path) -> None:
    counted().save(tmp_path)
    path = tmp_path / "evidence.parquet"
    content = path.read_bytes()
    for other in (content[:-30], b""):
        path.write_bytes(other)
        with error(DamagedFileError, place="evidence.parquet"):
            EventCounter.load(tmp_path)
    pd.DataFrame({"doc_id": ["d"]}).to_parquet(path)
    with error(InputError, place="evidence.parquet"):
        EventCounter.load(tmp_path)
    path.unlink()
    with error(InputError, place=tmp_path.name):
        EventCounter.load(tmp_path)


def test_a_counter_is_saved_to_the_folder_from_which_it_was_loaded(tmp_path: Path) -> None:
    whole = counted()
    whole.save(tmp_path)
    loaded = EventCounter(n_samples=100)
    loaded.merge(EventCounter.load(tmp_path))
    loaded.save(tmp_path)
    assert_same(EventCounter.load(tmp_path), whole)  # type: ignore[arg-type]


@cache
def short_documents() -> list[ScoredDocument]:
    return [each.document for each in simulate_documents(300, seed=1, median_mentions=10.0)]


@pytest.mark.parametrize("n_before", [5, 200])
@pytest.mark.parametrize("is_stream", [True, False])
def test_after_an_error_of_a_predicate_nothing_of_its_batch_is_counted(
    tmp_path: Path, n_before: int, is_stream: bool
) -> None:
    """Documents in batches of 64, or 5 in a stream; the predicate fails for the document after `n_before`."""
    documents, is_failing = short_documents(), True

    def predicate(document: Any, labels: Any) -> dict[str, Any]:
        if is_failing and document.doc_id == documents[n_before].doc_id:
            raise ZeroDivisionError
        return {"one": labels[:, -1] == 0}

    size = 5 if is_stream else 64
    write_documents(documents, tmp_path / "d.jsonl")
    counter = EventCounter(predicate=predicate, n_samples=20)
    given = DocumentStream(tmp_path / "d.jsonl", needs=("date",), batch_size=size) if is_stream else documents
    with pytest.raises(ZeroDivisionError):
        counter.update(given)
    n_counted = n_before // size * size
    assert counter.n_documents == n_counted
    assert len(counter.rows) == n_counted
    is_failing = False
    counter.update(documents[n_counted:])  # none is a duplicate
    whole = EventCounter(predicate=predicate, n_samples=20)
    whole.update(documents)
    assert_same(counter, whole)


def test_documents_before_an_invalid_one_or_an_error_of_the_iterable_are_counted() -> None:
    def documents() -> Iterator[Any]:
        yield from DOCUMENTS[:3]
        raise OSError("gone")

    for invalid, expected in (
        (documents(), OSError),
        ([*DOCUMENTS[:3], DOCUMENTS[1], DOCUMENTS[4]], InputError),
        ([*DOCUMENTS[:3], "text"], ParameterError),
    ):
        counter, before = EventCounter(n_samples=100), EventCounter(n_samples=100)
        before.update(DOCUMENTS[:3])
        with pytest.raises(expected):
            counter.update(invalid)
        assert_same(counter, before)


def test_without_coreference_every_mention_is_an_entity_of_its_own(tmp_path: Path) -> None:
    """The counts are those of the same documents without any candidate antecedent."""
    rows = er.corpus()
    bare = [
        row | {"antecedents": [[] for _ in row["antecedents"]], "scores": [[] for _ in row["scores"]]} for row in rows
    ]
    tables = []
    for name, given, coreference in (("a", rows, "none"), ("b", bare, "scored"), ("c", rows, "scored")):
        counter = EventCounter(coreference=coreference, n_samples=50)  # type: ignore[arg-type]
        counter.update(read_documents(er.write_lines(tmp_path / f"{name}.jsonl", given)))
        tables.append(counter.counts_of_all().to_frame())
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert not tables[0].equals(tables[2])
    with error(ParameterError, "other"):
        EventCounter(n_samples=50).merge(EventCounter(coreference="none", n_samples=50))
