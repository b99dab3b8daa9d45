"""Bad input is rejected in one line that names place, document, field, rule and value; good input beside it is read."""

import copy
import gzip
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import coreference as references
from scored_files import contents, contents_of, lines_of
from strategies import documents as strategies
from strategies.documents import BREAKAGES, COMPLETE, Breakage, Document

from corefsample import InputError, read_documents, write_documents
from corefsample.documents._faults import Rejected
from corefsample.errors import DamagedFileError


def line_of(document: Document) -> bytes:
    return lines_of([document]).strip()


def good(number: int) -> Document:
    return COMPLETE | {"doc_id": f"good {number}"}


def read(lines: Sequence[bytes], **keywords: Any) -> list[Document]:
    return contents_of(b"\n".join(lines), **keywords)


def failure(line: bytes, **keywords: Any) -> str:
    """The message that rejects `line`, which is on line 2 after a good one."""
    with pytest.raises(InputError) as caught:
        read([line_of(good(1)), line, line_of(good(3))], **keywords)
    return str(caught.value)


def assert_names_place(message: str, place: str = "corpus.jsonl: line 2: ") -> None:
    assert place in message
    assert message.isprintable(), "a message is one line"


def assert_quarantined(line: bytes, message: str) -> None:
    """The good documents come out as they would without the bad one, which is reported once."""
    rejected: list[Rejected] = []
    documents = [good(1), good(3), good(4)]
    lines = [line_of(document) for document in documents]
    found = read([lines[0], line, *lines[1:]], on_rejected=rejected.append)
    assert found == [references.content_of_json(document) for document in documents]
    assert [bad.place for bad in rejected] == ["line 2"]
    assert message.endswith(str(rejected[0].error()).partition("corpus.jsonl")[2])


# --- one document that breaks one rule ---------------------------------------------------------------------


@pytest.mark.parametrize("breakage", BREAKAGES, ids=repr)
def test_a_broken_document_is_set_aside_and_no_other(breakage: Breakage) -> None:
    document = copy.deepcopy(COMPLETE)
    fragments = breakage.edit(document, lambda options: options[-1])
    message = failure(line_of(document))
    assert all(fragment in message for fragment in fragments)
    assert ("line 2: doc_id 'complete': " in message) == (document.get("doc_id") == "complete")
    assert_quarantined(line_of(document), message)


# --- lines that are no document ----------------------------------------------------------------------------

MINIMAL = b'{"doc_id": "d", "mentions": [], "antecedents": [], "scores": []'
LINK = b'{"doc_id": "d", "mentions": [[0, 1, 0], [0, 1, 0]], "antecedents": [[], [0]], "scores": [[], [%s]]}'

