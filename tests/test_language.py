"""Public docstrings: numpydoc finds no error, and every summary and description makes sense alone, as in `help()`."""

import importlib
import inspect
import re
import tomllib
from typing import Any

import click
import pytest
from command_line import LEAVES
from places import PROJECT

validation = pytest.importorskip("numpydoc.validate", reason="extra `test`")
docscrape = pytest.importorskip("numpydoc.docscrape", reason="extra `test`")

pytestmark = pytest.mark.skipif(not (PROJECT / "docs").exists(), reason="the pages are beside the sources alone")

A_TYPE = r"((int|float|bool|str|array|datetime)\w*(\[D\])? )?\([^)]*\)|(int|float|bool|str)\w*"
IN_SUMMARIES = {
    r"^(Of|As|At least|In|From|With|None|That|Which|Whether)\b": "begins with a word that needs the signature",
    r"\b(he|they|it) (has|have|had)\b(?! \w)|\bthat there (is|are)\b|\bthere must be\b": "has no noun",
    r"\b(mend(s|ed)?|there(of|in)|beforehand|lest|foretold|anew|(?<!\")refuse[sd]?)\b": "is not plain English",
}
IN_DESCRIPTIONS = IN_SUMMARIES | {
    r"\bNone: ": "is no sentence: 'By default, ...'",
    r"^(see|See) `[^`]+`\.$|^As (for|of)\b": "sends the reader elsewhere without saying what it is",
    rf"^({A_TYPE})?,?( in)?,? ?[\[(][^\])]*[\])](, finite|, read-only)?\.$|^({A_TYPE})\.$": "is a type or range alone",
    r"^[a-z](?!\w*\d* \()(?!nt|loat|ool|tr|rray|atetime)": "does not begin with a capital letter or a type",
    r"^The (given|new) ": "does not say what is returned",
}
IN_CONDITIONS = IN_SUMMARIES | {
    r"^(?!If |On construction, if |At the call, if |At the first |Before )": "is no condition",
    r"\b(option|parameter|number)s? (breaks?|is outside) (its|their|the) (rules?|range)": "does not name the condition",
    r"^(Of|On) the conditions of": "does not name the condition",
}


def public_objects() -> dict[str, Any]:
    """Return the public classes and functions by name, with the public methods and properties of the classes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PROJECT / "docs"))
        names = list(importlib.import_module("api_pages").public_names())
    objects: dict[str, Any] = {}
    for public in names:
        if public.package == public.described_in and (inspect.isclass(public.value) or inspect.isroutine(public.value)):
            objects[f"{public.package}.{public.name}"] = public.value
    for name, value in list(objects.items()):
        for member, attribute in vars(value).items() if inspect.isclass(value) else ():
            if not member.startswith("_") and (inspect.isroutine(attribute) or isinstance(attribute, property)):
                objects[f"{name}.{member}"] = getattr(value, member)
    return objects


OBJECTS = public_objects() if (PROJECT / "docs").exists() else {}


def parsed(value: Any) -> Any:
    return docscrape.get_doc_object(value, config={"show_class_members": False})


def options(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def faults(text: str, forms: dict[str, str]) -> list[str]:
    return [f"{text!r} {reason}" for form, reason in forms.items() if re.search(form, text)]


def described(value: Any) -> list[str]:
    """Return what is wrong with the sentences of a docstring."""
    doc = parsed(value)
    found = faults(" ".join(doc["Summary"]), IN_SUMMARIES)
    for section in ("Parameters", "Attributes", "Returns", "Yields", "Raises"):
        for entry in doc[section]:
            text = " ".join(entry.desc).strip()
            found += faults(text, IN_CONDITIONS if section == "Raises" else IN_DESCRIPTIONS) if text else []
    return found


def undocumented(value: Any, doc: Any, message: str) -> set[str]:
    """Return the parameters that neither an attribute nor, in a method of a sentence, the summary describes."""
    if inspect.isclass(value) and "__init__" not in vars(value):
        return set()  # the base describes them
    words = re.findall(r"\w+", " ".join(doc["Summary"])) if not doc["Parameters"] else []
    attributes = (name for entry in doc["Attributes"] for name in entry.name.split(", "))
    return {name for name in re.findall(r"'(\w+)'", message) if not name.startswith("_")} - {*words, *attributes}


def test_no_public_docstring_has_an_error_that_numpydoc_finds() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["numpydoc_validation"]
    found = []
    for name, value in OBJECTS.items():
        doc = parsed(value)
        for code, message in validation.validate(doc)["errors"]:
            if code not in settings["checks"] and (code != "PR01" or undocumented(value, doc, message)):
                found.append(f"{name}: {code} {message}")
    assert found == []


def test_every_sentence_of_a_public_docstring_stands_alone() -> None:
    assert {name: found for name, value in OBJECTS.items() if (found := described(value))} == {}


def test_the_help_of_every_option_stands_alone() -> None:
    helps = {f"{name} {option.opts[0]}": option.help for name, command in LEAVES.items() for option in options(command)}
    assert {name: found for name, text in helps.items() if (found := faults(text or "", IN_DESCRIPTIONS))} == {}
