"""The plan of a run: its inputs and their partitions, and everything on which the results depend."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from typing import Any

import corefsample
from corefsample.errors import ParameterHint
from corefsample.files import absolute, file_version, input_paths, is_file, open_binary, sha256
from corefsample.formats.scored import SUFFIXES, row_group_sizes
from corefsample.recalibration import read_recalibration, recalibration_file
from events.jobs.partitions._options import EventsOptions
from events.rules import load_rules

__all__ = [
    "RESTART",
    "STANDARD_INPUT",
    "Change",
    "InputFile",
    "Partition",
    "RunPlan",
    "changes",
    "planned",
    "with_partitions",
]

STANDARD_INPUT = "-"
FORMAT = 1
# Results do not depend on these; quarantined partitions are examined again where a run is to stop at the first one.
_FREE_OPTIONS = ("threads", "partition_size", "on_error")
_OF_SCORES, _BY_SCORES = ("recalibration", "uncertainty"), "that of the scores"  # by default; "none" is another
_LIBRARIES = ("numpy", "numba", "pandas", "pyarrow")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of documents.

    Attributes
    ----------
    path, absolute
        Path as given, and from the root of the file system; a URL is both.
    n_bytes
        Size in bytes.
    changed
        What changes with the content: the time of the last change in nanoseconds; for a URL its entity tag, or time.
    """

    path: str
    absolute: str
    n_bytes: int
    changed: int | str

    @classmethod
    def of(cls, path: str) -> InputFile:
        """Describe a file, or standard input."""
        if path == STANDARD_INPUT:
            return cls(path, path, 0, 0)
        n_bytes, changed = file_version(path)
        return cls(path, absolute(path), n_bytes, changed)

    @property
    def place(self) -> str:
        """The path as given where it leads to the file, which it need not on another machine."""
        return self.path if absolute(self.path) == self.absolute else self.absolute

    @property
    def tag(self) -> str | None:
        """The tag of a URL, which stands for a checksum of the content; None if there is none."""
        return self.changed or None if isinstance(self.changed, str) else None

    def is_unchanged(self) -> bool:
        """Whether size and time of the file are still the same."""
        if self.path == STANDARD_INPUT:
            return True
        try:
            now = InputFile.of(self.absolute)
        except OSError:
            return False
        return (now.n_bytes, now.changed) == (self.n_bytes, self.changed)


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of one input: a range of row groups of a Parquet file, or a whole file of JSON Lines.

    Attributes
    ----------
    number
        From 1; a partition keeps its number when inputs are added.
    source
        Absolute path of the file, or "-".
    first, last
        First row group, and the one after the last; None for a whole file.
    share
        Part of the bytes of the file.
    """

    number: int
    source: str
    first: int | None = None
    last: int | None = None
    share: float = 1.0

    @property
    def groups(self) -> range | None:
        """The row groups, or None for a whole file."""
        return None if self.first is None or self.last is None else range(self.first, self.last)

    def __str__(self) -> str:
        groups = "" if self.groups is None else f", row groups {self.first} to {self.groups[-1]}"
        return f"partition {self.number} ({os.path.basename(self.source)}{groups})"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The partitions of a run, and everything on which its results depend.

    Attributes
    ----------
    options
        What to count.
    inputs, partitions
        Files in the order given, and their partitions.
    rule_sha256, lexicon_sha256, recalibration_sha256
        Checksums of the rule, the lexicon, and the record of the recalibration (None without one).
    corefsample, versions
        Version of this library, and of others.
    """

    options: EventsOptions
    inputs: tuple[InputFile, ...]
    partitions: tuple[Partition, ...]
    rule_sha256: str
    lexicon_sha256: str
    corefsample: str
    versions: dict[str, str]
    recalibration_sha256: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"format": FORMAT, **json.loads(json.dumps(dataclasses.asdict(self)))}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> RunPlan:
        """The plan that `to_json` described; raises ValueError, TypeError or KeyError for anything else."""
        fields = dict(content)
        if fields.pop("format") != FORMAT:
            raise ValueError("another format")
        options = fields.pop("options")
        compare = options.pop("compare")
        rule = options.pop("rule")
        rule = rule if isinstance(rule, str) else tuple(rule)
        return cls(
            options=EventsOptions(rule=rule, **options, compare=None if compare is None else tuple(compare)),
            inputs=tuple(InputFile(**each) for each in fields.pop("inputs")),
            partitions=tuple(Partition(**each) for each in fields.pop("partitions")),
            **fields,
        )

    def digest(self) -> str:
        """SHA-256 of everything on which the results of a partition depend, the inputs apart."""
        options = {name: value for name, value in _options(self).items() if name not in _FREE_OPTIONS}
        checksums = [self.rule_sha256, self.lexicon_sha256, self.recalibration_sha256]
        content = [FORMAT, options, *checksums, self.corefsample]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def input_of(self, partition: Partition) -> InputFile:
        """The file of a partition."""
        return next(each for each in self.inputs if each.absolute == partition.source)

    def in_order(self) -> list[Partition]:
        """The partitions in the order of the inputs."""
        index = {each.absolute: i for i, each in enumerate(self.inputs)}
        return sorted(self.partitions, key=lambda each: (index[each.source], each.first or 0))

    def partition(self, number: int) -> Partition | None:
        """The partition with a number, or None."""
        return next((each for each in self.partitions if each.number == number), None)

    @property
    def n_bytes(self) -> int:
        """Bytes of all inputs."""
        return sum(each.n_bytes for each in self.inputs)


