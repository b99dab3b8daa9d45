"""Readers of dated news: every format gives the same articles; faults raise or are quarantined."""

import csv
import datetime
import gc
import gzip
import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected_errors import error
from hypothesis import HealthCheck, given, settings, strategies as st
from places import TEST_DATA, data_lines

from corefsample import InputError, ParameterError
from corefsample.documents._faults import Rejected
from corefsample.errors import ParameterHint
from events.news import _nitf as nitf_files
from events.news._articles import ArticleStream
from events.news._fields import Article

DOCTYPE = '<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">'


# --- one writer for each format ---------------------------------------------------------------------------------


def nitf(
    *,
    doc_id: str | None = "17",
    date: str | None = "19910116T000000",
    parts: tuple[str, str, str] | None = None,
    title: str = "",
    full: Sequence[str] | None = (),
    lead: Sequence[str] = (),
    head: str = "",
    body_head: str = "",
    content: str = "",
    doctype: str = DOCTYPE,
) -> bytes:
    """One article in the corpus's layout; paragraphs are given as XML."""

    def block(kind: str, paragraphs: Sequence[str]) -> str:
        return f'<block class="{kind}">' + "".join(f"<p>{p}</p>\n" for p in paragraphs) + "</block>\n"

    names = ("publication_day_of_month", "publication_month", "publication_year")
    meta = "".join(f'<meta content="{v}" name="{n}"/>' for n, v in zip(names, parts or (), strict=bool(parts)))
    known = "" if doc_id is None else f"<doc-id id-string={quoteattr(doc_id)}/>"
    published = "" if date is None else f'<pubdata date.publication="{date}" ex-ref="http://x.org/1" item-length="9"/>'
    return f"""<?xml version="1.0" encoding="UTF-8"?>
{doctype}
<nitf change.date="June 10, 2005" version="-//IPTC//DTD NITF 3.3//EN">
<head><title>{escape(title)}</title>{meta}{head}<docdata>{known}</docdata>
{published}</head>
<body><body.head><hedline><hl1>{escape(title)}</hl1></hedline>{body_head}</body.head>
<body.content>{block("lead_paragraph", lead) if lead else ""}{"" if full is None else block("full_text", full)}{content}
</body.content></body></nitf>""".encode()


def row(article: Article) -> dict[str, Any]:
    own = {"doc_id": article.doc_id, "date": article.date.isoformat(), "title": article.title, "text": article.text}
    return {**own, **article.metadata}


def write_json(path: Path, articles: Sequence[Article]) -> None:
    text = "".join(json.dumps(row(a), ensure_ascii=False) + "\n" for a in articles)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_csv(path: Path, articles: Sequence[Article]) -> None:
    names = sorted({name for a in articles for name in row(a)} | {"doc_id", "date", "text"})
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, restval="", delimiter="\t" if path.suffix == ".tsv" else ",")
    writer.writeheader()
    writer.writerows(row(a) for a in articles)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_parquet(path: Path, articles: Sequence[Article]) -> None:
    names = sorted({name for a in articles for name in row(a)} | {"doc_id", "date", "text"})
    pq.write_table(pa.table({n: pa.array([row(a).get(n) for a in articles], pa.string()) for n in names}), path)


def xml_of(article: Article) -> bytes:
    head = "".join(f"<meta name={quoteattr(n)} content={quoteattr(v)}/>" for n, v in article.metadata.items())
    paragraphs = [escape(p) for p in article.text.split("\n\n")] if article.text else []
    date = article.date.strftime("%Y%m%dT000000").zfill(15)
    return nitf(doc_id=article.doc_id, date=date, title=article.title, full=paragraphs, head=head)


def no_pubdata_credit(article: Article) -> Article:
    """Leave out metadata that only the XML has."""
    metadata = {n: v for n, v in article.metadata.items() if n not in ("url", "word_count")}
    return Article(article.doc_id, article.date, article.text, article.title, metadata)


