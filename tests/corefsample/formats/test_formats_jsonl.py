"""JSON Lines: what is read from a line, and what is written."""

import gzip
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from references import coreference as references
from scored_files import contents, contents_of, lines_of
from strategies import documents as strategies
from strategies.documents import Document

from corefsample import InputError, read_documents, write_documents

SMALL: Document = {"doc_id": "d", "mentions": [[0, 2, 1], [0, 1, 0]], "antecedents": [[], [0]], "scores": [[], [0.5]]}


# --- round trips -------------------------------------------------------------------------------------------


@given(strategies.corpora)
def test_documents_have_the_content_of_their_line(corpus: list[Document]) -> None:
    assert contents_of(lines_of(corpus)) == [references.content_of_json(document) for document in corpus]


def test_written_lines_are_objects_of_the_format(tmp_path: Path) -> None:
    tokens = {name: ["a", "b"] for name in ("text", "lemma", "upos", "dep", "xpos")}
    document = SMALL | {
        "version": 1,
        "date": "2024-02-29",
        "tokens": tokens | {"head": [-1, 0], "sent": [0, 0]},
        "gold": ["e1", None],
        "genre": "news",
    }
    (tmp_path / "one.jsonl").write_bytes(lines_of([document]))
    write_documents(read_documents(tmp_path / "one.jsonl"), tmp_path / "two.jsonl")
    assert [json.loads(line) for line in (tmp_path / "two.jsonl").read_bytes().splitlines()] == [document]


def test_numbers_of_any_size_in_metadata_are_kept(tmp_path: Path) -> None:
    numbers = {"large": 10**30, "small": 1e-300, "negative": -(2**63), "exact": 2**64 - 1}
    (tmp_path / "one.jsonl").write_bytes(lines_of([SMALL | numbers]))
    write_documents(read_documents(tmp_path / "one.jsonl"), tmp_path / "two.jsonl")
    assert contents(tmp_path / "two.jsonl")[0]["metadata"] == numbers


# --- what may be left out ----------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["date", "tokens", "gold", "version"])
def test_null_counts_as_absent(field: str) -> None:
    assert contents_of(lines_of([SMALL | {field: None}])) == [references.content_of_json(SMALL)]


# --- bytes -------------------------------------------------------------------------------------------------

TWO = [SMALL, SMALL | {"doc_id": "é"}]
EXPECTED = [references.content_of_json(document) for document in TWO]


@pytest.mark.parametrize(
    "raw",
    [
        lines_of(TWO),
        lines_of(TWO).removesuffix(b"\n"),
        lines_of(TWO).replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + lines_of(TWO),
        b"\n \t\n" + lines_of(TWO).replace(b"\n", b"\n\r\n\n"),
        b"\xef\xbb\xbf\n" + lines_of(TWO),
        b"".join(json.dumps(document, ensure_ascii=False).encode() + b"\n" for document in TWO),
        lines_of(TWO).replace(b"{", b"\t { ").replace(b"}", b" } \t"),
    ],
    ids=["plain", "no_last_newline", "crlf", "bom", "blank_lines", "bom_alone", "utf8", "spaces"],
)
def test_bytes_that_mean_the_same_are_read_as_the_same(raw: bytes) -> None:
    assert contents_of(raw) == EXPECTED
    assert contents_of(gzip.compress(raw), "corpus.jsonl.gz") == EXPECTED


@pytest.mark.parametrize("compressed", [False, True])
def test_a_dash_is_standard_input(compressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = gzip.compress(lines_of(TWO)) if compressed else lines_of(TWO)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    assert contents("-") == EXPECTED


# --- keys that repeat ----------------------------------------------------------------------------------------


def spelled(members: Sequence[tuple[str, str]], blank: str = "", *, ascii_only: bool = True) -> str:
    """A JSON object of these members, each value as it is given, with white space wherever some may be."""
    parts = [f"{json.dumps(key, ensure_ascii=ascii_only)}{blank}:{blank}{value}" for key, value in members]
    return f"{blank}{{{blank}{f'{blank},{blank}'.join(parts)}{blank}}}{blank}"


TOKENS = {name: ["a"] for name in ("text", "lemma", "upos", "dep")} | {"head": [-1], "sent": [0]}
FULL = SMALL | {
    "mentions": [[0, 1, 0], [0, 1, 0]],
    "tokens": TOKENS | {"xpos": ["{"]},
    "gold": [None, 1],
    "é": {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]},
    'q"uote': "\\",
    "": 0,
}
# Keys spelled as they are take the quick way; one with an escape takes the slow one.
PLAIN = {key: value for key, value in FULL.items() if key != 'q"uote' and key.isascii()} | {
    "plain": {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}
}
documents = st.sampled_from([FULL, PLAIN])
blanks = st.sampled_from(["", " ", "\t ", "  "])


@given(documents, blanks, st.booleans(), st.data())
def test_a_key_that_repeats_is_named(document: Document, blank: str, ascii_only: bool, data: st.DataObject) -> None:
    order = data.draw(st.permutations(list(document)))
    members = [(key, json.dumps(document[key])) for key in order]
    again = data.draw(st.sampled_from(order))
    value = (
        json.dumps(document[again]) if data.draw(st.booleans()) else data.draw(st.sampled_from(["null", '"x"', "[[]]"]))
    )
    members.insert(data.draw(st.integers(0, len(members))), (again, value))
    with pytest.raises(InputError, match=r"line 1: .*must appear once in a JSON object, got it again$") as error:
        contents_of(spelled(members, blank, ascii_only=ascii_only).encode())
    assert repr(again) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"sent": [0]', '"sent": [0], "sent": [1]', "sent"),
        ('"sent": [0]', '"text": ["b"], "sent": [0]', "text"),
        ('"sent": [0]', '"sent": [0], "xpos": ["Y"]', "xpos"),
        ('"doc_id": "d"', '"doc_id": "c", "doc\\u005fid": "d"', "doc_id"),
        ('"gold": [null, 1]', '"gold": [null, 1], "\\u0065mpty": 1, "empty": 2', "empty"),
    ],
)
def test_a_key_that_repeats_within_or_behind_an_escape_is_named(old: str, new: str, key: str) -> None:
    for document in (FULL, PLAIN):
        line = json.dumps(document)
        assert line.count(old) == 1
        with pytest.raises(InputError, match=f"'{key}' must appear once in a JSON object, got it again"):
            contents_of(line.replace(old, new).encode())
