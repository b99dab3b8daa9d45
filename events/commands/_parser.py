"""Commands for the terminal, made from declared options.

They are built on click, which is a dependency already and whose usage errors are familiar to users. Typer and Cyclopts
would be additional dependencies, with their own conventions for what `events._options` declares.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from corefsample.errors import CorefsampleError, InputError, ParameterError
from events._summary import Summary, json_values
from events.commands._screen import log_to_screen, print_error, print_json, print_summary, progress

if TYPE_CHECKING:
    from events._options import Options

# Exit statuses; 75 is EX_TEMPFAIL of sysexits.h, and 128 + the number of a signal is the convention of shells.
USAGE, BAD_INPUT, FAILURE, TRY_AGAIN, INTERRUPTED, TERMINATED = 2, 3, 1, 75, 130, 143
# Every command has these itself: click keeps the help option that the first context of a command asked for.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_COMMON = {
    "as_json": ("--json", "Print a summary that programs can read."),
    "verbose": ("-v --verbose", "Print all log messages, such as the files that are read and the kernels compiled."),
    "quiet": ("--quiet", "Print only warnings and errors."),
}


def help_of(docstring: str | None) -> str:
    """Text of the help of a command from its docstring, with examples that click does not wrap."""
    return inspect.cleandoc(docstring or "").replace("Examples\n--------", "\b\nExamples:")


class Failure(click.ClickException):
    """An error of the library, described with the options and arguments of the command that raised it.

    Parameters
    ----------
    error
        Error of the library.
    context
        Context of the command that raised the error, which has its options and arguments.

    Attributes
    ----------
    status
        Exit status.
    fields
        Fields of the error for programs: kind, parameter, place and hint; None if the error lacks one.
    """

    def __init__(self, error: CorefsampleError, context: click.Context) -> None:
        names = {
            each.name: each.human_readable_name if isinstance(each, click.Argument) else max(each.opts, key=len)
            for each in context.command.params
        }

        def shown(name: str) -> str:
            return names.get(name, name)

        super().__init__(error.described(shown))
        hint = CorefsampleError("", hint=error.hint).described(shown).strip()[1:-1]
        self.fields = {
            "kind": error.obstacle or type(error).__name__,
            "parameter": None if error.parameter is None else shown(error.parameter),
            "place": error.place,
            "hint": hint or None,
        }
        status_of_kind = {ParameterError: USAGE, InputError: BAD_INPUT}
        self.status = next((status for kind, status in status_of_kind.items() if isinstance(error, kind)), FAILURE)
        if error.obstacle is not None:
            self.status = TRY_AGAIN


class Command(click.Command):
    """A command, whose help is the docstring of its module; errors of the library are shown with its options.

    Every command has --json, --verbose and --quiet.

    Parameters
    ----------
    options
        Class of the command's options.
    run
        Function that returns a `Summary`. It is called with the arguments, the options, and `on_progress` and
        `on_epoch` if it has these parameters.
    arguments
        Names of the arguments, with "+" for one or more values and "*" for any number.
    task
        Name of the work, which is shown with its progress.
    """

    def __init__(self, options: type[Options], run: Callable[..., Summary], *arguments: str, task: str = "") -> None:
        from events._options import fields_of  # not above, because `corefsample --help` needs no options

        super().__init__(None, help=help_of(sys.modules[run.__module__].__doc__), context_settings=SETTINGS)
        self.options, self.run, self.fields = options, run, fields_of(options)
        self.arguments, self.task = [name.rstrip("+*") for name in arguments], task
        for name in arguments:
            n_values = -1 if name[-1] in "+*" else 1
            self.params.append(click.Argument([name.rstrip("+*")], nargs=n_values, required=name[-1] != "*"))
        self.params += [each.click_option() for each in self.fields.values() if each.flag != ""]
        self.params += [
            click.Option([*flags.split(), name], is_flag=True, help=text) for name, (flags, text) in _COMMON.items()
        ]
        self.section_of = {
            name: vars(each)["section"]
            for each in options.__mro__
            if "section" in vars(each)
            for name in vars(each).get("__annotations__", {})
        }

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], **{each: [] for each in self.section_of.values()}}
        for parameter in self.get_params(ctx):
            # The text above the options explains the arguments, of which click would list only the names.
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections[self.section_of.get(parameter.name or "", "Options")].append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command, unless it has parts and nothing has changed since it finished, and print its result."""
        from events._options import EngineOptions

        values = dict(ctx.params)
        as_json, verbose, quiet = (values.pop(name) for name in _COMMON)
        try:
            if verbose and quiet:
                raise ParameterError("and --quiet exclude each other", parameter="verbose")
            with log_to_screen(verbose=verbose, quiet=quiet) as warnings, progress(self.task, as_json) as watchers:
                arguments = [values.pop(name) for name in self.arguments]
                parameters, fields = inspect.signature(self.run).parameters, self.fields
                option_values = {
                    n: None if value == () and fields[n].is_optional else value for n, value in values.items()
                }
                watching = {name: watcher for name, watcher in watchers.items() if name in parameters}
                options = self.options(**option_values)
                run = partial(self.run, *arguments, options, **watching)
                if isinstance(options, EngineOptions):
                    from events.runs._store import FinishedCommand

                    summary = FinishedCommand(str(self.name), arguments[0], options).repeated_or_run(run, warnings)
                else:
                    summary = run()
        except CorefsampleError as error:
            raise Failure(error, ctx) from error
        try:
            if as_json:
                print_json(json_values(summary.values))
            elif not quiet:
                print_summary(summary)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of a pipe closed it, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # closing it then fails silently
        for text in summary.notices if quiet else ():
            print_error(text)
        for problem in summary.problems:
            print_error(Failure(problem, ctx).message)
        if summary.n_hidden_problems:
            print_error(f"and {summary.n_hidden_problems:,} more")
        if summary.problems:
            sys.exit(BAD_INPUT)
