"""The demo says that its news are simulated, and how many intervals are expected to contain the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from events.commands import DemoOptions, run_demo


def probability_within(probabilities: list[float], lower: int, upper: int) -> float:
    """P(lower <= count <= upper), document by document."""
    pmf = [1.0]
    for p in probabilities:
        pmf = [
            (pmf[n] * (1 - p) if n < len(pmf) else 0.0) + (pmf[n - 1] * p if n else 0.0) for n in range(len(pmf) + 1)
        ]
    return sum(pmf[lower : upper + 1])


def test_the_demo_says_that_it_is_simulated_and_what_was_expected(tmp_path: Path) -> None:
    result = run_demo(DemoOptions(out=tmp_path, n_documents=60))
    run = tmp_path / "run"
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
    assert result.n_uncertain == len(counts) > 0
    assert result.expected == pytest.approx(expected, rel=1e-6)
    assert result.level * len(counts) <= result.expected <= len(counts)
