"""Runs over documents of every kind: the same bytes and record whatever the partitions, order, format and processes."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from references import events as er, parses as pr
from run_cases import TABLES, CountOptions, count_events

from corefsample import ScoredDocument, read_documents, write_documents
from corefsample.recalibration._uncertain import read_recalibration
from events import simulate_documents

SUMMED = ("triggers", "merged_actors", "n_documents", "n_sampled", "n_with_events", "actors", "periods", "uncertainty")


def every_kind() -> list[dict[str, Any]]:
    """Documents of one and of three parses, with merged actors and with excluded triggers."""
    made = []
    for number in range(3):
        for n, each in enumerate(er.corpus()):
            document = {**each, "doc_id": f"{each['doc_id']} of round {number}"}
            made += [document] if n % 3 == 2 else pr.with_other_parses(document, (5, 1, 2 + number))
        links = {1: {0: -0.2 * number}, 2: {0: 0.5, 1: 1.0}}
        made.append(er.json_document(f"merging {number}", f"1999-01-{28 - number}", er.MERGING, links))
        made.append(er.json_document(f"excluded {number}", f"1999-07-{28 - number}", [er.NEGATED, er.FUTURE], {}))
    return made


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[ScoredDocument]]:
    path = er.write_lines(tmp_path_factory.mktemp("corpora") / "every.jsonl", every_kind())
    change = read_recalibration("english").recalibration
    simulated = simulate_documents(24, seed=2, event_share=1.0)
    return {
        "every kind": list(read_documents(path)),
        "recalibrated": [change.apply_document(each.document) for each in simulated],
    }


@pytest.mark.parametrize(
    ("kind", "workers", "options"),
    [
        ("every kind", 1, {}),
        ("every kind", 2, {}),
        ("every kind", 1, {"interval": "hdi", "rule": ("attack", "meet")}),
        ("every kind", 1, {"interval": "normal", "period": "year"}),
        ("recalibrated", 2, {}),
    ],
)
def test_partitions_order_format_and_processes_change_nothing(
    corpora: dict[str, list[ScoredDocument]], tmp_path: Path, kind: str, workers: int, options: dict[str, Any]
) -> None:
    documents = corpora[kind]
    write_documents(documents, tmp_path / "whole.jsonl")
    chosen = CountOptions(**{"n_samples": 60, "compare": ("USA", "IRQ"), "part_size": 1000, "threads": 1, **options})
    whole = count_events(tmp_path / "whole.jsonl", tmp_path / "whole", chosen)
    by_id: dict[str, list[ScoredDocument]] = {}  # the parses of a document stay together
    for document in documents:
        by_id.setdefault(document.doc_id, []).append(document)
    shuffled = [[*by_id.values()][d] for d in np.random.default_rng(1).permutation(len(by_id))]
    inputs = [tmp_path / f"part{n}.{('parquet', 'jsonl', 'jsonl.gz')[n % 3]}" for n in range(5)]
    for n, path in enumerate(inputs):
        write_documents([parse for parses in shuffled[n::5] for parse in parses], path)
    in_parts = dataclasses.replace(chosen, part_size=9)
    found = count_events(inputs, tmp_path / "parts", in_parts, workers=workers)
    assert (whole.n_parts, found.n_parts) == (1, 5)
    for name in TABLES:
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    for name in SUMMED:
        assert getattr(found, name) == getattr(whole, name), name
    summary = json.loads((tmp_path / "parts" / "run.json").read_text())["summary"]
    if kind == "every kind":
        assert summary["triggers"]["attack"]["n_excluded"] > 0
        assert summary["merged_actors"]["probability"] > 0
    else:
        assert summary["uncertainty"] == "domain"
    again = count_events(inputs, tmp_path / "parts", in_parts)
    assert (again.n_computed, *(getattr(again, name) for name in SUMMED)) == (0, *(getattr(whole, n) for n in SUMMED))
