"""The program `corefsample`: its commands, and its handling of errors."""

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from corefsample import __version__
from events.commands._parser import FAILURE, INTERRUPTED, SETTINGS, TERMINATED, TRY_AGAIN, USAGE, Failure, help_of
from events.commands._screen import described, print_error, print_json

_UNCHECKED_OBJECTS = 20_000  # with Python's 700, garbage collection takes a tenth of the time of a short run
_COMMANDS = {
    "demo": "See it work: simulate news with known truth, and count.",
    "run": "From dated news to counts and a page, in one command.",
    "score": "Score mentions in news or in annotated documents.",
    "events": "Count documents with an event, by actor and period.",
    "count": "Count a run again: other periods, groups, outcomes.",
    "report": "Make one HTML page of a run, for exploring and archiving.",
    "audit": "Label a sample, get counts whose intervals hold.",
    "rule": "Write and test rules.",
    "doctor": "Check a file, and describe its content.",
    "explain": "Show why sentences make an event, or do not.",
    "evaluate": "Score entities against gold: MUC, B3, CEAF, LEA, BLANC.",
    "calibrate": "Measure the link probabilities against gold entities.",
    "recalibrate": "Correct scores by a fit to documents with gold.",
    "train": "Train a model of your own on annotated corpora.",
    "train-triggers": "Fit what reports an event to texts with answers.",
    "convert": "Copy documents to another file or format.",
    "warm-up": "Compile kernels ahead of the first run.",
}
_AUDIT_COMMANDS = {
    "plan": "Draw the documents to label, and write the sheet.",
    "estimate": "Counts with intervals, from a labelled sheet.",
    "learn": "P that a reader says yes, for every document.",
    "regress": "Coefficients of counts on covariates, from labels and P.",
}
_RULE_COMMANDS = {
    "new": "Write a rule file from example sentences.",
    "test": "Check rule files, and show what they find in their examples.",
}


class Program(click.Group):
    """A group of commands, whose modules are loaded when the commands are called.

    Parameters
    ----------
    lines
        A line about each command by its name, in the order in which they are listed.
    prefix
        Prefix that the names of the commands' modules share.
    help
        Help of the group; by default the docstring of the decorated function.
    settings
        Other settings of the group; see `click.Group`.
    """

    def __init__(self, *, lines: Mapping[str, str], prefix: str = "", help: str | None, **settings: Any) -> None:
        super().__init__(**settings, help=help_of(help), context_settings=SETTINGS)
        self.lines, self._prefix = lines, prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name, and load its module; None if there is no such command."""
        if cmd_name not in self.commands and cmd_name in self.lines:
            module = import_module(f"events.commands.{self._prefix}{cmd_name.replace('-', '_')}")
            self.add_command(module.command, cmd_name)
            module.command.name, module.command.short_help = cmd_name, self.lines[cmd_name]
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))


@click.group(cls=Program, lines=_AUDIT_COMMANDS, prefix="audit_")
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


@click.group(cls=Program, lines=_RULE_COMMANDS, prefix="rule_")
def rule() -> None:
    """Write a rule from example sentences, and test rule files.

    A rule says by which words and paths of a parse a text reports an event: see docs/rules.md.

    Examples
    --------
      corefsample rule new raid --example "Iraq raided Iran." --actor Iraq --pipeline en_gum_ud
      corefsample rule test raid.yaml
    """


@click.group(cls=Program, lines=_COMMANDS, commands=[audit, rule])
@click.version_option(__version__, prog_name="corefsample")
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
        status = TERMINATED if isinstance(stop, Terminated) else INTERRUPTED
    sys.exit(status)


class Terminated(KeyboardInterrupt):
    """Signal that terminates the program, which leaves no partial output, as after an interrupt from the keyboard."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def _status(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit status; print an error in one line, and with --json also as JSON."""
    fields: dict[str, str | None] = {"kind": "Error", "parameter": None, "place": None, "hint": None}
    status = USAGE
    try:
        cli.main(args=arguments, prog_name="corefsample", standalone_mode=False)
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt) as stop:
        cause = stop.__cause__ or stop
        message, fields["kind"] = str(cause) or "interrupted", "Interrupted"
        status = TERMINATED if isinstance(cause, Terminated) else INTERRUPTED
    except Failure as error:
        message, status, fields = error.message, error.status, error.fields
    except click.ClickException as error:
        message = _usage_message(error)
    except Exception as error:
        if os.environ.get("COREFSAMPLE_TRACEBACK"):
            raise
        from corefsample.files._atomic import FULL  # not above, because numpy would be loaded for every --help

        message, status = described(error), FAILURE
        if isinstance(error, OSError) and error.errno in FULL:
            status, fields["kind"] = TRY_AGAIN, "DiskFull"
        elif isinstance(error, ConnectionError) and not isinstance(error, BrokenPipeError):
            status, fields["kind"] = TRY_AGAIN, "NoConnection"
    print_error(message)
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        print_json({"error": {"message": " ".join(message.split()), "status": status, **fields}})
    return status


def _usage_message(error: click.ClickException) -> str:
    """Describe wrong usage in one line; click would print four lines, with the rule in the last."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:  # click finds an option without its value before it knows the command
        return message
    listed = "commands" if isinstance(context.command, click.Group) else "options"
    return f"{message} ('{context.command_path} --help' lists the {listed})"
