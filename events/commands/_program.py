"""The program `corefsample`: its commands, and its handling of errors."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from corefsample import __version__
from corefsample._lazy import explained
from corefsample.errors import Obstacle
from corefsample.files._atomic import FULL
from events.commands._parser import FAILURE, INTERRUPTED, TERMINATED, TRY_AGAIN, USAGE, Failure, group
from events.commands._screen import print_error, print_json

_UNCHECKED_OBJECTS = 20_000  # with Python's 700, garbage collection takes a tenth of the time of a short run
_COMMANDS = {
    "demo": "See it work: simulate news with known truth, and count.",
    "run": "From dated news to counts and a page, in one command.",
    "score": "Score mentions in news or in annotated documents.",
    "events": "Count documents with an event, by actor and period.",
    "report": "Make one HTML page of a run, for exploring and archiving.",
    "audit": "Label a sample, get counts whose intervals hold.",
    "rule": "Write and test rules.",
    "doctor": "Check a file, and describe its content.",
    "explain": "Show why sentences make an event, or do not.",
    "evaluate": "Score entities against gold: MUC, B3, CEAF, LEA, BLANC.",
    "calibrate": "Measure the link probabilities against gold entities.",
    "recalibrate": "Correct scores by a fit to documents with gold.",
    "train": "Train a model of your own on annotated corpora.",
    "convert": "Copy documents to another file or format.",
    "warm-up": "Compile kernels ahead of the first run.",
}


@group(
    {
        "plan": "Draw the documents to label, and write the sheet.",
        "estimate": "Counts with intervals, from a labelled sheet.",
        "learn": "P that a reader says yes, for every document.",
        "regress": "Coefficients of counts on covariates, from labels and P.",
    },
    prefix="audit_",
)
def audit() -> None:
    """Label a random sample of documents, and get counts whose intervals hold whatever the model's errors are.

    The interval of `corefsample events` covers coreference, and for some scores their recalibration. It takes rule,
    lexicon, parse and choice of articles as right. Labels of some hundred documents cover these too; the model then
    only makes the interval narrower.

    Examples
    --------
      corefsample audit plan run --labels 200 --out audit
      corefsample audit estimate run audit/sheet.csv
      corefsample audit learn run audit/sheet.csv --out learned
      corefsample audit regress run audit/sheet.csv --table quarters.csv
    """


@group(
    {
        "new": "Write a rule file from example sentences.",
        "test": "Check rule files, and show what they find in their examples.",
    },
    prefix="rule_",
)
def rule() -> None:
    """Write a rule from example sentences, and test rule files.

    A rule says by which words and paths of a parse a text reports an event: see docs/rules.md.

    Examples
    --------
      corefsample rule new raid --example "Iraq raided Iran." --actor Iraq --pipeline en_gum_ud
      corefsample rule test raid.yaml
    """


@group(_COMMANDS, groups=[audit, rule])
def cli() -> None:
    """Counts of events with credible intervals, from coreference uncertainty.

    \b
    Try it on simulated news:
      corefsample demo

    \b
    From dated news to counts, and to a page to explore:
      corefsample run news.csv --rule attack --pipeline en_core_web_sm --out run

    \b
    The same in steps:
      corefsample score news.csv --pipeline en_core_web_sm --out scored.parquet
      corefsample events scored.parquet --out run
      corefsample report run

    \b
    Label a sample of documents, for counts whose intervals hold:
      corefsample audit plan run --out audit
      corefsample audit estimate run audit/sheet.csv

    \b
    A rule of your own, from a sentence:
      corefsample rule new raid --example "Iraq raided Iran." --actor Iraq --pipeline en_gum_ud
      corefsample rule test raid.yaml

    \b
    Check a file of scored mentions, or a rule of your own:
      corefsample doctor scored.parquet
      corefsample explain scored.parquet --rule my_rule.yaml
    """


click.version_option(__version__, prog_name="corefsample")(cli)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Exit statuses: 0 for success; 2 for wrong usage; 3 for invalid input; 75 if the same command may succeed later; 130
    if interrupted; 143 if terminated by a signal; 1 for any other failure.
    """
    signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(_UNCHECKED_OBJECTS)
    # Arrow's own allocator does not release some 100 MiB of threads; the variable is read when Arrow is loaded.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        status = _status(arguments)
    except KeyboardInterrupt as stop:  # arrived while another error was printed
        status = _stopped_status(stop)
    sys.exit(status)


class Terminated(KeyboardInterrupt):
    """Signal that terminates the program, which leaves no partial output, as after an interrupt from the keyboard."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def _stopped_status(stop: BaseException | None) -> int:
    return TERMINATED if isinstance(stop, Terminated) else INTERRUPTED


def _status(arguments: Sequence[str] | None) -> int:
    try:
        cli.main(args=arguments, prog_name="corefsample", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt) as stop:
        cause = stop.__cause__ or stop
        return _failed(str(cause) or "interrupted", _stopped_status(cause), arguments, {"kind": "Interrupted"})
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except Failure as error:
        return _failed(error.message, error.status, arguments, error.fields)
    except click.ClickException as error:
        return _failed(_usage_message(error), USAGE, arguments)
    except Exception as error:
        if os.environ.get("COREFSAMPLE_TRACEBACK"):
            raise
        obstacle = _obstacle(error)
        if obstacle is not None:
            return _failed(_described(error), TRY_AGAIN, arguments, {"kind": obstacle})
        return _failed(_described(error), FAILURE, arguments)
    return 0


def _obstacle(error: Exception) -> Obstacle | None:
    """Obstacle that an error of the operating system shows and that may disappear later; None for other errors."""
    if isinstance(error, OSError) and error.errno in FULL:
        return "DiskFull"
    return "NoConnection" if isinstance(error, ConnectionError) and not isinstance(error, BrokenPipeError) else None


def _usage_message(error: click.ClickException) -> str:
    """Describe wrong usage in one line; click would print four lines, with the rule in the last."""
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        similar = get_close_matches(error.option_name, error.possibilities or (), cutoff=0.7)  # --quiet is not --out
        message = f"{error.message} Did you mean {similar[0]!r}?" if similar else error.message
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:  # click finds an option without its value before it knows the command
        return message
    listed = "commands" if isinstance(context.command, click.Group) else "options"
    return f"{message} ('{context.command_path} --help' lists the {listed})"


def _failed(message: str, status: int, arguments: Sequence[str] | None, fields: Mapping[str, Any] | None = None) -> int:
    """Print an error in one line, and with --json also as JSON on standard output; return its exit status."""
    print_error(message)
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        described = {"kind": "Error", "parameter": None, "place": None, "hint": None, **(fields or {})}
        print_json({"error": {"message": " ".join(message.split()), "status": status, **described}})
    return status


def _described(error: Exception) -> str:
    """Describe an unexpected error; an error of the operating system is described with its file."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"a file, or standard output, must be accessible, got: {error.strerror}"
        return f"{os.fsdecode(error.filename)}: file or folder must be accessible, got: {error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        return str(explained(error, "this command"))
    # Notes name the document that was processed.
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    name = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{name}: {error}{notes}".rstrip(": ") + " (COREFSAMPLE_TRACEBACK=1 shows where)"
