"""corefsample calibrate A B --paired: the table, the JSON, the folder and the errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import called

from corefsample import AntecedentDistribution, ScoredDocument, write_documents
from corefsample.links import compare_links, scorer_links


def documents(scale: float, n_documents: int = 10) -> Iterator[ScoredDocument]:
    rng = np.random.default_rng(2)
    mentions = np.array([[i, i + 1, i] for i in range(8)])
    rows = [list(range(i)) for i in range(8)]
    for d in range(n_documents):
        scores = [(scale * rng.normal(0, 1, i)).tolist() for i in range(8)]
        gold = rng.integers(0, 3, 8).tolist()
        yield ScoredDocument(f"d{d}", mentions, AntecedentDistribution.from_lists(rows, scores), gold=gold)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, scale in zip(paths, (1.0, 4.0), strict=True):
        write_documents(documents(scale), path)
    return paths


def test_table_json_and_folder_have_the_values_of_the_comparison(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: tuple[Path, Path]
) -> None:
    expected = compare_links(*(scorer_links(documents(scale)) for scale in (1.0, 4.0)), n_resamples=100).to_frame()
    arguments = ("calibrate", *files, "--paired", "--resamples", 100)
    status, out, _ = called(capsys, *arguments, "--json", "--out", tmp_path / "out")
    summary = json.loads(out)
    assert status == 0
    assert pd.DataFrame(summary["differences"])["lower"].tolist() == pytest.approx(expected["lower"].tolist())
    assert summary["n_documents"] == 10
    written = pd.read_csv(tmp_path / "out" / "paired.csv")
    pd.testing.assert_frame_equal(written, expected)
    record = json.loads((tmp_path / "out" / "calibration.json").read_text(encoding="utf-8"))
    assert [Path(each["path"]).name for each in record["inputs"]] == ["a.jsonl", "b.jsonl"]
    status, out, _ = called(capsys, *arguments)
    assert status == 0
    row = next(line for line in out.splitlines() if line.startswith("log score"))
    assert float(row.split()[4]) == pytest.approx(expected["difference"][1], abs=1e-5)