def write_tar(path: Path, members: Sequence[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w:gz" if path.suffix in (".tgz", ".gz") else "w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write_tgz(path: Path, articles: Sequence[Article]) -> None:
    write_tar(path, [(f"01/{i:07}.xml", xml_of(a)) for i, a in enumerate(articles)])


WRITERS: dict[str, Callable[[Path, Sequence[Article]], None]] = {
    "news.jsonl": write_json,
    "news.jsonl.gz": write_json,
    "news.ndjson": write_json,
    "news.csv": write_csv,
    "news.tsv": write_csv,
    "news.parquet": write_parquet,
    "news.tar": write_tgz,
    "news.tgz": write_tgz,
}

# XML has no control characters and collapses blanks, so paragraphs are words with single blanks.
WORDS = st.text(st.characters(exclude_categories=["C", "Z"], max_codepoint=0x2FFFF), min_size=1, max_size=8)
RUNS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join).filter(lambda text: not text.startswith("LEAD"))
ARTICLES = st.lists(
    st.builds(
        Article,
        doc_id=WORDS,
        date=st.dates(min_value=datetime.date(1000, 1, 1)),
        text=st.lists(RUNS, max_size=3).map("\n\n".join),
        title=st.one_of(st.just(""), RUNS),
        metadata=st.dictionaries(st.sampled_from(["slug", "desk", "country"]), st.one_of(st.just("NA"), RUNS)),
    ),
    max_size=5,
    unique_by=lambda article: article.doc_id,
)


def one_json(tmp_path: Path, **fields: Any) -> Path:
    path = tmp_path / "news.jsonl"
    row = {"doc_id": "a", "date": "2001-09-11", "text": "It rained.", **fields}
    path.write_text(json.dumps({n: v for n, v in row.items() if v is not ...}) + "\n", encoding="utf-8")
    return path


def one_xml(tmp_path: Path, content: bytes) -> Article:
    path = tmp_path / "article.xml"
    path.write_bytes(content)
    (article,) = ArticleStream(path)
    return article


def error_text(inputs: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        list(ArticleStream(inputs, **options))
    return str(caught.value)


# --- every reader ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(articles=ARTICLES)
def test_articles_survive_writing_and_reading_in_every_format(name: str, articles: list[Article]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        WRITERS[name](path, articles)
        assert [no_pubdata_credit(article) for article in ArticleStream(path)] == articles


def test_all_formats_of_a_folder_are_read_in_the_order_of_paths(tmp_path: Path) -> None:
    for number, (name, write) in enumerate(WRITERS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder / name, [Article(f"id {number}", datetime.date(1999, 1, 2), "Text.")])
    (tmp_path / "0" / "._news.jsonl").write_bytes(b"\0\5\26\7")  # a metadata file of macOS
    (tmp_path / "0" / "readme.txt").write_text("not news")
    assert [article.doc_id for article in ArticleStream(tmp_path)] == [f"id {n}" for n in range(len(WRITERS))]


@pytest.mark.parametrize("name", WRITERS)
def test_progress_reaches_the_size_of_the_files(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name, [Article(str(i), datetime.date(1999, 1, 2), "Text. " * 50) for i in range(20)])
    stream = ArticleStream(tmp_path / name)
    positions = [stream.bytes_read for _ in stream]
    assert positions == sorted(positions)
    assert positions[-1] <= stream.total_bytes == stream.bytes_read
    assert [article.doc_id for article in stream] == [str(i) for i in range(20)]  # read again from the start


@pytest.mark.parametrize("name", WRITERS)
def test_a_repeated_doc_id_raises_or_is_quarantined(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name, [Article(i, datetime.date(1999, 1, 2), "Text.") for i in ("a", "b", "a", "c")])
    rejected: list[Rejected] = []
    doc_ids = [article.doc_id for article in ArticleStream(tmp_path / name, on_rejected=rejected.append)]
    assert doc_ids == ["a", "b", "c"]
    assert [(bad.doc_id, bad.reason) for bad in rejected] == [
        ("a", "doc_id must be unique in the corpus, got it again")
    ]
    assert "Text." in rejected[0].document
    assert error_text(tmp_path / name) == rejected[0].message()


def test_a_text_over_the_limit_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.news._fields._MOST_CHARS", 11)
    assert len(list(ArticleStream(one_json(tmp_path, text="é" * 11)))) == 1
    assert error_text(one_json(tmp_path, text="é" * 12)).endswith("must be at most 11 characters, got 12")


def test_articles_without_an_id_are_numbered_or_named_by_file(tmp_path: Path) -> None:
    article = Article("x", datetime.date(1999, 1, 2), "Text.")
    for name, write in WRITERS.items():
        write(tmp_path / name, [article, article])
        found = [a.doc_id for a in ArticleStream(tmp_path / name, id_column=None)]
        tables = "tar" not in name and "tgz" not in name
        assert found == ([f"{name}#1", f"{name}#2"] if tables else ["01/0000000.xml", "01/0000001.xml"])


def test_standard_input_is_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = one_json(tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(line))))
    assert [article.text for article in ArticleStream("-")] == ["It rained."]


# --- fields ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["2001-09-11", "20010911", "2001-09-11T23:59:59Z", "2001-09-11 23:00:00-12:00", " 2001-09-11 "]
)
def test_iso_dates_with_a_time_keep_their_day(tmp_path: Path, value: str) -> None:
    (article,) = ArticleStream(one_json(tmp_path, date=value))
    assert article.date == datetime.date(2001, 9, 11)


