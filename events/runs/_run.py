"""A run in parts: it locks its place, continues what an earlier one left, and says what it leaves."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeVar

from corefsample.errors import CorefsampleError, InputError, ParameterError, ParameterHint
from corefsample.files._digests import sha256
from corefsample.files._locks import LOCK_NAME, lock_file
from corefsample.files._paths import PathLike
from events.runs._plan import RESTART, Change, InputFile, Part, Plan, changes, described_input
from events.runs._store import Places, Store, writing

P = TypeVar("P", bound=Plan)
Divided = Callable[[P, Sequence[InputFile], int], P]


@contextmanager
def working_in(out: PathLike) -> Iterator[Places]:
    """Lock the place of a run; after an error, remove what it made, but keep complete parts, and say so.

    Raises
    ------
    ParameterError
        If another run works there.
    OutputError
        If something cannot be written.
    KeyboardInterrupt
        With a message about the parts that an interrupted run left.
    """
    places = Places(os.fspath(out))
    parent = places.out.parent
    made = [each for each in (parent, *parent.parents) if not each.exists()]
    try:
        with writing(places):
            parent.mkdir(parents=True, exist_ok=True)
        with _only_run(places):
            try:
                with writing(places):
                    places.settle()
                yield places
            except BaseException as error:
                message = _left(places)
                if isinstance(error, KeyboardInterrupt) and message:
                    raise KeyboardInterrupt(message) from None
                raise
    except BaseException:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


@contextmanager
def _only_run(places: Places) -> Iterator[None]:
    """Keep other runs out.

    The lock is the file .NAME.lock beside the output, because that is made or replaced meanwhile; within it if nothing
    can be written beside it, and there is none if nothing can be written there either.
    """
    path = places.out
    with ExitStack() as held:
        for place in (path.parent / f".{path.name}{LOCK_NAME}", path / LOCK_NAME) if places.given else ():
            with suppress(OSError):
                held.enter_context(lock_file(str(place), places.given))
                break
        yield


def _left(places: Places) -> str:
    """Discard an unfinished run without a complete part that has documents; describe what any other left."""
    store = places.unfinished()
    if store is None:
        return ""
    try:
        plan = store.plan(Plan)
    except CorefsampleError:
        return ""
    complete = store.records(plan, verify=False).values()
    if not plan.can_be_resumed or not any(record["documents"] for record in complete):
        places.discard()
        return ""
    n_parts = "" if plan.parts is None else f" of {len(plan.parts)}"
    return (
        f"interrupted with {len(complete)}{n_parts} parts complete, which are in {os.path.relpath(store.path)}; "
        "the same command resumes"
    )


def begun(
    places: Places,
    plan: P,
    divided: Divided[P] | None = None,
    *,
    is_folder: bool = False,
    overwrite: bool = False,
    restart: bool = False,
) -> tuple[Store, P]:
    """Continue an earlier run, or begin a new one.

    Parameters
    ----------
    places
        Of the run.
    plan
        Of what is asked for, with all its parts.
    divided
        Adds the parts of some files, with numbers above another, to a plan; None if no files can be added.
    is_folder
        Whether the output is a folder, in which parts can be.
    overwrite
        Whether a finished run may be replaced by a different one.
    restart
        Whether to discard the parts of an unfinished run.

    Raises
    ------
    ParameterError, InputError
        If the earlier run had another plan.
    """
    with writing(places):
        if restart:
            places.discard()
        store = places.unfinished()
        if store is not None and store.grows and (overwrite or not _continues(store, plan)):
            places.discard()  # a growth that failed: the finished run is as it was
            store = None
        if store is None and not overwrite:
            store = places.finished()
        before = None if store is None else _readable(store, type(plan), places)
        if store is None or before is None or not before.can_be_resumed:
            store = places.new(is_folder=is_folder)
        else:
            plan = _continued(before, plan, store, places, divided)
            store = store.growing() if store.path == places.kept else store
        store.write_plan(plan)
        return store, plan


def _continues(store: Store, plan: Plan) -> bool:
    """Whether a plan continues that of a store."""
    try:
        before = store.plan(type(plan))
    except InputError:
        return False
    return not changes(before, plan) and not _compared(before, plan, store)[1]


def _readable(store: Store, kind: type[P], places: Places) -> P | None:
    """The plan of an earlier run; None if it cannot be read and is only that of a finished one."""
    try:
        return store.plan(kind)
    except InputError as error:
        if store.path == places.kept:
            return None
        raise InputError(error.message, place=error.place, hint=RESTART) from None


def _continued(before: P, plan: P, store: Store, places: Places, divided: Divided[P] | None) -> P:
    """The plan of an earlier run with the inputs that were added, or raise if anything else changed."""
    is_finished = store.path == places.kept and not store.grows
    before = dataclasses.replace(before, stopped=before.stopped and not is_finished)
    same, changed = _compared(before, plan, store)
    found = changes(before, plan) + changed
    if found and store.path == places.kept:
        rule = "must be a new or empty folder, or that of the same run"
        what = f"{places.given} of a run with {found[0].what}"
        raise ParameterError(f"{rule}, got {what}", parameter="out", hint=ParameterHint("overwrite", "replaces it"))
    if found:
        kind = InputError if found[0].parameter is None else ParameterError
        place = found[0].place or str(store.path)
        raise kind(found[0].rule, parameter=found[0].parameter, place=place, hint=RESTART)
    kept = dataclasses.replace(plan, excluded=before.excluded, parts=before.parts, stopped=before.stopped)
    if divided is None or before.parts is None:
        return kept
    now = [file.absolute for file in plan.inputs]
    if [file.absolute for file in before.inputs] != [path for path in now if path in same]:
        # Documents were excluded because of an earlier one, which may now be a later one, or gone.
        kept = dataclasses.replace(kept, excluded={})
    added = [file for file in plan.inputs if file.absolute not in same]
    kept = dataclasses.replace(kept, parts=tuple(each for each in before.parts if each.source in same))
    return divided(kept, added, max([store.highest(), *(each.number for each in before.parts)]))


def _compared(before: Plan, plan: Plan, store: Store) -> tuple[set[str], list[Change]]:
    """The inputs whose parts stay, and what must not have changed: the content of those with complete parts.

    A new time alone is no change if the checksum is that of the complete parts. Inputs that changed before any of their
    parts was complete, or after an invalid document had stopped the run, or that are given another number of times,
    are divided anew, like added ones.
    """
    now = {file.absolute: file for file in plan.inputs}
    times = Counter(file.absolute for file in plan.inputs)
    times.subtract(file.absolute for file in before.inputs)
    same, found = set(), []
    for file in before.inputs:
        current = now.get(file.absolute)
        if current is None:
            continue
        is_same = file.is_same(current)
        recorded = None if is_same else _recorded(before, file, store)
        if is_same or (recorded is not None and recorded == {_content(file, current)}):
            same |= set() if times[file.absolute] else {file.absolute}
        elif recorded is not None and not before.stopped:
            found.append(described_input(file))
    return same, found


def _content(file: InputFile, current: InputFile) -> str:
    """Checksum of a file as it is now, or "" if its size has changed."""
    return current.sha256 or sha256(file.absolute) if current.n_bytes == file.n_bytes else ""


def _recorded(plan: Plan, file: InputFile, store: Store) -> set[str] | None:
    """Checksums of a file in the records of its complete parts, or in the plan; None if no part is complete."""
    if plan.parts is None:
        return {file.sha256 or ""}
    records = [store.record(each, verify=False) for each in plan.parts if each.source == file.absolute]
    complete = [record for record in records if record is not None]
    return {record["input"]["sha256"] for record in complete} - {None} if complete else None


def missing_parts(store: Store, plan: Plan) -> list[Part]:
    """The parts that are not complete, in the order of the inputs.

    Of a run that now stops at the first bad document, those with documents set aside are not complete.
    """
    found = store.records(plan)
    return [each for each in plan.in_order() if each.number not in found or must_stop(plan, found[each.number])]


def must_stop(plan: Plan, record: dict[str, object]) -> bool:
    """Whether a complete part has documents set aside, in a run that now stops at the first one."""
    return plan.stops and bool(record["quarantined"])
