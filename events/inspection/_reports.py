"""A report on files: what they hold, and their problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from corefsample.documents._faults import Rejected
from corefsample.errors import CorefsampleError
from events._summary import Pairs, Summary

_SHOWN = 20  # number of problems that are shown


@dataclass(slots=True)
class Report:
    """Report on files.

    Attributes
    ----------
    title
        Names of the files.
    values
        Values by name, which programs read.
    pairs
        Names and values, which a person reads.
    problems, n_problems
        Errors of the first 20 invalid documents and other problems, and number of all.
    """

    title: str
    values: dict[str, Any] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    problems: list[CorefsampleError] = field(default_factory=list)
    n_problems: int = 0

    def __getitem__(self, name: str) -> Any:
        return self.to_json()[name]

    def add(self, problem: CorefsampleError) -> None:
        """Add a problem."""
        self.n_problems += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(problem)

    def reject(self, rejected: Rejected) -> None:
        """Add an invalid document."""
        self.add(rejected.error())

    def to_json(self) -> dict[str, Any]:
        """Title, problems and values by name."""
        problems = {"title": self.title, "n_problems": self.n_problems, "problems": list(map(str, self.problems))}
        return {**problems, **self.values}


def summary_of_reports(reports: Sequence[Report]) -> Summary:
    """Summary of a check: what the reports say, and the first problems of all reports."""
    problems = [problem for report in reports for problem in report.problems]
    return Summary(
        values=[report.to_json() for report in reports],
        shown=[Pairs(report.title, report.pairs) for report in reports],
        problems=problems,
        n_hidden_problems=sum(report.n_problems for report in reports) - len(problems),
        result=reports,
    )
