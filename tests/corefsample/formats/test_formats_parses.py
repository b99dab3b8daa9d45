"""Files of version 2: documents with several parses, in JSON Lines and Parquet."""

from __future__ import annotations

import copy
import gzip
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected_errors import error
from hypothesis import given, settings
from references import coreference as references
from strategies import documents as one_parse_documents
from strategies import several_parses as strategies
from strategies.documents import Document

from corefsample import InputError, ScoredDocument, read_documents, write_documents
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import convert

TOKENS = {"lemma": ["they", "see", "it"], "upos": ["PRON", "VERB", "PRON"], "dep": ["nsubj", "root", "obj"]}
PARSE: Document = {
    "weight": 3,
    "tokens": TOKENS | {"head": [1, -1, 1], "sent": [0, 0, 0]},
    "mentions": [[0, 1, 0], [2, 3, 2]],
    "antecedents": [[], [0]],
    "scores": [[], [0.5]],
}
OTHER: Document = copy.deepcopy(PARSE) | {"weight": 1, "mentions": [[0, 1, 0]], "antecedents": [[]], "scores": [[]]}
DOCUMENT: Document = {
    "version": 2,
    "doc_id": "d",
    "date": "2024-05-31",
    "tokens": {"text": ["They", "see", "it"]},
    "parses": [PARSE, OTHER],
}


