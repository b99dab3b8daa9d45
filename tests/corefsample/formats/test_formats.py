"""Streams and writers, whatever the format."""

import dataclasses
import errno
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from references import coreference as references
from references.events import write_lines
from strategies.documents import COMPLETE, Document

from corefsample import InputError, OutputError, ParameterError, ScoredDocument, read_documents, write_documents
from corefsample.documents._faults import Rejected
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import convert, quarantine_file

ENDINGS = [".jsonl", ".jsonl.gz", ".parquet"]
every_format = pytest.mark.parametrize("ending", ENDINGS)


def some(n: int, first: int = 0) -> list[Document]:
    """Documents d0, d1, ..., each a little different."""
    return [
        {
            "doc_id": f"d{number}",
            "date": f"2024-01-{number % 28 + 1:02}",
            "mentions": [[0, 1, 0]] * (number % 3),
            "antecedents": [list(range(i)) for i in range(number % 3)],
            "scores": [[number / 7 - i] * i for i in range(number % 3)],
        }
        for number in range(first, first + n)
    ]


@pytest.fixture
def ten(tmp_path: Path) -> list[ScoredDocument]:
    return list(read_documents(write_lines(tmp_path / "source.jsonl", some(10))))


def ids(inputs: Any, **keywords: Any) -> list[str]:
    return [document.doc_id for document in read_documents(inputs, **keywords)]


# --- which files -------------------------------------------------------------------------------------------


def test_a_doc_id_of_another_file_is_rejected(tmp_path: Path) -> None:
    first, second = write_lines(tmp_path / "a.jsonl", some(3)), write_lines(tmp_path / "b.jsonl", some(2, first=2))
    with error(InputError, place="doc_id 'd2'"):
        ids([first, second])


# --- streams -----------------------------------------------------------------------------------------------


@every_format
@pytest.mark.parametrize("batch_size", [1, 3, 10, 64])
def test_a_batch_has_at_most_its_size(ten: list[ScoredDocument], tmp_path: Path, ending: str, batch_size: int) -> None:
    write_documents(ten, tmp_path / f"ten{ending}")
    batches = list(DocumentStream(tmp_path / f"ten{ending}", batch_size=batch_size))
    assert max(len(batch) for batch in batches) == min(batch_size, 10)
    documents = [batch.document(row) for batch in batches for row in range(len(batch))]
    assert documents == ten
    assert not any(document.mentions.flags.writeable for document in documents)


@every_format
def test_progress_grows_to_the_size_of_all_files(ten: list[ScoredDocument], tmp_path: Path, ending: str) -> None:
    parts = [tmp_path / f"part{number}{ending}" for number in range(2)]
    write_documents(ten[:5], parts[0])
    write_documents(ten[5:], parts[1])
    stream = DocumentStream(parts, batch_size=2)
    progress = [stream.bytes_read, *(stream.bytes_read for _ in stream), stream.bytes_read]
    assert stream.total_bytes == sum(part.stat().st_size for part in parts)
    assert (progress[0], progress[-1]) == (0, stream.total_bytes)
    assert progress == sorted(progress)


def test_a_caller_may_set_documents_aside(tmp_path: Path) -> None:
    rejected: list[Rejected] = []

    path = write_lines(tmp_path / "five.jsonl", some(5))
    stream = DocumentStream(path, on_rejected=rejected.append)
    faults = dict.fromkeys((1, 3), "number must be even")
    ((batch, results),) = stream.batches(lambda batch: (dict(enumerate("abcde")), faults))
    assert batch.doc_ids == ["d0", "d2", "d4"]
    assert results == {0: "a", 1: "c", 2: "e"}
    assert [bad.message() for bad in rejected] == [
        f"{path}: line 2: doc_id 'd1': number must be even",
        f"{path}: line 4: doc_id 'd3': number must be even",
    ]


@every_format
@pytest.mark.parametrize("field", ["date", "tokens", "gold"])
def test_a_missing_required_field_is_rejected(tmp_path: Path, ending: str, field: str) -> None:
    lacking = {name: value for name, value in COMPLETE.items() if name != field} | {"doc_id": "lacking"}
    path = tmp_path / f"corpus{ending}"
    convert(write_lines(tmp_path / "source.jsonl", [COMPLETE, lacking]), path)
    assert ids(path) == ["complete", "lacking"]
    with pytest.raises(InputError, match=rf" 2: doc_id 'lacking': {field} is missing"):
        ids(path, needs=[field])


# --- writing -----------------------------------------------------------------------------------------------


def test_inputs_are_checked_at_once_and_not_with_the_first_document(tmp_path: Path) -> None:
    with error(InputError, place="nowhere.jsonl"):
        read_documents(tmp_path / "nowhere.jsonl")


@every_format
def test_the_same_documents_give_the_same_bytes(ten: list[ScoredDocument], tmp_path: Path, ending: str) -> None:
    for name in ("one", "two"):
        assert write_documents(ten, tmp_path / f"{name}{ending}") == 10
    assert write_documents([], tmp_path / f"none{ending}") == 0
    assert ids(tmp_path / f"none{ending}") == []
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


class InterruptedWorkError(Exception):
    """Something that goes wrong in the middle."""


