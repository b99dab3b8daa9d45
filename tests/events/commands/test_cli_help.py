"""The help of every command: 80 columns, sections, consistent names, choices and defaults of the library."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import click
import pytest
from command_line import LEAVES, Calls

from corefsample.calibration._validation import NORMS
from corefsample.documents._scored import UNANNOTATED
from corefsample.recalibration._fitter import FORMS
from corefsample.recalibration._losses import OBJECTIVES
from corefsample.recalibration._uncertain import UNCERTAINTIES
from corefsample.summaries._expected_losses import LOSSES
from corefsample.syntax._schemes import scheme_names
from events.audit._totals import METHODS
from events.counts._event_counts import INTERVALS

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
    ("events", "interval"): INTERVALS,
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
