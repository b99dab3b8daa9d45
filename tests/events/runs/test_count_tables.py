"""The tables that a counter writes into the folder of a run."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events import EventCounter
from events._csv_cells import unescaped
from events.counting._counted_rows import rows_batch
from events.counting._evidence import EvidenceRow, evidence_schema
from events.runs._output_folder import RunFolder
from events.runs.counting._tables import write_counts, written_rows

DAY = datetime.date(1999, 1, 1)


def row(number: int, probability: float = 0.5, text: str = "") -> EvidenceRow:
    texts = text, text, text
    return EvidenceRow(f"d{number:05}", DAY, "1999Q1", "attack", ("AAA",), probability, 0.01, True, *texts)


def written(rows: list[EvidenceRow], out: Path, at_once: int = 30) -> None:
    """Write evidence that comes in parts, the last part first."""
    counter = EventCounter()
    for start in reversed(range(0, len(rows), at_once)):
        part, table = rows[start : start + at_once], counter.rows.evidence
        table.add(rows_batch(table.schema, part, {"attack": ("actor",)}, ("actor",)))
    with RunFolder(out) as folder:
        counts = counter.counts_of_all()
        with written_rows(folder, counter.rows, counter.evidence_schema):
            table = counts.to_frame()
        write_counts(folder, table, counts.schema, counts.samples(), None)
        folder.finish_record({"corefsample": "0"})


@settings(max_examples=20)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8), max_size=6))
def test_any_text_survives_in_both_tables(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    out = tmp_path_factory.mktemp("text") / "run"
    written([row(n, text=text) for n, text in enumerate(texts)], out)
    table = pq.read_table(out / "evidence.parquet")
    assert table.schema.equals(evidence_schema(["actor"]))
    assert table.column("sentences").to_pylist() == texts
    # With line ends of \n, the reader keeps all other line ends within quotes.
    again = pd.read_csv(out / "evidence.csv", keep_default_na=False, dtype=str, lineterminator="\n")
    assert again["sentences"].map(unescaped).tolist() == texts
    assert not again["sentences"].str.match(r"[=+\-@\t\r\n]").any()  # a spreadsheet would run it as a formula


@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 250, 4500])
def test_near_half_keeps_the_hundred_nearest_and_the_earlier_of_ties(tmp_path: Path, n: int) -> None:
    rows = [row(k, probability=((k * 37) % 50) / 50) for k in range(n)]
    written(rows, tmp_path / "run")
    near = pd.read_csv(tmp_path / "run" / "near_half.csv")
    expected = sorted(rows, key=lambda r: abs(r.probability - 0.5))[:100]  # stable: the earlier first
    assert near["doc_id"].tolist() == [r.doc_id for r in expected]


def test_evidence_of_many_batches_is_in_order(tmp_path: Path) -> None:
    written([row(n) for n in range(5000)], tmp_path / "run", at_once=700)
    for table in (
        pq.read_table(tmp_path / "run" / "evidence.parquet").to_pandas(),
        pd.read_csv(tmp_path / "run" / "evidence.csv"),
    ):
        assert table["doc_id"].tolist() == [f"d{n:05}" for n in range(5000)]
