"""The help of every command: 80 columns, sections, consistent names, choices and defaults of the library."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import click
import pytest
from command_line import LEAVES, Calls

from corefsample.calibration._validation import NORMS
from corefsample.links._pairs import UNANNOTATED
from corefsample.parses._pairs import SCORES
from corefsample.recalibration._fitter import FORMS
from corefsample.recalibration._gold import MISSING
from corefsample.recalibration._uncertain import UNCERTAINTIES
from corefsample.scorers.log_linear._model import LARGEST_TABLE
from corefsample.summaries._losses import LOSSES
from corefsample.syntax._schemes import scheme_names
from events.audit._estimates import STABLE_ERRORS
from events.audit._totals import METHODS
from events.commands._parser import Command
from events.commands._program import cli
from events.counting._counts import INTERVALS
from events.queries._queries import ROLES
from events.queries._score import OBJECTIVES

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


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)], ids=lambda words: " ".join(words))
def test_no_line_of_help_is_longer_than_80_columns_or_coloured(helped: Helped, words: tuple[str, ...]) -> None:
    text = helped(*words)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "\x1b" not in text


HEAVY = "numba pandas scipy pyarrow spacy matplotlib networkx dask yaml jinja2 rich sklearn"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_no_heavy_library_and_is_the_same_without_docstrings(helped: Helped, command: str) -> None:
    program = "import runpy, sys\ntry:\n    runpy.run_module('events.commands', run_name='__main__')\nfinally:\n"
    program += f"    print(*sorted(set({HEAVY!r}.split()) & set(sys.modules)), file=sys.stderr)"
    words = [sys.executable, "-c", program, *command.split(), "--help"]
    environment = {**os.environ, "PYTHONOPTIMIZE": "2"}
    finished = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert finished.stdout == helped(command)
    assert finished.stderr.split() == []


def test_no_line_about_a_command_is_cut(helped: Helped) -> None:
    lines = helped().split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(cli.lines)
    assert all(line.endswith(".") and not line.endswith("..") for line in lines)


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


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_one_section_and_the_common_ones_come_first(helped: Helped, command: str) -> None:
    text = helped(command)
    titles = re.findall(r"^(\S.*):$", text, flags=re.M)
    assert titles[0] == "Options"
    assert len(set(titles)) == len(titles)
    first = text.split("\nOptions:\n")[1].split("\n\n")[0]
    for option in options(command).values():
        assert len(re.findall(rf"^  {re.escape(option.opts[0])}\b(?!-)", text, flags=re.M)) == 1, option.opts
        if option.required or option.name in ("overwrite", "as_json", "on_error"):
            assert option.opts[0] in first
    assert "--help" in first
    assert all(line.startswith(("  -", " " * 8)) for line in first.splitlines()), "options alone"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_section_names_existing_options(command: str) -> None:
    found = LEAVES[command]
    assert isinstance(found, Command)
    assert set(found.section_of) <= set(options(command))


@pytest.mark.parametrize("command", COMMANDS)
def test_placeholders_of_values_are_plain_words(helped: Helped, command: str) -> None:
    text = helped(command)
    assert not re.search(r"--[a-z0-9-]+ (INTEGER|FLOAT)", text)
    for option in options(command).values():
        if not option.is_flag and option.metavar is None:
            assert isinstance(option.type, click.Choice), option.opts
    for name in ("out", "lexicon", "model", "templates", "recalibration"):
        if name in options(command):
            assert options(command)[name].metavar in ("FILE", "FOLDER")


def test_an_option_of_several_commands_is_written_alike_in_all() -> None:
    written: dict[str, set[str | None]] = {}
    for command in COMMANDS:
        for name, option in options(command).items():
            written.setdefault(name, set()).add(option.metavar)
    assert {name: found for name, found in written.items() if len(found) > 1} == {"out": {"FILE", "FOLDER"}}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_default_is_shown(helped: Helped, command: str) -> None:
    text = " ".join(helped(command).split())
    for option in options(command).values():
        if option.is_flag and not option.secondary_opts:
            continue  # off, as flags are
        record = option.get_help_record(click.Context(LEAVES[command]))
        message = " ".join(record[1].split())
        optional = {"pipeline", "held_out", "where", "attribution", "note", "compare", "entity_fields"}
        optional |= {"recalibration"}
        if not option.required and option.name not in optional:
            assert "[default: " in message, option.opts
        assert message in text


# --- what the library says -----------------------------------------------------------------------------------

CLUSTERS = ("map", "sample", *LOSSES)
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("events", "interval"): INTERVALS,
    ("events", "scheme"): scheme_names(),
    ("events", "uncertainty"): UNCERTAINTIES,
    ("score", "mentions"): ("annotated", "parse"),
    ("score", "clusters"): CLUSTERS,
    ("score", "paragraphs"): ("blank-line", "line"),
    ("calibrate", "norm"): NORMS,
    ("calibrate", "unannotated"): UNANNOTATED,
    ("calibrate-queries", "role"): tuple(ROLES),
    ("recalibrate", "form"): FORMS,
    ("recalibrate", "missing"): MISSING,
    ("recalibrate", "objective"): OBJECTIVES,
    ("convert", "clustering"): ("gold", *CLUSTERS),
    ("calibrate-parses", "fit_by"): SCORES,
    ("calibrate-parses", "sentences"): ("predicted", "gold"),
    ("audit estimate", "method"): METHODS,
    ("audit estimate", "assume"): (STABLE_ERRORS,),
}


@pytest.mark.parametrize(("command", "name"), CHOICES, ids=" ".join)
def test_the_choices_in_the_help_are_those_of_the_library(command: str, name: str) -> None:
    choice = options(command)[name].type
    assert isinstance(choice, click.Choice)
    assert set(choice.choices) == set(CHOICES[command, name])


def test_an_option_that_is_required_has_no_default(helped: Helped) -> None:
    assert "--example TEXT    Sentence that reports the event; repeatable.  [required]" in helped("rule new")


def test_the_size_of_a_model_has_the_limit_of_the_library() -> None:
    bits = options("train")["bits"].type
    assert isinstance(bits, click.IntRange)
    assert 2**bits.max == LARGEST_TABLE
