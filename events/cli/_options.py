"""What commands share: the shape of their help, and options of several of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

__all__ = [
    "Command",
    "Program",
    "counting_options",
    "entity_fields_option",
    "json_option",
    "on_error_option",
    "overwrite_option",
    "scheme_option",
]

F = TypeVar("F", bound=Callable[..., Any])

# What to write for a value, by its type: "INTEGER" and "FLOAT" are words of programmers.
_METAVARS = {"integer": "N", "float": "NUMBER"}


class Program(click.Group):
    """A group that lists its commands in the order in which they were added: the first to be used comes first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)


class Command(click.Command):
    """A command whose help puts rarer options into sections of their own, after the common ones.

    Parameters
    ----------
    sections
        Names of parameters by the title of their section.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._section_of = {name: title for title, names in (sections or {}).items() for name in names}
        for parameter in self.params:
            if isinstance(parameter, click.Option) and parameter.metavar is None:
                parameter.metavar = _METAVARS.get(parameter.type.name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            # What arguments are, the text above says: click would list their bare names.
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(self._section_of.get(parameter.name or "", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def json_option(command: F) -> F:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print a summary that programs can read.")(command)


def overwrite_option(command: F) -> F:
    """--overwrite."""
    return click.option("--overwrite", is_flag=True, help="Replace what an earlier run wrote.")(command)


def on_error_option(command: F) -> F:
    """--on-error."""
    return click.option(
        "--on-error",
        type=click.Choice(["stop", "quarantine"]),
        default="stop",
        show_default=True,
        help="Stop at the first bad document, or set it aside with its reason and go on.",
    )(command)


def scheme_option(command: F) -> F:
    """--scheme."""
    return click.option(
        "--scheme",
        metavar="[ud2|ud1|clearnlp]",
        help="Dependency scheme.  [default: told by each document's labels]",
    )(command)


def entity_fields_option(command: F) -> F:
    """--entity-fields."""
    return click.option(
        "--entity-fields",
        metavar="FIELDS",
        help="By custom eid-etype-head-other: fields of Entity= in CoNLL-U files that do not declare them.",
    )(command)


def counting_options(command: F) -> F:
    """Options of what to count and how, in the order of --help."""
    options: list[Callable[[Any], Any]] = [
        click.option(
            "--rule",
            default="attack",
            show_default=True,
            metavar="RULE",
            help="attack, conflict, attack_target, or a YAML file of your own.",
        ),
        click.option(
            "--preset",
            default="paper",
            show_default=True,
            metavar="NAME",
            help="The rule's preset: paper, extended, or one of your own.",
        ),
        click.option(
            "--period",
            default="quarter",
            show_default=True,
            metavar="PERIOD",
            help="year, quarter, month, week, day, or a pandas alias.",
        ),
        click.option("--compare", nargs=2, metavar="A B", help="Compare the counts of two countries, by period."),
        click.option(
            "--samples", "n_samples", type=int, default=1000, show_default=True, help="Clusterings drawn a document."
        ),
        click.option("--level", type=float, default=0.95, show_default=True, help="Level of the credible intervals."),
        click.option(
            "--interval",
            default="quantile",
            show_default=True,
            metavar="[quantile|hdi|normal]",
            help="quantile: exact, with integer ends; hdi: the shortest; normal: mean +- z sd of the samples.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same samples."),
        click.option(
            "--lexicon", metavar="FILE", help="YAML file of countries of your own.  [default: the shipped one]"
        ),
        scheme_option,
        click.option(
            "--threads",
            type=int,
            help="Threads of the sampler; results do not depend on it.  [default: all processors]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command
