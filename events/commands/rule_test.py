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
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from corefsample._arrays import fields_of
from corefsample.errors import ParameterError
from events import _options as shared
from events._summary import Pairs, Summary
from events.commands._parser import Command

if TYPE_CHECKING:
    from events.evidence._examples import ExampleResult


@shared.declared
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
    from events.inspection._reports import summary_of_reports
    from events.inspection._rule_checks import check_file, is_rule_or_lexicon

    options = options or RuleTestOptions()
    for name in files:
        if not is_rule_or_lexicon(name):
            raise ParameterError(f"must be YAML files or names of shipped rules, got {name!r}", parameter="files")
    checks = [check_file(name, options.lexicon, options.scheme) for name in files]
    values = [{**report.to_json(), "examples": [_values(each) for each in examples]} for report, examples in checks]
    shown = [block for report, examples in checks for block in (Pairs(report.title, report.pairs), *_shown(examples))]
    return dataclasses.replace(summary_of_reports([report for report, _ in checks]), values=values, shown=shown)


def _values(result: ExampleResult) -> dict[str, Any]:
    values = {"example": result.number, "scheme": result.example.scheme, "found": result.events}
    return values | fields_of(result, "text", "preset", "expected", "fault")


def _shown(examples: Sequence[ExampleResult]) -> Iterator[str | Pairs]:
    """Yield the events that each preset finds in each example."""
    by_number = attrgetter("number")
    for number, results in groupby(sorted(examples, key=by_number), by_number):
        rows, text = [], ""
        for result in results:
            text = f"examples[{number}], {result.example.scheme}: {result.text}"
            wrong = "" if result.fault is None else f", and must be {', '.join(result.expected) or 'nothing'}"
            rows.append((result.preset, (", ".join(result.events) or "nothing") + wrong))
        yield ""
        yield Pairs(text, rows)


command = Command(RuleTestOptions, run_rule_test, "files+")
