"""Commands for the terminal, made from declared options.

It is written over click, which is a dependency already and whose usage errors users know; Typer and Cyclopts would be
one more dependency each, with conventions of their own for what stands in `events._options`.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import MISSING
from importlib import import_module
from typing import Any

import click

import corefsample
from corefsample._log import logger
from corefsample.errors import CorefsampleError
from events._options import Declared, Options, fields_of
from events.commands._failures import Failure
from events.commands._screen import COMMANDS, log_to_screen, print_json, progress

# Placeholders of values by type: "INTEGER RANGE" and "FLOAT" are terms of programmers.
_METAVARS = {int: "N", float: "NUMBER"}
_LARGEST_SHOWN = 10**6  # bounds above it, such as of 64 bits, are none that a user needs to know


class _Commands(Mapping[str, click.Command]):
    """Commands by name, each of a module of its own that is loaded where it is needed."""

    def __init__(self, lines: Mapping[str, str], prefix: str) -> None:
        self._lines, self._prefix = lines, prefix

    def __getitem__(self, name: str) -> click.Command:
        line = self._lines[name]
        command: click.Command = import_module(f"events.commands.{self._prefix}{name.replace('-', '_')}").command
        command.name, command.short_help = name, line
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


class Program(click.Group):
    """A group of commands, which its help lists without loading them.

    Parameters
    ----------
    lines
        A line about each command by its name, in the order in which they are listed.
    prefix
        Of the names of their modules.
    """

    def __init__(self, *args: Any, lines: Mapping[str, str], prefix: str = "", **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        commands: Any = _Commands(lines, prefix)
        self.commands, self.lines = commands, lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.lines)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))


def help_of(docstring: str | None) -> str:
    """Help from the docstring of a module; its examples are not wrapped."""
    return inspect.cleandoc(str(docstring)).replace("Examples\n--------", "\b\nExamples:")


class Command(click.Command):
    """A command of a module: its docstring is the help, and the errors of the library name its options.

    Every command has --json, --verbose and --quiet.

    Parameters
    ----------
    options
        Class of its options.
    run
        Called with the arguments, the options, and `on_progress` and `on_epoch` if it takes them.
    show
        Prints what `run` returned in words; with --json its `to_json` is printed instead.
    arguments
        Names of the arguments, with "+" for one or more values and "*" for any number.
    task
        What takes long, for the screen.
    sections
        Names of rarer options by the title of their section, which comes after the common options.
    reads_lines
        Whether it reads text files of documents, whose longest line --max-line-mib limits.
    finish
        Called with the result after it was printed.
    """

    def __init__(
        self,
        options: type[Options],
        run: Callable[..., Any],
        show: Callable[[Any], None],
        *arguments: str,
        task: str = "",
        sections: Mapping[str, str] | None = None,
        reads_lines: bool = True,
        finish: Callable[[Any], None] = lambda result: None,
    ) -> None:
        super().__init__(None, help=help_of(sys.modules[run.__module__].__doc__))
        self.options, self.run, self.show, self.finish = options, run, show, finish
        self.arguments, self.task, self.reads_lines = [name.rstrip("+*") for name in arguments], task, reads_lines
        self.params += [
            click.Argument([name.rstrip("+*")], nargs=-1 if name[-1] in "+*" else 1, required=name[-1] != "*")
            for name in arguments
        ]
        self.params += [_option(each) for each in fields_of(options).values() if each.flag != ""]
        if reads_lines:
            text = "Longest line of a text file in MiB, decompressed."
            limit: dict[str, Any] = {"type": click.IntRange(min=1), "default": 64, "show_default": True, "metavar": "N"}
            self.params.append(click.Option(["--max-line-mib"], help=text, **limit))
        for flags, text in (
            (["--json", "as_json"], "Print a summary that programs can read."),
            (["-v", "--verbose"], "Log files, compiled kernels and more."),
            (["--quiet"], "Show no progress."),
        ):
            self.params.append(click.Option(flags, is_flag=True, help=text))
        text = "Add all that is logged to FILE, as JSON Lines. [default: none]"
        self.params.append(click.Option(["--log-file"], type=click.Path(dir_okay=False), metavar="FILE", help=text))
        self.section_of = {name: title for title, names in (sections or {}).items() for name in names.split()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            # The text above the options explains the arguments: click would list only their names.
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(self.section_of.get(parameter.name or "", "Options"), []).append(record)
        for title in ("Options", *dict.fromkeys(self.section_of.values())):
            with formatter.section(title):
                formatter.write_dl(sections[title])

    def invoke(self, ctx: click.Context) -> None:
        """Run the command, and print its result."""
        given = dict(ctx.params)
        verbose, quiet, as_json = given.pop("verbose"), given.pop("quiet"), given.pop("as_json")
        log_file = given.pop("log_file")
        if verbose and quiet:
            raise click.UsageError("--verbose and --quiet exclude each other.", ctx)
        if as_json and given.get("output") == "-":
            raise click.UsageError("--json and standard output as OUTPUT exclude each other.", ctx)
        try:
            with self._limited_lines(given.pop("max_line_mib", None)), self._logged(ctx, verbose, quiet, log_file):
                result = self._result(given, as_json)
                with _while_read():
                    if as_json:
                        print_json(result.to_json())
                    else:
                        self.show(result)
                self.finish(result)
        except CorefsampleError as error:
            raise Failure(error, ctx) from error

    def _result(self, given: dict[str, Any], as_json: bool) -> Any:
        arguments = [given.pop(name) for name in self.arguments]
        fields = fields_of(self.options)
        options = self.options(**{name: _value(fields[name], value) for name, value in given.items()})
        taken = inspect.signature(self.run).parameters
        with progress(self.task, as_json) as watchers:
            return self.run(*arguments, options, **{name: each for name, each in watchers.items() if name in taken})

    @contextmanager
    def _logged(self, ctx: click.Context, verbose: bool, quiet: bool, log_file: str | None) -> Iterator[None]:
        """Log, with the beginning and the end of the command."""
        with log_to_screen(verbose=verbose, quiet=quiet, log_file=log_file):
            log = logger(COMMANDS)
            log.info("%s begins, version %s", ctx.command_path, corefsample.__version__)
            try:
                yield
            except Exception as error:
                log.error("%s failed: %s", ctx.command_path, error)
                raise
            log.info("%s is done", ctx.command_path)

    def _limited_lines(self, max_line_mib: int | None) -> AbstractContextManager[None]:
        if max_line_mib is None:
            return nullcontext()
        from corefsample.files._reading import line_limit

        return line_limit(max_line_mib)


@contextmanager
def _while_read() -> Iterator[None]:
    """Print until nobody reads standard output any more: the reader of a pipe may want the first lines alone."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # closing it then fails silently


