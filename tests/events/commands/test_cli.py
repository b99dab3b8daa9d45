"""The command line: help, exit statuses, summaries that programs read, pipes and interrupts."""

import functools
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
import pandas as pd
import pytest
from command_line import LEAVES, Calls
from places import EN_GUM_UD, PROJECT
from references import events as er

import events.evidence._evaluation
import events.runs._count_parts
import events.runs._count_run
import events.runs._outputs
import events.runs._written_tables
from corefsample import read_documents
from corefsample.calibration._validation import NORMS
from corefsample.documents._scored import UNANNOTATED
from corefsample.recalibration._fitter import FORMS
from corefsample.recalibration._losses import OBJECTIVES
from corefsample.recalibration._uncertain import UNCERTAINTIES
from corefsample.summaries._expected_losses import LOSSES
from corefsample.syntax._schemes import scheme_names
from events.audit._totals import METHODS
from events.commands import EventsOptions
from events.commands._screen import log_to_screen, print_summary
from events.commands.demo import DemoOptions, run_demo
from events.counts._event_counts import Interval


def program(*arguments: Any, **keywords: Any) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "events.commands", *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False, **keywords)


# --- help --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("set_before", "expected"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_arrow_allocates_from_the_system_unless_told_otherwise(set_before: str | None, expected: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    environment |= {} if set_before is None else {"ARROW_DEFAULT_MEMORY_POOL": set_before}
    script = "from events.commands._program import main\ntry: main(['--version'])\nexcept SystemExit: import pyarrow\n"
    script += "print(pyarrow.default_memory_pool().backend_name)"
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split()[-1] == expected


# --- events ------------------------------------------------------------------------------------------------


