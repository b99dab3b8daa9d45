"""The files of a finished events run, read and checked for a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample._checks import shown
from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._folders import FolderCopy
from events.counting._count_posterior import checked_table, read_counts, read_samples
from events.counting._evidence import evidence_schema
from events.counting._tables import Columns, row_names
from events.counting._tally import exclusion_texts, merging_text

_EVIDENCE = ("doc_id", "date", "period", "probability", "mc_se", "one_best", "places")
_FILES = ("run.json", "counts.parquet", "evidence.parquet", "documents.parquet")
ALL_DOCUMENTS = "all_documents.parquet"  # runs of earlier versions have none
_SAMPLES = "count_samples.parquet"  # needed of runs whose documents share the uncertainty of a recalibration
_DEEPEST = 20  # containers around each other in the record


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRun:
    """The files of a finished run that a report needs.

    Attributes
    ----------
    folder
        Folder of the run; of one at a URL the local copy, which is gone after reading.
    record
        Content of run.json.
    counts, evidence
        Content of counts.parquet and evidence.parquet, with the column `name`: that of each row's event and
        actors.
    samples
        The same of count_samples.parquet, where documents share the uncertainty of a recalibration; else None.
    """

    folder: Path
    record: dict[str, Any]
    counts: pd.DataFrame
    evidence: pd.DataFrame
    samples: pd.DataFrame | None = None


def read_run(folder: FolderCopy) -> FinishedRun:
    """Read the tables of a finished run.

    Parameters
    ----------
    folder
        Folder written by `events.commands.run_events`, opened.

    Raises
    ------
    InputError
        If it is not such a folder, or a file in it is missing or damaged.
    """
    path, place = Path(folder), str(folder)
    inner = path / "run"  # a demo's run is a folder in the demo's
    hint = f"did you mean {inner}?" if (inner / "run.json").is_file() else "`corefsample events` makes one"
    if not path.is_dir():
        kind = "a file" if path.exists() else "none"
        raise InputError(f"input must be the folder of a finished events run, got {kind}", place=place, hint=hint)
    for name in _FILES:
        if not (path / name).is_file():
            files = ", ".join(_FILES)
            raise InputError(f"a finished events run must have {files}, got no {name}", place=place, hint=hint)
    record = _record(path / "run.json")
    counts = read_counts(path)
    named = ("event", *Columns.of_roles(counts.columns))
    evidence = checked_table(str(path / "evidence.parquet"), (*named, *_EVIDENCE), evidence_schema(named[1:]))
    several = len(counts["event"].unique()) > 1

    def with_names(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(name=row_names(table[[*named, "period"]], several=several, like=counts))

    sampled = None
    is_shared = "uncertainty" in counts and bool(counts["uncertainty"].ne("none").any())
    if is_shared and (path / _SAMPLES).is_file():
        sampled = with_names(read_samples(str(path / _SAMPLES), named, record["arguments"]["n_samples"]))
    run = FinishedRun(
        path, record, counts.assign(name=row_names(counts, several=several)), with_names(evidence), sampled
    )
    unknown = set(run.evidence["name"]) - set(run.counts["name"])
    unknown |= set(run.evidence["period"]) - set(run.counts["period"])
    if unknown:
        names = ", ".join(sorted(unknown)[:3])
        raise InputError(f"evidence must have only actors and periods of the counts, got {names}", place=place)
    return run


def is_needed(name: str) -> bool:
    """Whether a report needs a file of the run, by its path in the folder."""
    return name.removeprefix("run/") in (*_FILES, ALL_DOCUMENTS, _SAMPLES)


def _record(path: Path) -> dict[str, Any]:
    place = str(path)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(record, ensure_ascii=False).encode()  # lone surrogates raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"record must be readable JSON, got: {error}", place=place) from None
    if _depth(record) > _DEEPEST:
        raise InputError(f"record must be nested at most {_DEEPEST} deep, got more", place=place)
    for section, keys in _RECORD.items():
        content = record.get(section) if isinstance(record, dict) else None
        if not isinstance(content, dict) or not all(key in content for key in keys):
            missing = f"{section} with {', '.join(keys) or 'names of actors by code'}"
            rule = "record must be that of this version's events runs"
            raise InputError(f"{rule}, got no {missing}", place=place)
        for key, is_valid in keys.items():
            if not is_valid(content[key]):
                raise InputError(f"{section}.{key} must be as a run writes it, got {shown(content[key])}", place=place)
    texts: dict[str, Any] = {"merged_actors": merging_text, "triggers": exclusion_texts}
    for key, text_of in texts.items():
        try:
            if record["summary"].get(key) is not None:
                text_of(record["summary"][key])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"summary.{key} must be as a run writes it, got {error!r}", place=place) from None
    return dict(record)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0.0 < value < 1.0


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


_RECORD: dict[str, dict[str, Callable[[object], bool]]] = {
    "arguments": {"period": _is_text, "n_samples": _is_count, "level": _is_share, "interval": _is_text},
    "rule": {"name": _is_text, "preset": _is_text},
    "summary": {"n_documents": _is_count, "n_sampled": _is_count, "periods": _is_pair},
    "names": {},
}


def _depth(content: object) -> int:
    """Number of containers around the innermost value; without recursion."""
    depth, level = 0, [content]
    while level:
        inner = [each for each in level if isinstance(each, (dict, list))]
        level = [value for each in inner for value in (each.values() if isinstance(each, dict) else each)]
        depth += bool(inner)
    return depth
