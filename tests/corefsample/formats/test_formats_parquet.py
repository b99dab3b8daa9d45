"""Parquet: the same content in list columns, also from files that others wrote."""

import datetime
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from references import coreference as references
from references.events import write_lines
from scored_files import contents
from strategies.documents import COMPLETE, Document

from corefsample import InputError, read_documents
from corefsample.documents._batch import SCHEMA
from corefsample.documents._faults import Rejected
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import convert

TOKENS = {name: column for name, column in COMPLETE["tokens"].items() if name != "xpos"}
EXTRA = {"tokens": TOKENS | {"xpos": ["X", None, 3]}, "gold": [1, None, "1"]}
DOCUMENT: Document = COMPLETE | EXTRA | {"doc_id": "d", "date": "2024-02-29", "antecedents": [[], [0], [0, 1]]}
CONTENT = references.content_of_json(DOCUMENT)


@pytest.fixture
def table(tmp_path: Path) -> pa.Table:
    """Three good documents, d, e and f, as Arrow columns."""
    many = [DOCUMENT | {"doc_id": doc_id} for doc_id in "def"]
    convert(write_lines(tmp_path / "made.jsonl", many), tmp_path / "made.parquet")
    return pq.read_table(tmp_path / "made.parquet")


def with_column(table: pa.Table, name: str, values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values, kind))


def read_table(table: pa.Table, **keywords: Any) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.parquet"
        pq.write_table(table, path)
        return contents(path, **keywords)


# --- round trips -------------------------------------------------------------------------------------------


def test_the_file_has_its_version_and_types(table: pa.Table) -> None:
    assert table.schema.metadata == {b"corefsample.version": b"1"}
    assert table.schema.field("date").type == pa.string()
    assert table.schema.field("antecedents").type.value_type.value_type == pa.int32()
    assert table.schema.field("scores").type.value_type.value_type == pa.float64()


def test_the_real_corpus_comes_back_from_parquet(gum_path: Path, tmp_path: Path) -> None:
    assert convert(gum_path, tmp_path / "gum.parquet") == 237
    again = read_documents(tmp_path / "gum.parquet", needs=("date", "tokens", "gold"))
    assert all(one == other for one, other in zip(read_documents(gum_path), again, strict=True))


# --- files of others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("antecedents", [[[], [0], [0, 1]]] * 3, pa.list_(pa.list_(pa.int64()))),
        ("antecedents", [[[], [0], [0, 1]]] * 3, pa.large_list(pa.large_list(pa.int64()))),
        ("scores", [[[], [0.5], [-1.0, 2.0]]] * 3, pa.list_(pa.list_(pa.float32()))),
        ("doc_id", ["d", "e", "f"], pa.large_string()),
        ("date", [datetime.date(2024, 2, 29)] * 3, pa.date32()),
        (
            "mentions",  # fields in another order
            [{"head": [1, 0, 2], "start": [0, 0, 2], "end": [3, 1, 3]}] * 3,
            pa.struct([(name, pa.list_(pa.int64())) for name in ("head", "start", "end")]),
        ),
    ],
    ids=["int64", "large_list", "float32", "large_string", "date32", "field_order"],
)
def test_types_without_loss_are_read(table: pa.Table, name: str, values: list[Any], kind: pa.DataType) -> None:
    found = read_table(with_column(table, name, values, kind))
    assert found == [CONTENT | {"doc_id": doc_id} for doc_id in "def"]


