"""The beginning of a run: a new plan, or that of an earlier run with the partitions that are still to be computed."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files import PathLike, sha256
from events.counting import Calendar, EventKey, check_examples, event_key, event_name
from events.jobs._run_folder import RunFolder
from events.jobs.partitions._options import EventsOptions, RunSummary
from events.jobs.partitions._plan import (
    RESTART,
    STANDARD_INPUT,
    Change,
    InputFile,
    RunPlan,
    changes,
    planned,
    with_partitions,
)
from events.jobs.partitions._store import Places, Store, opened_run, pull_results, writing
from events.lexicon import Lexicon, load_lexicon
from events.matching import check_classes
from events.rules import Rule, load_rules

__all__ = [
    "compared_keys",
    "discard_unfinished",
    "finished_summary",
    "initialise_run",
    "loaded_rules",
    "missing_partitions",
]


def initialise_run(
    inputs: PathLike | Iterable[PathLike],
    folder: PathLike,
    options: EventsOptions | None = None,
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
        Folder of the run, or its URL.
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
    options = options or EventsOptions()
    Calendar(options.period)
    rules, lexicon = loaded_rules(options)
    for rule in rules:
        compared_keys(options, rule, lexicon)
    with opened_run(folder) as run:
        pull_results(run)
        RunFolder(run, overwrite=True)  # raises for a folder with other files
        places = Places.of(run)
        with writing(run):
            places.settle()
            if restart:
                discard_unfinished(run)
            earlier = _earlier(places, overwrite=overwrite)
            if earlier is None:
                RunFolder(run, overwrite=overwrite)  # raises for a folder with a finished run
                plan = planned(inputs, options)
                store = places.new()
            else:
                store, before = earlier
                plan = _continued(before, planned(inputs, options), store, run, is_kept=store.path == places.kept)
            store.write_plan(plan)
            run.push()
        return missing_partitions(store, plan)


def _earlier(places: Places, *, overwrite: bool) -> tuple[Store, RunPlan] | None:
    """The partitions with which to continue: of an unfinished run, or of the finished one if it is not replaced."""
    store = places.unfinished()
    if store is None and not overwrite:
        store = places.any()
    if store is None:
        return None
    try:
        plan = store.plan()
    except InputError as error:
        if store.path == places.kept:
            return None
        raise InputError(error.message, place=error.place, hint=RESTART) from None
    if any(file.path == STANDARD_INPUT for file in plan.inputs):
        return None
    return store, plan


def _continued(before: RunPlan, plan: RunPlan, store: Store, folder: PathLike, *, is_kept: bool) -> RunPlan:
    """The plan of an earlier run with the inputs that were added, or raise if anything else changed."""
    found = changes(before, plan) + _changed_inputs(before, plan, store)
    if found and is_kept:
        hint = ParameterHint("overwrite", "replaces it")
        rule = "must be a new or empty folder, or that of the same run"
        found_what = f"{os.fspath(folder)} of a run with {found[0].what}"
        raise ParameterError(f"{rule}, got {found_what}", parameter="out", hint=hint)
    if found:
        kind = InputError if found[0].parameter is None else ParameterError
        place = found[0].place or str(store.path)
        raise kind(found[0].rule, parameter=found[0].parameter, place=place, hint=RESTART)
    now = {file.absolute: file for file in plan.inputs}
    # Files that changed before any of their partitions was complete are divided anew, like added ones.
    same = {
        file.absolute
        for file in before.inputs
        if _is_same(file, now[file.absolute]) or _has_complete(before, file, store)
    }
    added = [file for file in plan.inputs if file.absolute not in same]
    partitions = tuple(each for each in before.partitions if each.source in same)
    most = max((each.number for each in before.partitions), default=0)
    kept = dataclasses.replace(
        before, options=plan.options, inputs=plan.inputs, versions=plan.versions, partitions=partitions
    )
    return with_partitions(kept, added, most)


def _is_same(file: InputFile, other: InputFile) -> bool:
    return (file.n_bytes, file.changed) == (other.n_bytes, other.changed)


def _has_complete(plan: RunPlan, file: InputFile, store: Store) -> bool:
    """Whether a partition of a file is complete."""
    return any(store.record(each, verify=False) is not None for each in plan.partitions if each.source == file.absolute)


def _changed_inputs(before: RunPlan, plan: RunPlan, store: Store) -> list[Change]:
    """Inputs with other content: another size, or another time and not the checksum of a complete partition."""
    now = {file.absolute: file for file in plan.inputs}
    found = []
    for file in before.inputs:
        current = now.get(file.absolute)
        if current is None or _is_same(file, current) or not _has_complete(before, file, store):
            continue
        if current.n_bytes != file.n_bytes or not _has_recorded_content(before, current, store):
            rule = "file must be as it was when the unfinished run began, got other content"
            found.append(Change(f"other content of {file.path}", rule, place=file.path))
    return found


def _has_recorded_content(before: RunPlan, file: InputFile, store: Store) -> bool:
    """Whether the checksum of a file is in the record of a complete partition of it."""
    records = (store.record(each, verify=False) for each in before.partitions if each.source == file.absolute)
    known = {record["input"]["sha256"] for record in records if record is not None} - {None}
    return bool(known) and known == {sha256(file.absolute)}


def missing_partitions(store: Store, plan: RunPlan) -> tuple[int, ...]:
    """Numbers of the partitions that are not complete, in the order of the inputs."""
    found = store.records(plan)
    return tuple(
        each.number for each in plan.in_order() if each.number not in found or _is_incomplete(plan, found[each.number])
    )


def _is_incomplete(plan: RunPlan, record: dict[str, Any]) -> bool:
    """Whether a complete partition has documents set aside, in a run that now stops at the first one."""
    return plan.options.on_error == "stop" and bool(record["quarantined"])


def finished_summary(inputs: Any, folder: PathLike, options: EventsOptions) -> RunSummary | None:
    """Summary of the finished run in a folder, if it had the same inputs and options and its files are there."""
    with opened_run(folder) as run:
        places = Places.of(run)
        with writing(run):
            places.settle()
            run.push()
        if places.unfinished() is not None or not (places.kept / "plan.json").is_file():
            return None
        try:
            record = json.loads((places.out / RunFolder.RECORD).read_text(encoding="utf-8"))
            plan, files = record["partitions"]["plan"], record["files"]
            before = Store(places.kept).plan()
            now = planned(inputs, options)
            if plan != Store(places.kept).plan_sha256() or changes(before, now):
                return None
            if {*before.inputs} != {*now.inputs} or before.options.on_error != options.on_error:
                return None
            if any((places.out / name).stat().st_size != n_bytes for name, n_bytes in files.items()):
                return None
            summary = dict(record["summary"])
            fields = {**summary, "out": run.given, "n_computed": 0}
            return RunSummary(**{**fields, "actors": tuple(fields["actors"]), "periods": tuple(fields["periods"])})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def discard_unfinished(folder: PathLike, *, unless_complete: bool = False) -> bool:
    """Remove the partitions of an unfinished run, if there are any; return whether none is left.

    Parameters
    ----------
    folder
        Folder of the run.
    unless_complete
        Whether to keep them if one with documents is complete.
    """
    with opened_run(folder) as run:
        places = Places.of(run)
        store = places.unfinished()
        if store is not None and unless_complete:
            with suppress(InputError):
                if any(record["documents"] for record in store.records(store.plan(), verify=False).values()):
                    return False
        for path in (places.beside, places.within):
            shutil.rmtree(path, ignore_errors=True)
        run.push()
        return True


def loaded_rules(options: EventsOptions) -> tuple[tuple[Rule, ...], Lexicon]:
    """The rules and the lexicon of a run, checked.

    Raises
    ------
    ParameterError, InputError
        If one cannot be loaded, an example fails, two rules have one name, or a rule has a class that is unknown.
    """
    lexicon = load_lexicon(options.lexicon)
    rules = tuple(load_rules(rule, options.preset) for rule in options.rules)
    for i, rule in enumerate(rules):
        if rule.name in [other.name for other in rules[:i]]:
            raise ParameterError(f"must be rules of different names, got {rule.name!r} twice", parameter="rule")
        check_classes(rule, lexicon)
        check_examples(rule, lexicon)
    return rules, lexicon


def compared_keys(options: EventsOptions, rule: Rule, lexicon: Lexicon) -> list[EventKey]:
    """Keys of the events to compare: each as many codes as the rule has roles, all in the lexicon."""
    return [_compared_key(name, rule, lexicon) for name in options.compare or ()]


def _compared_key(name: str, rule: Rule, lexicon: Lexicon) -> EventKey:
    key = event_key(name)
    if not rule.event:
        raise ParameterError(f"must have a rule with roles, got the rule {rule.name} without", parameter="compare")
    if len(key) != len(rule.event):
        shape = event_name(("AAA", "BBB")[: len(rule.event)])
        raise ParameterError(f"must name events of the rule {rule.name} ({shape}), got {name!r}", parameter="compare")
    for code, role in zip(key, rule.event, strict=True):
        if not code and role in rule.optional:
            continue
        try:
            lexicon.require(code)
        except ParameterError as error:
            message = f"must name {lexicon.noun} of the lexicon, got {code!r}"
            raise ParameterError(message, parameter="compare", hint=error.hint) from None
    return key
