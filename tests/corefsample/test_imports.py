"""Imports go one way, heavy libraries load where they are used, and the examples of docstrings run."""

import ast
import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from places import PROJECT

PACKAGES = ("corefsample", "events")
COMPILER = {"numba", "scipy"}  # numba loads SciPy, to call its linear algebra
HEAVY = ("numba", "pandas", "pyarrow", "matplotlib", "networkx", "scipy", "spacy", "dask")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((PROJECT / package).rglob("*.py"))}


def import_nodes(node: ast.AST, *, into_functions: bool = True) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports, those for type checkers included; without `into_functions` those that run with the module."""
    if into_functions:
        yield from (child for child in ast.walk(node) if isinstance(child, (ast.Import, ast.ImportFrom)))
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            yield from import_nodes(child, into_functions=into_functions)


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def imported(name: str, *, into_functions: bool = True) -> set[str]:
    """Modules that a module imports, by full name; of `from package import module` the module."""
    found = set()
    for node in import_nodes(tree_of(name), into_functions=into_functions):
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

# Packages from the bottom up; one may import those of lower levels only. Within a level there is no import.
LEVELS: list[list[str]] = [
    ["corefsample.errors", "corefsample._jit"],
    ["corefsample._arrays", "corefsample._machine"],
    ["corefsample._checks"],
    ["corefsample._random_kernels"],
    ["corefsample._random", "corefsample.files"],
    ["corefsample.calibration"],
    ["corefsample.coreference", "corefsample.tagging", "corefsample.trees"],
    ["corefsample.documents", "corefsample.metrics"],
    ["corefsample.languages"],
    ["corefsample.syntax", "corefsample.formats.scored", "corefsample.formats.annotated", "corefsample.adapters"],
    ["corefsample.formats"],
    ["corefsample.links", "corefsample.parses", "corefsample.scorers.protocol"],
    ["corefsample.scorers._scoring"],
    ["corefsample.scorers.log_linear"],
    ["corefsample.scorers"],
    ["corefsample.recalibration", "corefsample.summaries"],
    ["corefsample.posterior"],
    ["corefsample.plots", "corefsample.spacy_bridge"],
    ["corefsample"],
    ["events._yaml_file", "events._options", "events._summary"],
    ["events._yaml_file", "events.news", "events.simulation"],
    ["events.lexicon", "events.rules"],
    ["events.matching"],
    ["events.triggers"],
    ["events.evidence"],
    ["events.counts"],
    ["events.rule_error"],
    ["events.plots", "events.audit"],
    ["events.pages"],
    ["events"],
    ["events.corpora"],
    ["events.runs"],
    ["events.inspection"],
    ["events.commands"],
]
LEVEL_OF = {package: level for level, packages in enumerate(LEVELS) for package in packages}


def package_of(name: str) -> str:
    """The package, or the module above all packages, that the direction of imports is about."""
    while name not in LEVEL_OF:
        name = name.rpartition(".")[0]
    return name


def importing(name: str) -> set[str]:
    """Modules of ours that a module imports, for type checkers too; of a package's face, what it exports counts."""
    return ours(imported(name))


def test_imports_go_down() -> None:
    wrong = {}
    for name in MODULES:
        own = package_of(name)
        found = {package_of(other) for other in importing(name)} - {own}
        if name.startswith("corefsample."):
            found.discard("corefsample")  # its version
        wrong[name] = {other for other in found if LEVEL_OF[other] >= LEVEL_OF[own]}
    assert {name: others for name, others in wrong.items() if others} == {}


FACES = [name for name, path in MODULES.items() if path.name == "__init__.py"]
EXPORTING = [name for name in FACES if MODULES[name].with_suffix(".pyi").exists()]


def test_no_private_name_is_imported_from_another_module() -> None:
    modules = {module.rpartition(".")[2] for module in MODULES}
    wrong = []
    for name in MODULES:
        nodes = (node for node in import_nodes(tree_of(name)) if isinstance(node, ast.ImportFrom))
        names = {alias.name for node in nodes if str(node.module).split(".")[0] in PACKAGES for alias in node.names}
        wrong += [(name, each) for each in names - modules if each.startswith("_") and not each.startswith("__")]
    assert wrong == []


