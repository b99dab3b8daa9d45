"""Where a preset of a rule lacks a path in a dependency scheme."""

from __future__ import annotations

import os
from dataclasses import dataclass

from corefsample.syntax import SCHEMES
from events.rules._format import RuleFile
from events.rules._rules import rule_file


@dataclass(frozen=True, slots=True)
class PathGap:
    """A named path that a preset uses and that is empty in a scheme, so that it never matches documents of it.

    Attributes
    ----------
    preset, scheme
        The preset and the scheme.
    use
        What the path is for: "described", or the role, with its frame where the file has frames.
    path
        Name of the path.
    """

    preset: str
    scheme: str
    use: str
    path: str

    def __str__(self) -> str:
        return f"{self.path} ({self.use})"


def path_gaps(rule: str | os.PathLike[str]) -> list[PathGap]:
    """All named paths of a rule's presets that are empty in a scheme; parameters and errors as in `load_rules`."""
    file, _ = rule_file(rule)
    return [
        PathGap(preset, scheme, use, path)
        for preset in file.presets
        for use, path in _used(file, preset)
        for scheme in SCHEMES
        if not _has(file, path, scheme)
    ]


def _used(file: RuleFile, preset: str) -> dict[tuple[str, str], None]:
    """Uses and names of paths of a preset, each once."""
    chosen = file.resolved(preset)
    used = {("described", path): None for path in chosen.described or ()}
    for frame in file.all_frames():
        if chosen.frames is not None and frame.name not in chosen.frames:
            continue
        for role, paths in {**(chosen.roles or {}), **frame.roles}.items():
            use = f"{role}, frame {frame.name}" if file.frames else role
            used |= {(use, path): None for path in paths}
    return used


def _has(file: RuleFile, path: str, scheme: str) -> bool:
    return bool(file.paths[path].get(scheme)) if path in file.paths else path in SCHEMES[scheme].paths
