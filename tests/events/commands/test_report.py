"""Pictures of a finished run for a paper; the page has tests of its own."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from expected_errors import error
from references import events as er

from corefsample import InputError, ParameterError
from corefsample.files._reading import sealed
from events.commands import EventsOptions, run_events
from events.commands.report import ReportOptions, run_report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    corpus = er.write_lines(folder / "corpus.jsonl", er.corpus())
    run_events(corpus, EventsOptions(out=str(folder / "run"), n_samples=20, pictures=False))
    return folder / "run"


def test_a_picture_has_the_actors_in_their_order_and_their_labels(run: Path, tmp_path: Path) -> None:
    actors = sorted(set(pd.read_csv(run / "counts.csv", keep_default_na=False)["actor"]))[:2]
    first, second = actors
    names = ReportOptions(
        picture=str(tmp_path / "a.svg"), actors=(f"{second},{first}",), panels="one", labels=(f"{second}=Own label",)
    )
    assert run_report(run, names)["out"] == str(tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert 0 < drawn.index("Own label") < drawn.index(f"({first})")
    assert f"({second})" not in drawn
    assert not (run / "report.html").exists()
    with pytest.raises(ParameterError, match="must not exist"):
        run_report(run, names)


def test_a_run_of_an_older_version_has_a_page_but_none_without_its_table_of_rules(run: Path, tmp_path: Path) -> None:
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    del record["rule"]["kin"], record["arguments"]["all_periods"]
    for name, table in (("page", None), ("none", str(tmp_path / "moved.csv"))):
        shutil.copytree(run, tmp_path / name)
        record["arguments"]["rule_error"] = table
        (tmp_path / name / "run.json").write_text(json.dumps(sealed(record)), encoding="utf-8")
    run_report(tmp_path / "page", ReportOptions())
    assert (tmp_path / "page" / "report.html").is_file()
    with error(InputError, place="moved.csv"):
        run_report(tmp_path / "none")
    assert not (tmp_path / "none" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "parameter", "hint"),
    [
        ({"actors": ("Iraqi",)}, "actors", "did you mean IRQ (Iraq)?"),
        ({"labels": ("XXX=a",)}, "labels", None),
        ({"event": "none"}, "event", None),
    ],
)
def test_a_picture_of_what_the_run_lacks_is_not_drawn(
    run: Path, tmp_path: Path, options: dict[str, object], parameter: str, hint: str | None
) -> None:
    with pytest.raises(ParameterError) as caught:
        run_report(run, ReportOptions(picture=str(tmp_path / "a.pdf"), **options))  # type: ignore[arg-type]
    assert (caught.value.parameter, caught.value.hint) == (parameter, hint)
    assert not (tmp_path / "a.pdf").exists()
