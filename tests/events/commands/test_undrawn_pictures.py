"""Pictures that cannot be drawn lose no results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from command_line import Calls
from references import events as er

PICTURES = {"bands.png", "bands.svg"}


@pytest.mark.parametrize("dates", [("0001-01-01", "9999-12-31"), ("9999-01-01", "9999-12-31")])
@pytest.mark.parametrize("period", ["year", "quarter"])
def test_counts_at_both_ends_of_the_calendar_are_written_even_if_no_axis_can_show_them(
    call: Calls, caplog: pytest.LogCaptureFixture, tmp_path: Path, dates: tuple[str, str], period: str
) -> None:
    lines = [{**line, "date": dates[number % 2]} for number, line in enumerate(er.corpus())]
    path = er.write_lines(tmp_path / "corpus.jsonl", lines)
    out = tmp_path / "run"
    status, _, _ = call("events", path, "--out", out, "--period", period, "--samples", 10)
    assert status == 0
    counts = pd.read_csv(out / "counts.csv", dtype={"period": str})
    assert {name[:4] for name in counts["period"]} >= {date[:4] for date in dates}
    assert (out / "run.json").exists()
    drawn = {path.name for path in out.iterdir()} & PICTURES
    warnings = [message for message in caplog.messages if message.startswith("the picture bands could not be drawn")]
    assert (drawn, len(warnings)) in ((PICTURES, 0), (set(), 1))


def test_a_picture_that_fails_half_way_is_left_out_with_a_warning(
    call: Calls, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(figure: object, path: Path) -> None:
        if path.suffix == ".svg":
            raise ValueError("beyond\nthe axis")
        path.touch()

    monkeypatch.setattr("events.runs._pictures.save_figure", broken)
    path = er.write_lines(tmp_path / "corpus.jsonl", er.corpus())
    out = tmp_path / "run"
    status, _, _ = call("events", path, "--out", out, "--samples", 10)
    assert status == 0
    assert not PICTURES & {path.name for path in out.iterdir()}
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "the picture bands could not be drawn, all tables are complete: ValueError: beyond the axis"
    ]
