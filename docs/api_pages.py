"""Pages of the API reference, one per package, made from the packages' faces (`__init__.pyi`).

A name stands on the page of its shortest import path: `corefsample.sample_clusterings`, not also
`corefsample.coreference.sample_clusterings`. Longer paths work too, and their pages say where the name is.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = ("corefsample", "events")
MODULES = ("corefsample.errors",)  # modules that users import by name, beside those in packages without names

__all__ = ["TYPE_ALIASES", "PublicName", "public_names", "write_pages"]


def _aliases() -> list[str]:
    """Names of array types, which signatures show instead of what they stand for."""
    tree = ast.parse((PROJECT / "corefsample" / "_arrays.py").read_text(encoding="utf-8"))
    return [
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]


TYPE_ALIASES = _aliases()


@dataclass(frozen=True, slots=True)
class PublicName:
    """A name of a package's face, and the import path whose page describes it."""

    package: str
    name: str
    described_in: str
    value: object


def packages() -> list[str]:
    """Packages with a face and the modules that users import, those with the shortest path first."""
    found = [
        ".".join(path.parent.relative_to(PROJECT).parts)
        for top in PACKAGES
        for path in (PROJECT / top).rglob("__init__.pyi")
    ]
    public = found
    for package in found:  # a face without names: users import its modules
        if not _names(importlib.import_module(package)):
            folder = PROJECT / package.replace(".", "/")
            public = [*public, *(f"{package}.{path.stem}" for path in sorted(folder.glob("[!_]*.py")))]
    return sorted([*public, *MODULES], key=lambda name: (name.split(".")[0], name.count("."), name))


def _names(module: ModuleType) -> list[str]:
    """Names of a face; of a plain module, what it defines."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted((name for name in listed if not name.startswith("_")), key=str.lower)


def public_names() -> Iterator[PublicName]:
    """Every public name of every package, with the page that describes it."""
    first: dict[int, str] = {}  # pages of functions and classes; a constant is described wherever it is
    for package in packages():
        module = importlib.import_module(package)
        for name in _names(module):
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            described = first.setdefault(id(value), package) if _has_docstring(value) else package
            yield PublicName(package, name, described, value)


def _has_docstring(value: object) -> bool:
    """Whether it is a function or class, with an entry of its own, rather than a constant or a name of a type."""
    return inspect.isclass(value) or inspect.isroutine(value)


def write_pages(folder: Path) -> None:
    """Write one page per package and their index; pages of packages that are gone are removed."""
    by_package: dict[str, list[PublicName]] = {package: [] for package in packages()}
    for public in public_names():
        by_package[public.package].append(public)
    pages = {f"{package}.md": _page(package, names) for package, names in by_package.items() if names}
    listed = {
        package: ", ".join(
            f"{{py:obj}}`{each.name} <{package}.{each.name}>`" if _has_docstring(each.value) else f"`{each.name}`"
            for each in names
            if each.described_in == package
        )
        for package, names in by_package.items()
    }
    pages["index.md"] = _index([name.removesuffix(".md") for name in pages], listed)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _index(pages: list[str], names: dict[str, str]) -> str:
    lines = ["# API reference", "", "Every public name, described at its shortest import path.", ""]
    for top in PACKAGES:
        inside = [page for page in pages if page.split(".")[0] == top]
        lines += [f"## {top}", ""]
        lines += [f"[{page}]({page}.md)\n: {_first_line(page)}\n\n  {names[page]}\n" for page in inside]
        lines += ["", "```{toctree}", ":hidden:", "", *inside, "```", ""]
    return "\n".join(lines)


def _first_line(package: str) -> str:
    return (inspect.getdoc(importlib.import_module(package)) or "").split("\n")[0]


def _page(package: str, names: list[PublicName]) -> str:
    here = [public for public in names if public.described_in == package]
    elsewhere = [public for public in names if public.described_in != package]
    classes = [public.name for public in here if inspect.isclass(public.value)]
    functions = [public.name for public in here if inspect.isroutine(public.value)]
    constants = [public for public in here if not _has_docstring(public.value)]
    lines = [f"# {package}", "", inspect.getdoc(importlib.import_module(package)) or "", ""]
    lines += ["```{eval-rst}", f".. currentmodule:: {package}", ""]
    if functions or classes:
        lines += [".. autosummary::", "", *(f"   {name}" for name in [*functions, *classes]), ""]
    lines.append("```")
    if constants:
        lines += ["", "## Constants", ""]
        lines += [f"- `{public.name}`: {type(public.value).__name__}{_size(public.value)}" for public in constants]
    if elsewhere:
        lines += ["", "## Also here", "", "Described at a shorter import path:", ""]
        lines += [f"- `{each.name}`: [{each.described_in}]({each.described_in}.md)" for each in elsewhere]
    if functions or classes:
        lines += ["", "## Reference", "", "```{eval-rst}", f".. currentmodule:: {package}", ""]
        lines += [f".. autofunction:: {name}\n" for name in functions]
        lines += [f".. autoclass:: {name}\n   :members:\n   :show-inheritance:\n" for name in classes]
        lines += ["```"]
    return "\n".join([*lines, ""])


def _size(value: object) -> str:
    return f" of {len(value)}" if isinstance(value, (dict, tuple, list, frozenset, set)) else ""