LINES = {
    "no_end": (b'{"doc_id": "d"', ("JSON",)),
    "nan": (LINK % b"NaN", ("doc_id 'd'", "scores[1][0] must be finite", "got nan")),
    "score_out_of_range": (LINK % b"1e999", ("doc_id 'd'", "scores[1][0]", "got inf")),
    "metadata_out_of_range": (MINIMAL + b', "size": 1e999}', ("doc_id 'd'", "size must be finite", "got inf")),
    "nan_in_depth": (MINIMAL + b', "deep": ' + b"[" * 900 + b"NaN" + b"]" * 900 + b"}", ()),
    "nested_lists": (b"[" * 100_000, ("JSON",)),
    "nested_objects": (MINIMAL + b', "deep": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_001, ("JSON",)),
    "surrogate_doc_id": (b'{"doc_id": "\\ud800", "mentions": [], "antecedents": [], "scores": []}', ("JSON",)),
    "no_utf8_in_doc_id": (b'{"doc_id": "d\xff", "mentions": [], "antecedents": [], "scores": []}', ("utf-8",)),
    "newline_in_a_name": (
        line_of(COMPLETE | {"tokens": COMPLETE["tokens"] | {"a\nb": ["X"]}}),
        ("must be as long as tokens.text (3), got 1",),
    ),
}


@pytest.mark.parametrize(("line", "fragments"), LINES.values(), ids=LINES.keys())
def test_a_line_that_is_no_document_is_rejected(line: bytes, fragments: tuple[str, ...]) -> None:
    message = failure(line)
    assert_names_place(message)
    for fragment in fragments:
        assert fragment in message
    assert len(message) < 1_000
    assert_quarantined(line, message)


# Between 500 and 2,000 it depends on how deep the caller's own stack is.
@pytest.mark.parametrize("depth", [10, 100, 500, 2_000, 5_000, 100_000])
def test_deep_metadata_is_read_and_written_or_rejected(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(MINIMAL + b', "deep": ' + b"[" * depth + b"]" * depth + b"}")
    try:
        (document,) = read_documents(path)
    except InputError as fault:
        outcome = str(fault)
    else:
        outcome = str(write_documents([document], tmp_path / "again.jsonl"))
    assert outcome == "1" or f"{path}: line 1: " in outcome


# --- several bad documents ---------------------------------------------------------------------------------


def test_bad_documents_are_reported_in_the_order_of_the_file() -> None:
    unlike = copy.deepcopy(COMPLETE) | {"doc_id": "unlike", "gold": []}
    late = copy.deepcopy(COMPLETE) | {"doc_id": "late", "antecedents": [[], [1], []], "scores": [[], [0.0], []]}
    lines = [b"{", line_of(good(2)), line_of(late), line_of(good(2)), line_of(unlike), b"[]", line_of(good(7))]
    rejected: list[Rejected] = []
    found = read(lines, on_rejected=rejected.append)
    assert [document["doc_id"] for document in found] == ["good 2", "good 7"]
    assert [(bad.place, bad.doc_id) for bad in rejected] == [
        ("line 1", ""),
        ("line 3", "late"),
        ("line 4", "good 2"),
        ("line 5", "unlike"),
        ("line 6", ""),
    ]


def test_the_first_rule_broken_is_reported_once() -> None:
    document = copy.deepcopy(COMPLETE) | {"date": "soon", "gold": [], "antecedents": [[], [1], [2, 2]]}
    rejected: list[Rejected] = []
    assert read([line_of(document)], on_rejected=rejected.append) == []
    assert [bad.reason for bad in rejected] == ["date must be an ISO date (YYYY-MM-DD), got 'soon'"]


def test_the_line_set_aside_is_the_line_that_came() -> None:
    rejected: list[Rejected] = []
    read([line_of(good(1)), b'  {"doc_id": "d", \t"mentions": 1}  \r'], on_rejected=rejected.append)
    assert rejected[0].document == '  {"doc_id": "d", \t"mentions": 1}  '


# --- files -------------------------------------------------------------------------------------------------


WHOLE = gzip.compress(b"".join(line_of(good(number)) + b"\n" for number in range(50)))


@pytest.mark.parametrize("place", [2, 12, 40, -6])
def test_damaged_gzip_is_rejected(tmp_path: Path, place: int) -> None:
    raw = bytearray(WHOLE)
    raw[place] ^= 0xFF
    (tmp_path / "bad.jsonl.gz").write_bytes(raw)
    with error(DamagedFileError, place="bad.jsonl.gz: line "):
        list(read_documents(tmp_path / "bad.jsonl.gz"))


# --- anything ----------------------------------------------------------------------------------------------


def read_or_reject(line: bytes) -> None:
    """The line is rejected in one line, or read, written and read again as the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "line.jsonl").write_bytes(line)
        try:
            documents = list(read_documents(folder / "line.jsonl"))
        except InputError as fault:
            message = str(fault)
        else:
            message = ""
        if message:
            assert_names_place(message, "line.jsonl: line ")
            return
        expected = [references.content(document) for document in documents]
        for ending in (".jsonl", ".parquet"):
            again = folder / f"again{ending}"
            assert write_documents(documents, again) == len(documents)
            assert contents(again) == expected


@settings(max_examples=200)
@given(strategies.edited_lines())
def test_an_edited_document_is_rejected_or_comes_back_the_same(line: bytes) -> None:
    read_or_reject(line)


@settings(max_examples=200)
@given(strategies.arbitrary_lines)
def test_an_arbitrary_line_is_rejected_or_comes_back_the_same(line: bytes) -> None:
    read_or_reject(line)


@settings(max_examples=100)
@given(strategies.documents(), st.data())
def test_damaged_bytes_are_rejected_or_come_back_the_same(document: Document, data: st.DataObject) -> None:
    line = bytearray(json.dumps(document, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    read_or_reject(bytes(line))
