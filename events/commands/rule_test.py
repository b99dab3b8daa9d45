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
    """What rules are checked against.

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
        Report on each file, like those of `doctor`.
    """

    reports: tuple[FileReport, ...]

    def to_json(self) -> Any:
        """The fields of each report, and its examples."""
        return [{**report.to_json(), "examples": _examples(report)} for report in self.reports]


def run_rule_test(files: Sequence[str], options: RuleTestOptions | None = None) -> RuleTestResult:
    """Check rule files and their examples, as `run_doctor` does.

    Parameters
    ----------
    files
        YAML files of rules, and names of shipped rules.
    options
        Lexicon and dependency scheme that the rules are checked against.

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


def print_rule_test(result: RuleTestResult) -> None:
    """Print each report, and what is found in each example."""
    for report in result.reports:
        print_pairs(report.title, report.lines())
        by_example: dict[int, list[ExampleResult]] = {}
        for each in report.examples:
            by_example.setdefault(each.number, []).append(each)
        for number, several in sorted(by_example.items()):
            first = several[0]
            click.echo()
            print_text(f"examples[{number}], {first.example.scheme}: {first.text}")
            for each in several:
                found = ", ".join(each.events) or "nothing"
                wrong = "" if each.fault is None else f", and must be {', '.join(each.expected) or 'nothing'}"
                click.echo(f"  {each.preset:<10} {found}{wrong}")


command = Command(
    RuleTestOptions,
    run_rule_test,
    print_rule_test,
    "files+",
    reads_lines=False,
    finish=lambda result: report_problems(result.reports),
)