def test_other_dates_are_read_by_their_format(tmp_path: Path) -> None:
    path = one_json(tmp_path, date="11.9.2001")
    (article,) = ArticleStream(path, date_format="%d.%m.%Y")
    assert article.date == datetime.date(2001, 9, 11)
    hint = "date_format is the format of dates, such as %m/%d/%Y"
    assert error_text(path) == f"{path}: line 1: doc_id 'a': date must be an ISO date, got '11.9.2001' ({hint})"
    assert error_text(path, date_format="%Y").endswith("date must be a date in the format '%Y', got '11.9.2001'")


def test_whole_numbers_are_dates_if_no_leading_zero_is_lost(tmp_path: Path) -> None:
    pq.write_table(pa.table({"doc_id": ["a"], "date": [20010911], "text": ["x"]}), tmp_path / "news.parquet")
    for path in (tmp_path / "news.parquet", one_json(tmp_path, date=20010911)):
        (article,) = ArticleStream(path, date_format="%Y%m%d")
        assert article.date == datetime.date(2001, 9, 11)
    (article,) = ArticleStream(one_json(tmp_path, date=11122001), date_format="%d%m%Y")
    assert article.date == datetime.date(2001, 12, 11)
    # 01112001 is 1 November; without its zero it reads as 11 January.
    assert error_text(one_json(tmp_path, date=1112001), date_format="%d%m%Y").endswith("got 1112001")


REFUSED = (TEST_DATA / "refused_news.txt").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("case", REFUSED)
def test_an_error_names_the_line_and_the_field_that_breaks_its_rule(tmp_path: Path, case: str) -> None:
    name, content, reason = case.split(" | ")
    path = tmp_path / name
    path.write_text(content.replace("⏎", "\n"), encoding="utf-8")
    # Of a table nothing can be set aside.
    message = error_text(path, on_rejected=(lambda bad: None) if name == "news.csv" else None)
    assert message.startswith(f"{path}: {reason}")


def test_ids_may_be_numbers_and_names_of_columns_are_options(tmp_path: Path) -> None:
    path = one_json(
        tmp_path, doc_id=..., date=..., text=..., n=7, day="2001-09-11", body="B.", headline="H", x=[1, None]
    )
    options: Any = {"text_column": "body", "date_column": "day", "id_column": "n", "title_column": "headline"}
    expected = Article("7", datetime.date(2001, 9, 11), "B.", "H", {"x": [1, None]})
    assert list(ArticleStream(path, **options)) == [expected]


def test_bad_articles_are_quarantined_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl"
    good = json.dumps({"doc_id": "a", "date": "2001-09-11", "text": "It rained."})
    path.write_text(f"\ufeff{good}\n\n[1]\n{{\n" + '{"doc_id": "b", "text": ""}\n', encoding="utf-8")
    rejected: list[Rejected] = []
    assert [article.doc_id for article in ArticleStream(path, on_rejected=rejected.append)] == ["a"]
    assert [(bad.place, bad.doc_id, bad.reason) for bad in rejected] == [
        ("line 3", "", "a line must be a JSON object, got [1]"),
        ("line 4", "", "a line must be JSON, got: Input data was truncated"),
        ("line 5", "b", "date is missing"),
    ]
    assert rejected[2].document == '{"doc_id": "b", "text": ""}'


# --- options and names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"date_format": "ISO"}, {"text_column": "date"}])
def test_a_bad_option_raises_at_once(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        ArticleStream(one_json(tmp_path), **options)


def test_bad_names_of_files_raise_at_once(tmp_path: Path) -> None:
    path, other, empty = one_json(tmp_path), tmp_path / "news.docx", tmp_path / "empty"
    other.touch()
    empty.mkdir()
    for inputs, place in [(tmp_path / "*.csv", "*.csv"), (other, "news.docx"), (empty, "empty"), ([path, path], path)]:
        with error(InputError, place=str(place)):
            ArticleStream(inputs)
    for wrong, kind in (([], InputError), (3, ParameterError)):
        with error(kind, "inputs"):
            ArticleStream(wrong)  # type: ignore[arg-type]


# --- JSON Lines --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["news.jsonl.gz", "news.tgz"])
def test_what_follows_damaged_gzip_data_is_set_aside_as_one(tmp_path: Path, name: str) -> None:
    articles = [Article(str(i), datetime.date(1999, 1, 2), f"Text {i}. " * 40) for i in range(50)]
    WRITERS[name](tmp_path / name, articles)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-20])
    assert "must be complete, got: " in error_text(tmp_path / name)
    rejected: list[Rejected] = []
    kept = list(ArticleStream(tmp_path / name, on_rejected=rejected.append))
    assert [each.doc_id for each in kept] == [each.doc_id for each in articles[: len(kept)]]
    assert "must be complete, got: " in rejected[-1].reason
    assert (rejected[-1].source, rejected[-1].document) == (str(tmp_path / name), "")


# --- CSV ---------------------------------------------------------------------------------------------------


def csv_file(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "news.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_csv_cells_are_always_text(tmp_path: Path) -> None:
    path = csv_file(tmp_path, ',doc_id,date,text,country\n0,007,2001-09-11,"A ""b"",\nc.",NA\n1,8,2001-09-12,,\n')
    assert list(ArticleStream(path)) == [
        Article("007", datetime.date(2001, 9, 11), 'A "b",\nc.', "", {"country": "NA"}),
        Article("8", datetime.date(2001, 9, 12), ""),
    ]


def test_the_place_of_a_csv_row_is_its_first_line(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '\ufeffdoc_id,date,text\r\na,2001-09-11,"x\r\ny"\r\n\r\nb,,z\r\nc,2001-09-11\r\n')
    rejected: list[Rejected] = []
    assert [article.text for article in ArticleStream(path, on_rejected=rejected.append)] == ["x\r\ny"]
    assert [bad.message() for bad in rejected] == [
        f"{path}: line 5: doc_id 'b': date is missing",
        f"{path}: line 6: a row must have 3 values, as the header has, got 2",
    ]
    assert rejected[1].document == '["c", "2001-09-11"]'


def test_a_csv_text_may_be_longer_than_the_default_limit_of_the_csv_module(tmp_path: Path) -> None:
    text = "word " * 100_000
    (article,) = ArticleStream(csv_file(tmp_path, f"doc_id,date,text\na,2001-09-11,{text}\n"))
    assert article.text == text


# --- Parquet -----------------------------------------------------------------------------------------------


def test_parquet_dates_and_metadata_may_be_typed(tmp_path: Path) -> None:
    day, time = datetime.date(2001, 9, 11), datetime.datetime(2001, 9, 11, 23, 30)
    for kind, value in {
        pa.date32(): day,
        pa.timestamp("ns"): time,
        pa.timestamp("s", "Etc/GMT+12"): time.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-12))),
    }.items():
        own = {"doc_id": pa.array([1]), "date": pa.array([value], kind), "text": pa.array(["x"], pa.large_string())}
        more = {"seen": pa.array([day], pa.date32()), "score": [float("nan")], "tags": [["a", None]]}
        table = pa.table({**own, **more, "desk": pa.array(["Foreign"]).dictionary_encode()})
        pq.write_table(table, tmp_path / "news.parquet")
        expected = {"seen": "2001-09-11", "tags": ["a", None], "desk": "Foreign"}
        assert list(ArticleStream(tmp_path / "news.parquet")) == [Article("1", day, "x", "", expected)]


