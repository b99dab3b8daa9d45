"""Libraries and names that load at their first use, and errors that say how to install a missing library."""

import re
import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import lazy_loader

from corefsample.errors import ParameterError

_PACKAGES = {"yaml": "pyyaml"}  # packages whose module has another name, by the module
_FOR_DEVELOPERS = ("bench", "dev", "docs", "notebooks", "test")  # extras that users do not need
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")


def attached(
    name: str, file: str, needs: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from its ``__init__.pyi``.

    Parameters
    ----------
    name, file
        ``__name__`` and ``__file__`` of the package.
    needs
        Module that must be installed for the names of the package to be of use. By default, no module.
    """
    load, names, public = lazy_loader.attach_stub(name, file)

    def loaded(attribute: str) -> Any:
        try:
            value = load(attribute)
        except ModuleNotFoundError as error:
            raise explained(error, name) from None
        if needs is not None and find_spec(needs) is None:
            raise explained(ModuleNotFoundError(name=needs), name)
        return value

    return loaded, names, public


def explained(error: ModuleNotFoundError, dependent: str) -> ModuleNotFoundError:
    """The error with a command that installs the module, if a plain installation of corefsample has it."""
    module = (error.name or "").partition(".")[0]
    package = _PACKAGES.get(module, module)
    requirement = next((text for text in requirements()[0] if text.startswith(package) and module), None)
    if requirement is None:
        return error
    rule = f"{dependent} needs {package}, which is not installed (python -m pip install '{requirement}')"
    return ModuleNotFoundError(rule, name=error.name)


def needed(module: str) -> Any:
    """Import a module of a plain installation, or raise with the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise explained(error, "this call") from None


# --- extras: libraries that not every user needs ------------------------------------------------------------


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Requirements, such as ``numpy>=1.26``, of every installation, and of each extra for users by its name."""
    from importlib import metadata

    required: list[str] = []
    extras: dict[str, list[str]] = {}
    try:
        requirement_texts = metadata.requires("corefsample") or []
    except metadata.PackageNotFoundError:  # the source tree on the path, not installed
        return required, extras
    for requirement_text in requirement_texts:
        requirement, _, marker = (part.strip() for part in requirement_text.partition(";"))
        extra = _EXTRA.search(marker)
        if extra is None:
            required.append(requirement)
        elif extra[1] not in _FOR_DEVELOPERS and not requirement.startswith("corefsample"):  # an extra with another
            extras.setdefault(extra[1], []).append(requirement)
    return required, extras


def versions_of(requirement_texts: Iterable[str]) -> dict[str, str | None]:
    """Version of the package of each requirement, by the name of the package; None if it is missing."""
    from importlib import metadata

    versions: dict[str, str | None] = {}
    for requirement_text in requirement_texts:
        name = re.split(r"[^\w.-]", requirement_text, maxsplit=1)[0]
        versions[name] = None
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def install_hint(extra: str) -> str:
    """Name of an extra, and the command that installs its packages, however corefsample was installed."""
    packages = requirements()[1].get(extra)
    if packages is None:
        return f"install the packages of the extra {extra!r}"
    return f"extra {extra!r}: {shlex.join(['python', '-m', 'pip', 'install', *packages])}"


def require_extra(module: str, package: str, extra: str) -> Any:
    """Import a module of an optional library, or raise with the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        hint = install_hint(extra)
        raise ParameterError(f"{package} must be installed, got no module {module}", hint=hint) from None


def can_report() -> bool:
    """Whether the library of the extra "report" is installed."""
    return find_spec("vl_convert") is not None