def interrupted(documents: Sequence[ScoredDocument], error: BaseException) -> Iterator[ScoredDocument]:
    yield from documents
    raise error


@every_format
@pytest.mark.parametrize("error", [InterruptedWorkError(), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_interrupted_work_leaves_none(
    ten: list[ScoredDocument], tmp_path: Path, ending: str, error: BaseException
) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(type(error)):
        write_documents(interrupted(ten, error), tmp_path / "out" / f"ten{ending}")
    assert os.listdir(tmp_path / "out") == []


# --- converting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), list(itertools.product(ENDINGS, repeat=2)))
def test_any_format_becomes_any_other(ten: list[ScoredDocument], tmp_path: Path, one: str, other: str) -> None:
    write_documents(ten, tmp_path / f"one{one}")
    assert convert(tmp_path / f"one{one}", tmp_path / f"other{other}") == 10
    assert list(read_documents(tmp_path / f"other{other}")) == ten


@every_format
def test_a_corpus_of_no_documents_is_not_converted(tmp_path: Path, ending: str) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match=r"empty\.jsonl: a corpus must have at least one document, got none"):
        convert(tmp_path / "empty.jsonl", tmp_path / f"out{ending}")
    assert os.listdir(tmp_path) == ["empty.jsonl"]


def test_a_file_may_be_converted_into_itself(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "same.jsonl", some(3))
    assert convert(path, path, overwrite=True) == 3
    assert ids(path) == ["d0", "d1", "d2"]


# --- quarantine --------------------------------------------------------------------------------------------


def test_bad_lines_are_set_aside_as_they_came(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    good = json.dumps(some(1)[0])
    path.write_text(f'{good}\n{{"doc_id": "broken"\n{good}\n')
    with quarantine_file(tmp_path / "out.jsonl") as quarantine:
        assert quarantine is not None
        assert convert(path, tmp_path / "out.jsonl", on_rejected=quarantine) == 1
        assert quarantine.count == 2
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl.quarantine.jsonl").read_text().splitlines()]
    assert [(line["source"], line["place"], line["doc_id"]) for line in lines] == [
        (str(path), "line 2", ""),
        (str(path), "line 3", "d0"),
    ]
    assert lines[0]["document"] == '{"doc_id": "broken"'
    assert references.content_of_json(json.loads(lines[1]["document"])) == references.content_of_json(some(1)[0])


def test_an_earlier_quarantine_is_kept_unless_overwritten_on_request(tmp_path: Path) -> None:
    before = tmp_path / "out.jsonl.quarantine.jsonl"
    before.write_text("precious")
    for on_error in ("stop", "quarantine"):
        blocked = quarantine_file(tmp_path / "out.jsonl", on_error=on_error)
        with pytest.raises(ParameterError, match="output must not exist"), blocked:
            pass
        assert os.listdir(tmp_path) == [before.name]
    assert before.read_text() == "precious"
    with quarantine_file(tmp_path / "out.jsonl", overwrite=True) as quarantine:
        assert quarantine is not None
        quarantine(Rejected("in.jsonl", "line", 1, "", "a line must be JSON", "{"))
    assert json.loads(before.read_text())["document"] == "{"


@pytest.mark.parametrize("on_error", ["stop", "quarantine"])
def test_an_earlier_quarantine_does_not_stay_beside_new_output(tmp_path: Path, on_error: str) -> None:
    (tmp_path / "out.jsonl.quarantine.jsonl").write_text("stale")
    with quarantine_file(tmp_path / "out.jsonl", on_error=on_error, overwrite=True):
        pass
    assert os.listdir(tmp_path) == []


# --- what is no document, no file, no JSON ------------------------------------------------------------------


def test_something_else_among_documents_is_named(ten: list[ScoredDocument], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^documents must be ScoredDocuments, got 'eleven' \(document 11\)$"):
        write_documents([*ten, "eleven"], tmp_path / "out.jsonl")  # type: ignore[list-item]
    assert os.listdir(tmp_path) == ["source.jsonl"]


@every_format
@pytest.mark.parametrize(
    ("value", "name"),
    [([1.0, {"b": float("inf")}], "metadata.a[1].b"), ((0.0, float("nan")), "metadata.a[1]")]
    + [(value, "metadata") for value in (object(), "\ud800")],
    ids=["inf", "tuple", "object", "surrogate"],
)
def test_metadata_that_json_cannot_represent_is_rejected_and_never_null(
    ten: list[ScoredDocument], tmp_path: Path, ending: str, value: Any, name: str
) -> None:
    bad = dataclasses.replace(ten[0], doc_id="bad", metadata={"a": value})
    with error(ParameterError, place="document 11: doc_id 'bad'") as caught:
        write_documents([*ten, bad], tmp_path / f"out{ending}")
    assert caught.value.message.startswith(f"{name} must be ")
    assert os.listdir(tmp_path) == ["source.jsonl"]


def test_a_full_disk_leaves_no_file(ten: list[ScoredDocument], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[Exception] = [OSError(errno.ENOSPC, "No space left on device"), ValueError("closed file")]

    def full(*arguments: Any, **keywords: Any) -> None:
        raise tries.pop(0)

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with error(OutputError, place="out.parquet"):
        write_documents((dataclasses.replace(ten[0], doc_id=f"d{i}") for i in range(300)), tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["source.jsonl"]
