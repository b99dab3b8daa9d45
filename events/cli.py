"""The command line: it parses, calls one function a command, and prints what came back."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from corefsample import __version__
from corefsample.errors import CorefsampleError, InputError, ParameterError

__all__ = ["main"]

USAGE, BAD_INPUT, FAILURE, INTERRUPTED = 2, 3, 1, 130
F = TypeVar("F", bound=Callable[..., Any])

# Where messages name a parameter: "n_samples must be ...", "... (overwrite replaces it)".
_PARAMETER = re.compile(r"^\w+(?= must )|(?<=\()\w+(?= (?:replaces|chooses)\b)")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


# --- options shared by commands ----------------------------------------------------------------------------


def _json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print a summary that programs can read.")(command)


def _overwrite_option(command: F) -> F:
    return click.option("--overwrite", is_flag=True, help="Replace what an earlier run wrote.")(command)


def _on_error_option(command: F) -> F:
    return click.option(
        "--on-error",
        type=click.Choice(["stop", "quarantine"]),
        default="stop",
        show_default=True,
        help="Stop at the first bad document, or set it aside with its reason and go on.",
    )(command)


def _counting_options(command: F) -> F:
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


# --- commands ----------------------------------------------------------------------------------------------


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="corefsample")
def cli() -> None:
    """Counts of events with credible intervals, from coreference uncertainty.

    \b
    See it work on simulated news:      corefsample demo
    Check a file of scored mentions:    corefsample doctor scored.jsonl.gz
    Count who attacks, by quarter:      corefsample events scored.jsonl.gz --out run
    """


@cli.command()
@click.argument("inputs", nargs=-1, required=True)
@_counting_options
@click.option("--out", required=True, help="Folder for tables, pictures and the run record.")
@click.option("--pictures/--no-pictures", default=True, help="Draw the bands as PNG and SVG, or not.")
@_on_error_option
@_overwrite_option
@_json_option
def events(inputs: tuple[str, ...], out: str, pictures: bool, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Count documents with an event, by country and period, with credible intervals.

    INPUTS are pre-scored mention files (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input.
    Every document needs a date and tokens.

    \b
    Example:
      corefsample events scored.parquet --rule attack --preset paper --period quarter --out run
    """
    from events.batch import EventsOptions, run_events

    chosen = EventsOptions(**{**options, "compare": options["compare"] or None})
    with _progress("counting", as_json) as on_progress:
        summary = run_events(inputs, out, chosen, overwrite=overwrite, pictures=pictures, on_progress=on_progress)
    if as_json:
        _print_json(summary.to_json())
    else:
        _print_run(summary)


@cli.command()
@click.option("--out", default="corefsample-demo", show_default=True, help="Folder for the simulated news and the run.")
@click.option("--documents", "n_documents", type=int, default=2000, show_default=True, help="Articles to simulate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same news, same samples.")
@_overwrite_option
@_json_option
def demo(out: str, n_documents: int, seed: int, overwrite: bool, as_json: bool) -> None:
    """Simulate ten years of news with known truth, count who attacks, and draw the bands.

    \b
    Example:
      corefsample demo --out corefsample-demo
    """
    from events.demo import run_demo

    with _progress("simulating", as_json) as on_progress:
        result = run_demo(out, n_documents=n_documents, seed=seed, overwrite=overwrite, on_progress=on_progress)
    if as_json:
        coverage = {"n_uncertain": result.n_uncertain, "n_covered": result.n_covered}
        _print_json({"news": result.news, **coverage, **result.summary.to_json()})
        return
    click.echo(f"Simulated news: {result.news}")
    _print_run(result.summary)
    click.echo(
        f"\nThe simulation knows the truth: it lies in {result.n_covered:,} of the {result.n_uncertain:,} intervals "
        "that the posterior leaves open."
    )


@cli.command()
@click.argument("inputs", nargs=-1, required=True)
@click.argument("output")
@_on_error_option
@_overwrite_option
@_json_option
def convert(inputs: tuple[str, ...], output: str, on_error: str, overwrite: bool, as_json: bool) -> None:
    """Copy scored mentions to another file or format, checked.

    OUTPUT ends in .jsonl, .jsonl.gz or .parquet. With --on-error quarantine, bad documents go to OUTPUT with
    .quarantine.jsonl added to its name.

    \b
    Example:
      corefsample convert scored.jsonl.gz scored.parquet
    """
    from corefsample.formats import convert as convert_files
    from corefsample.formats import quarantine_file

    with quarantine_file(output, on_error=on_error, overwrite=overwrite) as on_rejected:
        with _progress("converting", as_json) as on_progress:
            count = convert_files(
                inputs,
                output,
                overwrite=overwrite,
                on_rejected=on_rejected,
                on_progress=None
                if on_progress is None
                else lambda stream, done: on_progress(stream.bytes_read, stream.total_bytes, done),
            )
        n_quarantined = 0 if on_rejected is None else on_rejected.count
    if as_json:
        _print_json({"output": output, "n_documents": count, "n_quarantined": n_quarantined})
        return
    click.echo(f"{count:,} documents written to {output}")
    if n_quarantined:
        click.echo(f"{n_quarantined:,} bad documents set aside in {output}.quarantine.jsonl", err=True)


