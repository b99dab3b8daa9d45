"""The beginning of a run: a new plan, or that of an earlier run with the partitions that are still to be computed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from corefsample.files import PathLike, is_url
from events.runs._plan import changes
from events.runs._run import begun, missing_parts
from events.runs._store import Places, Store, writing
from events.runs.counting._options import CountOptions, EventsResult
from events.runs.counting._plan import RunPlan, planned, with_partitions
from events.runs.counting._run_folder import RunFolder

__all__ = ["begin_run", "finished_summary", "initialise_run"]


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
