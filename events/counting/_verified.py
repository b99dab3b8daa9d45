"""Files of a finished run, compared with the checksums in its record."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from corefsample.errors import InputError
from corefsample.files._contents import read_json
from corefsample.files._digests import sha256
from corefsample.files._paths import PathLike, is_file, joined

RECORD = "run.json"


def sealed_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a run as JSON has it, with the checksum of its other fields in the field sha256."""
    content: dict[str, Any] = json.loads(json.dumps({**record, "sha256": None}))
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return {**content, "sha256": digest}


def verified_record(run: PathLike) -> dict[str, Any]:
    """Content of run.json; raise InputError if it is missing, or other than a run wrote it."""
    path = joined(run, RECORD)
    if not is_file(path):
        raise InputError(f"{RECORD} is missing in the run's folder", place=os.fspath(run))
    record: Any = read_json(path)
    if not isinstance(record, dict) or record.get("sha256") != sealed_record(record)["sha256"]:
        hint = "repeat the run with this version"
        raise InputError("record must be as a run wrote it, got other content", place=path, hint=hint)
    return record


def verify_table(path: PathLike) -> None:
    """Raise InputError unless a file in the folder of a run has the checksum that the record of the run has."""
    place = os.fspath(path)
    name = PurePath(place).name
    files = verified_record(place.removesuffix(name)).get("files", {})
    if files.get(name) != sha256(path):
        rule = f"{name} must be as the run wrote it, got other content than {RECORD} says"
        raise InputError(rule, place=place, hint="repeat the run")