def test_a_package_that_exports_nothing_has_a_docstring_alone() -> None:
    assert [name for name in FACES if name not in EXPORTING and len(tree_of(name).body) > 1] == []


@pytest.mark.parametrize("name", EXPORTING)
def test_the_face_of_a_package_exports_and_defines_nothing(name: str) -> None:
    texts = [ast.unparse(statement) for statement in tree_of(name).body[1:]]  # after the docstring
    if name == "corefsample":
        texts = [text for text in texts if "logging" not in text and not text.startswith("__version__")]
    first, last = texts
    assert first == "from corefsample._lazy import attached"
    assert re.fullmatch(r"__getattr__, __dir__, __all__ = attached\(__name__, __file__(, needs='\w+')?\)", last)
    stub = ast.parse(MODULES[name].with_suffix(".pyi").read_text(encoding="utf-8"))
    assert all(isinstance(node, (ast.ImportFrom, ast.AnnAssign)) for node in stub.body)


def test_scripts_import_names_that_exist() -> None:
    """Of the packages, because no test runs most scripts."""
    for path in (PROJECT / "benchmarks").rglob("*.py"):
        for node in import_nodes(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in PACKAGES:
                exec(compile(ast.Module([node], []), path.name, "exec"), {})


def test_kernels_import_only_the_compiler_other_kernels_and_codes() -> None:
    allowed = ("_jit", "_arrays", "kernels", "_codes")
    kernels = {name: ours(imported(name)) & set(MODULES) for name in MODULES if name.endswith("kernels")}
    assert [(name, other) for name, others in kernels.items() for other in others if not other.endswith(allowed)] == []


def test_pictures_compute_nothing() -> None:
    pictures = {name: imported(name) for name in MODULES if ".plots" in name}
    computing = ("kernels", "._clusterings")
    assert [(name, other) for name, others in pictures.items() for other in others if other.endswith(computing)] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: importing(name) & set(MODULES) - set(FACES) for name in MODULES if name not in FACES}
    done: set[str] = set()
    while ready := {name for name in graph if name not in done and graph[name] <= done}:
        done |= ready
    assert set(graph) - done == set()


# --- weight ------------------------------------------------------------------------------------------------


def test_heavy_libraries_load_where_they_are_used() -> None:
    wrong = set()
    for name in of("corefsample"):
        allowed = {"numba"} if name == "corefsample._jit" else set()
        if name.startswith(("corefsample.formats", "corefsample.documents._batch")):
            allowed = {"pyarrow"}
        if name == "corefsample.spacy_bridge.component":  # spaCy registers a factory while its module loads
            allowed = {"spacy"}
        roots = {other.split(".")[0] for other in imported(name, into_functions=False)}
        wrong |= {(name, each) for each in roots & set(HEAVY) - allowed}
    assert wrong == set()


def loaded_by(statement: str) -> set[str]:
    """Heavy libraries in memory after a statement in a new process."""
    program = f"import sys; {statement}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    finished = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    return set(finished.stdout.split())


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_no_heavy_library(package: str) -> None:
    assert loaded_by(f"import {package}") == set()


def test_public_names_load_at_their_first_use() -> None:
    assert loaded_by("import corefsample as cs; cs.link_marginals, cs.sample_clusterings") == COMPILER
    assert loaded_by("from corefsample import ParameterError") == set()


# --- names -------------------------------------------------------------------------------------------------


def test_dir_shows_public_names_only() -> None:
    shown = dir(importlib.import_module("corefsample"))
    assert [name for name in shown if name.startswith("_")] == []
    assert {"AntecedentDistribution", "calibration", "link_marginals", "plots"} <= set(shown)
    assert not {"lazy_loader", "attached"} & set(shown)


def test_an_unknown_name_is_an_attribute_error() -> None:
    package = importlib.import_module("corefsample")
    with pytest.raises(AttributeError, match="No corefsample attribute link_marginal"):
        _ = package.link_marginal


# --- examples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*of("corefsample"), *of("events")])
def test_the_examples_of_docstrings_run(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an optional library
        if str(error.name).split(".")[0] in PACKAGES:
            raise
        pytest.skip(f"{error.name} is not installed")
    assert doctest.testmod(module).failed == 0
