"""The finished parts of a scoring run, kept beside its output until it is complete, so that a run can be resumed.

The folder SCORED.parts contains manifest.json, which describes what the parts are made of, and two files for each part:
a Parquet file of scored documents, and a JSON file with its counts, its rejected documents, and the checksum of the
Parquet file. Each part is made of a fixed number of documents read. A part is finished when both files exist and agree.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample.documents import Rejected
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files import (
    LOCK_NAME,
    PARTIAL_PREFIX,
    local_name,
    lock_folder,
    remove_leftovers,
    sha256,
    unwritable,
    write_json,
)
from corefsample.formats import write_documents
from corefsample.mention_ranking import ScoringTally
from events.jobs.scoring._workers import Scored
from events.news import TextTally

__all__ = ["PARTS_SUFFIX", "FinishedPart", "Parts", "open_parts"]

PARTS_SUFFIX = ".parts"
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """Number of documents read for a part, good and bad, and the counts of the scored ones and of their texts."""

    n_read: int
    tally: ScoringTally
    texts: TextTally


class Parts:
    """The finished parts in the folder of one run; their rejected documents stay on the disk.

    Parameters
    ----------
    folder
        An existing folder.
    finished
        Finished parts by number.
    """

    def __init__(self, folder: Path, finished: Mapping[int, FinishedPart]) -> None:
        self.folder = folder
        self.finished = dict(finished)

    def rejected(self, number: int) -> Sequence[Rejected]:
        """Return the rejected documents of a finished part."""
        part = _read_part(_path(self.folder, number))
        return () if part is None else part[1]

    def add(self, number: int, n_read: int, scored: Scored) -> None:
        """Write a part; it is finished when its JSON file exists.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        path = _path(self.folder, number)
        write_documents(scored.documents, path, overwrite=True)
        content = {
            "n_read": n_read,
            "sha256": sha256(path),
            "tally": dataclasses.asdict(scored.tally),
            "texts": dataclasses.asdict(scored.texts),
            "rejected": [each.to_json() for each in scored.rejected],
        }
        write_json(path.with_suffix(".json"), content, indent=None)
        self.finished[number] = FinishedPart(n_read, scored.tally, scored.texts)

    def paths(self) -> list[Path]:
        """Files of all parts that contain a document, in order."""
        return [_path(self.folder, number) for number, part in sorted(self.finished.items()) if part.tally.n_documents]


@contextmanager
def open_parts(out: str, manifest: Mapping[str, Any], *, resume: bool, overwrite: bool) -> Iterator[Parts]:
    """Make the folder of parts for an output, or continue with an earlier one, and remove it if the context succeeds.

    If the context raises, the folder is kept if it contains a scored document.

    Parameters
    ----------
    out
        The output file; the parts of a URL are in the current folder.
    manifest
        Everything on which the content of the parts depends, as JSON values.
    resume
        Whether to continue with the parts of an earlier run.
    overwrite
        Whether they may be removed.

    Raises
    ------
    ParameterError
        If there are parts and neither is true, or those to continue with have another manifest.
    OutputError
        If the folder cannot be written.
    """
    folder = Path(local_name(out) + PARTS_SUFFIX)
    manifest = json.loads(json.dumps(manifest))  # as it is read back
    with ExitStack() as held:
        try:
            if folder.exists():
                _require_ours(folder)
            folder.mkdir(exist_ok=True)
            held.enter_context(lock_folder(folder))
            finished = _earlier_parts(folder, manifest, resume=resume, overwrite=overwrite)
        except OSError as error:
            raise unwritable(folder, error) from None
        write_json(folder / _MANIFEST, manifest, indent=None)
        parts = Parts(folder, finished)
        keep = True
        try:
            yield parts
            keep = False
        finally:
            if keep and parts.paths():
                remove_leftovers(str(folder))
            else:
                shutil.rmtree(folder, ignore_errors=True)


def _require_ours(folder: Path) -> None:
    """Raise if a folder is neither of an earlier run nor empty."""
    earlier = _read_json(folder / _MANIFEST)
    is_ours = isinstance(earlier, dict) and "corefsample" in earlier
    if not is_ours and (not folder.is_dir() or any(map(_is_foreign, folder.iterdir()))):
        raise ParameterError("folder must be of an earlier run or not exist, got something else", place=str(folder))


def _is_foreign(path: Path) -> bool:
    return path.name != LOCK_NAME and not path.name.startswith(PARTIAL_PREFIX)


def _earlier_parts(
    folder: Path, manifest: Mapping[str, Any], *, resume: bool, overwrite: bool
) -> dict[int, FinishedPart]:
    """Return the finished parts of an earlier run, or remove its files."""
    earlier = _read_json(folder / _MANIFEST)
    is_ours = isinstance(earlier, dict)
    n_parts = len(list(folder.glob("part-*.json")))
    if resume and is_ours:
        _require_same(folder, manifest, earlier)
        parts = {_number(path): _read_part(path) for path in folder.glob("part-*.parquet")}
        return {number: part[0] for number, part in parts.items() if part is not None}
    if n_parts and is_ours and not overwrite:
        hint = ParameterHint("resume", "continues from them")
        rule = "parts of an interrupted run must be resumed or overwritten"
        raise ParameterError(f"{rule}, got {n_parts} of them", place=str(folder), hint=hint)
    for path in filter(_is_foreign, folder.iterdir()):
        path.unlink()
    return {}


def _require_same(folder: Path, manifest: Mapping[str, Any], earlier: Mapping[str, Any]) -> None:
    ours, theirs = _flat(manifest), _flat(earlier)
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name) != theirs.get(name):
            rule = f"must continue with {name} {theirs.get(name)!r}"
            hint = ParameterHint("overwrite", "replaces the parts of the interrupted run")
            raise ParameterError(f"{rule}, got {ours.get(name)!r}", parameter="resume", place=str(folder), hint=hint)


def _read_part(path: Path) -> tuple[FinishedPart, list[Rejected]] | None:
    """Read a part and its rejected documents; None if its files are incomplete."""
    content = _read_json(path.with_suffix(".json"))
    try:
        if not isinstance(content, dict) or content["sha256"] != sha256(path):
            return None
        part = FinishedPart(content["n_read"], ScoringTally(**content["tally"]), TextTally(**content["texts"]))
        return part, [_rejected(**each) for each in content["rejected"]]
    except (OSError, KeyError, TypeError):
        return None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:07d}.parquet"


def _rejected(source: str, place: str, doc_id: str, reason: str, document: str) -> Rejected:
    return Rejected(source, place, None, doc_id, reason, document)


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("part-"))


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a manifest, with those of inner mappings under joined names."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat
