"""The plan of a run: its inputs and parts, and everything on which the results depend."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import corefsample
from corefsample.errors import ParameterHint
from corefsample.files._digests import sha256
from corefsample.files._paths import absolute, file_version

STANDARD_INPUT = "-"
RESTART = ParameterHint("restart", "begins anew")
_FORMAT = 4


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
    sha256
        Checksum of the content, if it was computed before the run.
    """

    path: str
    absolute: str
    n_bytes: int
    changed: int | str
    sha256: str | None = None

    @classmethod
    def of(cls, path: str, *, checksum: bool = False) -> InputFile:
        """Describe a file, or standard input; with its checksum, unless it has a tag."""
        if path == STANDARD_INPUT:
            return cls(path, path, 0, 0)
        file = cls(path, absolute(path), *file_version(path))
        return dataclasses.replace(file, sha256=sha256(path)) if checksum and file.tag is None else file

    @property
    def place(self) -> str:
        """The path as given where it leads to the file, which it need not on another machine."""
        return self.path if absolute(self.path) == self.absolute else self.absolute

    @property
    def tag(self) -> str | None:
        """The tag of a URL, which stands for a checksum of the content; None if there is none."""
        return self.changed or None if isinstance(self.changed, str) else None

    def is_same(self, other: InputFile) -> bool:
        """Whether size and time are those of another description."""
        return (self.n_bytes, self.changed) == (other.n_bytes, other.changed)

    def to_record(self, checksum: str | None) -> dict[str, Any]:
        """Path, size and checksum for the record of a run; nothing but the path of standard input."""
        if self.path == STANDARD_INPUT:
            return {"path": self.path, "bytes": None, "sha256": None}
        tag = {} if self.tag is None else {"etag": self.tag}
        return {"path": self.path, "bytes": self.n_bytes, "sha256": checksum, **tag}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the work: of an input a range of its row groups or the whole, or the next documents of all inputs.

    Attributes
    ----------
    number
        A part keeps its number when inputs are added.
    source
        Absolute path of its file, "-", or "" for documents of all inputs.
    first, last
        First row group, and the one after the last; None for a whole file.
    share
        Part of the bytes of the file.
    """

    number: int
    source: str = ""
    first: int | None = None
    last: int | None = None
    share: float = 1.0

    @property
    def groups(self) -> range | None:
        """The row groups, or None for a whole file."""
        return None if self.first is None or self.last is None else range(self.first, self.last)

    def __str__(self) -> str:
        groups = "" if self.groups is None else f", row groups {self.first} to {self.groups[-1]}"
        return f"part {self.number} ({os.path.basename(self.source)}{groups})"


@dataclass(frozen=True)
class Plan:
    """Everything on which the results of a run depend, and its parts.

    Attributes
    ----------
    settings, free
        The options by name, as JSON values: those on which results depend, and those that may change.
    contents
        Place and checksum of what some options name, such as a rule or a model, by their names.
    inputs
        Files in the order given.
    parts
        Known before the work; None where they follow from the documents that are read.
    versions
        Of libraries.
    excluded
        Numbers of lines or rows of a part that are not counted, by its number.
    stopped
        Whether an invalid document stopped the run, so that the inputs may be corrected.
    """

    settings: Mapping[str, Any]
    free: Mapping[str, Any]
    contents: Mapping[str, Any]
    inputs: tuple[InputFile, ...]
    parts: tuple[Part, ...] | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    excluded: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)
    stopped: bool = False
    corefsample: str = dataclasses.field(default_factory=lambda: corefsample.__version__)

    UNSET: ClassVar[Mapping[str, str]] = {}  # what None stands for, by option

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"format": _FORMAT, **json.loads(json.dumps(dataclasses.asdict(self)))}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The plan that `to_json` described; raises ValueError, TypeError or KeyError for anything else."""
        fields = dict(content)
        if fields.pop("format") != _FORMAT:
            raise ValueError("another format")
        parts = fields.pop("parts")
        return cls(
            inputs=tuple(InputFile(**each) for each in fields.pop("inputs")),
            parts=None if parts is None else tuple(Part(**each) for each in parts),
            **fields,
        )

    def digest(self, part: Part) -> str:
        """SHA-256 of everything on which the result of a part depends, the content of its input apart."""
        excluded = list(self.excluded.get(str(part.number), ()))
        content = [_FORMAT, self.settings, self.contents, self.corefsample, dataclasses.astuple(part), excluded]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def stops(self) -> bool:
        """Whether the first bad document is an error."""
        return bool(self.free["on_error"] == "stop")

    @property
    def can_be_resumed(self) -> bool:
        """Whether all inputs can be read again."""
        return all(file.path != STANDARD_INPUT for file in self.inputs)

    def input_of(self, part: Part) -> InputFile:
        """The file of a part."""
        return next(each for each in self.inputs if each.absolute == part.source)

    def in_order(self) -> list[Part]:
        """The parts in the order of the inputs, of one that is given twice where it is first."""
        index = {each.absolute: -i for i, each in enumerate(reversed(self.inputs))}
        return sorted(self.parts or (), key=lambda each: (index[each.source], each.first or 0))

    @property
    def n_bytes(self) -> int:
        """Bytes of all inputs."""
        return sum(each.n_bytes for each in self.inputs)


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


def described_input(file: InputFile) -> Change:
    """An input whose content has changed."""
    rule = "file must be as it was when the unfinished run began, got other content"
    return Change(f"other content of {file.path}", rule, place=file.path)


def changes(earlier: Plan, plan: Plan) -> list[Change]:
    """What changed since an earlier run, the content of its inputs apart; added inputs are no change."""
    found = []
    for name, value in earlier.settings.items():
        now = plan.settings.get(name)
        if value != now:
            was, got = (_shown(each, plan.UNSET.get(name)) for each in (value, now))
            rule = f"must be {was} as in the unfinished run, got {got}"
            found.append(Change(f"{name} {value}, not {now}", rule, parameter=name))
    for name, content in earlier.contents.items():
        now = plan.contents.get(name)
        if content != now and earlier.settings.get(name) == plan.settings.get(name):
            rule = f"{name} must be as it was when the unfinished run began, got other content"
            place = _shown(now[0], None) if now and now[0] else f"the {name} of the package"
            found.append(Change(f"another content of the {name}", rule, place=place))
    if earlier.corefsample != plan.corefsample:
        what = f"corefsample {earlier.corefsample}, not {plan.corefsample}"
        rule = f"must be run by corefsample {earlier.corefsample}, which began it, got {plan.corefsample}"
        found.append(Change(what, f"unfinished run {rule}"))
    return found + _changed_list(earlier, plan)


def _changed_list(earlier: Plan, plan: Plan) -> list[Change]:
    """Inputs that are missing; where parts follow from the documents, any other list of inputs."""
    given = [each.absolute for each in plan.inputs]
    rule = "file must be among the inputs, as when the unfinished run began"
    found = [
        Change(f"the input {file.path}", rule, place=file.path) for file in earlier.inputs if file.absolute not in given
    ]
    if not found and plan.parts is None and given != [each.absolute for each in earlier.inputs]:
        rule = "must be the same files in the same order as in the unfinished run"
        found.append(Change("other inputs", f"{rule}, got others", parameter="inputs"))
    return found


def _shown(value: Any, unset: str | None) -> str:
    if unset is not None and not value:
        return unset
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else "none" if value is None else str(value)
