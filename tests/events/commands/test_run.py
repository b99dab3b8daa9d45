"""The command `run`: what cannot be counted is refused before anything is scored."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Calls

NEWS = "doc_id,date,text\na,2000-01-02,Iraq attacked Iran.\n"


@pytest.mark.parametrize(
    "wrong",
    [
        ("rule", "nope"),
        ("preset", "nope"),
        ("period", "nope"),
        ("lexicon", "nope.yaml"),
        ("compare", "USA", "XX"),
        ("outcome", "any=nope"),
    ],
)
def test_nothing_is_scored_that_cannot_be_counted(call: Calls, tmp_path: Path, wrong: tuple[str, ...]) -> None:
    (tmp_path / "news.csv").write_text(NEWS)
    name, *values = wrong
    # The pipeline does not exist: an error of the scoring would name it.
    options = ("--pipeline", "no_such_pipeline", "--out", tmp_path / "run", f"--{name}", *values)
    status, out, err = call("run", tmp_path / "news.csv", *options)
    assert (status in (2, 3), out) == (True, "")
    assert len(err.splitlines()) == 1
    assert values[-1].removeprefix("any=") in err
    assert "no_such_pipeline" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["news.csv"]
