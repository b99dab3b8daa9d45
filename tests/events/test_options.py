"""Options that are declared once: checks, docstrings and what of them a record has."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Literal

import pytest
from command_line import LEAVES
from expected_errors import error

from corefsample import InputError, ParameterError
from corefsample.recalibration import read_recalibration
from events import load_lexicon, load_rules
from events._options import Declared, Options, Selection, declared, fields_of, option

FIELDS = [(name, field) for name, command in LEAVES.items() for field in fields_of(command.options).values()]


def wrong_values(field: Declared) -> list[Any]:
    """Values beyond each bound of a field, and of another type."""
    bounds = [] if field.at_least is None else [field.at_least - 1]
    bounds += [field.above] * (field.above is not None) + [field.below] * (field.below is not None)
    bounds += [] if field.at_most is None else [field.at_most + 1]
    if field.type is int:
        bounds += [1.5, True, -1]
    return [float("nan"), *bounds] if field.type is float else [*bounds, "other" if field.choices else b"x"]


def required(options: type[Options]) -> dict[str, str]:
    return {name: "x" for name, field in fields_of(options).items() if field.default is MISSING}


@pytest.mark.parametrize(("command", "field"), FIELDS, ids=[f"{name} {field.name}" for name, field in FIELDS])
def test_an_option_outside_its_declaration_is_rejected(command: str, field: Declared) -> None:
    options = LEAVES[command].options
    for value in wrong_values(field):
        given = value if field.n_values == 1 else (value,) * (field.n_values or 1)
        with error(ParameterError, field.name):
            options(**required(options) | {field.name: given})


@declared
class Named(Options):
    """Names alone.

    Attributes
    ----------
    names
        Names.
    """

    names: str | tuple[str, ...] = "a"


@declared
class Example(Named):
    """An example.

    Attributes
    ----------
    size
        A size, over
        two lines.
    pair
        Two numbers.
    kind
        A kind.
    out
        A file.
    """

    size: int = option(default=3, at_least=1, at_most=5)
    pair: tuple[float, float] | None = option(default=None, at_least=0.0)
    kind: Literal["a", "b"] = "a"
    out: str | None = option(default=None, is_recorded=False)


def test_the_help_is_that_of_the_docstrings() -> None:
    assert {name: field.help for name, field in fields_of(Example).items()} == {
        "size": "A size, over two lines.",
        "pair": "Two numbers.",
        "kind": "A kind.",
        "names": "Names.",
        "out": "A file.",
    }
    assert "names : str | tuple[str, ...], default 'a'\n    Names.\nsize : int, default 3\n    A" in str(
        Example.__doc__
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "size must be a whole number of at least 1, got 0"),
        ({"size": 6}, "size must be at most 5, got 6"),
        ({"names": 3}, "names must be str, got int"),
        ({"pair": (1.0,)}, "pair must be 2 values, got 1"),
        ({"pair": (1.0, -2.0)}, "pair must be at least 0, got -2.0"),
        ({"kind": "c"}, "kind must be one of a, b, got 'c'"),
    ],
)
def test_the_message_names_the_rule_and_the_value(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        Example(**given)
    assert str(raised.value) == message


def test_paths_become_texts_and_results_depend_on_recorded_options() -> None:
    made = Example(out=Path("x"), names=("a", "b"))
    assert made.out == "x"
    assert made.recorded() == {"size": 3, "pair": None, "kind": "a", "names": ("a", "b")}
    assert made.subset("out") == {"out": "x"}


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [read_recalibration, load_rules, load_lexicon])
def test_a_small_file_that_decompresses_to_much_is_rejected(tmp_path: Path, read: Callable[[str], Any]) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_bytes(gzip.compress(b" " * (17 * 2**20)))
    with error(InputError, place="bomb.yaml") as found:
        read(str(path))
    assert "decompressed, got more" in str(found.value)


# --- conditions on the documents that are used ------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "doc_id", "metadata", "included"),
    [
        ([], "a", {}, True),
        (["genre=news"], "a", {"genre": "news"}, True),
        (["genre=news"], "a", {"genre": "newspaper"}, False),
        (["genre=news*"], "a", {"genre": "newspaper"}, True),
        (["genre=court, news"], "a", {"genre": "news"}, True),
        (["genre=news"], "a", {}, False),
        (["meta::genre=news"], "a", {"genre": "news"}, True),
        (["date=2001-*"], "a", {"meta::date": "2001-02-03"}, True),
        (["year=2001"], "a", {"year": 2001}, True),
        (["doc_id=GUM_news_*,GUM_bio_?"], "GUM_bio_2", {}, True),
        (["doc_id=GUM_news_*,GUM_bio_?"], "GUM_bio_22", {}, False),
        (["doc_id=a"], "A", {}, False),
        (["genre=news", "doc_id=b*"], "b1", {"genre": "news"}, True),
        (["genre=news", "doc_id=b*"], "a1", {"genre": "news"}, False),
        (["url=x=1"], "a", {"url": "x=1"}, True),
        (["desk=For*"], "a", {"desk": ["Metro", "Foreign"]}, True),
        (["desk=For*"], "a", {"desk": []}, False),
    ],
)
def test_conditions_of_documents(conditions: list[str], doc_id: str, metadata: dict[str, Any], included: bool) -> None:
    assert Selection(conditions)(doc_id, metadata) is included
