"""Reports on files, with their problems, and a description of the installation."""

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from corefsample import CorefsampleError, __version__
from corefsample._lazy import requirements, versions_of
from corefsample._machine import available_memory, processors
from corefsample.documents._faults import Rejected
from events._summary import Pairs, Summary, listed

_SHOWN = 20  # number of problems, and of items of a value, that are shown; the JSON summary has all items
_IN_NOTES = ("texts", "merged_actors")  # values that people read in the notes
_PACKAGES = {"score": "corefsample.scorers", "events": "events.evidence"}  # package with the kernels of each command
_PREFIXES = ("ARROW_", "COREFSAMPLE_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")


@dataclass(slots=True)
class Report:
    """Report on files.

    Attributes
    ----------
    title
        Names of the files.
    values
        Values by name, which programs read, and of which `pairs` makes text for people.
    notes
        Sentences about the files.
    problems, n_problems
        Errors of the first 20 invalid documents and other problems, and number of all.
    """

    title: str
    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
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
        """Title, problems, values by name, and notes."""
        problems = {"title": self.title, "n_problems": self.n_problems, "problems": list(map(str, self.problems))}
        return {**problems, **self.values, "notes": self.notes}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names and values as text, and the notes."""
        values = {"n_problems": self.n_problems, **self.values}
        return [*pairs_of(values), *(("note", note) for note in self.notes)]


def pairs_of(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text, without values that are empty."""
    shown = {name: value for name, value in values.items() if name not in _IN_NOTES and value not in (None, "", [], {})}
    return [(name.removeprefix("n_").replace("_", " "), _text_of(value)) for name, value in shown.items()]


def _text_of(value: Any) -> str:
    """Text of a value; of a mapping, the names with the largest numbers come first."""
    if isinstance(value, Mapping):
        ordered = sorted(value.items(), key=lambda item: -_total(item[1]))
        nested = (Mapping, list, tuple)
        texts = [f"{k} ({_text_of(v)})" if isinstance(v, nested) else f"{k} {_text_of(v)}" for k, v in ordered]
        return listed(texts, _SHOWN)
    if isinstance(value, (list, tuple)):
        return listed(list(map(_text_of, value)), _SHOWN)
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else "missing" if value is None else str(value)


def _total(value: Any) -> float:
    if isinstance(value, (Mapping, list, tuple)):
        return sum(map(_total, value.values() if isinstance(value, Mapping) else value))
    return value if isinstance(value, (int, float)) else 0


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


def describe_environment() -> dict[str, Any]:
    """Describe the installation.

    Returns
    -------
    dict
        corefsample, python, platform: versions of corefsample and Python, operating system with the architecture of the
        processor. packages, extras: version of each required package and of each package of an extra, None if it is
        missing. processor: name of the processor for which kernels are compiled. processors: number of processors that
        this process may use. free_memory: memory that this process can still use, in bytes; None if the system does
        not provide this number. kernel_folders: folders for compiled kernels; without one, every process compiles its
        kernels. kernels_missing: names of the commands `score` and `events` whose kernels are not compiled yet.
        variables: environment variables that are set and affect the program.
    """
    import numba
    from llvmlite import binding

    from corefsample._jit import cache_folders, is_cached, kernels_of

    needed, extras = requirements()
    kernels = {command: kernels_of(package) for command, package in _PACKAGES.items()}
    folders = cache_folders(chain(*kernels.values()))
    return {
        "corefsample": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "packages": versions_of(needed),
        "extras": {extra: versions_of(names) for extra, names in extras.items()},
        "processor": numba.config.CPU_NAME or binding.get_host_cpu_name(),  # type: ignore[attr-defined]
        "processors": processors(),
        "free_memory": available_memory(),
        "kernel_folders": list(folders),
        "kernels_missing": [name for name, group in kernels.items() if folders and not any(map(is_cached, group))],
        "variables": {name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES)},
    }
