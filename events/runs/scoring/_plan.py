"""The plan of a scoring run: everything on which the scores depend."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from events.runs._plan import InputFile, Plan
from events.runs.scoring._workers import Scorer

__all__ = ["DOCUMENTS_A_PART", "ScorePlan", "planned"]

DOCUMENTS_A_PART = 16
_FREE = ("clusters", "on_error")


@dataclass(frozen=True)
class ScorePlan(Plan):
    """Everything on which scores depend; a part is a fixed number of documents that are read, good and bad."""


def planned(paths: list[str], scorer: Scorer) -> ScorePlan:
    """Make the plan of a new run."""
    described = scorer.described()
    settings = {**dataclasses.asdict(scorer.options), "documents_a_part": DOCUMENTS_A_PART}
    free = {name: settings.pop(name) for name in _FREE}
    contents = {name: [settings.get(name), content] for name, content in described.items() if name != "corefsample"}
    inputs = tuple(InputFile.of(path, checksum=True) for path in paths)
    return ScorePlan(settings, free, json.loads(json.dumps(contents)), inputs)
