"""What commands print: lines of 80 columns, pairs of name and value, progress on a terminal."""

import io
import logging

import pytest

from events.commands import _screen as screen


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
