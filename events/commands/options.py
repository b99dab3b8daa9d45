"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["counting_options", "json_option", "on_error_option", "overwrite_option"]

F = TypeVar("F", bound=Callable[..., Any])


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


def counting_options(command: F) -> F:
    """Options of what to count and how, in the order of --help."""
    options = [
        click.option("--rule", default="attack", show_default=True, help="A shipped rule, or a YAML file of your own."),
        click.option("--preset", default="paper", show_default=True, help="The rule's preset: paper, extended, ..."),
        click.option("--lexicon", help="A YAML file of countries of your own.  [default: the shipped one]"),
        click.option(
            "--scheme", help="Dependency scheme: ud2, ud1, clearnlp.  [default: told by each document's labels]"
        ),
        click.option(
            "--period", default="quarter", show_default=True, help="year, quarter, month, week, day, or a pandas alias."
        ),
        click.option(
            "--samples", "n_samples", type=int, default=1000, show_default=True, help="Clusterings drawn a document."
        ),
        click.option("--level", type=float, default=0.95, show_default=True, help="Of the credible intervals."),
        click.option(
            "--interval",
            default="quantile",
            show_default=True,
            help="quantile (exact, integer ends), hdi (shortest), normal (mean +- z sd of the samples).",
        ),
        click.option("--compare", nargs=2, metavar="A B", help="Compare the counts of two countries, by period."),
        click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same samples."),
        click.option(
            "--threads", type=int, help="Of the sampler; results do not depend on it.  [default: all processors]"
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command
