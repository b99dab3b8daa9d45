"""News as other programs write it: tables with semicolons, Excel workbooks, folders of texts."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corefsample._lazy import install_hint
from corefsample.documents._faults import Rejected
from corefsample.errors import InputError, ParameterHint
from events.news import _articles as workbooks
from events.news._articles import ArticleStream

openpyxl = pytest.importorskip("openpyxl", reason="extra `excel`")

DAY = datetime.date(2001, 9, 11)
HEADER = ("doc_id", "date", "text")


def error_text(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        list(ArticleStream(path, **options))
    return str(raised.value)


def workbook(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


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


# --- workbooks ---------------------------------------------------------------------------------------------


def test_rows_of_a_workbook_are_articles(tmp_path: Path) -> None:
    rows = [
        [*HEADER, "title", "desk", None],
        [17, datetime.datetime(2001, 9, 11, 14, 30), "NA", None, 3.5, None],
        [None] * 6,
        ["b", "2001-09-12", " Two\n\nparagraphs ", "Head", None, None],
    ]
    first, second = ArticleStream(workbook(tmp_path / "news.xlsx", News=rows))
    assert (first.doc_id, first.date, first.text, first.title) == ("17", DAY, "NA", "")
    assert first.metadata == {"desk": 3.5}
    assert (second.date, second.text, second.title) == (datetime.date(2001, 9, 12), " Two\n\nparagraphs ", "Head")


def test_every_sheet_with_the_columns_is_read_and_articles_are_numbered_through(tmp_path: Path) -> None:
    news = [("date", "text"), (DAY, "one")]
    path = workbook(tmp_path / "news.xlsx", About=[("written by", "me")], A=news, B=[*news, (DAY, "two")], Empty=[])
    found = [(article.doc_id, article.text) for article in ArticleStream(path, id_column=None)]
    assert found == [("news.xlsx#1", "one"), ("news.xlsx#2", "one"), ("news.xlsx#3", "two")]


def test_an_error_names_the_sheet_and_the_row_of_a_workbook(tmp_path: Path) -> None:
    path = workbook(tmp_path / "news.xlsx", News=[HEADER, ("a", DAY, "x"), (), ("b", "soon", "y")])
    assert f"{path}: sheet 'News', row 4: doc_id 'b': date must be an ISO date, got 'soon'" in error_text(path)
    path = workbook(tmp_path / "news.xlsx", News=[HEADER, ("a", DAY, "x" * 32_767)])
    assert "row 2: text must have less than 32,767 characters, at which Excel truncates texts" in error_text(path)
    path = workbook(tmp_path / "news.xlsx", News=[("id", "date", "text"), ("a", DAY, "x")])
    assert (
        error_text(path)
        == f"{path}: sheet 'News': columns must include 'doc_id', got 'id, date, text' (id_column names another column)"
    )
    path = workbook(tmp_path / "news.xlsx", News=[(*HEADER, "text"), ("a", DAY, "x", "y")])
    assert "columns must have distinct names, got 'text' twice" in error_text(path)
    path = workbook(tmp_path / "news.xlsx", News=[])
    assert error_text(path) == f"{path}: a header is missing, the workbook is empty"


def test_a_file_that_is_no_workbook_raises(tmp_path: Path) -> None:
    path = tmp_path / "news.xlsx"
    for content in (b"", b"doc_id,date,text\n", workbook(tmp_path / "good.xlsx", A=[HEADER]).read_bytes()[:-200]):
        path.write_bytes(content)
        assert error_text(path).startswith(f"{path}: file must be an Excel workbook, got: ")


def test_the_limit_of_a_workbook_is_of_its_decompressed_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "news.xlsx", News=[HEADER, *((str(n), DAY, "word " * 4000) for n in range(70))])
    assert path.stat().st_size < 2**17
    assert len(list(ArticleStream(path))) == 70
    monkeypatch.setattr(workbooks, "_MOST_MIB", 1)
    assert error_text(path).startswith(f"{path}: a workbook must be at most 1 MiB, decompressed, got more")


def test_an_error_names_the_extra_of_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "news.xlsx", News=[HEADER])
    monkeypatch.setattr(workbooks, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="a workbook needs openpyxl") as raised:
        list(ArticleStream(path))
    assert raised.value.hint == install_hint("excel")


# --- texts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "date_format", "expected"),
    [
        ("2001-09-11.txt", None, DAY),
        ("reuters_2001_09_11_17.txt", None, DAY),
        ("20010911a.txt.gz", None, DAY),
        ("x2001-13-11 2001.09.11.txt", None, DAY),  # the first that is a date
        ("11.09.2001 Reuters.txt", "%d.%m.%Y", DAY),
        ("Sep 11, 2001.txt", "%b %d, %Y", DAY),
        ("wire-01254.txt", "%y%j", DAY),
        ("120010911.txt", None, None),
        ("2001-0911.txt", None, None),
        ("111.09.2001.txt", "%d.%m.%Y", None),
        ("2001-09-11.txt", "%d.%m.%Y", None),
        ("article.txt", None, None),
    ],
)
def test_the_date_of_a_text_is_in_its_name(
    tmp_path: Path, name: str, date_format: str | None, expected: datetime.date | None
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"It rained.") if name.endswith(".gz") else b"\xef\xbb\xbfIt rained.")
    if expected is None:
        example = "such as 2001-09-11" if date_format is None else f"in the format {date_format!r}"
        stem = name.removesuffix(".txt")
        assert f"doc_id {stem!r}: the file's name must contain a date {example}, got {stem!r}" in error_text(
            path, date_format=date_format
        )
        return
    (article,) = ArticleStream(path, date_format=date_format)
    assert (article.date, article.text) == (expected, "It rained.")
    assert article.doc_id == name.removesuffix(".gz").removesuffix(".txt")


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