def test_every_option_of_the_job_reaches_it(call: Calls, corpus: Path, tmp_path: Path) -> None:
    words = (
        "--rule conflict --preset extended --period month --samples 40 --level 0.9 --seed 7 --interval hdi "
        "--scheme ud2 --threads 2 --on-error quarantine --compare USA IRQ --where doc_id=* --where doc_id=?* "
        "--filled named --outcome a=conflict:USA"
    )
    counting = {"rule": "conflict", "preset": "extended", "period": "month", "n_samples": 40, "level": 0.9, "seed": 7}
    reading = {"scheme": "ud2", "threads": 2, "on_error": "quarantine", "where": ("doc_id=*", "doc_id=?*")}
    shown = {"interval": "hdi", "compare": ("USA", "IRQ"), "filled": "named", "outcome": ("a=conflict:USA",)}
    options: dict[str, Any] = {**counting, **reading, **shown}
    chosen = EventsOptions(**options, out=tmp_path / "run")
    call.good("events", corpus, *words.split(), "--no-pictures", "--out", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["arguments"] == json.loads(json.dumps(chosen.recorded()))


def test_standard_input_is_read_and_no_progress_is_shown(call: Calls, corpus: Path, tmp_path: Path) -> None:
    arguments = ("--samples", 50, "--no-pictures", "--out")
    with corpus.open() as stream:
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "FORCE_COLOR": ""}
        done = program("events", "-", *arguments, tmp_path / "piped", stdin=stream, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout  # no colours, and no long lines
    assert max(len(line) for line in done.stdout.splitlines() if str(tmp_path) not in line) <= 80
    assert call("events", corpus, *arguments, tmp_path / "run")[0] == 0
    names = ("counts.csv", "evidence.csv")
    assert [(tmp_path / "piped" / n).read_text() for n in names] == [(tmp_path / "run" / n).read_text() for n in names]
    assert json.loads((tmp_path / "piped" / "run.json").read_text())["inputs"] == [
        {"path": "-", "bytes": None, "sha256": None}
    ]


# --- doctor ------------------------------------------------------------------------------------------------


def test_doctor_reports_twenty_problems_and_the_number_of_the_others(call: Calls, tmp_path: Path) -> None:
    mixed = er.write_lines(tmp_path / "mixed.jsonl", ["[]", *er.corpus(), *["{"] * 24])
    status, out, err = call("doctor", mixed)
    assert status == 3
    assert "problems 25 documents 10 " in " ".join(out.split())
    *lines, last = err.splitlines()
    assert [line.split(": ")[2] for line in lines] == ["line 1", *(f"line {n}" for n in range(12, 31))]
    assert last == "corefsample: and 5 more"
    status, out, _ = call("doctor", mixed, "--json")
    assert (status, json.loads(out)[0]["n_problems"]) == (3, 25)


# --- statuses ----------------------------------------------------------------------------------------------


def test_any_other_failure_is_one_line(
    call: Calls, monkeypatch: pytest.MonkeyPatch, corpus: Path, tmp_path: Path
) -> None:
    def fail(*args: Any, **keywords: Any) -> None:
        raise ZeroDivisionError("two\n \tlines")

    monkeypatch.setattr(events.evidence._evaluation, "evaluate_document", fail)
    status, out, err = call("events", corpus, "--out", tmp_path / "run")
    assert (status, out) == (1, "")
    place = f"{corpus}: line 1: doc_id 'doc 1'"
    shown = f"two lines while counting {place} (COREFSAMPLE_TRACEBACK=1 shows where)"
    assert err == f"corefsample: ZeroDivisionError: {shown}\n"
    assert os.listdir(tmp_path) == ["corpus.jsonl"]
    monkeypatch.setenv("COREFSAMPLE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        call("events", corpus, "--out", tmp_path / "run")


# --- errors for programs, closed pipes ---------------------------------------------------------------------


def test_an_error_is_json_too_if_json_was_asked_for(call: Calls, tmp_path: Path) -> None:
    status, out, err = call("audit", "plan", tmp_path / "none", "--out", tmp_path / "out", "--json")
    content = json.loads(out)["error"]
    assert (status, content["status"], content["kind"]) == (3, 3, "InputError")
    assert (content["place"], content["parameter"]) == (str(tmp_path / "none"), None)
    assert err == f"corefsample: {content['message']}\n"
    assert content["message"].endswith(f"({content['hint']})")
    status, out, _ = call("audit", "plan", tmp_path, "--out", "", "--json")
    assert (status, json.loads(out)["error"]["parameter"]) == (2, "--out")
    status, out, _ = call("audit", "plan", "--nothing", "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (2, "Error")
    assert call("audit", "plan", tmp_path / "none", "--out", tmp_path / "out")[1] == ""


def test_a_repeated_command_does_nothing_until_something_changes_on_which_it_depends(
    call: Calls, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, scored, out = tmp_path / "own.yaml", tmp_path / "scored.jsonl", tmp_path / "run"
    shutil.copy(PROJECT / "events" / "data" / "rules" / "attack.yaml", rule)
    shutil.copy(corpus, scored)
    model = tmp_path / "words.npz"
    shutil.copy(PROJECT / "events" / "data" / "triggers" / "words.npz", model)
    command = ["events", scored, "--rule", rule, "--triggers", model, "--samples", 20, "--no-pictures", "--out", out]
    command += ["--rule-error", "none"]
    first = json.loads(call.good(*command, "--json"))
    n_runs, count = [], events.runs._count_run.count_corpus
    monkeypatch.setattr(
        "events.runs._count_run.count_corpus", lambda *inputs, **more: n_runs.append(1) or count(*inputs, **more)
    )

    def is_repeated(*more: Any) -> bool:
        """Whether the command does nothing, which it does without an exception the next time."""
        n_before = len(n_runs)
        again = json.loads(call.good(*command, *more, "--json"))
        assert again["n_computed"] == 0 or len(n_runs) > n_before
        assert {**again, "n_computed": 1, "seconds": 0} == {**first, "n_computed": 1, "seconds": 0}
        return len(n_runs) == n_before

    assert is_repeated("--threads", 2, "--workers", 1)
    text = call.good(*command)
    assert text.splitlines()[1:] == call.good(*command, "--overwrite").splitlines()[1:]  # the first is about the work
    changes: dict[str, Callable[[], object]] = {
        "an input of the same size and time": lambda: _with_a_space_moved(scored),
        "a rule": lambda: rule.write_text(rule.read_text().replace("\n", "\r\n", 1), newline=""),
        "a trigger model": lambda: np.savez(model, **dict(np.load(model))),  # the same, without compression
        "a table": lambda: (out / "counts.csv").write_bytes(b""),
        "a missing table": (out / "evidence.parquet").unlink,
        "a part": lambda: next(out.glob("parts/*/*.arrow")).write_bytes(b""),
        "code": lambda: monkeypatch.setattr("events.runs._store.package_checksum", lambda: "other"),
        "a library": lambda: monkeypatch.setattr("events.runs._store.versions_of", lambda names: {"numpy": "0"}),
    }
    for name, change in changes.items():
        assert is_repeated(), name
        change()
        are_settings = name in ("a rule", "a trigger model")
        if are_settings:  # of another run, which is refused without this option
            assert call(*command)[0] == 2, name
        assert not is_repeated(*["--overwrite"] * are_settings), name
    assert is_repeated()
    assert "samples 20, not 30" in call(*command, "--samples", 30)[2]


def test_an_empty_delivery_has_tables_without_rows(call: Calls, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    run = tmp_path / "run"
    summary = json.loads(call("events", tmp_path / "empty.jsonl", "--no-pictures", "--json", "--out", run)[1])
    assert summary["n_documents"] == 0
    assert len((run / "counts.csv").read_text().splitlines()) == 1
    assert call.refused("count", run, "--by", "outlet", "--out", tmp_path / "again", status=2).startswith(
        "corefsample: --by"
    )


def _with_a_space_moved(path: Path) -> None:
    """Move a space between values, and set the time of change back."""
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(b'": ', b'" :', 1))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def test_quiet_hides_warnings_of_matplotlib_about_its_cache() -> None:
    fonts = logging.getLogger("matplotlib.font_manager")
    for quiet in (True, False):
        with log_to_screen(verbose=False, quiet=quiet):
            assert fonts.isEnabledFor(logging.WARNING) is not quiet
    assert fonts.isEnabledFor(logging.WARNING)


# --- one command -------------------------------------------------------------------------------------------


def test_run_does_what_its_three_commands_do(tmp_path: Path, call: Calls) -> None:
    if not EN_GUM_UD.is_dir():
        pytest.skip("needs the pipeline en_gum_ud")
    news = tmp_path / "news.csv"
    rows = [("a", "2001-01-01", "Iraqi troops attacked Kuwait."), ("b", "2001-05-02", "The president slept.")]
    pd.DataFrame(rows, columns=["doc_id", "date", "text"]).to_csv(news, index=False)
    counting = ["--preset", "extended", "--samples", 50, "--no-pictures"]
    pipeline = ["--pipeline", EN_GUM_UD, "--workers", 1]
    arguments = ["run", news, *pipeline, *counting, "--out", tmp_path / "run", "--json"]
    out = call.good(*arguments)
    result = json.loads(out)
    assert call("score", news, *pipeline, "--out", tmp_path / "scored.parquet")[0] == 0
    assert call("events", tmp_path / "scored.parquet", *counting, "--out", tmp_path / "steps")[0] == 0
    scored = Path(result["scored"])
    assert scored.read_bytes() == (tmp_path / "scored.parquet").read_bytes()
    assert (tmp_path / "run" / "counts.csv").read_text() == (tmp_path / "steps" / "counts.csv").read_text()
    assert result["n_with_events"] == 1
    if result["report"] is not None:
        assert Path(result["report"]).stat().st_size > 1000
    before = scored.stat().st_mtime_ns
    assert json.loads(call(*arguments)[1])["n_computed"] == 0
    status, out, err = call(*arguments, "--rule", "arrest")
    assert (status, "--overwrite" in err) == (2, True)
    assert call(*arguments, "--rule", "arrest", "--overwrite")[0] == 0
    assert scored.stat().st_mtime_ns == before  # its scores are those of the same news
    news.write_text(news.read_text("utf-8") + "c,2001-06-02,Iraqi troops attacked Iran.\n", "utf-8")
    assert json.loads(call(*arguments, "--rule", "arrest")[1])["n_documents"] == 3
    assert json.loads((tmp_path / "run-scored.parquet.scoring.json").read_text())["summary"]["n_resumed"] == 2


# --- pictures that cannot be drawn -------------------------------------------------------------------------


PICTURES = {"bands.png", "bands.svg"}


@pytest.mark.parametrize("dates", [("0001-01-01", "9999-12-31"), ("9999-01-01", "9999-12-31")])
@pytest.mark.parametrize("period", ["year", "quarter"])
def test_counts_at_both_ends_of_the_calendar_are_written_even_if_no_axis_can_show_them(
    call: Calls, caplog: pytest.LogCaptureFixture, tmp_path: Path, dates: tuple[str, str], period: str
) -> None:
    lines = [{**line, "date": dates[number % 2]} for number, line in enumerate(er.corpus())]
    path = er.write_lines(tmp_path / "corpus.jsonl", lines)
    out = tmp_path / "run"
    assert call("events", path, "--out", out, "--period", period, "--samples", 10)[0] == 0
    counts = pd.read_csv(out / "counts.csv", dtype={"period": str})
    assert {name[:4] for name in counts["period"]} >= {date[:4] for date in dates}
    assert (out / "run.json").exists()
    drawn = {path.name for path in out.iterdir()} & PICTURES
    warnings = [message for message in caplog.messages if message.startswith("the picture bands could not be drawn")]
    assert (drawn, len(warnings)) in ((PICTURES, 0), (set(), 1))


def test_a_picture_that_fails_half_way_is_left_out_with_a_warning(
    call: Calls, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(figure: object, path: str) -> None:
        if path.endswith(".svg"):
            raise ValueError("beyond\nthe axis")
        Path(path).touch()

    monkeypatch.setattr("events.runs._outputs.save_figure", broken)
    path = er.write_lines(tmp_path / "corpus.jsonl", er.corpus())
    out = tmp_path / "run"
    assert call("events", path, "--out", out, "--samples", 10)[0] == 0
    assert not PICTURES & {path.name for path in out.iterdir()}
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "the picture bands could not be drawn, all tables are complete: ValueError: beyond the axis"
    ]


# --- the command run ---------------------------------------------------------------------------------------


# --- the demo simulates and counts, and says that its news are simulated and what was expected ------------


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
        pmf = functools.reduce(lambda pmf, p: np.convolve(pmf, [1 - p, p]), own["probability"], np.ones(1))
        expected += pmf[int(row.lower) : int(row.upper) + 1].sum()  # P(lower <= count <= upper), document by document
    assert result["n_uncertain"] == len(counts) > 0
    assert result["expected"] == pytest.approx(expected, rel=1e-6)
    assert 0.95 * len(counts) <= result["expected"] <= len(counts)


# --- the help of every command ------------------------------------------------------------------------------


COMMANDS = tuple(LEAVES)
Helped = Callable[..., str]
EXAMPLE = re.compile(r"^ {4}(corefsample .*)$", flags=re.M)


@pytest.fixture
def helped(call: Calls) -> Helped:
    """Return the help of a command."""

    def printed(*words: str) -> str:
        return call.good(*" ".join(words).split(), "--help")

    return printed


def options(command: str) -> dict[str, click.Option]:
    return {str(p.name): p for p in LEAVES[command].params if isinstance(p, click.Option)}


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


HEAVY = "numba pandas scipy pyarrow spacy matplotlib networkx dask yaml jinja2 rich sklearn"


def test_help_loads_no_heavy_library() -> None:
    program = "import sys\nfrom events.commands._program import main\n"
    program += f"for command in {COMMANDS}:\n    try:\n        main([*command.split(), '--help'])\n"
    program += f"    except SystemExit:\n        print(*{{*{HEAVY.split()}}} & sys.modules.keys(), file=sys.stderr)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stderr.split() == []
    assert finished.stdout.count("Usage: ") == len(COMMANDS)


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)], ids=lambda words: " ".join(words))
def test_the_examples_are_commands_that_parse(helped: Helped, words: tuple[str, ...]) -> None:
    examples = EXAMPLE.findall(helped(*words))
    assert examples
    for example in examples:
        _, name, *arguments = shlex.split(example)
        if name in ("audit", "rule"):
            name = f"{name} {arguments.pop(0)}"
        assert not words or name == words[0]
        context = LEAVES[name].make_context(name, arguments)  # raises for unknown options and missing arguments
        assert context.params


# --- what the library says -----------------------------------------------------------------------------------

CLUSTERS = ("map", "sample", *LOSSES)
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("events", "interval"): get_args(Interval),
    ("events", "scheme"): scheme_names(),
    ("events", "uncertainty"): UNCERTAINTIES,
    ("score", "mentions"): ("annotated", "parse"),
    ("score", "paragraphs"): ("blank-line", "line"),
    ("calibrate", "norm"): NORMS,
    ("calibrate", "unannotated"): UNANNOTATED,
    ("recalibrate", "form"): FORMS,
    ("recalibrate", "objective"): OBJECTIVES,
    ("convert", "clustering"): ("gold", *CLUSTERS),
    ("audit estimate", "method"): METHODS,
}


@pytest.mark.parametrize(("command", "name"), CHOICES, ids=" ".join)
def test_the_choices_in_the_help_are_those_of_the_library(command: str, name: str) -> None:
    choice = options(command)[name].type
    assert isinstance(choice, click.Choice)
    assert set(choice.choices) == set(CHOICES[command, name])
