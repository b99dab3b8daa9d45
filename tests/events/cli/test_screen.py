"""What commands print: lines of 80 columns, pairs of name and value, and progress for those who watch."""

from __future__ import annotations

import io

import pytest

from events.cli import _screen as screen
from events.cli import scoring_progress, tell_counts, training_progress


class Terminal(io.StringIO):
    """A terminal that keeps what it was sent."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Terminal:
    """Standard error from now on; no fixture, as pytest takes standard error back before a test begins."""
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setenv("TERM", kind)
    return found


def test_prose_is_told_in_lines_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["of", "the", "documents", "that", "could", "hold", "an", "event", "some", "do,"] * 9
    screen.tell(" ".join(words))
    lines = capsys.readouterr().out.splitlines()
    assert [word for line in lines for word in line.split()] == words
    assert max(map(len, lines)) <= 80
    # No word of the next line would have fitted: the longest of them has nine letters.
    assert min(map(len, lines[:-1])) > 80 - 10


def test_a_path_stays_whole_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/a/very-long/" + "folder-with-a-name/" * 8 + "counts.csv"
    screen.tell(f"see {path}")
    assert capsys.readouterr().out == f"see\n{path}\n"


def test_a_long_value_goes_on_beneath_itself(capsys: pytest.CaptureFixture[str]) -> None:
    names = ", ".join(f"AA{i} Country of number {i}" for i in range(5))
    screen.print_pairs("own.yaml", [("names", names), ("ambiguous", "")])
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "own.yaml"
    assert lines[0].startswith("  names      AA0 Country")
    assert lines[1].startswith(" " * 13 + "number 2, AA3")
    assert lines[-1] == "  ambiguous  none"
    assert max(map(len, lines)) <= 80


def test_a_complaint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    screen.complain("two\nlines  and\ttabs")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "corefsample: two lines and tabs\n")


def test_nobody_watches_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.setenv("TERM", "xterm")
    assert not screen.watched()


@pytest.mark.parametrize(("kind", "seen"), [("xterm", True), ("dumb", False), ("unknown", False)])
def test_a_terminal_is_watched_unless_it_cannot_draw_a_line_anew(
    monkeypatch: pytest.MonkeyPatch, kind: str, seen: bool
) -> None:
    terminal(monkeypatch, kind)
    assert screen.watched() is seen


@pytest.mark.parametrize("kind", ["dumb", "xterm"])
def test_progress_is_shown_where_somebody_watches_and_never_with_json(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    screened = terminal(monkeypatch, kind)
    is_shown = kind == "xterm"
    for quiet in (False, True):
        with screen.progress("counting", quiet) as advance:
            assert (advance is not None) == (is_shown and not quiet)
            if advance is not None:
                advance(1, 2, 3)
        with scoring_progress(quiet) as advance:
            assert (advance is not None) == (is_shown and not quiet)
        with training_progress(quiet, 2) as (advance, on_epoch):
            assert (advance is not None) == (on_epoch is not None) == (is_shown and not quiet)
    assert ("counting" in screened.getvalue()) == is_shown


def test_progress_has_no_colours_where_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    screened = terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    with screen.progress("counting", False) as advance:
        assert advance is not None
        advance(1, 2, 3)
    assert "counting" in screened.getvalue()
    assert "\x1b[3" not in screened.getvalue()  # colours of the foreground: ESC [ 3x m


def test_numbers_of_things_are_told_where_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    tell_counts((1, "bad document", "set aside"), (0, "mention", "skipped"), (2000, "document", "held out"))
    assert capsys.readouterr().out == "1 bad document set aside.\n2,000 documents held out.\n"
