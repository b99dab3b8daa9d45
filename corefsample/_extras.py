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
REPORT_LIBRARY = "vl_convert"
_FOR_DEVELOPERS = ("bench", "dev", "docs", "notebooks", "test")  # extras that users do not need
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Requirements, such as ``numpy>=1.26``, of every installation, and of each extra for users by its name."""
    required: list[str] = []
    extras: dict[str, list[str]] = {}
    try:
        requirement_texts = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:  # the source tree on the path, not installed
        return required, extras
    for requirement_text in requirement_texts:
        requirement, _, marker = (part.strip() for part in requirement_text.partition(";"))
        if requirement.startswith(_PACKAGE):  # one extra that has another
            continue
        extra = _EXTRA.search(marker)
        if extra is None:
            required.append(requirement)
        elif extra[1] not in _FOR_DEVELOPERS:
            extras.setdefault(extra[1], []).append(requirement)
    return required, extras


def install_hint(extra: str) -> str:
    """Name of an extra, and the command that installs its packages, however corefsample was installed."""
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
    """Whether the library of the extra "report" is installed."""
    return find_spec(REPORT_LIBRARY) is not None
