"""Commands for the terminal, made from declared options.

They are built on click, which is a dependency already and whose usage errors are familiar to users. Typer and Cyclopts
would be additional dependencies, with their own conventions for what `events._options` declares.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import MISSING
from typing import Any

import click

import corefsample
from corefsample.errors import CorefsampleError, ParameterError
from events._options import Declared, Options, declared, docstring_of, fields_of, option
from events._summary import Summary, json_values
from events.commands._failures import BAD_INPUT, Failure, print_problems
from events.commands._screen import COMMANDS, log_to_screen, print_json, print_summary, progress

# Placeholders of values by type, because only programmers know "INTEGER RANGE" and "FLOAT".
_METAVARS = {int: "N", float: "NUMBER"}
_LARGEST_SHOWN = 10**6  # larger bounds, such as those of 64 bits, are not shown
# Every command has these itself: click keeps the help option that the first context of a command asked for.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def help_of(docstring: str) -> str:
    """Text of the help of a command from its docstring, with examples that click does not wrap."""
    return inspect.cleandoc(docstring).replace("Examples\n--------", "\b\nExamples:")


@declared
class CommonOptions(Options):
    """Options of every command.

    Attributes
    ----------
    max_line_mib
        Longest line of a text file in MiB, decompressed.
    as_json
        Print a summary that programs can read.
    verbose
        Print all log messages, such as the files that are read and the kernels that are compiled.
    quiet
        Print only warnings and errors.
    log_file
        File to which all log messages are added, as JSON Lines. [default: none]
    """

    max_line_mib: int = option(default=64, at_least=1)
    as_json: bool = option(default=False, flag="--json")
    verbose: bool = option(default=False, flag="-v --verbose")
    quiet: bool = False
    log_file: str | None = option(default=None, metavar="FILE")

    def _check(self) -> None:
        if self.verbose and self.quiet:
            raise ParameterError("and --quiet exclude each other", parameter="verbose")


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
    sections
        Names of less common options by the title of their section, which follows the common options.
    reads_lines
        True if the command reads text files of documents, whose longest line --max-line-mib limits.
    """

    def __init__(
        self,
        options: type[Options],
        run: Callable[..., Summary],
        *arguments: str,
        task: str = "",
        sections: Mapping[str, str] | None = None,
        reads_lines: bool = True,
    ) -> None:
        super().__init__(None, help=help_of(docstring_of(sys.modules[run.__module__])), context_settings=SETTINGS)
        self.options, self.run = options, run
        self.arguments, self.task = [name.rstrip("+*") for name in arguments], task
        self.params += [
            click.Argument([name.rstrip("+*")], nargs=-1 if name[-1] in "+*" else 1, required=name[-1] != "*")
            for name in arguments
        ]
        self.common = {
            name: each for name, each in fields_of(CommonOptions).items() if reads_lines or "line" not in name
        }
        self.params += [_option(each) for each in fields_of(options).values() if each.flag != ""]
        self.params += [_option(each) for each in self.common.values()]
        self.section_of = {name: title for title, names in (sections or {}).items() for name in names.split()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            # The text above the options explains the arguments, of which click would list only the names.
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(self.section_of.get(parameter.name or "", "Options"), []).append(record)
        for title in ("Options", *dict.fromkeys(self.section_of.values())):
            with formatter.section(title):
                formatter.write_dl(sections[title])

    def invoke(self, ctx: click.Context) -> None:
        """Run the command, and print its result."""
        values = dict(ctx.params)
        try:
            common = CommonOptions(**{name: values.pop(name) for name in self.common})
            if common.as_json and values.get("output") == "-":
                raise ParameterError("and standard output as OUTPUT exclude each other", parameter="as_json")
            with self._limited_lines(common), self._logged(ctx, common):
                summary = self._summary(values, common.as_json)
                with _while_read():
                    if common.as_json:
                        print_json(json_values(summary.values))
                    elif not common.quiet:
                        print_summary(summary, err=ctx.params.get("output") == "-")  # documents are there
                    for text in summary.notices if common.quiet else ():
                        logging.getLogger("corefsample.results").warning("%s", text)
        except CorefsampleError as error:
            raise Failure(error, ctx) from error
        if summary.problems:
            print_problems(summary, ctx)
            sys.exit(BAD_INPUT)

    def _summary(self, values: dict[str, Any], as_json: bool) -> Summary:
        arguments = [values.pop(name) for name in self.arguments]
        fields = fields_of(self.options)
        options = self.options(**{name: _value(fields[name], value) for name, value in values.items()})
        parameters = inspect.signature(self.run).parameters
        with progress(self.task, as_json) as watchers:
            watching = {name: watcher for name, watcher in watchers.items() if name in parameters}
            summary: Summary = self.run(*arguments, options, **watching)
            return summary

    @contextmanager
    def _logged(self, ctx: click.Context, common: CommonOptions) -> Iterator[None]:
        """Log messages of the library, and the beginning and the end of the command."""
        with log_to_screen(**common.subset("verbose", "quiet", "log_file")):
            log = logging.getLogger(f"corefsample.{COMMANDS}")
            log.info("%s begins, version %s", ctx.command_path, corefsample.__version__)
            try:
                yield
            except KeyboardInterrupt as stop:
                log.error("%s was stopped: %s", ctx.command_path, str(stop) or "interrupted")
                raise
            except Exception as error:
                log.error("%s failed: %s", ctx.command_path, error)
                raise
            log.info("%s is done", ctx.command_path)

    def _limited_lines(self, common: CommonOptions) -> AbstractContextManager[None]:
        if "max_line_mib" not in self.common:
            return nullcontext()
        from corefsample.files._reading import line_limit

        return line_limit(common.max_line_mib)


@contextmanager
def _while_read() -> Iterator[None]:
    """Stop printing without an error if the reader of a pipe closed standard output, as `head` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # closing it then fails silently


def _option(field: Declared) -> click.Option:
    """Option of a field; `n_samples` becomes --samples, and fields that are true by default get a flag with --no-."""
    words = field.name.removeprefix("n_").replace("_", "-")
    flag = field.flag or (f"--{words}/--no-{words}" if field.default is True else f"--{words}")
    default = (field.default,) if isinstance(field.default, str) and not field.n_values else field.default
    default_setting: dict[str, Any] = {"required": True} if default is MISSING else {"default": default}
    return click.Option(
        [*flag.split(), field.name],
        type=_type(field),
        is_flag=field.type is bool,
        show_default=default_setting.get("default", ()) != (),
        nargs=field.n_values or 1,
        multiple=not field.n_values,
        metavar=field.metavar or _METAVARS.get(field.type),
        help=field.help if field.n_values else f"{field.help}  [may be repeated]",
        **default_setting,
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
    """Value of a field; None for an optional one that was left out."""
    return None if value == () and field.is_optional else value
