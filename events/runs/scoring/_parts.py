"""The parts of a scoring run: documents are read, scored, kept part by part, and joined."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from corefsample._log import logger
from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError
from corefsample.formats.scored._writing import QuarantineFile, write_documents
from corefsample.mention_ranking._model import ScoringTally
from events.news._quality import TextTally
from events.runs._document_inputs import DocumentInputs
from events.runs._engines import Engine
from events.runs._plan import InputFile, Part, Plan
from events.runs._run import must_stop
from events.runs._store import Places, Records, Store, writing
from events.runs.scoring._workers import Scored, Scorer, Task, add_tally, anywhere, score_task

__all__ = ["DOCUMENTS_A_PART", "JoinedParts", "ScorePlan", "joined_parts", "planned", "score_missing"]


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


_DOCUMENTS = "documents.parquet"

Progress = Callable[[int, int, int], None]


def score_missing(
    inputs: DocumentInputs,
    scorer: Scorer,
    places: Places,
    store: Store,
    plan: ScorePlan,
    *,
    engine: Engine,
    on_progress: Progress | None,
) -> int:
    """Score all documents that no complete part contains, and keep them as parts; return how many were scored before.

    Raises
    ------
    InputError
        If a document is bad and is not to be set aside.
    """
    known: Records = {n: record for n, record in store.records(plan).items() if not must_stop(plan, record)}
    n_known = n_done = sum(int(record["documents"]) for record in known.values())
    function = partial(score_task, anywhere(scorer.options), scorer.identity())
    tasks = _tasks(inputs, known, plan)
    for task, scored in engine.results(function, tasks, here=lambda task: scorer.score(task.items)):
        if scored.rejected and plan.stops:
            raise scored.rejected[0].error()
        with writing(places):
            store.compute(Part(task.number), partial(_kept, task, scored), plan)
        n_done += len(scored.documents)
        if task.number == 1 and len(task.items) == DOCUMENTS_A_PART:
            _warn_early(scored.texts)
        if on_progress is not None:
            on_progress(task.bytes_read, inputs.total_bytes, n_done)
    return n_known


def _tasks(inputs: DocumentInputs, known: Records, plan: ScorePlan) -> Iterator[Task]:
    """Cut the corpus into parts, always at the same documents, and leave the complete ones out."""
    documents = iter(inputs)
    for number in count(1):
        items = list(islice(documents, DOCUMENTS_A_PART))
        if number not in known and items:
            yield Task(number, items, inputs.bytes_read)
        elif number in known and len(items) != known[number]["read"]:
            rule = "inputs must not change during a run"
            raise InputError(f"{rule}, got other documents than before", place=", ".join(inputs.paths))
        if len(items) < DOCUMENTS_A_PART:
            return


def _kept(task: Task, scored: Scored, folder: Path) -> dict[str, Any]:
    """Write the documents of a part into its folder, and return its record."""
    if scored.documents:
        write_documents(scored.documents, folder / _DOCUMENTS)
    return {
        "read": len(task.items),
        "documents": len(scored.documents),
        "quarantined": len(scored.rejected),
        "tally": dataclasses.asdict(scored.tally),
        "texts": dataclasses.asdict(scored.texts),
        "rejected": [each.to_json() for each in scored.rejected],
    }


def _warn_early(texts: TextTally) -> None:
    """Say after the first part, before a long run is done, that most texts have no upper case."""
    if texts.n_lower_case > texts.n_texts / 2:
        rule = "of the first texts have no upper-case letter; taggers and parsers of English need upper case"
        logger("score").warning("%s of %s %s", texts.n_lower_case, texts.n_texts, rule)


@dataclass(slots=True)
class JoinedParts:
    """All parts of a run in order.

    Attributes
    ----------
    paths
        Their files of documents.
    tally, texts
        Counts of the scored documents, and of their texts.
    n_rejected, reasons
        Number of bad documents, and the messages of the first three.
    """

    paths: list[Path] = field(default_factory=list)
    tally: ScoringTally = field(default_factory=ScoringTally)
    texts: TextTally = field(default_factory=TextTally)
    n_rejected: int = 0
    reasons: list[str] = field(default_factory=list)


def joined_parts(store: Store, plan: ScorePlan, on_rejected: QuarantineFile | None) -> JoinedParts:
    """Add up the parts, and set their bad documents aside.

    Raises
    ------
    InputError
        If there is no good document.
    """
    result = JoinedParts()
    for record in store.records(plan, verify=False).values():
        if record["documents"]:
            result.paths.append(store.result(record) / _DOCUMENTS)
        add_tally(result.tally, ScoringTally(**record["tally"]))
        result.texts.add(TextTally(**record["texts"]))
        for rejected in map(_rejected, record["rejected"]):
            if on_rejected is not None:
                on_rejected(rejected)
            result.n_rejected += 1
            result.reasons += [rejected.message()] if len(result.reasons) < 3 else []
    if not result.paths:
        quarantined = f", {result.n_rejected} rejected, first: {result.reasons[0]}" if result.n_rejected else ""
        rule = "a corpus must have at least one document"
        raise InputError(f"{rule}, got none{quarantined}", place=", ".join(file.path for file in plan.inputs))
    return result


def _rejected(row: Mapping[str, str]) -> Rejected:
    return Rejected(row["source"], row["place"], None, row["doc_id"], row["reason"], row["document"])
