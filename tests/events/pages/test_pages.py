"""Scripts, styles and embedded data of every page."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_pages import unpacked

from events.pages._labelling import LABEL_SOURCES
from events.pages._rendering import Sources, bundled, embedded_json, packed_parts
from events.pages._report import SOURCES

PAGES = {"report": SOURCES, "label": LABEL_SOURCES}


def file_of(name: str) -> str:
    return resources.files("events.pages").joinpath("static", name).read_text(encoding="utf-8")


# --- embedded data -----------------------------------------------------------------------------------------

json_text = st.text() | st.sampled_from(["</script>", "<!--", "&lt;", "\u2028", "\u2029", "]]>"])


@given(st.recursive(json_text | st.integers() | st.booleans(), lambda x: st.lists(x) | st.dictionaries(json_text, x)))
def test_embedded_json_can_be_read_back_and_cannot_end_its_element(content: Any) -> None:
    text = str(embedded_json(content))
    assert json.loads(text) == content
    assert not set(text) & set("<>&\u2028\u2029")


def test_values_that_json_does_not_have_are_rejected() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json([float("nan")])


@given(st.lists(json_text, max_size=9), st.integers(1, 4))
def test_packed_parts_have_all_contents_in_order(contents: list[str], per_part: int) -> None:
    parts = packed_parts(contents, per_part)
    read = [unpacked(part) for part in parts]
    assert [each for part in read for each in part] == [text.encode("utf-8", "replace").decode() for text in contents]
    assert all(len(part) == per_part for part in read[:-1])


# --- scripts -----------------------------------------------------------------------------------------------


def modules_of(sources: Sources) -> dict[str, str]:
    return {name: file_of(name) for name in sources.scripts}


def imports_of(script: str) -> dict[str, set[str]]:
    """Names that a module imports, by module."""
    statements = re.findall(r'^import \{ ([^}]*) \} from "\./([^"]*)";$', script, flags=re.M)
    return {module: set(names.split(", ")) for names, module in statements}


def top_level_names(script: str, *, exported: bool) -> set[str]:
    prefix = "export " if exported else "(?:export )?"
    names = re.findall(rf"^{prefix}(?:async )?(?:function|const|let) (\w+|\{{.*\}}) ?[=(]", script, flags=re.M)
    return {each for name in names for each in name.strip("{ }").split(", ")}


def identifiers(script: str) -> set[str]:
    """Words of a module outside imports, comments and strings that are neither properties nor keys."""
    code = re.sub(r"^import .*|//.*$", "", script, flags=re.M)
    code = re.sub(r"`[^`]*`", lambda template: " ".join(re.findall(r"\$\{([^}]*)\}", template[0])), code)
    code = re.sub(r'"[^"\n]*"', "", code)
    return set(re.findall(r"(?<!\w)(?<!(?<!\.\.)\.)\w+\b(?!:)", code))


@pytest.mark.parametrize("page", PAGES)
def test_each_script_imports_what_it_uses_of_the_others_and_no_more(page: str) -> None:
    modules = modules_of(PAGES[page])
    exports = {name: top_level_names(script, exported=True) for name, script in modules.items()}
    for name, script in modules.items():
        words = identifiers(script) - top_level_names(script, exported=False)
        used = {other: exports[other] & words for other in modules if other != name and exports[other] & words}
        assert imports_of(script) == used, name


def test_every_export_is_imported_somewhere() -> None:
    taken: dict[str, set[str]] = {}
    exports: dict[str, set[str]] = {}
    for sources in PAGES.values():
        for name, script in modules_of(sources).items():
            exports[name] = top_level_names(script, exported=True)
            for module, names in imports_of(script).items():
                taken.setdefault(module, set()).update(names)
    assert {name: taken.get(name, set()) for name in exports} == exports


@pytest.mark.parametrize("page", PAGES)
def test_the_scripts_can_share_one_scope(page: str) -> None:
    sources = PAGES[page]
    names = [name for script in modules_of(sources).values() for name in top_level_names(script, exported=False)]
    assert len(names) == len(set(names)) > 30
    assert not re.search(r"^(?:import|export) ", bundled(sources.scripts), flags=re.M)


# --- colours -----------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.1 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_colours_have_contrast(scheme: int) -> None:
    """4.5 to 1 for text; entity numbers and lines are beside a label of their own and need 3 to 1."""
    style = file_of("base.css")
    blocks = [
        dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", style, flags=re.S)
    ]
    colours = {**blocks[0], **blocks[scheme]}

    def contrast(first: str, second: str) -> float:
        light, dark = sorted((luminance(colours[first]), luminance(colours[second])), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    for text in ("ink", "quiet", "blue"):
        assert contrast(text, "paper") >= 4.5, text
    assert contrast("ink", "word") >= 4.5
    assert contrast("on-trigger", "trigger") >= 4.5
    for mark in ("vermilion", "focus", *(f"k{n}" for n in range(1, 8))):
        assert contrast(mark, "paper") >= 3.0, mark
