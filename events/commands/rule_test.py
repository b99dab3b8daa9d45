"""Check rule files, and show what each preset finds in their examples.

FILES are YAML files of rules, or names of shipped rules.

Examples
--------
  corefsample rule test my_rule.yaml
  corefsample rule test my_rule.yaml --lexicon police --scheme ud2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import ParameterError
from events import _shared_options as shared
from events._options import declared
from events.commands._parser import Command
from events.commands._screen import print_pairs, print_text
from events.commands.doctor import report_problems

if TYPE_CHECKING:
    from events.commands._file_check import FileReport
    from events.counting._examples import ExampleResult


@declared
class RuleTestOptions(shared.LexiconOption):
    """Options of a check of rules.

    Attributes
    ----------
    lexicon
        Lexicon for examples without words of their own. [default: countries]
    scheme
        Dependency scheme in which every preset must be able to match. [default: any]
    """

    scheme: shared.SchemeName | None = None


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """Reports on rule files.

    Attributes
    ----------
    reports
        Report on each file: see `events.commands.doctor`.
    """

    reports: tuple[FileReport, ...]

    def to_json(self) -> Any:
        """JSON values of each report with its examples."""
        return [{**report.to_json(), "examples": _examples(report)} for report in self.reports]


def run_rule_test(files: Sequence[str], options: RuleTestOptions | None = None) -> RuleTestResult:
    """Check rule files and their examples, as `run_doctor` does.

    Parameters
    ----------
    files
        Paths of YAML files of rules, or names of shipped rules.
    options
        Lexicon and dependency scheme of the check; by default, those of the command line.

    Raises
    ------
    ParameterError
        If a file is not a rule.
    """
    from events.commands._file_check import check_file, is_rule_or_lexicon

    options = options or RuleTestOptions()
    for name in files:
        if not is_rule_or_lexicon(name):
            raise ParameterError(f"must be YAML files or names of shipped rules, got {name!r}", parameter="files")
    return RuleTestResult(tuple(check_file(name, options.lexicon, options.scheme) for name in files))


def _examples(report: FileReport) -> list[dict[str, Any]]:
    return [
        {
            "example": each.number,
            "text": each.text,
            "scheme": each.example.scheme,
            "preset": each.preset,
            "found": list(each.events),
            "expected": list(each.expected),
            "fault": None if each.fault is None else str(each.fault),
        }
        for each in report.examples
    ]


def print_rule_test(outcome: RuleTestResult) -> None:
    """Print each report, and the events that each preset finds in each example."""
    for report in outcome.reports:
        print_pairs(report.title, report.lines())
        by_example: dict[int, list[ExampleResult]] = {}
        for result in report.examples:
            by_example.setdefault(result.number, []).append(result)
        for number, results in sorted(by_example.items()):
            first = results[0]
            click.echo()
            print_text(f"examples[{number}], {first.example.scheme}: {first.text}")
            for result in results:
                names = ", ".join(result.events) or "nothing"
                wrong = "" if result.fault is None else f", and must be {', '.join(result.expected) or 'nothing'}"
                click.echo(f"  {result.preset:<10} {names}{wrong}")


command = Command(
    RuleTestOptions,
    run_rule_test,
    print_rule_test,
    "files+",
    reads_lines=False,
    finish=lambda result: report_problems(result.reports),
)
