"""What commands share: the layout of their help, and options of several of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from corefsample.errors import CorefsampleError
from events.cli._failures import Failure
from events.cli._screen import log_to_screen, print_json

__all__ = [
    "INSIDE_0_1",
    "Command",
    "Program",
    "cluster_options",
    "entity_fields_option",
    "form_option",
    "json_option",
    "output_options",
    "overwrite_option",
    "print_result",
    "scheme_option",
    "seed_option",
    "unannotated_option",
]

_MAX_LINE_MIB = "events.cli.max_line_mib"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

INSIDE_0_1 = click.FloatRange(0.0, 1.0, min_open=True, max_open=True)
# Placeholders of values by type: "INTEGER RANGE" and "FLOAT" are terms of programmers.
_METAVARS = {"integer": "N", "integer range": "N", "float": "NUMBER", "float range": "NUMBER"}


class Program(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)


class Command(click.Command):
    """A command whose help shows defaults and has sections, and whose errors name its options.

    Every command has the options --verbose and --quiet.

    Parameters
    ----------
    sections
        Names of rarer parameters by the title of their section, which comes after the common options.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.params += [
            click.Option(["-v", "--verbose"], is_flag=True, help="Log files, compiled kernels and more."),
            click.Option(["--quiet"], is_flag=True, help="Show no progress."),
        ]
        self.section_of = {name: title for title, names in (sections or {}).items() for name in names}
        for option in self.params:
            if isinstance(option, click.Option):
                option.show_default = True if option.show_default is None else option.show_default
                option.metavar = option.metavar or _METAVARS.get(option.type.name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            # The text above the options explains the arguments: click would list only their names.
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(self.section_of.get(parameter.name or "", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        verbose, quiet = ctx.params.pop("verbose"), ctx.params.pop("quiet")
        if verbose and quiet:
            raise click.UsageError("--verbose and --quiet exclude each other.", ctx)
        try:
            with _limited_lines(ctx), log_to_screen(verbose=verbose, quiet=quiet):
                return super().invoke(ctx)
        except CorefsampleError as error:
            raise Failure(error, ctx) from error


def _limited_lines(ctx: click.Context) -> AbstractContextManager[None]:
    if _MAX_LINE_MIB not in ctx.meta:
        return nullcontext()
    from corefsample.files import line_limit

    return line_limit(ctx.meta[_MAX_LINE_MIB])


def _keep_line_limit(ctx: click.Context, option: click.Parameter, value: int) -> None:
    ctx.meta[_MAX_LINE_MIB] = value


def seed_option(text: str) -> Decorator:
    """--seed, with its help."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, help=text)


json_option = click.option("--json", "as_json", is_flag=True, help="Print a summary that programs can read.")
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace the output of an earlier run.")
_on_error_option = click.option(
    "--on-error",
    type=click.Choice(["stop", "quarantine"]),
    default="stop",
    help="Stop at the first bad document, or set it aside with the reason and continue.",
)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--on-error, --max-line-mib, --overwrite and --json, which all commands that read documents have."""
    return _on_error_option(max_line_option(overwrite_option(json_option(command))))


def print_result(result: Any, as_json: bool, print_words: Callable[[Any], None]) -> None:
    """Print the result of a command for programs, or in words."""
    if as_json:
        print_json(result.to_json())
    else:
        print_words(result)


scheme_option = click.option(
    "--scheme",
    type=click.Choice(["ud2", "ud1", "clearnlp"]),
    help="Dependency scheme.  [default: determined from the labels of each document]",
)
max_line_option = click.option(
    "--max-line-mib",
    type=click.IntRange(min=1),
    default=64,
    expose_value=False,
    callback=_keep_line_limit,
    help="Longest line of a text file in MiB, decompressed.",
)
entity_fields_option = click.option(
    "--entity-fields",
    metavar="FIELDS",
    help="Usually eid-etype-head-other: fields of Entity= in CoNLL-U files that do not declare them.",
)


def cluster_options(default: str) -> Decorator:
    """--workers, with the text of its default, and --scheduler."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        workers = click.option(
            "--workers",
            type=click.IntRange(min=1),
            help=f"Processes; the results do not depend on it.  [default: {default}]",
        )
        return workers(_scheduler_option(command))

    return with_options


_scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Existing Dask scheduler, tcp://host:8786, instead of --workers.  [default: none]",
)
unannotated_option = click.option(
    "--unannotated",
    type=click.Choice(["skip", "single"]),
    default="skip",
    help="Mentions whose entity is null: leave them out, or treat each as an entity of its own.",
)


def form_option(default: str) -> Callable[[Any], Any]:
    """The option --form with a default."""
    return click.option(
        "--form",
        type=click.Choice(["global", "kinds"]),
        default=default,
        help="global: a temperature and a NEW bias. kinds: offsets by kind of mention and antecedent too.",
    )
