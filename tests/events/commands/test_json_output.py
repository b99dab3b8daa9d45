"""What commands print with --json fits the schema in the documentation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import LEAVES, Calls
from events_audit_made import fill
from places import PROJECT

from corefsample import write_documents
from events import simulate_documents

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")

SCHEMA_FILE = PROJECT / "docs" / "json-output.schema.json"
OWN_NEWS = PROJECT / "notebooks" / "own_news.conllu"
Fits = Callable[..., Any]
PIPELINE = PROJECT / ".." / "shared" / "models" / "en_gum_ud"

pytestmark = pytest.mark.skipif(not SCHEMA_FILE.exists(), reason="the pages are beside the sources alone")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(content)
    return content


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("news") / "news.parquet"
    write_documents((each.document for each in simulate_documents(40, event_share=0.5)), path)
    return path


@pytest.fixture
def fits(call: Calls, schema: dict[str, Any]) -> Fits:
    def assert_fits(command: str, *arguments: object) -> Any:
        """Run a command with --json, validate what it prints, and return it."""
        words = command.partition(" --")[0].split()
        out = call.good(*words, *arguments, "--json")
        content = json.loads(out)
        part = {"$defs": schema["$defs"], **schema["properties"][command]}
        jsonschema.validate(content, part, cls=jsonschema.Draft202012Validator)
        return content

    return assert_fits


def test_every_command_is_in_the_schema(schema: dict[str, Any]) -> None:
    assert set(schema["properties"]) == LEAVES.keys() | {"doctor --environment", "error"}


def test_an_error_fits(call: Calls, schema: dict[str, Any], tmp_path: Path) -> None:
    content = json.loads(call("report", tmp_path / "none", "--json")[1])
    jsonschema.validate(content, {"$defs": schema["$defs"], **schema["properties"]["error"]})


def test_run_fits(fits: Fits, tmp_path: Path) -> None:
    counting = ("--preset", "paper", "--samples", 20, "--no-pictures")
    fits("run", OWN_NEWS, *counting, "--out", tmp_path / "run")


def test_counting_auditing_and_reporting_fit(fits: Fits, news: Path, tmp_path: Path) -> None:
    run, audit = tmp_path / "run", tmp_path / "audit"
    counted = fits("events", news, "--samples", 50, "--no-pictures", "--out", run)
    assert counted["out"] == str(run)
    again = fits("count", run, "--period", "year", "--by", "simulated", "--out", tmp_path / "years")
    assert again["n_documents"] == counted["n_documents"]
    assert fits("report", run)["n_with_events"] == counted["n_with_events"]
    fits("audit plan", run, "--labels", 20, "--out", audit)
    fill(audit / "sheet.csv", ["yes"] * 9 + ["no"] * 11)
    learned = tmp_path / "learned"
    fits("audit learn", run, audit / "sheet.csv", "--out", learned, "--no-pictures")
    fits("audit estimate", run, audit / "sheet.csv", "--learned", learned, "--no-pictures")
    units = sorted(set(pd.read_csv(run / "counts.csv")["period"]))
    covariates = tmp_path / "covariates.csv"
    pd.DataFrame({"period": units, "trend": range(len(units))}).to_csv(covariates, index=False)
    regression = fits("audit regress", run, audit / "sheet.csv", "--table", covariates)
    assert [row["term"] for row in regression["coefficients"]] == ["(intercept)", "trend"]
    assert pd.read_csv(audit / "regression.csv")["term"].tolist() == ["(intercept)", "trend"]
    assert pd.read_csv(audit / "regression-units.csv")["n_docs"].sum() == counted["n_documents"]


def test_the_demo_fits(fits: Fits, tmp_path: Path) -> None:
    (tmp_path / "news.parquet").touch()  # as of an earlier one
    content = fits("demo", "--documents", 20, "--overwrite", "--out", tmp_path)
    assert content["n_documents"] == 20


def test_examining_and_converting_fit(fits: Fits, news: Path, tmp_path: Path) -> None:
    fits("doctor", news, "attack", "police")
    fits("doctor --environment", "--environment")
    fits("explain", news, "--sample", 2)
    fits("convert", news, tmp_path / "again.jsonl.gz")
    fits("convert", OWN_NEWS, tmp_path / "own.conllu")


def test_calibrating_fits(fits: Fits, news: Path, tmp_path: Path) -> None:
    fits("calibrate", news, "--resamples", 20)
    for form, objective in (("global", "likelihood"), ("kinds", "likelihood")):
        out = tmp_path / f"{form}.parquet"
        options = ["--form", form, "--objective", objective, "--resamples", 5]
        content = fits("recalibrate", news, news, "--out", out, *options)
        assert ("offsets" in content) == (form == "kinds")


def test_training_and_scoring_fit(fits: Fits, tmp_path: Path) -> None:
    fits("score", OWN_NEWS, "--out", tmp_path / "scored.jsonl.gz")
    options = ["--held-out-share", 0, "--epochs", 1]
    fits("train", OWN_NEWS, "--out", tmp_path / "model.npz", *options)
    fits("warm-up")


def test_scores_of_entities_fit(fits: Fits, news: Path) -> None:
    content = fits("evaluate", news, news, "--samples", 10, "--against", news)
    assert [row["difference"] for row in content["differences"]] == [0.0] * 7
    assert content["posterior"]["lower"] <= content["posterior"]["mean"]


@pytest.mark.skipif(not PIPELINE.exists(), reason="needs ../shared/models/en_gum_ud")
def test_rules_from_sentences_and_their_tests_fit(fits: Fits, tmp_path: Path) -> None:
    out = tmp_path / "seizure.yaml"
    options = ["--example", "French soldiers seized a ship.", "--pipeline", PIPELINE, "--out", out]
    content = fits("rule new", "seizure", *options)
    assert set(content["examples"][0]) == {"text", "trigger", "actor", "mention", "path", "extended", "asserted"}
    assert fits("rule test", out)[0]["examples"][0]["found"] == ["FRA"]
    texts = tmp_path / "texts.txt"
    texts.write_text("Iraq [attacked|attack|Iraq] a port.\nRain fell.\n", encoding="utf-8")
    fits("train-triggers", texts, "--pipeline", PIPELINE, "--out", tmp_path / "m.npz")
