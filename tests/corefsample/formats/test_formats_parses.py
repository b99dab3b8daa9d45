"""Documents with several parses, which are several rows with one doc_id, in JSON Lines and Parquet."""

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
from hypothesis import given, settings, strategies as st
from references import coreference as references, parses as pr
from references.events import write_lines
from scored_files import contents
from strategies import documents as strategies
from strategies.documents import Document

from corefsample import InputError, read_documents, write_documents
from corefsample.formats import DocumentStream
from corefsample.formats.scored._parquet import row_group_sizes
from corefsample.formats.scored._writing import convert

LISTS = {"mentions": [[0, 1, 0], [2, 3, 2]], "antecedents": [[], [0]], "scores": [[], [0.5]]}
SMALL: Document = {"doc_id": "d", "date": "2024-05-31", "tokens": strategies.COMPLETE["tokens"], **LISTS}


def rows_of(doc_id: str = "d", counts: tuple[int, ...] = (3, 1)) -> list[Document]:
    return pr.rows_of([SMALL | {"doc_id": doc_id}] * len(counts), counts)


@st.composite
def several_parses(draw: strategies.Draw) -> list[Document]:
    """Rows of any valid document with several parses: every field but the words and the date may differ."""
    parses: list[Document] = draw(st.lists(strategies.documents(), min_size=1, max_size=3))
    same = {name: parses[0][name] for name in ("doc_id", "date") if name in parses[0]}
    parses = [{**parse, **same, "tokens": None} for parse in parses if ("date" in parse) <= ("date" in same)]
    counts = draw(st.lists(st.integers(0, 9), min_size=len(parses), max_size=len(parses)).filter(any))
    return pr.rows_of(parses, counts)


corpora = st.lists(several_parses(), max_size=3).map(
    lambda corpus: [{**row, "doc_id": f"{d}{row['doc_id']}"} for d, rows in enumerate(corpus) for row in rows]
)


@settings(max_examples=50)
@given(corpora, strategies.corpora)
def test_parses_survive_every_format(several: list[Document], others: list[Document]) -> None:
    corpus = several + [{**document, "doc_id": f"x{document['doc_id']}"} for document in others]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.jsonl", "b.parquet", "c.jsonl.gz", "d.parquet", "e.jsonl")]
        write_lines(paths[0], corpus)
        if not corpus:
            return
        for source, target in itertools.pairwise(paths):
            convert(source, target)
        expected = [*map(references.content_of_json, corpus)]
        for path in paths:
            assert contents(path) == expected
        assert paths[4].read_bytes() == gzip.decompress(paths[2].read_bytes())
        write_documents(read_documents(paths[0]), Path(folder) / "f.parquet")
        assert contents(Path(folder) / "f.parquet") == expected


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_batch_and_a_row_group_have_all_parses_of_their_documents(tmp_path: Path, size: int, name: str) -> None:
    counts = {"a": (1, 1), "b": (2, 0, 1), "c": (1,), "d": (1, 1, 1, 1)}
    lines = write_lines(
        tmp_path / "lines.jsonl", [row for doc_id, each in counts.items() for row in rows_of(doc_id, each)]
    )
    path = tmp_path / name
    assert write_documents(read_documents(lines), path) == 10
    batches = [*DocumentStream(path, batch_size=size, parses=True)]
    assert [doc_id for batch in batches for doc_id in batch.doc_ids] == [*"aabbbcdddd"]
    assert [len(batch.parses(row)) for batch in batches for row in batch.firsts.tolist()] == [2, 3, 1, 4]
    assert [place for batch in batches for place in batch.places] == [*range(1, 11)]


def test_no_document_is_divided_between_row_groups(tmp_path: Path) -> None:
    corpus = [row for d in range(150) for row in rows_of(f"d{d}")]
    convert(write_lines(tmp_path / "in.jsonl", corpus), tmp_path / "out.parquet")
    assert all(n % 2 == 0 for n in row_group_sizes(str(tmp_path / "out.parquet")))
    assert len(row_group_sizes(str(tmp_path / "out.parquet"))) == 2


def edited(rows: list[Document], row: int, **fields: Any) -> list[Document]:
    return [document | (fields if r == row else {}) for r, document in enumerate(rows)]