def planned(inputs: Any, options: EventsOptions) -> RunPlan:
    """Make the plan of a new run: one partition a file of JSON Lines, and row groups of Parquet files."""
    paths = input_paths(inputs, suffixes=SUFFIXES)
    files = tuple(InputFile.of(path) for path in paths)
    plan = RunPlan(
        options=options,
        inputs=files,
        partitions=(),
        rule_sha256=_rules_checksum(options),
        lexicon_sha256=_checksum(options.lexicon, "data"),
        corefsample=corefsample.__version__,
        versions={name: metadata.version(name) for name in _LIBRARIES},
        recalibration_sha256=_record_sha256(options.record),
    )
    return with_partitions(plan, files)


def with_partitions(plan: RunPlan, files: Sequence[InputFile], most: int = 0) -> RunPlan:
    """Add the partitions of new files to a plan, with numbers above `most`."""
    partitions = list(plan.partitions)
    number = most
    for file in files:
        for first, last, share in _ranges(file, plan.options.partition_size):
            number += 1
            partitions.append(Partition(number, file.absolute, first, last, share))
    return dataclasses.replace(plan, partitions=tuple(partitions))


def _ranges(file: InputFile, size: int) -> list[tuple[int | None, int | None, float]]:
    """Row groups of each partition of a file, and its share of the rows: parts of about `size` documents."""
    if not file.path.endswith(".parquet"):
        return [(None, None, 1.0)]
    rows = row_group_sizes(file.path)
    total = sum(rows)
    n_parts = max(1, round(total / size))
    ranges: list[tuple[int | None, int | None, float]] = []
    first, done, before = 0, 0, 0
    for group, n_rows in enumerate(rows, start=1):
        done += n_rows
        if group == len(rows) or done * n_parts >= total * (len(ranges) + 1):
            ranges.append((first, group, (done - before) / max(total, 1)))
            first, before = group, done
    return ranges or [(None, None, 1.0)]


def _record_sha256(recalibration: str | None) -> str | None:
    if recalibration is None:
        return None
    read_recalibration(recalibration)  # an error of its own before any work
    return sha256(recalibration_file(recalibration))


def _rules_checksum(options: EventsOptions) -> str:
    """SHA-256 of the rule file, or of the checksums of several."""
    each = [_checksum(load_rules(rule, options.preset).source, "data/rules") for rule in options.rules]
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def _checksum(source: str | None, folder: str) -> str:
    """SHA-256 of a rule or lexicon file; for a shipped one, or none, of the data of the package."""
    if source is not None and is_file(source):
        with open_binary(source) as stream:
            content = bytes(stream.read())
    else:
        name = "countries" if source is None else source
        content = (resources.files("events") / folder / f"{name}.yaml").read_bytes()
    shipped = resources.files("events") / "data"
    # A lexicon can extend shipped ones, and rules use the shipped conditions.
    others = ("countries", "police") if folder == "data" else ("conditions",)
    for name in others:
        content += (shipped / f"{name}.yaml").read_bytes()
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between an earlier run and the one that is asked for.

    Attributes
    ----------
    what
        In words: "seed 0, not 1".
    rule
        What must hold, and what was found.
    parameter, place
        Of the rule.
    """

    what: str
    rule: str
    parameter: str | None = None
    place: str | None = None


RESTART = ParameterHint("restart", "begins anew")


def _options(plan: RunPlan) -> dict[str, Any]:
    return dict(json.loads(json.dumps(dataclasses.asdict(plan.options))))


def changes(earlier: RunPlan, plan: RunPlan) -> list[Change]:
    """What changed since an earlier run, the content of its inputs apart; added inputs are no change."""
    found = []
    before, now = _options(earlier), _options(plan)
    for name, value in before.items():
        if value != now[name] and name not in _FREE_OPTIONS:
            what = f"{name} {value}, not {now[name]}"
            shown = [_BY_SCORES if name in _OF_SCORES and not each else _shown(each) for each in (value, now[name])]
            rule = f"must be {shown[0]} as in the unfinished run, got {shown[1]}"
            found.append(Change(what, rule, parameter=name))
    files = (
        ("rule", earlier.rule_sha256, plan.rule_sha256, plan.options.rule),
        ("recalibration", earlier.recalibration_sha256, plan.recalibration_sha256, plan.options.record),
        ("lexicon", earlier.lexicon_sha256, plan.lexicon_sha256, plan.options.lexicon),
    )
    for name, was, is_now, path in files:
        if was != is_now and before[name] == now[name]:
            rule = f"{name} must be as it was when the unfinished run began, got other content"
            place = _shown(path) if path else f"the {name} of the package"
            found.append(Change(f"another content of the {name}", rule, place=place))
    if earlier.corefsample != plan.corefsample:
        what = f"corefsample {earlier.corefsample}, not {plan.corefsample}"
        rule = f"must be run by corefsample {earlier.corefsample}, which began it, got {plan.corefsample}"
        found.append(Change(what, f"unfinished run {rule}"))
    given = {each.absolute for each in plan.inputs}
    for file in earlier.inputs:
        if file.absolute not in given:
            rule = "file must be among the inputs, as when the unfinished run began"
            found.append(Change(f"the input {file.path}", rule, place=file.path))
    return found


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else "none" if value is None else str(value)
