"""The finished parts of a scoring run, kept beside its output until it is whole, so that a run can be resumed.

The folder SCORED.parts holds manifest.json, which says what the parts are made of, and for each part of a fixed number
of documents read a Parquet file of scored documents and a JSON file with its counts, the documents set aside, and the
checksum of the Parquet file. A part counts as finished when both are there and agree.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from corefsample.documents import Rejected, ScoredDocument
from corefsample.errors import OutputError, ParameterError
from corefsample.formats import write_documents
from corefsample.mention_ranking import ScoringTally

__all__ = ["PARTS_SUFFIX", "FinishedPart", "Parts"]

PARTS_SUFFIX = ".parts"
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """What is known of a part besides its scored documents.

    Attributes
    ----------
    n_read
        Documents read for it, good and bad.
    tally
        What scoring came to.
    rejected
        The bad ones, in order.
    """

    n_read: int
    tally: ScoringTally
    rejected: Sequence[Rejected]


class Parts:
    """The folder of parts of one run; use as a context manager, and end with `finish`.

    Left without `finish`, it stays if a document is scored, and goes if none is.

    Parameters
    ----------
    out
        The output file that the parts are for.
    manifest
        What decides the content of the parts, by name: values of JSON.
    resume
        Whether to go on from the parts of an earlier run.
    overwrite
        Whether they may be removed.

    Attributes
    ----------
    n_resumed
        Finished parts that were there.

    Raises
    ------
    ParameterError
        If there are parts and neither is said, or those to go on from are made of something else.
    OutputError
        If the folder cannot be written.
    """

    def __init__(self, out: str, manifest: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
        self.folder = Path(out + PARTS_SUFFIX)
        self._manifest = json.loads(json.dumps(manifest))  # as it will be read
        self._resume, self._overwrite = resume, overwrite
        self._finished: dict[int, FinishedPart] = {}
        self._done = False
        self.n_resumed = 0

    def __enter__(self) -> Self:
        try:
            if self.folder.exists():
                self._meet_earlier()
            if not self.folder.exists():
                self.folder.mkdir()
                self._write_json(self.folder / _MANIFEST, self._manifest)
        except OSError as error:
            raise self._unwritable(error) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._done or not self.paths():
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for leftover in self.folder.glob(".partial-*"):
            leftover.unlink(missing_ok=True)

    def _meet_earlier(self) -> None:
        earlier = self._read_json(self.folder / _MANIFEST)
        is_ours = isinstance(earlier, dict) and "corefsample" in earlier
        if not is_ours and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ParameterError(f"{self.folder}: folder must be of an earlier run or not there, got something else")
        if self._resume and is_ours:
            self._require_same(earlier)
            for path in sorted(self.folder.glob("part-*.json")):
                part = self._read_part(path)
                if part is not None:
                    self._finished[_number(path)] = replace(part, rejected=())
            self.n_resumed = len(self._finished)
        elif self._overwrite or not is_ours or not any(self.folder.glob("part-*.json")):
            shutil.rmtree(self.folder)
        else:
            raise ParameterError(
                f"{self.folder}: parts of a run that did not finish must not be there (resume goes on from them; "
                f"overwrite replaces them), got {len(list(self.folder.glob('part-*.json')))}"
            )

    def _require_same(self, earlier: Mapping[str, Any]) -> None:
        ours, theirs = _flat(self._manifest), _flat(earlier)
        for name in sorted(set(ours) | set(theirs)):
            if ours.get(name) != theirs.get(name):
                raise ParameterError(
                    f"{self.folder}: resume must go on with what the run began with ({name} {theirs.get(name)!r}; "
                    f"overwrite replaces its parts), got {ours.get(name)!r}"
                )

    def _read_part(self, path: Path) -> FinishedPart | None:
        """A part, or None where its files are not whole."""
        content = self._read_json(path)
        try:
            documents = self.path(_number(path))
            if not isinstance(content, dict) or content["sha256"] != _sha256(documents):
                return None
            tally = ScoringTally(**content["tally"])
            return FinishedPart(content["n_read"], tally, [_rejected(**each) for each in content["rejected"]])
        except (OSError, KeyError, TypeError):
            return None

    def finished(self, number: int) -> FinishedPart | None:
        """The part of that number, if it is finished; without its rejected documents, which are not held in memory."""
        return self._finished.get(number)

    def rejected(self, number: int) -> Sequence[Rejected]:
        """The rejected documents of a finished part."""
        part = self._read_part(self.path(number).with_suffix(".json"))
        return () if part is None else part.rejected

    def path(self, number: int) -> Path:
        """File of a part's scored documents."""
        return self.folder / f"part-{number:07d}.parquet"

    def add(self, number: int, documents: Sequence[ScoredDocument], part: FinishedPart) -> None:
        """Write a part; it is finished once its JSON file is there."""
        path = self.path(number)
        write_documents(documents, path, overwrite=True)
        content = {
            "n_read": part.n_read,
            "sha256": _sha256(path),
            "tally": dataclasses.asdict(part.tally),
            "rejected": [each.to_json() for each in part.rejected],
        }
        try:
            self._write_json(path.with_suffix(".json"), content)
        except OSError as error:
            raise self._unwritable(error) from None
        self._finished[number] = replace(part, rejected=())

    def paths(self) -> list[Path]:
        """Files of all parts that hold a document, in order."""
        return [self.path(number) for number in sorted(self._finished) if self._finished[number].tally.n_documents]

    def finish(self) -> None:
        """Say that the output is whole: the parts are needed no longer."""
        self._done = True

    def _write_json(self, path: Path, content: Any) -> None:
        partial = self.folder / f".partial-{secrets.token_hex(8)}"
        partial.write_text(json.dumps(content), encoding="utf-8")
        os.replace(partial, path)

    @staticmethod
    def _read_json(path: Path) -> Any:
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(f"{self.folder}: output must be writable, got: {error.strerror or error}")


def _rejected(source: str, place: str, doc_id: str, reason: str, document: str) -> Rejected:
    return Rejected(source, place, None, doc_id, reason, document)


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("part-"))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a manifest, those of mappings within it by themselves."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat
