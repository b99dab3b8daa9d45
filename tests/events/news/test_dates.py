"""Dates far from all others, and what is said of news before and after they are scored."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from events.commands.doctor import run_doctor
from events.news._quality import outlying_dates, set_aside_before, tally_of_run
from events.runs._outputs import scoring_of


@pytest.mark.parametrize(
    ("years", "n_documents", "expected"),
    [
        ([1911, 1988, 1991], [1, 600, 300], [1, 0, 0]),
        ([1988, 1991, 2088], [600, 300, 9], [0, 0, 1]),  # one in a hundred
        ([1988, 1991, 2088], [600, 300, 10], [0, 0, 0]),  # more are no error
        ([1911, 1988, 1991], [1, 5, 3], [0, 0, 0]),  # too few documents to tell
        ([1911, 1950, 1988, 1991, 2088], [1, 0, 600, 300, 2], [1, 1, 0, 0, 1]),  # a period without documents
        ([1950, 1988, 2000, 2012], [1, 600, 0, 300], [1, 0, 0, 0]),  # 38 years, beside 24
        ([1970, 1988, 2012], [1, 600, 300], [0, 0, 0]),
        ([1970, 1982, 1990, 1998, 2006], [1, 300, 300, 300, 1], [0, 0, 0, 0, 0]),  # 12 years, beside 24
        ([1988, 1989, 1990], [9, 900, 400], [0, 0, 0]),  # 366 days from one year to the next, beside 365
        ([1988], [20], [0]),
    ],
)
def test_few_documents_beyond_a_long_gap_are_outlying(
    years: list[int], n_documents: list[int], expected: list[int]
) -> None:
    days = np.array([f"{year}-01-01" for year in years], "datetime64[D]")
    assert outlying_dates(days, np.array(n_documents)).tolist() == list(map(bool, expected))


@given(st.dictionaries(st.integers(0, 40_000), st.integers(1, 50), min_size=1, max_size=12))
def test_nearly_all_documents_stay(n_documents: dict[int, int]) -> None:
    days = np.array(sorted(n_documents), "datetime64[D]")
    numbers = np.array([n_documents[day] for day in sorted(n_documents)])
    assert numbers[outlying_dates(days, numbers)].sum() <= max(1, numbers.sum() // 100)


def test_a_run_says_what_was_set_aside_when_its_input_was_scored(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    assert scoring_of(path) == {}
    summary = {"n_quarantined": 3, "texts": {"n_texts": 9, "n_dateline": 2, "n_credit": 0}}
    Path(f"{path}.scoring.json").write_text(json.dumps({"summary": summary}))
    row = {"path": str(path), **scoring_of(path)}
    assert row["scoring"] == {"n_quarantined": 3, "texts": {"n_texts": 9, "n_dateline": 2}}
    record = {"inputs": [row, {"path": "other.parquet"}]}
    (set_aside,), (heads,) = set_aside_before(record), tally_of_run(record).notices()
    assert "3 articles set aside" in set_aside
    assert "2 texts with a dateline" in heads


def test_doctor_shows_what_is_recognised_in_news(tmp_path: Path) -> None:
    rows = [f"a{i},{1988 + i % 4}-03-01,Iraq attacked a town.\n" for i in range(12)]
    rows += [
        'old,1911-01-05,"NAIROBI, Kenya (AP) -- Iran attacked."\n',
        "loud,1990-01-01,LET US KILL THEM ALL\n",
        "bad,,x\n",
    ]
    path = tmp_path / "news.csv"
    path.write_text("doc_id,date,text\n" + "".join(rows))
    report = run_doctor([str(path)]).values[0]
    assert (report["n_articles"], report["n_problems"]) == (14, 1)
    assert report["examples"] == {"dateline": ["NAIROBI, Kenya (AP) --"], "capitals": ["Let us kill them all"]}
    assert (report["texts"]["n_dateline"], report["texts"]["n_recased"]) == (1, 1)
    assert (report["dates"], report["outlying"]) == (["1911-01-05", "1991-03-01"], ["old"])
    assert "1911-01-05" in report["notes"][0]


def test_doctor_names_damage_that_stays_in_the_text(tmp_path: Path) -> None:
    texts = ["Russia advanced.\\n\\nIran attacked.", "Russia at-\ntacked a port.", "A.\n\nRead more: Iran attacks"]
    texts += ["It rained.\n\nCorrection: Iran did not.", "It rained.\n\n(This story was corrected.)"]
    texts += ["Iran read more:\nIt was in C:\\news. A half-\n\nhour. Related parties met."]
    rows = [json.dumps({"doc_id": str(i), "date": "2026-03-05", "text": text}) for i, text in enumerate(texts)]
    (tmp_path / "news.jsonl").write_text("\n".join(rows))
    report = run_doctor([str(tmp_path / "news.jsonl")]).values[0]
    lines = ["Read more: Iran attacks", "Correction: Iran did not.", "(This story was corrected.)"]
    assert [*report["examples"].values()] == [["advanced.\\n\\nIran"], ["at-\ntacked"], lines]
    assert r"line end written as \n 1, word divided at a line end 1, link or correction 3" in report["notes"][0]
