"""Description of the installation."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from itertools import chain
from typing import Any

from corefsample import __version__
from corefsample._lazy import requirements
from corefsample._machine import available_memory, processors

_PACKAGES = {"score": "corefsample.scorers", "events": "events.evidence"}  # package with the kernels of each command
_NAME = re.compile(r"^[\w.-]+")
_PREFIXES = ("ARROW_", "COREFSAMPLE_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")


def describe_environment() -> dict[str, Any]:
    """Describe the installation.

    Returns
    -------
    dict
        corefsample, python, platform: versions of corefsample and Python, operating system with the architecture of the
        processor. packages, extras: version of each required package and of each package of an extra, None if it is
        missing. processor: name of the processor for which kernels are compiled. processors: number of processors that
        this process may use. free_memory: memory that this process can still use, in bytes; None if the system does
        not provide this number. kernel_folders: folders for compiled kernels; without one, every process compiles its
        kernels. kernels_missing: names of the commands `score` and `events` whose kernels are not compiled yet.
        variables: environment variables that are set and affect the program.
    """
    import numba
    from llvmlite import binding

    from corefsample._jit import cache_folders, is_cached, kernels_of

    needed, extras = requirements()
    kernels = {command: kernels_of(package) for command, package in _PACKAGES.items()}
    folders = cache_folders(chain(*kernels.values()))
    return {
        "corefsample": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "packages": _installed(needed),
        "extras": {extra: _installed(names) for extra, names in extras.items()},
        "processor": numba.config.CPU_NAME or binding.get_host_cpu_name(),  # type: ignore[attr-defined]
        "processors": processors(),
        "free_memory": available_memory(),
        "kernel_folders": list(folders),
        "kernels_missing": [name for name, found in kernels.items() if folders and not any(map(is_cached, found))],
        "variables": {name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES)},
    }


def environment_pairs(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of a description of the installation, which a person reads."""
    free, missing = environment["free_memory"], environment["kernels_missing"]
    memory = "not known" if free is None else f"{free / 2**30:.1f} GiB free"
    kernels = "compiled" if not missing else f"to be compiled: {', '.join(missing)}"
    folders = environment["kernel_folders"]
    return [
        ("Python", f"{environment['python']}, {environment['platform']}"),
        ("processors", f"{environment['processors']} ({environment['processor']}), {memory}"),
        ("packages", _versions(environment["packages"])),
        *((f"extra {name}", _versions(versions)) for name, versions in environment["extras"].items()),
        ("kernels", kernels if folders else "no folder for them: each process compiles"),
        ("in", ", ".join(folders)),
        ("variables", ", ".join(f"{name}={value}" for name, value in environment["variables"].items())),
    ]


def _installed(stated: Sequence[str]) -> dict[str, str | None]:
    """Version of the package of each requirement, by the name of the package; None if it is missing."""
    versions: dict[str, str | None] = {}
    for name in (match[0] for match in map(_NAME.match, stated) if match is not None):
        versions[name] = None
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _versions(packages: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())
