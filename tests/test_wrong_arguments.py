"""Public functions and wrong arguments: an error of one line that names the parameter, or a result; nothing else."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_public_names import names_of_faces

import corefsample as cs
from corefsample import InputError, ParameterError, recalibration, tagging
from events import EventCounter, simulate_documents

pytest.importorskip("matplotlib")
DOCUMENT = next(iter(simulate_documents(1, seed=0))).document
WRONG: dict[str, Any] = {
    "a path": "missing.parquet",
    "a list": [1, "a"],
    "lists of different lengths": [[1], [2, 3]],
    "an empty list": [],
    "a document": DOCUMENT,
    "None": None,
    "an array of texts": np.array(["a", "b"]),
    "an array with NaN": np.array([0.5, np.nan]),
    "an array of objects": np.array([None, {}], object),
    "a complex array": np.zeros((2, 2), complex),
    "a number": 3,
    "a dict": {"a": 1},
}
PROTOCOL = "corefsample.scorers.AntecedentScorer"  # which cannot be called


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions and classes of the faces of packages by name, and methods that take documents, folders or names."""
    for folder, names in names_of_faces().items():
        package = folder.replace("/", ".")
        for name in names:
            function = getattr(importlib.import_module(package), name)
            if not (inspect.isclass(function) and issubclass(function, Exception)):
                yield f"{package}.{name}", function
    counter = EventCounter(n_samples=2)
    counter.add(DOCUMENT)
    counts, halved = counter.counts(), cs.Recalibration(temperature=2.0, new_bias=0.0)
    methods = [cs.AntecedentDistribution.from_lists, halved.apply_document, recalibration.RecalibrationFitter]
    methods += [tagging.ConditionalRandomField().fit, tagging.HiddenMarkovModel().fit]
    methods += [counter.add, counter.update, counter.merge, counter.save, counter.load]
    yield from ((method.__qualname__, method) for method in [*methods, counts.compare, counts.pmf, counts.period])


FUNCTIONS = {name: function for name, function in public_functions() if name != PROTOCOL}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_arguments_give_an_error_that_names_the_parameter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    positional = [one for one in parameters if one.kind <= inspect.Parameter.VAR_POSITIONAL]
    required = [one for one in positional if one.default is inspect.Parameter.empty]
    named = [one for one in parameters if one.kind == inspect.Parameter.KEYWORD_ONLY and one.default is one.empty]
    n_arguments = len(required) or min(1, len(positional))
    other_errors = {}
    for kind, wrong in WRONG.items():
        try:
            result = FUNCTIONS[name](*[wrong] * n_arguments, **{one.name: wrong for one in named})
            if inspect.isgenerator(result):
                list(result)
        except (ParameterError, InputError) as error:
            if "\n" in str(error):
                other_errors[kind] = f"several lines: {error}"
        except Exception as error:
            other_errors[kind] = repr(error)
    assert other_errors == {}


def test_an_error_says_what_to_do_where_the_mistake_is_common(tmp_path: Path) -> None:
    scored = tmp_path / "scored.parquet"
    cs.write_documents([DOCUMENT], scored)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"folder must have a file that ends in .*parquet"):
        cs.read_documents(tmp_path / "empty")
    for read in (cs.read_corefud, cs.read_conll2012):
        with pytest.raises(InputError, match="read_documents"):
            read(scored)
    with pytest.raises(ParameterError, match="into a list"):
        cs.link_tables(DOCUMENT)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="attribute `document`"):
        EventCounter().update(simulate_documents(1))  # type: ignore[arg-type]