def test_errors_name_the_row_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "news.parquet"
    pq.write_table(pa.table({"doc_id": ["a", "b"], "date": ["2001-09-11", None], "text": ["", ""]}), path)
    assert (
        error_text(path) == f"{path}: row 2: doc_id 'b': date is missing (undated keep reads articles without a date)"
    )
    path.write_bytes(b"PAR1 no")
    assert error_text(path).startswith(f"{path}: file must be Parquet, got: ")


# --- NITF --------------------------------------------------------------------------------------------------


def test_all_fields_of_an_nitf_article_are_read(tmp_path: Path) -> None:
    """Indexing terms by their service, bylines, an abstract, a correction that is no text, and a repeated lead."""
    article = one_xml(tmp_path, (TEST_DATA / "nitf_article.xml").read_bytes())
    expected = json.loads((TEST_DATA / "nitf_article.json").read_text(encoding="utf-8"))
    assert article == Article(**{**expected, "date": datetime.date.fromisoformat(expected["date"])})


@pytest.mark.parametrize("case", data_lines("repeated_leads.txt"))
def test_a_repeated_lead_is_left_out(tmp_path: Path, case: str) -> None:
    paragraphs, expected = (part.split(" | ") for part in case.split(" -> "))
    assert one_xml(tmp_path, nitf(full=paragraphs, lead=paragraphs[:1])).text == "\n\n".join(expected)


def test_a_body_without_blocks_gives_its_paragraphs(tmp_path: Path) -> None:
    content = """<p>One.</p><media><media-caption><p>Photo.</p></media-caption></media>
<ul><li>Two <p>and</p> half.</li></ul><block class="x"><p>Three.</p></block><p>Four.</p>
<table><tr><td><p>4</p></td></tr></table>
<block class="correction_text"><p>Wrong.</p></block>"""
    article = one_xml(tmp_path, nitf(full=None, content=content))
    assert article.text == "One.\n\nTwo and half.\n\nThree.\n\nFour."


def test_the_date_comes_from_pubdata_or_else_from_the_meta_elements(tmp_path: Path) -> None:
    parts = ("7", "2", "1990")
    assert one_xml(tmp_path, nitf(parts=parts)).date == datetime.date(1991, 1, 16)
    assert one_xml(tmp_path, nitf(date=None, parts=parts)).date == datetime.date(1990, 2, 7)
    again = nitf().replace(b"</head>", b'<pubdata date.publication="20000101T000000"/></head>')
    assert one_xml(tmp_path, again).date == datetime.date(1991, 1, 16)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (nitf(date="1987"), "line 1: doc_id '17': date.publication must be an ISO date, got '1987'"),
        (nitf(date=None, parts=("30", "2", "1990")), "line 1: doc_id '17': date.publication must be an ISO date, got"),
        (nitf(doc_id=None), "line 1: doc-id is missing"),
        (nitf()[:-10], "line 9: XML must be well-formed, got: "),
        (b"<nitf>" + b"<a>" * 2000 + b"</a>" * 2000 + b"</nitf>", "line 1: elements must not be nested this deep"),
        (nitf(full=["&unheard;"]), "line 7: XML must be well-formed, got: undefined entity &unheard;"),
    ],
)
def test_an_error_names_the_line_of_bad_xml(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.xml").write_bytes(content)
    assert error_text(tmp_path / "a.xml").startswith(f"{tmp_path / 'a.xml'}: {reason}")


LAUGHS = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 20}">' for i in range(1, 9))


