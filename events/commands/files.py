"""Commands on files of scored mentions: convert, doctor."""

from __future__ import annotations

import sys

import click

from events.commands.options import json_option, on_error_option, overwrite_option
from events.commands.screen import complain, print_json, print_pairs, progress
from events.commands.status import BAD_INPUT

__all__ = ["convert", "doctor"]


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@click.argument("output")
@on_error_option
@overwrite_option
@json_option
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
        with progress("converting", as_json) as on_progress:
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
        print_json({"output": output, "n_documents": count, "n_quarantined": n_quarantined})
        return
    click.echo(f"{count:,} documents written to {output}")
    if n_quarantined:
        click.echo(f"{n_quarantined:,} bad documents set aside in {output}.quarantine.jsonl", err=True)


@click.command()
@click.argument("files", nargs=-1, required=True)
@json_option
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

    with progress("checking", as_json) as on_progress:
        reports = examine(files, on_progress=on_progress)
    if as_json:
        print_json([report.to_json() for report in reports])
    else:
        for report in reports:
            print_pairs(report.title, report.lines())
    problems = [problem for report in reports for problem in report.problems]
    for problem in problems:
        complain(problem)
    if problems:
        hidden = sum(report.n_problems for report in reports) - len(problems)
        if hidden:
            complain(f"and {hidden:,} more")
        sys.exit(BAD_INPUT)