BROKEN = [
    ("samples", [3, 2], 1, "samples must be [first, end)"),
    ("samples", [0], 1, "samples: "),
    ("samples", [4, 5], 1, "samples must follow each other from 0 in the parses of a document, got [0, 3], [4, 5]"),
    ("samples", [1, 3], 0, "samples must follow each other from 0 in the parses of a document, got [1, 3], [3, 4]"),
    ("parse", -1, 1, "parse must be a number"),
    ("parse", 0, 1, "parse must differ"),
    ("date", "2024-01-01", 1, "date must be the same in the parses of a document, got another in parse 1"),
    ("tokens", None, 1, "tokens.text must be the same in the parses of a document, got another in parse 1"),
    ("doc_id", "e", 1, "samples must follow each other from 0"),
]


@pytest.mark.parametrize(("field", "value", "row", "message"), BROKEN)
def test_a_broken_rule_rejects_every_parse_of_the_document(
    tmp_path: Path, field: str, value: Any, row: int, message: str
) -> None:
    path = write_lines(tmp_path / "in.jsonl", [*edited(rows_of(), row, **{field: value}), SMALL | {"doc_id": "other"}])
    rejected = []
    assert [each.doc_id for each in read_documents(path, on_rejected=rejected.append)][-1] == "other"
    assert any(bad.reason.startswith(message) for bad in rejected)
    assert [bad.number for bad in rejected] == ([2] if field == "doc_id" else [1, 2])


def test_one_of_the_parses_must_have_a_sample(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="samples must have at least one sample in the parses of a document"):
        contents(write_lines(tmp_path / "in.jsonl", rows_of(counts=(0, 0))))


def test_a_rule_that_one_parse_breaks_is_the_reason_of_the_others(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", edited(rows_of(), 1, antecedents=[[], [1]]))
    rejected = []
    assert not [*read_documents(path, on_rejected=rejected.append)]
    reason = "antecedents[1][0] must be a mention before 1, got 1"
    first, second = rejected
    assert first.reason == f"parses of a document must all be valid: parse 1: {reason}"
    assert second.reason == reason


def test_a_line_that_is_no_document_may_be_a_parse_of_the_document_beside_it(tmp_path: Path) -> None:
    first, second = (json.dumps(row) for row in rows_of())
    path = tmp_path / "in.jsonl"
    for lines in ([first, second[:-5]], [first[:-5], second], [first, second.replace("[3, 4]", "[3]")]):
        path.write_text("\n".join(lines))
        rejected = []
        assert not [*read_documents(path, on_rejected=rejected.append)]
        assert [bad.number for bad in rejected] == [1, 2]


def test_a_file_of_version_2_is_refused_with_the_next_step(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [{"version": 2, "doc_id": "d", "parses": []}])
    with error(InputError, place="line 1") as lines:
        [*read_documents(path)]
    table = tmp_path / "in.parquet"
    pq.write_table(pa.table({"doc_id": ["d"]}).replace_schema_metadata({"corefsample.version": "2"}), table)
    with error(InputError, place="in.parquet") as parquet:
        [*read_documents(table)]
    for found in (lines.value, parquet.value):
        assert "version must be 1, got 2" in found.message
        assert "score the texts again" in str(found.hint)


def test_a_stream_of_one_parse_documents_rejects_several_parses(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [SMALL, *rows_of("several"), *rows_of("one", (4,))])
    reasons = []
    stream = DocumentStream(path, on_rejected=lambda bad: reasons.append((bad.number, bad.doc_id, bad.reason)))
    assert [doc_id for batch in stream for doc_id in batch.doc_ids] == ["d", "one"]
    rule = "parses must be one here: what is computed is for one parse of a document, got 2"
    assert reasons == [(2, "several", rule), (3, "several", rule)]


def test_parses_that_do_not_stand_together_are_rejected(tmp_path: Path) -> None:
    first, second = rows_of()
    path = write_lines(tmp_path / "in.jsonl", [first, SMALL | {"doc_id": "between"}, second])
    rejected = []
    assert [each.doc_id for each in read_documents(path, on_rejected=rejected.append)] == ["d", "between"]
    assert [(bad.number, bad.reason[:25]) for bad in rejected] == [(3, "samples must follow each ")]
