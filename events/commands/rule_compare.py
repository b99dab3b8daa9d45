"""Say whether a second run's rule is better, by labels of an audit.

FIRST and SECOND are outputs of `corefsample events` of the same documents; SHEETS are labelled sheets of an audit of
FIRST. Labels are weighted by inclusion, and the differences have bootstrap intervals within strata. Labels by which
the second rule was made favour it: label a further round with `corefsample audit plan FIRST --more N`, or other
documents.

Examples
--------
  corefsample rule compare run run2 audit/sheet.csv
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import InputError
from events import _shared_options as shared
from events._options import CommandResult, declared, option
from events.commands._parser import Command
from events.commands._screen import counted, print_text

if TYPE_CHECKING:
    from corefsample._arrays import Floats
    from corefsample.files._paths import PathLike
    from events.audit._plan import AuditPlan


@declared
class RuleCompareOptions(shared.Seed):
    """Options of a comparison.

    Attributes
    ----------
    level
        Confidence level of the intervals.
    n_resamples
        Number of bootstrap resamples of the labelled documents.
    plan
        Folder of the audit. [default: that of the first sheet]
    seed
        Seed of the resamples.
    """

    level: float = option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = option(default=2000, at_least=100)
    plan: str | None = option(default=None, metavar="FOLDER")


@dataclass(frozen=True, slots=True)
class RuleCompareResult(CommandResult):
    """Comparison of the probabilities of two runs with labels.

    Attributes
    ----------
    first, second
        Paths of the folders of the runs.
    level
        Confidence level of the intervals, in (0, 1).
    n_labels, n_positive
        Number of labels that are yes or no, and number of labels that are yes.
    n_moved
        Number of labels for which the probabilities of the two runs are on different sides of one half.
    differences
        For each measure a mapping with measure, first, second, difference, lower and upper: see
        `events.audit._quality.Difference`.
    verdict
        "better", "worse" or "undecided", by the interval of the difference of Brier scores.
    """

    first: str
    second: str
    level: float
    n_labels: int
    n_positive: int
    n_moved: int
    differences: tuple[dict[str, Any], ...]
    verdict: str


def run_rule_compare(
    first: PathLike, second: PathLike, sheets: Sequence[PathLike], options: RuleCompareOptions | None = None
) -> RuleCompareResult:
    """Compare the probabilities of two runs on labelled documents.

    Parameters
    ----------
    first
        Path of the folder of the run from which the audit's plan was drawn.
    second
        Path of the folder of a run of the same documents with another rule, preset or lexicon.
    sheets
        Paths of labelled sheets of the audit, at least one.
    options
        Level, resamples and seed of the intervals, and the folder of the audit; by default, those of the command line.

    Raises
    ------
    ParameterError, InputError
        If an option is invalid, the second run lacks rules or documents of the plan, or a run or a sheet is missing or
        damaged.
    """
    from events.audit._quality import THRESHOLD, labelled_cells, paired_differences
    from events.commands._audit_files import labelled_plan

    options = options or RuleCompareOptions()
    _, plan, labels = labelled_plan(first, sheets, options.plan)
    cells = labelled_cells(plan, labels, range(len(plan.frame.targets)))
    p = [_probabilities(run, plan)[cells.documents, cells.targets] for run in (first, second)]
    differences = paired_differences(cells, p[0], p[1], **options.subset("level", "n_resamples", "seed"))
    brier = differences[0]
    verdict = "better" if brier.upper < 0.0 else "worse" if brier.lower > 0.0 else "undecided"
    return RuleCompareResult(
        os.fspath(first),
        os.fspath(second),
        options.level,
        len(cells),
        int(cells.is_positive.sum()),
        int(((p[0] > THRESHOLD) != (p[1] > THRESHOLD)).sum()),
        tuple(asdict(each) for each in differences),
        verdict,
    )


def _probabilities(run: PathLike, plan: AuditPlan) -> Floats:
    """Probabilities of the plan's targets in its sampled documents by a run: float64 (n_sampled, n_targets)."""
    from corefsample.files._contents import read_parquet
    from events.audit._documents import ALL_DOCUMENTS, RULES, run_record
    from events.audit._quality import target_keys, target_probabilities
    from events.counting._run_tables import verify_table

    rules = str(run_record(Path(run))["rule"]["name"]).split(RULES)
    keys = target_keys(plan.frame)
    if len(rules) == 1 == len(plan.frame.event.split(RULES)):  # a changed rule may have another name
        keys = [(rules[0], actor) for _, actor in keys]
    rule_keys = [key for key in keys if key[0] in rules]
    if len(rule_keys) < len(plan.frame.targets):
        raise InputError(
            f"run must have the rules of the labels ({plan.frame.event}), got {', '.join(rules)}", place=str(run)
        )
    verify_table(Path(run) / ALL_DOCUMENTS)
    table = read_parquet(Path(run) / ALL_DOCUMENTS, ["doc_id", "events", "actors", "probabilities"])
    try:
        return target_probabilities(table, plan.frame.doc_ids[plan.sample].tolist(), rule_keys)
    except InputError as error:
        raise error.at(str(run)) from None


_VERDICTS = {
    "better": "The second run is better: its Brier score is lower, and the interval excludes 0.",
    "worse": "The second run is worse: its Brier score is higher, and the interval excludes 0.",
    "undecided": "These labels do not tell which run is better: the interval of the Brier score includes 0.",
}


def print_rule_compare(result: RuleCompareResult) -> None:
    """Print a line for each measure, and the verdict."""
    labels = f"{counted(result.n_labels, 'label')}, {result.n_positive:,} yes"
    moved = f"the runs are on different sides of P = 1/2 for {result.n_moved:,}"
    print_text(f"{labels}; {moved}.")
    click.echo(f"\n{'':<18}{'first':>8}{'second':>8}{'change':>8}  {100 * result.level:g}% interval")
    for row in result.differences:
        values = "".join(f"{row[name]:>8.3f}" for name in ("first", "second", "difference"))
        click.echo(f"{row['measure'].replace('_', ' '):<18}{values}  {row['lower']:.3f} to {row['upper']:.3f}")
    click.echo()
    print_text(_VERDICTS[result.verdict])


command = Command(
    RuleCompareOptions, run_rule_compare, print_rule_compare, "first", "second", "sheets+", reads_lines=False
)