@pytest.mark.parametrize(
    ("doctype", "reason"),
    [
        (f'<!DOCTYPE nitf [<!ENTITY e0 "ha">{LAUGHS}<!ENTITY x "&e8;">]>', "limit on input amplification factor"),
        ('<!DOCTYPE nitf [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "undefined entity &x;"),
        ('<!DOCTYPE nitf [<!ENTITY x PUBLIC "p" "http://localhost/x">]>', "undefined entity &x;"),
    ],
)
def test_entities_neither_explode_nor_name_other_files(tmp_path: Path, doctype: str, reason: str) -> None:
    (tmp_path / "a.xml").write_bytes(nitf(doctype=doctype, full=["&x;"]))
    assert f"XML must be well-formed, got: {reason}" in error_text(tmp_path / "a.xml")


def test_html_character_names_are_known_without_the_document_type(tmp_path: Path) -> None:
    assert one_xml(tmp_path, nitf(full=["caf&eacute;&nbsp;au&#32;lait &mdash; &lt;"])).text == "café au lait — <"


# --- archives ----------------------------------------------------------------------------------------------


def test_members_of_an_archive_are_read_in_their_order(tmp_path: Path) -> None:
    members = [("readme.txt", b"x"), ("._3.xml", b"x"), ("01/2.xml", nitf(doc_id="2")), ("1.xml", nitf(doc_id="1"))]
    write_tar(tmp_path / "data.tar", members)
    assert [article.doc_id for article in ArticleStream(tmp_path / "data.tar")] == ["2", "1"]
    by_name = ArticleStream(tmp_path / "data.tar", id_column=None)
    assert [article.doc_id for article in by_name] == ["01/2.xml", "1.xml"]


def test_bad_members_of_an_archive_are_quarantined_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nitf_files, "XML_LIMIT", 2000)
    members = [
        ("1.xml", nitf(date=None)),
        ("2.xml", b"<nitf>"),
        ("3.xml", nitf(full=["x" * 2000])),
        ("4.xml.gz", gzip.compress(nitf())),
        ("6.xml", nitf()),
    ]
    write_tar(tmp_path / "a.tgz", members)
    rejected: list[Rejected] = []
    assert [article.doc_id for article in ArticleStream(tmp_path / "a.tgz", on_rejected=rejected.append)] == ["17"]
    assert [(bad.place, bad.reason.split(", got")[0]) for bad in rejected] == [
        ("member 1.xml, line 1", "date.publication is missing"),
        ("member 2.xml, line 1", "XML must be well-formed"),
        ("member 3.xml, line 1", "a document must be at most 2000 bytes"),
        ("member 4.xml.gz, line 1", "XML must be well-formed"),
    ]


def test_an_archive_keeps_no_member_in_memory(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", [(f"{i}.xml", nitf(doc_id=str(i))) for i in range(50)])
    stream = iter(ArticleStream(tmp_path / "a.tar"))
    for _ in range(50):
        next(stream)
    assert sum(type(each) is tarfile.TarInfo for each in gc.get_objects()) < 10


def test_links_and_folders_in_an_archive_are_ignored(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, kind in (("x.xml", tarfile.SYMTYPE), ("y.xml", tarfile.DIRTYPE), ("z.xml", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert list(ArticleStream(tmp_path / "a.tar")) == []


def test_a_truncated_or_extended_archive_raises(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(path, [("1.xml", nitf(doc_id="1")), ("2.xml", nitf(doc_id="2"))])
    whole = path.read_bytes()
    second = whole.index(b"2.xml")
    for content, reason in [
        (whole[:second], "archive must be complete, got: no end of archive"),
        (whole[: second + 100], "archive must be complete, got: "),
        (whole[: second + 600], "archive must be complete, got: "),
        (whole[:second] + b"\xff" + whole[second + 1 :], f"archive must be complete, got: no header at byte {second}"),
        (whole + whole, "archive must be complete, got: no header at byte "),
        (b"", "archive must be complete, got: "),
    ]:
        path.write_bytes(content)
        assert reason in error_text(path)


# --- news as other programs write it ----------------------------------------------------------------------


DAY = datetime.date(2001, 9, 11)
HEADER = ("doc_id", "date", "text")


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
