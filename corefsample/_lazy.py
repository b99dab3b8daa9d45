"""Names that load at their first use, and errors that name the package to install if one is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader

__all__ = ["attached", "explained", "needed", "pd"]

_PACKAGES = {"yaml": "pyyaml"}  # packages whose module has another name, by the module


def attached(
    name: str, file: str, needs: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from its ``__init__.pyi``.

    If another package of ours exports a missing name, the error names this package.

    Parameters
    ----------
    name, file
        ``__name__`` and ``__file__`` of the package.
    needs
        Modules that must be installed for the names of the package to be of use. By default, no module.
    """
    load, names, public = lazy_loader.attach_stub(name, file)

    def loaded(attribute: str) -> Any:
        try:
            value = load(attribute)
        except ModuleNotFoundError as error:
            raise explained(error, name) from None
        except AttributeError:
            exporting = "" if attribute.startswith("_") else _exporting(attribute)
            if not exporting:
                raise
            message = f"{name} has no attribute {attribute}: use {exporting}.{attribute}"
            raise AttributeError(message, name=attribute) from None
        for module in needs:
            if find_spec(module) is None:
                raise explained(ModuleNotFoundError(name=module), name)
        return value

    return loaded, names, public


def _exporting(attribute: str) -> str:
    """Name of the package that exports a name; "" if no package of ours does."""
    for top in ("corefsample", "events"):
        spec = find_spec(top)
        for folder in [] if spec is None else spec.submodule_search_locations or []:
            for face in sorted(Path(folder).rglob("__init__.pyi")):
                if re.search(rf"^from \S*\w import {attribute} as ", face.read_text(encoding="utf-8"), re.MULTILINE):
                    return ".".join([top, *face.parent.relative_to(folder).parts])
    return ""


def explained(error: ModuleNotFoundError, dependent: str) -> ModuleNotFoundError:
    """The error with a command that installs the module, if a plain installation of corefsample has it."""
    from corefsample._extras import requirements

    module = (error.name or "").partition(".")[0]
    package = _PACKAGES.get(module, module)
    requirement = next((each for each in requirements()[0] if each.startswith(package) and module), None)
    if requirement is None:
        return error
    rule = f"{dependent} needs {package}, which is not installed (python -m pip install '{requirement}')"
    return ModuleNotFoundError(rule, name=error.name)


class _Later:
    """A module that loads when one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(needed(self._name), attribute)


def needed(module: str) -> Any:
    """Import a module of a plain installation, or raise with the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise explained(error, "this call") from None


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Later("pandas")