@cli.command()
@click.argument("files", nargs=-1, required=True)
@_json_option
def doctor(files: tuple[str, ...], as_json: bool) -> None:
    """Check a file and say what is in it: scored mentions, a rule, or a lexicon.

    FILES are pre-scored mention files (.jsonl, .jsonl.gz, .parquet, or - for standard input), or YAML files of rules
    or lexicons, whose inline examples are checked.

    \b
    Examples:
      corefsample doctor scored.jsonl.gz
      corefsample doctor my_rule.yaml
    """
    from events.checkup import examine

    with _progress("checking", as_json) as on_progress:
        reports = examine(files, on_progress=on_progress)
    if as_json:
        _print_json([report.to_json() for report in reports])
    else:
        for report in reports:
            _print_pairs(report.title, report.lines())
    problems = [problem for report in reports for problem in report.problems]
    for problem in problems:
        _complain(problem)
    if problems:
        hidden = sum(report.n_problems for report in reports) - len(problems)
        if hidden:
            _complain(f"and {hidden:,} more")
        sys.exit(BAD_INPUT)


# --- printing ----------------------------------------------------------------------------------------------


def _print_json(content: Any) -> None:
    click.echo(json.dumps(content, indent=2, default=str))


def _print_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    click.echo(title)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"  {name:<{width}}  {value}")


def _print_run(summary: Any) -> None:
    """Print what a run found: the table's head, and where the files are."""
    import pandas as pd

    folder = summary.out
    with open(os.path.join(folder, "counts.csv"), encoding="utf-8") as stream:
        counts = pd.read_csv(stream, dtype={"country": str}, keep_default_na=False)
    click.echo(
        f"{summary.n_documents:,} documents, {summary.periods[0]} to {summary.periods[1]}: {summary.n_sampled:,} could "
        f"hold an event and were sampled, {summary.n_with_events:,} do with P > 0."
    )
    if summary.n_quarantined:
        click.echo(f"{summary.n_quarantined:,} bad documents set aside in {os.path.join(folder, 'quarantine.jsonl')}")
    if counts.empty:
        click.echo("No document holds an event: the tables have headers and no rows.")
    else:
        click.echo("\nHighest posterior means:")
        columns = ["country", "period", "n_docs", "mean", "mean_mc_se", "sd", "lower", "upper", "one_best"]
        head = counts.sort_values("mean", ascending=False, kind="stable").head(8)[columns]
        click.echo(head.to_string(index=False, float_format=lambda x: f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}"))
    click.echo()
    for title, name in (("Picture", "bands.png"), ("Counts", "counts.csv"), ("Evidence", "evidence.csv")):
        if os.path.exists(os.path.join(folder, name)):
            click.echo(f"{title:<8} {os.path.join(folder, name)}")


@contextmanager
def _progress(what: str, quiet: bool) -> Iterator[Callable[[int, int, int], None] | None]:
    """Show progress on standard error, if a person watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, done="")

        def advance(read: int, total: int, done: int) -> None:
            bar.update(task, completed=read, total=total or None, done=f"{done:,} documents")

        yield advance


def _complain(message: str) -> None:
    """Print one line to standard error."""
    click.echo(f"corefsample: {' '.join(message.split())}", err=True)


def _by_option(error: CorefsampleError) -> str:
    """Say an error in the command line's words: --samples where the parameter is called n_samples."""
    options = {
        parameter.name: max(parameter.opts, key=len)
        for command in cli.commands.values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
    }
    return _PARAMETER.sub(lambda found: options.get(found.group(), found.group()), str(error))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad usage, 3 bad input, 1 any other failure, 130 interrupted."""
    # A scheduler's end of time, like an interrupt by hand, has to leave nothing half written.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        status = _status(arguments)
    except KeyboardInterrupt:  # while another error was being told
        status = INTERRUPTED
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    try:
        cli.main(args=arguments, prog_name="corefsample", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except ParameterError as error:
        _complain(_by_option(error))
        return USAGE
    except InputError as error:
        _complain(_by_option(error))
        return BAD_INPUT
    except BrokenPipeError:
        # The reader of a pipe left: point standard output elsewhere, so that closing it fails quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except CorefsampleError as error:
        _complain(_by_option(error))
        return FAILURE
    except Exception as error:
        if os.environ.get("COREFSAMPLE_TRACEBACK"):
            raise
        _complain(f"{type(error).__name__}: {error} (COREFSAMPLE_TRACEBACK=1 shows where)")
        return FAILURE
    return 0


if __name__ == "__main__":
    main()
