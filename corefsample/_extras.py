"""Libraries that not every user needs: the packages of each extra, and how to install them."""

from __future__ import annotations

import importlib
import re
import shlex
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from corefsample.errors import ParameterError

_PACKAGE = "corefsample"
REPORT_LIBRARIES = ("altair", "vl_convert")
_FOR_DEVELOPERS = ("bench", "dev", "docs", "notebooks", "test")  # extras
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Requirements, like ``numpy>=1.26``: those of every installation, and those of each extra for users."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    try:
        stated = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:  # the source tree on the path, not installed
        return needed, extras
    for each in stated:
        requirement, _, marker = (part.strip() for part in each.partition(";"))
        if requirement.startswith(_PACKAGE):  # one extra that has another
            continue
        marked = _EXTRA.search(marker)
        if marked is None:
            needed.append(requirement)
        elif marked[1] not in _FOR_DEVELOPERS:
            extras.setdefault(marked[1], []).append(requirement)
    return needed, extras


def install_hint(extra: str) -> str:
    """The name of an extra and the command that installs its packages, wherever corefsample itself came from."""
    packages = requirements()[1].get(extra)
    if packages is None:
        return f"install the packages of the extra {extra!r}"
    return f"extra {extra!r}: {shlex.join(['python', '-m', 'pip', 'install', *packages])}"


def require_extra(module: str, package: str, extra: str) -> Any:
    """Import a module of an optional library, or raise with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        hint = install_hint(extra)
        raise ParameterError(f"{package} must be installed, got no module {module}", hint=hint) from None


def can_report() -> bool:
    """Whether the libraries of the extra "report" are installed."""
    return all(find_spec(name) is not None for name in REPORT_LIBRARIES)
