"""News as other programs write it: tables with semicolons, folders of texts."""

import csv
import datetime
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from places import TEST_DATA

from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, ParameterHint
from events.news._articles import ArticleStream

DAY = datetime.date(2001, 9, 11)
HEADER = ("doc_id", "date", "text")


def error_text(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        list(ArticleStream(path, **options))
    return str(raised.value)


# --- tables ------------------------------------------------------------------------------------------------


@given(
    separator=st.sampled_from(",;\t|"),
    texts=st.lists(st.text(st.sampled_from("ab ,;|\t\"'\n.é"), max_size=12), max_size=4),
)
def test_tables_have_any_separator(tmp_path_factory: pytest.TempPathFactory, separator: str, texts: list[str]) -> None:
    content = io.StringIO(newline="")
    writer = csv.writer(content, delimiter=separator)
    writer.writerows([HEADER, *((i, DAY, text) for i, text in enumerate(texts))])
    path = tmp_path_factory.mktemp("table") / "news.csv"
    path.write_bytes(content.getvalue().encode("utf-8-sig"))  # as Excel writes it
    found = [(article.doc_id, article.date, article.text) for article in ArticleStream(path)]
    assert found == [(str(i), DAY, text) for i, text in enumerate(texts)]


def test_the_separator_is_the_one_that_gives_the_required_columns(tmp_path: Path) -> None:
    path = tmp_path / "news.csv"
    path.write_text('doc_id;date;text;"a, b, c, d, e"\nx;2001-09-11;y;z\n')
    (article,) = ArticleStream(path)
    assert (article.text, article.metadata) == ("y", {"a, b, c, d, e": "z"})
    path.write_text("id;date;text\nx;2001-09-11;y\n")
    assert (
        error_text(path)
        == f"{path}: columns must include 'doc_id', got 'id, date, text' (id_column names another column)"
    )


# --- texts -------------------------------------------------------------------------------------------------


NAMES = (TEST_DATA / "dated_names.txt").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("case", NAMES)
def test_the_date_of_a_text_is_in_its_name(tmp_path: Path, case: str) -> None:
    kind, date_format, name = case.replace(" | none | ", " |  | ").split(" | ")
    path, doc_id = tmp_path / name, name.removesuffix(".gz").removesuffix(".txt")
    path.write_bytes(gzip.compress(b"It rained.") if name.endswith(".gz") else b"\xef\xbb\xbfIt rained.")
    if kind == "undated":
        assert f"doc_id {doc_id!r}: the file's name must contain a date" in error_text(
            path, date_format=date_format or None
        )
        return
    (article,) = ArticleStream(path, date_format=date_format or None)
    assert (article.doc_id, article.date, article.text) == (doc_id, DAY, "It rained.")


def test_a_folder_of_texts_is_a_corpus_and_a_text_beside_other_files_is_not(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("2001-09-12 b.txt", "sub/2001-09-11 a.txt"):
        (tmp_path / name).write_text("It rained.\n\nA lot.")
    (tmp_path / ".2001-09-12 hidden.txt").write_text("")
    assert [article.doc_id for article in ArticleStream(tmp_path)] == ["2001-09-12 b", "2001-09-11 a"]
    (tmp_path / "news.jsonl").write_text('{"doc_id": "a", "date": "2001-09-11", "text": ""}\n')
    assert [article.doc_id for article in ArticleStream(tmp_path)] == ["a"]


def test_texts_with_faults_are_quarantined(tmp_path: Path) -> None:
    (tmp_path / "2001-09-11 a.txt").write_bytes("Café".encode("latin-1"))
    (tmp_path / "b.txt").write_bytes(b"It rained.")
    (tmp_path / "2001-09-11 c.txt").write_bytes(b"It rained.")
    rejected: list[Rejected] = []
    assert [article.doc_id for article in ArticleStream(tmp_path, on_rejected=rejected.append)] == ["2001-09-11 c"]
    assert [(each.doc_id, each.reason.split(",")[0]) for each in rejected] == [
        ("2001-09-11 a", "text must be UTF-8"),
        ("b", "the file's name must contain a date such as 2001-09-11"),
    ]
    assert rejected[1].hint == ParameterHint("date_format", "is the format of dates in names, such as %d.%m.%Y")
