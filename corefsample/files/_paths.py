"""Names of files: one or several, globs, endings."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from corefsample._checks import shown
from corefsample.errors import CorefsampleError, InputError, ParameterError

__all__ = ["PathLike", "input_paths", "path_list", "require_suffix", "suffix_of", "total_size"]

PathLike = str | os.PathLike[str]


def path_list(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    """Return one name of a file, or several, as a list of strings.

    Raises
    ------
    ParameterError
        If `inputs` are not names of files.
    """
    given: list[Any] = (
        [inputs] if isinstance(inputs, (str, os.PathLike)) or not isinstance(inputs, Iterable) else [*inputs]
    )
    for each in given:
        if not isinstance(each, (str, os.PathLike)):
            raise ParameterError(f"must be names of files, got {shown(each)}", parameter="inputs")
    return [os.fspath(each) for each in given]


def input_paths(
    inputs: PathLike | Iterable[PathLike],
    *,
    suffixes: Sequence[str] | None = None,
    folders: bool = False,
    suffix_hint: Callable[[str], str | None] = lambda path: None,
) -> list[str]:
    """Expand globs and check that every input exists; "-" is standard input.

    Parameters
    ----------
    inputs
        Files, globs (``**`` matches any depth), or "-".
    suffixes
        Endings of which a file name must have one; None for any.
    folders
        Whether folders are allowed.
    suffix_hint
        The next step for a file of another ending.

    Raises
    ------
    ParameterError
        If `inputs` are not names of files.
    InputError
        If nothing is named, a file is missing, a glob matches nothing, or a file has another ending.
    """
    names = path_list(inputs)
    if not names:
        raise InputError("must name at least one file, got none", parameter="inputs")
    if names.count("-") > 1:
        raise InputError(f"standard input can be read once, got it {names.count('-')} times", place="-")
    paths: list[str] = []
    for name in names:
        found = [name] if name == "-" or os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not found:
            rule = "glob must match a file" if glob.has_magic(name) else "file must exist"
            raise InputError(f"{rule}, got none", place=name)
        paths += found
    for path in paths:
        if path == "-" or (folders and os.path.isdir(path)):
            continue
        if not os.path.isfile(path):
            kinds = "a regular file or a folder" if folders else "a regular file"
            hint = (
                None if folders or not os.path.isdir(path) else f"name its files, such as {os.path.join(path, '*')!r}"
            )
            raise InputError(f"input must be {kinds}, got something else", place=path, hint=hint)
        if suffixes is not None:
            require_suffix(path, suffixes, InputError, hint=suffix_hint(path))
    return paths


def suffix_of(path: str, suffixes: Iterable[str]) -> str | None:
    """Return the longest of `suffixes` with which a file name ends, or None."""
    return max((suffix for suffix in suffixes if path.endswith(suffix)), key=len, default=None)


def require_suffix(
    path: str, suffixes: Sequence[str], error: type[CorefsampleError], *, hint: str | None = None
) -> str:
    """Return the ending of a file name, or raise `error` if it is not one of `suffixes`."""
    suffix = suffix_of(path, suffixes)
    if suffix is None:
        rule = f"file name must end in one of {', '.join(suffixes)}"
        raise error(f"{rule}, got {os.path.basename(path)!r}", place=path or repr(path), hint=hint)
    return suffix


def total_size(paths: Iterable[str]) -> int:
    """Bytes of all files; standard input counts 0."""
    return sum(os.path.getsize(path) for path in paths if path != "-")
