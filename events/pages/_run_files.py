"""The files of a finished events run, read and checked for a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from events.counts._run_tables import (
    SAMPLES,
    run_table,
    verified_record,
    verify_table,
)
from events.evidence._columns import Columns, row_names
from events.rule_error._counts import READER

_EVIDENCE = ("doc_id", "date", "period", "probability", "mc_se", "one_best", "places")
ALL_DOCUMENTS = "all_documents.parquet"
_FILES = ("run.json", "counts.parquet", "evidence.parquet", "documents.parquet", ALL_DOCUMENTS)
_SAMPLES = "count_samples.parquet"  # needed of runs whose documents share the uncertainty of a recalibration


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRun:
    """The files of a finished run that a report needs.

    Attributes
    ----------
    folder
        Folder of the run.
    record
        Content of run.json.
    counts, evidence
        Content of counts.parquet and evidence.parquet, with the column `name`: that of each row's event and
        actors.
    samples
        Content of count_samples.parquet with the column `name`, if documents share the uncertainty of a recalibration;
        None otherwise.
    """

    folder: Path
    record: dict[str, Any]
    counts: pd.DataFrame
    evidence: pd.DataFrame
    samples: pd.DataFrame | None = None


def read_run(folder: PathLike) -> FinishedRun:
    """Read the tables of a finished run.

    Parameters
    ----------
    folder
        Folder written by `events.commands.run_events`.

    Raises
    ------
    InputError
        If the folder is not that of a finished run, or if a file in it is missing or damaged.
    """
    path, location = Path(folder), str(folder)
    inner = path / "run"  # a demo's run is a folder in the demo's
    hint = f"did you mean {inner}?" if (inner / "run.json").is_file() else "`corefsample events` makes one"
    if not path.is_dir():
        kind = "a file" if path.exists() else "a folder that does not exist"
        raise InputError(f"input must be the folder of a finished events run, got {kind}", place=location, hint=hint)
    for name in _FILES:
        if not (path / name).is_file():
            files = ", ".join(_FILES)
            raise InputError(f"a finished events run must have {files}, got no {name}", place=location, hint=hint)
    record = verified_record(path)
    verify_table(path / "documents.parquet")
    counts = run_table(path, "counts")
    named = ("event", *Columns.of_roles(counts.columns))
    readers = () if record["summary"].get("rule_error") is None else READER
    evidence = run_table(path, "evidence", (*named, *_EVIDENCE, *readers))
    has_several_events = len(counts["event"].unique()) > 1

    def with_names(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(name=row_names(table[[*named, "period"]], full=has_several_events, like=counts))

    sampled = None
    is_shared = "uncertainty" in counts and bool(counts["uncertainty"].ne("none").any())
    if is_shared and (path / _SAMPLES).is_file():
        sampled = with_names(run_table(path, SAMPLES))
    return FinishedRun(
        path, record, counts.assign(name=row_names(counts, full=has_several_events)), with_names(evidence), sampled
    )