@pytest.mark.parametrize("group", [1, 7, 1000])
def test_tokens_are_read_from_any_size_of_row_groups(tmp_path: Path, group: int) -> None:
    words = [[f"w{(7 * n + k) % 50}" for k in range(3)] for n in range(100)]
    many = [DOCUMENT | {"doc_id": str(n), "tokens": TOKENS | {"text": text}} for n, text in enumerate(words)]
    convert(write_lines(tmp_path / "made.jsonl", many), tmp_path / "made.parquet")
    pq.write_table(pq.read_table(tmp_path / "made.parquet"), tmp_path / "c.parquet", row_group_size=group)
    for size in (1, 10, 256):
        batches = [*DocumentStream(tmp_path / "c.parquet", batch_size=size, ahead=size == 10)]
        documents = [batch.document(row) for batch in batches for row in range(len(batch))]
        assert [document.doc_id for document in documents] == [str(n) for n in range(100)]
        assert [list(document.tokens.text) for document in documents if document.tokens] == words
        assert all(batch.table.schema.equals(SCHEMA) for batch in batches)


def test_a_file_without_a_version_is_read_as_version_1(table: pa.Table) -> None:
    assert len(read_table(table.replace_schema_metadata(None))) == 3


# --- files that are rejected --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "fragments"),
    [
        ("antecedents", [[[], [0], [0, 2**31]]] * 3, ("row 1: ", "antecedents: Integer value 2147483648 not")),
        ("antecedents", [[[], [0.0], [0.0, 0.5]]] * 3, ("antecedents: Float value 0.5",)),
        ("mentions", [[[0, 1, 0]]] * 3, ("column mentions must be struct", "got list")),
        ("gold", [1] * 3, ("column gold must be list", "got int64")),
        ("doc_id", [["d"], ["e"], ["f"]], ("column doc_id must be string", "got list")),
    ],
)
def test_types_with_loss_are_rejected(
    table: pa.Table, name: str, values: list[Any], fragments: tuple[str, ...]
) -> None:
    with pytest.raises(InputError) as error:
        read_table(with_column(table, name, values))
    for fragment in ("corpus.parquet: ", *fragments):
        assert fragment in str(error.value)
    assert "\n" not in str(error.value)


SPANS = {"start": [0, 0, 2], "end": [3, 1, 3], "head": [1, 0, 2]}
NUMBERS = [
    ("mentions", SPANS | {"end": [3, 1, 2**31]}, "2147483648"),
    ("antecedents", [[], [0], [0, 2**40]], str(2**40)),
]


@pytest.mark.parametrize(("name", "bad", "value"), NUMBERS, ids=["mentions", "antecedents"])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_wide_number_affects_its_row_alone(table: pa.Table, name: str, bad: Any, value: str, row: int) -> None:
    good = table.column(name).to_pylist()[0]
    wide = pa.list_(pa.int64())
    kind = pa.list_(wide) if name == "antecedents" else pa.struct([(part, wide) for part in good])
    mixed = with_column(table, name, [bad if i == row else good for i in range(3)], kind)
    with pytest.raises(InputError) as error:
        read_table(mixed)
    expected = f"corpus.parquet: row {row + 1}: doc_id '{'def'[row]}': {name}: Integer value {value} not in range"
    assert expected in str(error.value)
    rejected: list[Rejected] = []
    remaining = read_table(mixed, on_rejected=rejected.append)
    assert remaining == [CONTENT | {"doc_id": doc_id} for i, doc_id in enumerate("def") if i != row]
    (one,) = rejected
    assert (one.place, one.doc_id) == (f"row {row + 1}", "def"[row])
    document = json.loads(one.document)
    assert document["doc_id"] == "def"[row]
    assert value in one.document  # as it came