def lines_of(documents: list[Document]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def contents(document: ScoredDocument) -> list[tuple[float, dict[str, Any]]]:
    """Weight and content of each parse, read from the document's parts one by one."""
    if not document.parses:
        return [(1.0, references.content(document))]
    return [(parse.weight, references.content(document.with_parse(k))) for k, parse in enumerate(document.parses)]


def contents_of_json(document: Document) -> list[tuple[float, dict[str, Any]]]:
    several = [references.content_of_json(strategies.one_parse(document, k)) for k in range(len(document["parses"]))]
    if len(several) == 1:
        return [(1.0, several[0])]
    return [(float(parse["weight"]), each) for parse, each in zip(document["parses"], several, strict=True)]


def rejected(document: Document, name: str = "corpus.jsonl") -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(lines_of([document]))
        with pytest.raises(InputError) as error:
            list(read_documents(path))
    return error.value.message


@given(strategies.corpora)
def test_parses_have_the_content_of_their_line(corpus: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        path.write_bytes(lines_of(corpus))
        assert list(map(contents, read_documents(path))) == list(map(contents_of_json, corpus))


@settings(max_examples=50)
@given(strategies.corpora, one_parse_documents.corpora)
def test_parses_survive_every_format(corpus: list[Document], others: list[Document]) -> None:
    corpus = others + [document | {"doc_id": f"m{document['doc_id']}"} for document in corpus]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.jsonl", "b.parquet", "c.jsonl.gz", "d.parquet", "e.jsonl")]
        paths[0].write_bytes(lines_of(corpus))
        if not corpus:
            return
        for source, target in itertools.pairwise(paths):
            convert(source, target)
        expected = list(map(contents, read_documents(paths[0])))
        for path in paths[1:]:
            assert list(map(contents, read_documents(path))) == expected
        assert paths[4].read_bytes() == gzip.decompress(paths[2].read_bytes())
        write_documents(read_documents(paths[0]), Path(folder) / "f.jsonl")
        assert list(map(contents, read_documents(Path(folder) / "f.jsonl"))) == expected


def test_a_line_of_one_parse_is_equal_to_a_line_of_version_1(tmp_path: Path) -> None:
    document = DOCUMENT | {"parses": [PARSE]}
    paths = [tmp_path / name for name in ("two.jsonl", "one.jsonl", "two-again.jsonl", "one-again.jsonl")]
    paths[0].write_bytes(lines_of([document]))
    paths[1].write_bytes(lines_of([strategies.one_parse(document, 0)]))
    convert(paths[0], paths[2])
    convert(paths[1], paths[3])
    assert paths[2].read_bytes() == paths[3].read_bytes()


def test_the_words_are_written_once(tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(lines_of([DOCUMENT]))
    convert(path, out)
    written = json.loads(out.read_text())
    assert written == DOCUMENT
    assert list(written["tokens"]) == ["text"]


def test_a_parquet_file_becomes_version_2_when_parses_come_late(tmp_path: Path) -> None:
    # 300 documents of one parse fill the first row group, which is then written again.
    first = strategies.one_parse(DOCUMENT, 0)
    corpus = [first | {"doc_id": f"d{number}"} for number in range(300)] + [DOCUMENT]
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.parquet"
    lines.write_bytes(lines_of(corpus))
    assert convert(lines, table) == 301
    assert pq.read_schema(table).metadata == {b"corefsample.version": b"2"}
    assert list(map(contents, read_documents(table))) == list(map(contents, read_documents(lines)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.parquet"]


MISSING = object()
ALONE = "parses must have a weight above 0, got 0 for all"
BROKEN: list[tuple[str, Any, str]] = [
    ("parses", MISSING, "parses is missing"),
    ("parses", [], "parses must have at least one parse, got none"),
    ("tokens", MISSING, "tokens is missing"),
    ("parses 1 weight", MISSING, "parses[1].weight is missing"),
    ("parses 1 weight", -1, "parses[1].weight must be a finite number of at least 0, got -1.0"),
    ("parses", [PARSE | {"weight": 0}], ALONE),
    ("parses", [PARSE | {"weight": 0}, OTHER | {"weight": 0}], ALONE),
    ("parses", [PARSE | {"weight": -2}], "parses[0].weight must be a finite number of at least 0, got -2.0"),
    ("parses 0 weight", "1", "parses[0].weight: Expected `float`, got `str`"),
    ("parses 0 scores", [[], []], "parses[0].scores[1] must be as long as antecedents[1] (1), got 0"),
    ("parses 0 antecedents", [[], [1]], "parses[0].antecedents[1][0] must be a mention before 1, got 1"),
    ("parses 1 tokens head", [1, 0, 1], "parses[1].tokens.head must form trees, got a cycle through token 0"),
    ("parses 1 mentions", [[0, 4, 0]], "parses[1].mentions[0]: end must be at most the number of tokens (3), got "),
    ("parses 0 tokens text", ["a"], "parses[0].tokens.text must not be in tokens as well, got it in both"),
    ("parses 1 date", "2024-01-01", "parses[1] must have the fields weight, tokens, mentions, antecedents, scores, "),
    ("date", "soon", "date must be an ISO date (YYYY-MM-DD), got 'soon'"),
    ("parses 1 tokens upos", ["X"], "parses[1].tokens.upos must be as long as tokens.text (3), got 1"),
]


@pytest.mark.parametrize(("path", "value", "message"), BROKEN)
def test_a_broken_rule_is_named_with_its_parse(path: str, value: Any, message: str) -> None:
    document: Any = copy.deepcopy(DOCUMENT)
    *outer, last = (int(step) if step.isdigit() else step for step in path.split())
    inner = document
    for step in outer:
        inner = inner[step]
    if value is MISSING:
        del inner[last]
    else:
        inner[last] = value
    assert rejected(document).startswith(message)


def test_parses_of_other_words_are_rejected() -> None:
    words = [["They", "see", "it"], ["They", "saw", "it"]]
    document = copy.deepcopy(DOCUMENT) | {"tokens": {}}
    for parse, text in zip(document["parses"], words, strict=True):
        parse["tokens"]["text"] = text
    assert rejected(document) == "parses[1].tokens.text[1] must be that of parses[0] ('see'), got 'saw'"


def table_of(document: Document, folder: Path) -> pa.Table:
    path, table = folder / "in.jsonl", folder / "in.parquet"
    path.write_bytes(lines_of([document]))
    convert(path, table)
    return pq.read_table(table)


def test_parquet_rows_are_checked_like_lines(tmp_path: Path) -> None:
    table = table_of(DOCUMENT, tmp_path)
    parses = table.column("parses").to_pylist()
    parses[0][1]["weight"] = None
    parses[0][0]["mentions"]["end"][1] = 9
    kind = table.schema.field("parses").type
    broken = table.set_column(3, "parses", pa.array(parses, kind))
    path = tmp_path / "broken.parquet"
    pq.write_table(broken, path)
    with pytest.raises(InputError, match=r"row 1: doc_id 'd': parses\[0\]\.mentions\[1\]: end must be at most"):
        list(read_documents(path))
    parses[0][0]["mentions"]["end"][1] = 3
    pq.write_table(table.set_column(3, "parses", pa.array(parses, kind)), path)
    with pytest.raises(InputError, match=r"parses\[1\]\.weight must be a finite number of at least 0, got nan"):
        list(read_documents(path))
    pq.write_table(table.set_column(3, "parses", pa.array([[]], kind)), path)
    with error(InputError, place="doc_id 'd'"):
        list(read_documents(path))
    pq.write_table(table.set_column(3, "parses", pa.array([1])), path)
    with pytest.raises(InputError, match="column parses must be a list of structs, got int64"):
        list(read_documents(path))


def test_a_stream_of_one_parse_documents_rejects_several_parses(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines_of([strategies.one_parse(DOCUMENT, 0), DOCUMENT | {"doc_id": "several"}]))
    reasons = []
    stream = DocumentStream(path, on_rejected=lambda bad: reasons.append((bad.number, bad.doc_id, bad.reason)))
    assert [doc_id for batch in stream for doc_id in batch.doc_ids] == ["d"]
    rule = "parses must be one here: what is computed is for one parse of a document, got 2"
    assert reasons == [(2, "several", rule)]


@pytest.mark.parametrize("name", ["text", "lemma", "head"])
def test_a_null_word_of_parquet_is_set_aside_with_file_row_and_field(tmp_path: Path, name: str) -> None:
    table = table_of(DOCUMENT, tmp_path)
    parses = table.column("parses").to_pylist()
    parses[0][1]["tokens"][name][2] = None
    broken = table.set_column(3, "parses", pa.array(parses, table.schema.field("parses").type))
    path = tmp_path / "broken.parquet"
    pq.write_table(pa.concat_tables([table.set_column(0, "doc_id", pa.array(["e"])), broken]), path)
    reason = f"parses[1].tokens.{name}[2] must not be null, got null"
    with error(InputError, place="broken.parquet: row 2: doc_id 'd'") as found:
        list(read_documents(path))
    assert found.value.message == reason
    rejected = []
    assert [each.doc_id for each in read_documents(path, on_rejected=rejected.append)] == ["e"]
    assert [(bad.number, bad.doc_id, bad.reason) for bad in rejected] == [(2, "d", reason)]