def _option(field: Declared) -> click.Option:
    """The option of a field: `n_samples` is --samples, a field that is true by default has a --no- beside it."""
    words = field.name.removeprefix("n_").replace("_", "-")
    flag = field.flag or (f"--{words}/--no-{words}" if field.default is True else f"--{words}")
    given: dict[str, Any] = {"required": True} if field.default is MISSING else {"default": field.default}
    if not field.n_values:
        given = {"multiple": True, "default": (field.default,) if isinstance(field.default, str) else field.default}
    return click.Option(
        [flag, field.name],
        type=_type(field),
        is_flag=field.type is bool,
        show_default=given.get("default", ()) != (),
        nargs=field.n_values or 1,
        metavar=field.metavar or _METAVARS.get(field.type),
        help=field.help,
        **given,
    )


def _type(field: Declared) -> Any:
    if field.choices:
        return click.Choice(field.choices)
    low = field.at_least if field.above is None else field.above
    high = field.at_most if field.below is None else field.below
    if field.type is int:
        high = None if high is None or high > _LARGEST_SHOWN else int(high)
        return click.IntRange(int(low or 0), high)
    if field.type is float and (low is not None or high is not None):
        return click.FloatRange(low, high, min_open=field.above is not None, max_open=field.below is not None)
    return field.type


def _value(field: Declared, value: Any) -> Any:
    """The value of a field: options that are not given and may be left out are None."""
    return None if value == () and field.is_optional else value
