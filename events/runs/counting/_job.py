"""The batch job: counts events in pre-scored mention files and writes a folder of counts, evidence and pictures."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corefsample._log import logger
from corefsample._processors import one_processor_left
from corefsample.errors import ParameterError
from corefsample.files._folders import opened_folder
from corefsample.files._paths import PathLike, path_list
from corefsample.files._remote_services import is_url
from events.counting._tables import event_key
from events.lexicon._file import SHIPPED, SHIPPED_LEXICONS
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.rules._rules import Rule
from events.runs._engines import Engine
from events.runs._plan import STANDARD_INPUT, Part, changes
from events.runs._run import begun, missing_parts, working_in
from events.runs._store import Places, Store, writing
from events.runs.counting._finalise import finalise_run
from events.runs.counting._options import CountOptions, EventsResult
from events.runs.counting._plan import RunPlan, planned, with_partitions
from events.runs.counting._run import run_partition
from events.runs.counting._run_folder import RunFolder

Progress = Callable[[int, int, int], None]


def count_events(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike,
    options: CountOptions | None = None,
    *,
    overwrite: bool = False,
    restart: bool = False,
    pictures: bool = True,
    workers: int | None = None,
    scheduler: str | None = None,
    on_progress: Progress | None = None,
) -> EventsResult:
    """Count events in pre-scored mention files and write the run's folder.

    The inputs are divided into partitions. An interrupted run leaves the complete ones, and the same call resumes it; a
    call with more inputs computes those and counts all. The files do not depend on the partitions, the processes, or
    the order of the documents. See docs/partitions.md.

    Parameters
    ----------
    inputs
        Files, URLs, globs, or "-" for JSON Lines on standard input; every document with a date and tokens.
    out
        Folder, or its URL, for counts, evidence, pictures and the run record; see the README for its files.
    options
        What to count.
    overwrite
        Whether an earlier run's folder may be replaced.
    restart
        Whether to discard the complete partitions of an interrupted run.
    pictures
        Whether to draw the bands, and the comparison.
    workers
        Number of processes; None or 1: this process alone, with threads.
    scheduler
        Address of an existing Dask scheduler, "tcp://...", whose workers see the same files.
    on_progress
        Called after each batch with the bytes read, the bytes of all files, and the documents counted.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, a document, a rule or lexicon file, or the folder breaks its rule, or another run works in the
        folder; then no folder is left, but the complete partitions are.
    """
    started = time.time()
    engine = Engine(workers, scheduler)
    _require_files(inputs, engine)
    plan = planned(inputs, options or CountOptions())
    with working_in(out) as places:
        finished = None if overwrite or restart else finished_summary(places, plan)
        if finished is not None:
            return finished
        store, plan = begin_run(places, plan, overwrite=overwrite, restart=restart)
        missing = missing_parts(store, plan)
        _compute(places, missing, engine, _Progress(store, plan, missing, on_progress))
        summary = finalise_run(out, pictures=pictures, started=started, n_computed=len(missing))
        with opened_folder(out, only=lambda name: name == "all_documents.parquet") as folder:
            warn_about_actors(folder, plan.definitions().rules, plan.definitions().lexicon)
        return summary


def _compute(places: Places, missing: list[Part], engine: Engine, progress: _Progress) -> None:
    """Compute the missing partitions."""

    def here(number: int) -> None:
        with one_processor_left():
            run_partition(places.given, number, on_progress=progress.within(number))

    elsewhere = partial(run_partition, places.out, threads=engine.threads)
    for number, _ in engine.results(elsewhere, [each.number for each in missing], here=here, are_small=True):
        progress.complete(number, report=not engine.is_here)


def _require_files(inputs: PathLike | Iterable[PathLike], engine: Engine) -> None:
    if not engine.is_here and STANDARD_INPUT in path_list(inputs):
        parameter = "workers" if engine.scheduler is None else "scheduler"
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)


class _Progress:
    """Adds up the progress of partitions."""

    def __init__(self, store: Store, plan: RunPlan, missing: list[Part], on_progress: Progress | None) -> None:
        self._store, self._plan, self._on_progress = store, plan, on_progress
        self._parts = {each.number: each for each in plan.partitions}
        self._n_bytes, self._n_documents = 0.0, 0
        for number in self._parts.keys() - {each.number for each in missing}:
            self.complete(number, report=False)

    def within(self, number: int) -> Callable[[int, int], None] | None:
        """Progress of a partition that runs in this process."""
        return None if self._on_progress is None else partial(self._report, self._bytes(number))

    def complete(self, number: int, *, report: bool) -> None:
        """Add a complete partition."""
        record = self._store.record(self._parts[number], verify=False) or {"documents": 0}
        self._n_bytes += self._bytes(number)
        self._n_documents += record["documents"]
        if report:
            self._report(0.0, 0, 0)

    def _bytes(self, number: int) -> float:
        part = self._parts[number]
        return part.share * self._plan.input_of(part).n_bytes

    def _report(self, most: float, n_read: int, n_documents: int) -> None:
        if self._on_progress is not None:
            n_bytes = min(int(self._n_bytes + min(n_read, most)), self._plan.n_bytes)
            self._on_progress(n_bytes, self._plan.n_bytes, self._n_documents + n_documents)


def initialise_run(
    inputs: PathLike | Iterable[PathLike],
    folder: PathLike,
    options: CountOptions | None = None,
    *,
    overwrite: bool = False,
    restart: bool = False,
) -> tuple[int, ...]:
    """Begin a run in partitions, or continue an earlier one; return the numbers of the partitions to be computed.

    The plan and the results of the partitions are kept in `folder`.partial, or in `folder`/unfinished if `folder`
    exists, and after `finalise_run` in `folder`/partitions. Call `run_partition` for each number, in any order and in
    any process, and then `finalise_run`.

    Parameters
    ----------
    inputs
        Files, globs, or "-" for JSON Lines on standard input, which is one partition and cannot be resumed. Files that
        an earlier run did not have are new partitions.
    folder
        Folder of the run, or its URL: its partitions are then in the current folder, under the last part of the URL.
    options
        What to count.
    overwrite
        Whether a finished run in the folder may be replaced by a different one.
    restart
        Whether to discard the partitions of an unfinished run.

    Raises
    ------
    ParameterError, InputError
        If an option, an input, a rule or a lexicon breaks its rule; if the folder is in use; or if an option, an input
        or the version differs from those of the unfinished run.
    OutputError
        If the folder cannot be written.
    """
    plan = planned(inputs, options or CountOptions())
    store, plan = begin_run(Places(os.fspath(folder)), plan, overwrite=overwrite, restart=restart)
    return tuple(each.number for each in missing_parts(store, plan))


def begin_run(places: Places, plan: RunPlan, *, overwrite: bool, restart: bool) -> tuple[Store, RunPlan]:
    """Continue the run of a folder, or begin a new one, as `initialise_run`."""
    with writing(places):
        earlier = places.unfinished() if is_url(places.given) else places.any()
        RunFolder(places.given, overwrite=overwrite or earlier is not None)  # raises for a folder with other files
    return begun(places, plan, with_partitions, is_folder=True, overwrite=overwrite, restart=restart)


def finished_summary(places: Places, now: RunPlan) -> EventsResult | None:
    """Summary of the finished run in a folder, if it had the same inputs and options and its files are there."""
    if is_url(places.given) or places.unfinished() is not None or not places.kept.exists():
        return None
    try:
        record = json.loads((places.out / RunFolder.RECORD).read_text(encoding="utf-8"))
        plan, files = record["partitions"]["plan"], record["files"]
        before = Store(places.kept).plan(RunPlan)
        if plan != Store(places.kept).plan_sha256() or changes(before, now):
            return None
        if {*before.inputs} != {*now.inputs} or before.options.on_error != now.options.on_error:
            return None
        if any((places.out / name).stat().st_size != n_bytes for name, n_bytes in files.items()):
            return None
        fields = {**record["summary"], "out": places.given, "n_computed": 0}
        return EventsResult(**{**fields, "actors": tuple(fields["actors"]), "periods": tuple(fields["periods"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found in all documents of a run.

    Attributes
    ----------
    n_documents, n_with_trigger, n_named
        Documents; those with a trigger of a rule; those with a word that may begin the name of an actor.
    actors
        Codes of actors that fill a role in some document.
    """

    n_documents: int
    n_with_trigger: int
    n_named: int
    actors: frozenset[str]


