"""The plan of a scoring run: everything on which the scores depend."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import ClassVar

from events.jobs.scoring._workers import Scorer
from events.runs import InputFile, Plan

__all__ = ["DOCUMENTS_A_PART", "ScorePlan", "planned"]

DOCUMENTS_A_PART = 16


@dataclass(frozen=True)
class ScorePlan(Plan):
    """Everything on which scores depend; a part is a fixed number of documents that are read, good and bad."""

    FREE: ClassVar[frozenset[str]] = Plan.FREE | {"clusters"}


def planned(paths: list[str], scorer: Scorer) -> ScorePlan:
    """Make the plan of a new run."""
    described = scorer.described()
    settings = {**dataclasses.asdict(scorer.options), "documents_a_part": DOCUMENTS_A_PART}
    contents = {name: [settings.get(name), content] for name, content in described.items() if name != "corefsample"}
    inputs = tuple(InputFile.of(path, checksum=True) for path in paths)
    return ScorePlan(json.loads(json.dumps(settings)), json.loads(json.dumps(contents)), inputs)
