"""What commands print: lines of 80 columns, pairs of name and value, progress on a terminal."""

import dataclasses
import io
import json
import logging

import numpy as np
import pandas as pd
import pytest

from corefsample.errors import InputError
from events._summary import Pairs, Summary, Table, counts_above_zero, json_values, mentions_by_reason, set_aside
from events.commands import _screen as screen
from events.commands._screen import print_summary


class Terminal(io.StringIO):
    """A terminal that stores its output."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm", *, is_terminal: bool = True) -> io.StringIO:
    """Replace standard error; not a fixture, because pytest restores standard error before a test begins."""
    stream = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", kind)
    return stream


@pytest.mark.parametrize("kind", ["dumb", "xterm"])
def test_progress_is_shown_on_a_terminal_and_never_with_json(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    screened = terminal(monkeypatch, kind)
    is_terminal = kind == "xterm"
    for as_json in (False, True):
        for quiet in (False, True):
            is_given = not quiet and not (is_terminal and as_json)
            with screen.log_to_screen(verbose=False, quiet=quiet), screen.progress("counting", as_json) as given:
                assert set(given) == ({"on_progress", "on_epoch"} if is_given else set())
                if is_given:
                    given["on_progress"](1, 2, 3)
    assert ("counting" in screened.getvalue()) == is_terminal  # in a log, lines come only after a while


def test_progress_tells_no_time_where_all_is_read_but_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    screened = terminal(monkeypatch, "xterm")
    for n_read, shows_time in ((1, True), (2, False)):
        with screen.log_to_screen(verbose=False, quiet=False), screen.progress("counting", as_json=False) as watchers:
            watchers["on_progress"](n_read, 2, 3)
        assert (" left" in screened.getvalue()) == shows_time
        screened.truncate(0)


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize(("verbose", "quiet"), [(False, False), (True, False), (False, True)])
def test_logs_are_printed_by_level(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, verbose: bool, quiet: bool
) -> None:
    stream = terminal(monkeypatch, is_terminal=is_terminal)

    def log() -> None:
        logging.getLogger("corefsample.kernels").info("takes long")
        logging.getLogger("corefsample.kernels").debug("details")
        logging.getLogger("corefsample.files").warning("doubtful")
        logging.getLogger("corefsample.progress").info("half done")

    with screen.log_to_screen(verbose=verbose, quiet=quiet):
        log()
    log()  # silent again
    expected = {
        "takes long": verbose or (is_terminal and not quiet),
        "details": verbose,
        "doubtful": True,
        "half done": verbose,  # else it comes every 30 seconds
    }
    lines = [f"corefsample: {text}" for text, is_shown in expected.items() if is_shown]
    assert stream.getvalue().replace("\r\x1b[K", "").splitlines() == lines


# --- what a summary shows to a person, and its values for a program ---------------------------------------


def printed(capsys: pytest.CaptureFixture[str], summary: Summary) -> list[str]:
    print_summary(summary)
    return capsys.readouterr().out.splitlines()


def test_a_table_is_aligned_by_its_widest_cells(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(("pairs", "n"), [("all", "1,000"), ("nearby ones", "7")], "Errors:")
    assert printed(capsys, Summary(values={}, shown=[table])) == [
        "",
        "Errors:",
        "pairs            n",
        "all          1,000",
        "nearby ones      7",
    ]


def test_sentences_are_wrapped_and_lines_that_end_with_a_path_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    path, sentence = "/".join(["folder"] * 20), "word " * 30 + "end."
    lines = printed(capsys, Summary(values={}, shown=[sentence], notices=set_aside(1, path), files={"Table": path}))
    assert max(map(len, lines[:2])) <= 80
    assert lines[2:] == [f"1 bad document set aside in {path}", "", f"Table    {path}"]


def test_pairs_have_their_values_in_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, Summary(values={}, shown=[Pairs("file", [("a", "1"), ("long", ""), ("b", "word " * 20)])]))
    assert lines[:3] == ["file", "  a     1", "  long  none"]
    assert [line.index("word") for line in lines[3:]] == [8, 8]


def test_counts_of_zero_are_not_mentioned() -> None:
    counts = (1, "document", "left out"), (0, "document", "set aside"), (2000, "mention", "skipped")
    assert list(counts_above_zero(*counts)) == ["1 document left out.", "2,000 mentions skipped."]
    assert (mentions_by_reason("skipped", {}), set_aside(0)) == ([], [])
    assert mentions_by_reason("skipped", {"z_z": 2, "a": 1}) == ["Mentions skipped: 1 a, 2 z z."]


@dataclasses.dataclass
class Row:
    array: object
    number: float


def test_values_become_json_that_has_no_nan() -> None:
    value = {
        "row": Row(np.array([[1, 2]]), float("nan")),
        "error": InputError("must be a file", place="x"),
        "numbers": (np.float64(0.5), np.int32(3), True, None),
        "cell": pd.Timestamp("2001-02-03"),
        "table": pd.DataFrame({"a": [1.5, np.nan], "b": [pd.NaT, "x"]}),
    }
    assert json.loads(json.dumps(json_values(value), allow_nan=False)) == {
        "row": {"array": [[1, 2]], "number": None},
        "error": "x: must be a file",
        "numbers": [0.5, 3, True, None],
        "cell": "2001-02-03 00:00:00",
        "table": [{"a": 1.5, "b": None}, {"a": None, "b": "x"}],
    }