def warn_about_actors(folder: PathLike, rules: Sequence[Rule], lexicon: Lexicon) -> None:
    """Log what `actor_notes` finds in the folder of a finished run."""
    for note in actor_notes(rules, lexicon, inspected(folder)):
        logger("events").warning("%s", note)


def inspected(folder: PathLike) -> Inspected:
    """What a finished run found, from its table of all documents."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(Path(folder) / "all_documents.parquet", columns=["trigger", "actor", "actors"])
    events = pc.unique(pc.list_flatten(table["actors"])).to_pylist()
    return Inspected(
        len(table),
        pc.sum(table["trigger"]).as_py() or 0,
        pc.sum(table["actor"]).as_py() or 0,
        frozenset(code for event in events for code in event_key(event)) - {""},
    )


def actor_notes(rules: Sequence[Rule], lexicon: Lexicon, found: Inspected) -> list[str]:
    """Sentences about a lexicon that probably is not the one that the rules need.

    Parameters
    ----------
    rules, lexicon
        What was counted.
    found
        What was found in the documents.
    """
    notes = []
    with_roles = [rule for rule in rules if rule.event]
    if with_roles and not found.actors:
        names = ", ".join(rule.name for rule in with_roles)
        notes.append(
            f"no actor of the lexicon {lexicon.source} fills a role of {names} in any document; of "
            f"{found.n_documents:,} inspected, {found.n_named:,} have a word of an actor's name and "
            f"{found.n_with_trigger:,} a trigger: `corefsample doctor` "
            "with the rule and the lexicon counts what each of them finds"
        )
    for rule in with_roles:
        missing = _expected(rule) - set(lexicon.codes)
        if missing and lexicon.source == SHIPPED:
            codes = ", ".join(sorted(missing))
            others = [name for name in SHIPPED_LEXICONS if missing <= set(load_lexicon(name).codes)]
            other = f"the lexicon {others[0]} has them" if others else "give the lexicon that has them"
            notes.append(
                f"only countries can fill the roles of {rule.name}, whose examples have other actors ({codes}): {other}"
            )
    return notes


def _expected(rule: Rule) -> set[str]:
    """Codes of actors that the examples of the preset expect; "-" stands for none."""
    events = [event for example in rule.examples for event in example.expect.get(rule.preset, ())]
    return {code for event in events for code in event.split(">")} - {"-", ""}
