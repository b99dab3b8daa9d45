"""The demo simulates and counts, and says that its news are simulated and what was expected."""

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import Calls

from corefsample import read_documents
from events.commands._screen import print_summary
from events.commands.demo import DemoOptions, run_demo


def probability_within(probabilities: list[float], lower: int, upper: int) -> float:
    """P(lower <= count <= upper), document by document."""
    pmf = [1.0]
    for p in probabilities:
        pmf = [
            (pmf[n] * (1 - p) if n < len(pmf) else 0.0) + (pmf[n - 1] * p if n else 0.0) for n in range(len(pmf) + 1)
        ]
    return sum(pmf[lower : upper + 1])


def test_the_demo_says_what_was_expected(call: Calls, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = run_demo(DemoOptions(out=tmp_path, n_documents=60))
    print_summary(result)
    text = capsys.readouterr().out
    assert f"News     {tmp_path / 'news.parquet'}" in text
    assert "60 documents" in text
    assert all(len(line) <= 80 for line in text.splitlines() if str(tmp_path) not in line)
    assert "The posterior is uncertain about " in text
    assert len(list(read_documents(tmp_path / "news.parquet"))) == 60
    line = call.refused("demo", "--out", tmp_path, "--documents", 60, status=2)
    assert "must contain no earlier demo" in line
    run = tmp_path / "run"
    assert int(pd.read_csv(run / "counts.csv").groupby("period")["n_docs"].first().sum()) == 60
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["simulated"] is True
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "<h1>Events in simulated news: attack" in page
    assert "<b>Simulated news:</b> countries and dates are names in a simulation, not facts." in page
    assert "Simulated news: countries and dates are not facts" in (run / "bands.svg").read_text(encoding="utf-8")
    counts = pd.read_csv(run / "counts.csv").query("sd > 0")
    evidence = pd.read_csv(run / "evidence.csv")
    expected = 0.0
    for row in counts.itertuples():
        own = evidence[(evidence["actor"] == row.actor) & (evidence["period"] == row.period)]
        expected += probability_within(own["probability"].tolist(), int(row.lower), int(row.upper))
    assert result["n_uncertain"] == len(counts) > 0
    assert result["expected"] == pytest.approx(expected, rel=1e-6)
    assert 0.95 * len(counts) <= result["expected"] <= len(counts)
