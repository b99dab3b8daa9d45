"""A line over the limit is one clear error in every reader of text, and memory stays bounded."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from corefsample import InputError, read_conll2012, read_corefud, read_documents
from corefsample.documents._faults import Rejected
from corefsample.files import _reading
from events.news._articles import ArticleStream

TOO_LONG = "must be at most 1 MiB, got more"
X = b"x" * (2 * 2**20)
SCORED = {"doc_id": "a", "mentions": [], "antecedents": [], "scores": []}
GOOD = json.dumps(SCORED).encode() + b"\n"


@pytest.fixture(autouse=True)
def _limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", 2**20)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


def test_a_long_scored_line_is_set_aside_by_its_start_and_reading_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "scored.jsonl", b'{"doc_id": "' + X + b'"}\n' + GOOD)
    rejected: list[Rejected] = []
    assert [each.doc_id for each in read_documents(path, on_rejected=rejected.append)] == ["a"]
    assert [bad.number for bad in rejected] == [1]
    assert len(rejected[0].document) == 1000


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    def with_length(n_bytes: int) -> bytes:
        start = json.dumps({**SCORED, "note": ""}).encode()[:-2]
        return start + b"y" * (n_bytes - len(start) - 2) + b'"}'

    for end in (b"", b"\n"):
        path = written(tmp_path / "s.jsonl", with_length(2**20) + end)
        assert len(list(read_documents(path))) == 1
    path = written(tmp_path / "s.jsonl", with_length(2**20 + 2))
    with pytest.raises(InputError, match=TOO_LONG):
        list(read_documents(path))


@pytest.mark.parametrize("name", ["bomb.jsonl.gz", "bomb.conllu.gz", "bomb.conll.gz", "news.jsonl.gz", "news.csv.gz"])
def test_memory_is_bounded_when_a_small_file_holds_a_huge_line(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, b"x" * (40 * 2**20))
    assert path.stat().st_size < 2**20
    read = {"bomb.conllu.gz": read_corefud, "bomb.conll.gz": read_conll2012}.get(name, read_documents)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"line 1: .* {TOO_LONG} \(Parquet"):
            list(ArticleStream(path) if name.startswith("news") else read(path))  # type: ignore[operator]
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()
