"""Imports go one way, heavy libraries load where they are used, and the examples of docstrings run."""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("corefsample", "events")
COMPILER = {"numba", "scipy"}  # numba loads SciPy, to call its linear algebra
HEAVY = ("numba", "pandas", "pyarrow", "matplotlib", "networkx", "scipy", "spacy", "dask")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def import_nodes(node: ast.AST, *, into_functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run; those for type checkers do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif is_type_checking(child):
            continue
        elif into_functions or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from import_nodes(child, into_functions=into_functions)


def imported(name: str, *, into_functions: bool = True) -> set[str]:
    """Modules that a module imports, by full name; of `from package import module` the module."""
    found = set()
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in import_nodes(tree, into_functions=into_functions):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{name}: imports are absolute"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = inner & set(MODULES)
            found |= modules or {str(node.module)}
    return found


def ours(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in PACKAGES}


def of(package: str) -> list[str]:
    return [name for name in MODULES if name == package or name.startswith(f"{package}.")]


# --- direction ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["corefsample._kernels", "corefsample._check_kernels", "corefsample._jit"])
def test_kernels_import_nothing_of_ours_but_their_compiler(name: str) -> None:
    assert ours(imported(name)) <= {"corefsample._jit"}


@pytest.mark.parametrize("name", [name for name in MODULES if name.endswith("._kernels")])
def test_every_kernel_module_knows_only_the_compiler_and_other_kernels(name: str) -> None:
    assert all(other == "corefsample._jit" or other.endswith("kernels") for other in ours(imported(name)))


@pytest.mark.parametrize("name", of("corefsample"))
def test_the_engine_never_imports_events(name: str) -> None:
    assert not [other for other in imported(name) if other.split(".")[0] == "events"]


OUTER = ("corefsample.formats", "corefsample.adapters", "corefsample.spacy_component", "corefsample.plots")
ENGINE = ("errors", "_checks", "_faults", "antecedents", "sampling", "exact", "graphs", "documents", "annotated")


@pytest.mark.parametrize("name", [f"corefsample.{name}" for name in ENGINE])
def test_the_core_knows_no_file_format_adapter_or_picture(name: str) -> None:
    assert not [other for other in imported(name) if other.startswith((*OUTER, "corefsample.document_batch"))]


@pytest.mark.parametrize("name", of("corefsample.calibration"))
def test_calibration_knows_nothing_of_coreference(name: str) -> None:
    general = tuple(f"corefsample.{name}" for name in ("calibration", "errors", "_checks", "_jit", "_lazy"))
    assert not [other for other in ours(imported(name)) if not other.startswith(general)]


@pytest.mark.parametrize("name", [name for name in MODULES if name != "events.cli"])
def test_nothing_imports_the_command_line(name: str) -> None:
    assert "events.cli" not in imported(name)


@pytest.mark.parametrize("name", [name for name in MODULES if ".plots" in name])
def test_pictures_compute_nothing(name: str) -> None:
    assert not [other for other in imported(name) if other.endswith(("kernels", ".sampling", ".exact"))]


def test_imports_have_no_circle() -> None:
    graph = {name: ours(imported(name, into_functions=False)) & set(MODULES) for name in MODULES}
    done: set[str] = set()
    while ready := {name for name in graph if name not in done and graph[name] <= done}:
        done |= ready
    assert set(graph) - done == set()


# --- weight ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", of("corefsample"))
def test_heavy_libraries_load_where_they_are_used(name: str) -> None:
    allowed = {"numba"} if name == "corefsample._jit" else set()
    if name.startswith("corefsample.formats") or name in ("corefsample.document_batch", "corefsample.batch_checks"):
        allowed = {"pyarrow"}
    if name == "corefsample.spacy_component":  # spaCy registers a factory while its module loads
        allowed = {"spacy"}
    roots = {other.split(".")[0] for other in imported(name, into_functions=False)}
    assert roots & set(HEAVY) <= allowed


def loaded_by(statement: str) -> set[str]:
    """Heavy libraries in memory after a statement in a new process."""
    program = f"import sys; {statement}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    finished = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(finished.stdout.split())


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_no_heavy_library(package: str) -> None:
    assert loaded_by(f"import {package}") == set()


def test_exact_inference_and_sampling_load_the_compiler_alone() -> None:
    assert loaded_by("import corefsample.exact, corefsample.sampling") == COMPILER


def test_public_names_load_at_their_first_use() -> None:
    assert loaded_by("import corefsample; corefsample.link_marginals") == COMPILER
    assert loaded_by("from corefsample import ParameterError") == set()


# --- names -------------------------------------------------------------------------------------------------


def test_every_public_name_is_there() -> None:
    package = importlib.import_module("corefsample")
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert set(package.__all__) <= set(dir(package))


def test_an_unknown_name_is_an_attribute_error() -> None:
    package = importlib.import_module("corefsample")
    with pytest.raises(AttributeError, match="has no attribute 'link_marginal'"):
        _ = package.link_marginal


@pytest.mark.parametrize("name", of("corefsample"))
def test_every_module_says_which_of_its_names_are_public(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an optional library
        if str(error.name).split(".")[0] in PACKAGES:
            raise
        pytest.skip(f"{error.name} is not installed")
    assert [public for public in getattr(module, "__all__", []) if not hasattr(module, public)] == []


# --- examples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", of("corefsample"))
def test_the_examples_of_docstrings_run(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an optional library
        if str(error.name).split(".")[0] in PACKAGES:
            raise
        pytest.skip(f"{error.name} is not installed")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", ["corefsample.antecedents", "corefsample.exact", "corefsample.sampling"])
def test_the_core_has_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).attempted > 0
