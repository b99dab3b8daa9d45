"""The job behind `corefsample doctor --environment`: what the installation consists of."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import chain

from corefsample import __version__
from corefsample._extras import requirements
from corefsample._jit import cache_folders, is_cached, kernels_of
from corefsample._memory import available_memory
from corefsample._processors import processors
from events._options import Result

__all__ = ["Environment", "describe_environment"]

_PACKAGES = {"score": "corefsample.scorers", "events": "events.counting"}  # with kernels of each command
_NAME = re.compile(r"^[\w.-]+")


@dataclass(frozen=True, slots=True)
class Environment(Result):
    """What the installation consists of.

    Attributes
    ----------
    corefsample, python, platform
        Versions, and the operating system with its processor's architecture.
    packages
        Version of each package that is always needed; None: missing.
    extras
        The same of the packages of each optional extra.
    processor
        Name of the processor for which kernels are compiled.
    processors
        Number of processors that this process may use.
    free_memory
        Bytes of memory that this process can still use; None: not known.
    kernel_folders
        Folders for compiled kernels; none: every process compiles.
    kernels_missing
        Those of the commands `score` and `events` whose kernels are not compiled yet.
    variables
        Environment variables that are set and change how the program runs.
    """

    corefsample: str
    python: str
    platform: str
    packages: dict[str, str | None]
    extras: dict[str, dict[str, str | None]]
    processor: str
    processors: int
    free_memory: int | None
    kernel_folders: tuple[str, ...]
    kernels_missing: tuple[str, ...]
    variables: dict[str, str]

    def lines(self) -> list[tuple[str, str]]:
        """Names and values for the screen."""
        memory = "not known" if self.free_memory is None else f"{self.free_memory / 2**30:.1f} GiB free"
        kernels = "compiled" if not self.kernels_missing else f"to be compiled: {', '.join(self.kernels_missing)}"
        return [
            ("Python", f"{self.python}, {self.platform}"),
            ("processors", f"{self.processors} ({self.processor}), {memory}"),
            ("packages", _versions(self.packages)),
            *((f"extra {name}", _versions(versions)) for name, versions in self.extras.items()),
            ("kernels", kernels if self.kernel_folders else "no folder for them: each process compiles"),
            ("in", ", ".join(self.kernel_folders)),
            ("variables", ", ".join(f"{name}={value}" for name, value in self.variables.items())),
        ]


def describe_environment() -> Environment:
    """Describe the installation: versions, extras, processor, kernel cache, environment variables."""
    import numba
    from llvmlite import binding

    prefixes = ("ARROW_", "COREFSAMPLE_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")
    needed, extras = requirements()
    kernels = {command: kernels_of(package) for command, package in _PACKAGES.items()}
    folders = cache_folders(chain(*kernels.values()))
    return Environment(
        corefsample=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform} {platform.machine()}",
        packages=_installed(needed),
        extras={extra: _installed(stated) for extra, stated in extras.items()},
        processor=numba.config.CPU_NAME or binding.get_host_cpu_name(),  # type: ignore[attr-defined]
        processors=processors(),
        free_memory=available_memory(),
        kernel_folders=tuple(folders),
        kernels_missing=tuple(name for name, own in kernels.items() if folders and not any(map(is_cached, own))),
        variables={name: value for name, value in sorted(os.environ.items()) if name.startswith(prefixes)},
    )


def _installed(stated: Sequence[str]) -> dict[str, str | None]:
    """Version of the package of each requirement, by its name; None if it is missing."""
    versions: dict[str, str | None] = {}
    for name in (found[0] for found in map(_NAME.match, stated) if found is not None):
        versions[name] = None
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _versions(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())