# What a column can hold beside the rules of every document, which are broken in tests/corefsample/documents.
@pytest.mark.parametrize(
    ("name", "bad", "reason"),
    [
        ("doc_id", None, "doc_id must be a non-empty string, got None"),
        ("doc_id", "d", "doc_id must be unique in the corpus"),
        ("mentions", None, "mentions is missing"),
        ("antecedents", [[], None, [0, 1]], "antecedents[1] must not be null, got null"),
        ("antecedents", [[], [0], [0, None]], "antecedents[2][1] must not be null, got null"),
        ("mentions", SPANS | {"head": [1, 0, None]}, "mentions.head[2] must not be null, got null"),
        ("tokens", TOKENS | {"text": ["a", None, "c"]}, "tokens.text[1] must not be null, got null"),
        ("gold", ["e1", "1", "2"], "gold[0]"),  # no JSON: an entity id e1 is "e1", with its quotes
        ("metadata", "genre: news", "metadata"),
        ("metadata", '{"size": 1e999}', "metadata"),
        ("metadata", '{"doc_id": "other"}', "metadata must contain no field of the document, got 'doc_id'"),
        ("tokens_extra", '{"text": ["x", "y", "z"]}', "tokens_extra must contain no field of the document, got 'text'"),
        ("tokens_extra", "xpos", "tokens_extra"),
        ("tokens_extra", '{"xpos": "XYZ"}', "tokens.xpos"),
    ],
)
def test_a_bad_row_is_named_and_the_rows_around_it_are_read(table: pa.Table, name: str, bad: Any, reason: str) -> None:
    values = table.column(name).to_pylist()
    values[1] = bad
    broken = with_column(table, name, values, table.schema.field(name).type)
    with pytest.raises(InputError) as error:
        read_table(broken)
    known = "" if name == "doc_id" and bad != "d" else f" doc_id {broken.column('doc_id')[1].as_py()!r}:"
    assert f"corpus.parquet: row 2:{known} {reason}" in str(error.value)
    assert "\n" not in str(error.value)
    rejected: list[Any] = []
    good = read_table(broken, on_rejected=rejected.append)
    assert good == [CONTENT | {"doc_id": "d"}, CONTENT | {"doc_id": "f"}]
    assert [(bad_row.place, bad_row.reason.startswith(reason)) for bad_row in rejected] == [("row 2", True)]


def without(*names: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([*names])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(
            (without(name), f"column {name} is missing, got ")
            for name in ("doc_id", "mentions", "antecedents", "scores")
        ),
        (lambda table: table.append_column("genre", pa.array(["news"] * 3)), "columns must be those .* got genre$"),
        (
            lambda table: with_column(table, "tokens", [TOKENS | {"xpos": ["X", "Y", "Z"]}] * 3),
            r"columns must be those of the format .* got tokens\.xpos$",
        ),
        (lambda table: table.append_column("gold", table.column("gold")), "gold"),
    ],
)
def test_columns_that_are_not_those_of_the_format_are_rejected(
    table: pa.Table, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    with pytest.raises(InputError, match=rf"corpus\.parquet: .*{message}"):
        read_table(change(table))


@pytest.mark.parametrize("version", ["3", "one"])
def test_another_version_is_rejected(table: pa.Table, version: str) -> None:
    with pytest.raises(InputError, match=rf"corefsample\.version must be 1, got '?{version}'?"):
        read_table(table.replace_schema_metadata({"corefsample.version": version}))


@pytest.mark.parametrize("name", ["doc_id", "date", "metadata", "tokens_extra"])
def test_strings_that_are_not_utf8_are_rejected(table: pa.Table, name: str) -> None:
    offsets, text = np.array([0, 2, 4, 6], np.int32), b"d\xffe\xfff\xff"
    strings = pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(text))
    with pytest.raises(InputError, match=r"corpus\.parquet: [^\n]*$"):
        read_table(table.set_column(table.schema.get_field_index(name), name, strings))


# --- damaged files -----------------------------------------------------------------------------------------


def test_a_flipped_bit_of_the_data_is_noticed(table: pa.Table, tmp_path: Path) -> None:
    raw = (tmp_path / "made.parquet").read_bytes()
    expected = contents(tmp_path / "made.parquet")
    path = tmp_path / "damaged.parquet"
    n_footer = int.from_bytes(raw[-8:-4], "little")
    outcomes = set()
    for place in range(4, len(raw) - n_footer - 8, 7):
        damaged = bytearray(raw)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            assert contents(path) == expected
        except InputError:
            outcomes.add("noticed")
    assert outcomes == {"noticed"}
