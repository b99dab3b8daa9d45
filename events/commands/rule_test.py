"""Check rule files, and show what each preset finds in their examples.

FILES are YAML files of rules, or names of shipped rules.

Examples
--------
  corefsample rule test my_rule.yaml
  corefsample rule test my_rule.yaml --lexicon police --scheme ud2
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from corefsample.errors import ParameterError
from events import _shared_options as shared
from events._options import declared
from events._summary import Pairs, Summary
from events.commands._parser import Command
from events.commands.doctor import summary_of_reports

if TYPE_CHECKING:
    from events.commands._file_check import FileReport


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


def run_rule_test(files: Sequence[str], options: RuleTestOptions | None = None) -> Summary:
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
    reports = [check_file(name, options.lexicon, options.scheme) for name in files]
    values = [{**report.to_json(), "examples": _examples(report)} for report in reports]
    shown = [block for report in reports for block in (Pairs(report.title, report.lines()), *_shown(report))]
    return dataclasses.replace(summary_of_reports(reports), values=values, shown=shown)


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


def _shown(report: FileReport) -> Iterator[str | Pairs]:
    """Yield the events that each preset finds in each example."""
    for number, results in groupby(sorted(report.examples, key=lambda each: each.number), lambda each: each.number):
        rows, text = [], ""
        for each in results:
            text = f"examples[{number}], {each.example.scheme}: {each.text}"
            wrong = "" if each.fault is None else f", and must be {', '.join(each.expected) or 'nothing'}"
            rows.append((each.preset, (", ".join(each.events) or "nothing") + wrong))
        yield ""
        yield Pairs(text, rows)


command = Command(RuleTestOptions, run_rule_test, "files+", reads_lines=False)
