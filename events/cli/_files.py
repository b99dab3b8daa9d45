"""Commands on files of scored mentions: convert, doctor."""

from __future__ import annotations

import sys
from typing import Any

import click

from corefsample.errors import InputError
from events.cli._failures import BAD_INPUT, Failure
from events.cli._options import Command, entity_fields_option, json_option, max_line_option, output_options, seed_option
from events.cli._screen import counted, mention_counts, print_error, print_json, print_pairs, progress


@click.command(
    cls=Command,
    short_help="Copy documents to another file or format.",
    sections={
        "Writing annotated formats": ("clustering", "seed", "singletons", "on_unwritable", "entity_fields"),
    },
)
@click.argument("inputs", nargs=-1, required=True)
@click.argument("output")
@click.option(
    "--clustering",
    type=click.Choice(["gold", "map", "sample", "binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea", "conll"]),
    help="Entities of scored documents. gold: as annotated; map: likeliest antecedents; sample: one sampled "
    "clustering; others: the smallest expected loss of that name.  [default: gold]",
)
@seed_option("Seed of the samples.")
@click.option("--singletons/--no-singletons", default=True, help="Write entities of one mention.")
@click.option(
    "--on-unwritable",
    type=click.Choice(["refuse", "skip"]),
    default="refuse",
    help="Reject a document with mentions that brackets cannot represent, or skip those mentions.",
)
@entity_fields_option
@output_options
def convert(inputs: tuple[str, ...], output: str, overwrite: bool, as_json: bool, **options: Any) -> None:
    """Check documents and copy them to another file or format.

    INPUTS and OUTPUT are scored mentions (.jsonl, .jsonl.gz, .parquet), CoNLL-U with entities (CorefUD: .conllu) or
    CoNLL-2012 (.conll, _conll), the latter two also with .gz. Annotated documents have no scores; `corefsample score`
    adds them. OUTPUT may be - for JSON Lines of scored mentions on standard output; what the command says then goes to
    standard error. With --on-error quarantine, bad documents go to OUTPUT with .quarantine.jsonl added to its name.

    \b
    Examples:
      corefsample convert scored.jsonl.gz scored.parquet
      corefsample convert corpus.conllu corpus_gold_conll
      corefsample convert scored.parquet answer.conllu --clustering map
      corefsample convert scored.parquet -
    """
    to_screen = output != "-"
    if as_json and not to_screen:
        raise click.UsageError("--json and standard output as OUTPUT exclude each other.", click.get_current_context())
    from events.jobs.convert import ConvertOptions, run_convert

    chosen = ConvertOptions(**options)
    with progress("converting", as_json) as on_progress:
        run = run_convert(inputs, output, chosen, overwrite=overwrite, on_progress=on_progress)
    if as_json:
        print_json(run.to_json())
        return
    target = output if to_screen else "standard output"
    click.echo(f"{counted(run.n_documents, 'document')} written to {target}", err=not to_screen)
    for action, counts in (("skipped", run.skipped), ("left out", run.left_out)):
        if counts:
            click.echo(f"Mentions {action}: {mention_counts(counts)}.", err=True)
    if run.n_quarantined:
        click.echo(f"{counted(run.n_quarantined, 'bad document')} set aside in {output}.quarantine.jsonl", err=True)


@click.command(cls=Command, short_help="Check a file, and describe its content.")
@click.argument("files", nargs=-1)
@click.option(
    "--environment",
    is_flag=True,
    help="Describe the installation instead: versions, extras, processor, compiled kernels.",
)
@click.option("--rule", metavar="RULE", help="Rule whose hits in scored mentions are counted.  [default: none]")
@click.option("--preset", default="paper", metavar="NAME", help="Preset of --rule.")
@click.option(
    "--lexicon",
    metavar="FILE",
    help="Lexicon for the examples of rules and for --rule.  [default: countries]",
)
@click.option(
    "--scheme",
    type=click.Choice(["ud2", "ud1", "clearnlp"]),
    help="Dependency scheme in which every preset must be able to match.  [default: any]",
)
@max_line_option
@json_option
def doctor(files: tuple[str, ...], environment: bool, as_json: bool, **options: Any) -> None:
    """Check a file of scored mentions, a rule, or a lexicon, and describe its content; or describe the installation.

    FILES are scored mentions (.jsonl, .jsonl.gz, .parquet, or - for JSON Lines on standard input), or YAML files of
    rules, whose examples are checked, or of lexicons; or the name of a shipped rule or lexicon.

    With --rule, what the rule and the lexicon find in the scored mentions is counted: hits of every trigger, condition
    and name, and the paths from triggers to actors that fill no role.

    \b
    Examples:
      corefsample doctor scored.jsonl.gz
      corefsample doctor my_rule.yaml --lexicon my_words.yaml --scheme ud2
      corefsample doctor scored.parquet --rule arrest --lexicon police
      corefsample doctor --environment
    """
    if environment == bool(files):
        raise click.UsageError("Either FILES or --environment must be given.", click.get_current_context())
    if environment:
        _print_environment(as_json)
        return
    from events.jobs.examine import ExamineOptions, examine

    with progress("checking", as_json) as on_progress:
        reports = examine(files, ExamineOptions(**options), on_progress=on_progress)
    if as_json:
        print_json([report.to_json() for report in reports])
    else:
        for report in reports:
            print_pairs(report.title, report.lines())
    problems = [problem for report in reports for problem in report.problems]
    hints = set()
    for problem in problems:
        if problem.hint in hints:  # each next step is printed once
            problem = InputError(problem.message, parameter=problem.parameter, place=problem.place)
        hints.add(problem.hint)
        print_error(Failure(problem, click.get_current_context()).message)
    if problems:
        n_hidden = sum(report.n_problems for report in reports) - len(problems)
        if n_hidden:
            print_error(f"and {n_hidden:,} more")
        sys.exit(BAD_INPUT)


def _print_environment(as_json: bool) -> None:
    from events.jobs.environment import describe_environment

    found = describe_environment()
    if as_json:
        print_json(found.to_json())
    else:
        print_pairs(f"corefsample {found.corefsample}", found.lines())
