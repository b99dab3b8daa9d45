"""The plan of a run that counts: partitions of its inputs, its rules, lexicon and recalibration."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import metadata, resources
from typing import Any, ClassVar

from corefsample.errors import ParameterError
from corefsample.files._digests import sha256
from corefsample.files._paths import input_paths, is_file, open_binary
from corefsample.formats.scored._parquet import row_group_sizes
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.posterior._posterior import CorpusRecalibration
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._shipped import NO_RECALIBRATION, named_recalibration, recalibration_file
from corefsample.recalibration._uncertain import UncertainRecalibration
from events._options import fields_of
from events.counting._definitions import Definitions
from events.counting._periods import Calendar
from events.counting._tables import EventKey
from events.lexicon._lexicon import Lexicon
from events.rules._rules import Rule, sources_of
from events.runs._plan import InputFile, Part, Plan
from events.runs.counting._options import CountOptions

_BY_SCORES = "that of the scores"
_FREE = ("threads", "partition_size", "on_error")
_LIBRARIES = ("numpy", "numba", "pandas", "pyarrow")


@dataclass(frozen=True)
class RunPlan(Plan):
    """The partitions of a run that counts, and everything on which its results depend."""

    UNSET: ClassVar[Mapping[str, str]] = {
        "recalibration": _BY_SCORES,
        "uncertainty": _BY_SCORES,
        "preset": "that of the rule",
        "where": "all documents",
    }

    @cached_property
    def options(self) -> CountOptions:
        """What to count."""
        return CountOptions.from_json({**self.settings, **self.free})

    @property
    def partitions(self) -> tuple[Part, ...]:
        """The parts."""
        return self.parts or ()

    def definitions(self) -> Definitions:
        """The rules and the lexicon, loaded and checked once in each process."""
        return _definitions(self.options, json.dumps(self.contents))

    def recalibration(self) -> CorpusRecalibration:
        """What the documents are recalibrated with; its record is read once in each process."""
        options = self.options
        name = named_recalibration(options.recalibration)
        given = None if name is None else _recalibration(name, json.dumps(self.contents["recalibration"]))
        as_scored = options.recalibration == NO_RECALIBRATION
        return CorpusRecalibration(given, options.uncertainty, options.seed, as_scored=as_scored)


def plan_without_inputs(options: CountOptions) -> RunPlan:
    """What a new run counts, and how.

    Raises
    ------
    ParameterError, InputError
        If an option, a rule or a lexicon breaks its rule.
    """
    Calendar(options.period)
    rules = json.dumps([_checksum(*sources_of(rule)) for rule in options.rules])
    records = [path for path in map(recalibration_file, options.records) if is_file(path)]
    contents = {
        "rule": [options.rule, hashlib.sha256(rules.encode()).hexdigest()],
        "recalibration": [" or ".join(options.records) or None, [*map(sha256, records)]],
        "lexicon": [options.lexicon, _checksum(options.lexicon)],
    }
    versions = {name: metadata.version(name) for name in _LIBRARIES}
    settings = json.loads(json.dumps(options.chosen(*fields_of(CountOptions))))
    free = {name: settings.pop(name) for name in _FREE}
    plan = RunPlan(settings, free, json.loads(json.dumps(contents)), (), versions=versions)
    plan.recalibration()  # an error of its own before any work
    definitions = plan.definitions()
    of_outcomes = any({*(options.compare or ())} <= {*each} for each in definitions.actors_of_outcomes.values())
    for rule in definitions.rules if not of_outcomes else ():
        for name in options.compare or ():
            _require_compared(name, rule, definitions.lexicon)
    return plan


def planned(inputs: Any, options: CountOptions) -> RunPlan:
    """Make the plan of a new run: one partition a file of JSON Lines, and row groups of Parquet files.

    Raises
    ------
    ParameterError, InputError
        If an option, an input, a rule or a lexicon breaks its rule.
    """
    plan = plan_without_inputs(options)
    files = tuple(InputFile.of(path) for path in input_paths(inputs, suffixes=SUFFIXES))
    return with_partitions(dataclasses.replace(plan, inputs=files), files)


def with_partitions(plan: RunPlan, files: Sequence[InputFile], most: int = 0) -> RunPlan:
    """Add the partitions of new files to a plan, with numbers above `most`."""
    partitions = list(plan.partitions)
    number = most
    for file in files:
        for first, last, share in _ranges(file, plan.options.partition_size):
            number += 1
            partitions.append(Part(number, file.absolute, first, last, share))
    return dataclasses.replace(plan, parts=tuple(partitions))


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


def _checksum(*sources: str | None) -> str:
    """SHA-256 of a lexicon, or of a rule and those it extends, and of the package's files, which they can use."""
    content = b""
    for source in sources:
        if source is not None and is_file(source):
            with open_binary(source) as stream:
                content += bytes(stream.read())
    for shipped in (resources.files("events") / "data", resources.files("corefsample.languages")):
        with resources.as_file(shipped) as folder:
            for path in sorted(folder.rglob("*.yaml")):
                content += path.read_bytes()
    return hashlib.sha256(content).hexdigest()


# --- rules -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _definitions(options: CountOptions, contents: str) -> Definitions:
    """Rules and lexicon of options, loaded again if the contents of their files have changed."""
    return Definitions.named(options.rules, options.preset, options.lexicon, options.outcome)


@lru_cache(maxsize=2)
def _recalibration(name: str, contents: str) -> UncertainRecalibration:
    """A recalibration, read again if the content of its file has changed."""
    return read_recalibration(name)


def _require_compared(name: str, rule: Rule, lexicon: Lexicon) -> None:
    """Raise unless a name to compare has as many codes as a rule has roles, all in the lexicon."""
    key = EventKey.of(name)
    if not rule.event:
        raise ParameterError(f"must have a rule with roles, got the rule {rule.name} without", parameter="compare")
    if len(key) != len(rule.event):
        shape = EventKey(("AAA", "BBB")[: len(rule.event)]).name
        raise ParameterError(f"must name events of the rule {rule.name} ({shape}), got {name!r}", parameter="compare")
    for code, role in zip(key, rule.event, strict=True):
        if not code and role in rule.optional:
            continue
        try:
            lexicon.require(code)
        except ParameterError as error:
            message = f"must name {lexicon.noun} of the lexicon, got {code!r}"
            raise ParameterError(message, parameter="compare", hint=error.hint) from None
