"""The pages under docs on rules and lexicons: their examples run, and their tables agree with the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest
from places import PROJECT

from corefsample.syntax import SCHEMES
from events.commands import run_doctor
from events.commands._file_check import FileReport
from events.lexicon import _file as _lexicon_file
from events.lexicon._lexicon import load_lexicon
from events.rules import _format as rules
from events.rules import shipped_rules
from events.rules._conditions import shipped_conditions
from events.rules._rules import load_rules

PAGE = PROJECT / "docs" / "rules.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def yaml_blocks(page: Path) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)


def examined(text: str, folder: Path) -> FileReport:
    path = folder / "example.yaml"
    path.write_text(text, encoding="utf-8")
    (report,) = run_doctor([str(path)]).reports
    assert isinstance(report, FileReport)
    return report


def rows(heading: str) -> list[list[str]]:
    """Cells of the tables below one heading, code marks kept."""
    part = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def codes(cell: str) -> list[str]:
    return [code.replace(r"\|", "|") for code in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize(
    ("page", "block", "expected"),
    [
        ("rules", 0, {"rule": "arrest", "preset broad": "examples hold (1: ud2 1); serves ud2, ud1, clearnlp"}),
        ("rules", 1, dict.fromkeys(("preset paper", "preset wide", "preset asserted"), "examples hold (")),
        ("rules", 2, dict.fromkeys(("preset extended", "preset asserted"), "examples hold (0); serves ud2, ud1")),
        ("count-events", 0, {"preset paper": "examples hold (1: "}),
    ],
)
def test_the_rules_of_a_page_pass_the_doctor(page: str, block: int, expected: dict[str, str], tmp_path: Path) -> None:
    report = examined(yaml_blocks(PAGE.with_stem(page))[block], tmp_path)
    assert report.problems == []
    pairs = dict(report.pairs)
    assert all(pairs[name].startswith(text) for name, text in expected.items()), pairs


def test_the_lexicon_of_the_page_passes_the_doctor(tmp_path: Path) -> None:
    report = examined(next(each for each in yaml_blocks(PAGE) if "entries:" in each), tmp_path)
    assert report.problems == []
    lexicon = load_lexicon(tmp_path / "example.yaml")
    assert lexicon.name("X-G7") == "Group of Seven"
    assert "JEY" not in lexicon.codes
    assert lexicon.match(["Yankees"], [-1], None).codes == {0: "USA"}


def test_every_named_path_of_every_scheme_has_a_row_with_its_paths() -> None:
    described = {codes(row[0])[0]: row for row in rows("Named paths") if codes(row[0])}
    assert set(described) == {name for scheme in SCHEMES.values() for name in scheme.paths}
    for name, row in described.items():
        for scheme, cell in zip(("ud2", "ud1", "clearnlp"), row[2:], strict=True):
            paths = SCHEMES[scheme].paths[name]
            bare = {re.sub(r"\[[^]]*\]", "", path) for path in paths}
            assert set(codes(cell)) <= {*paths, *bare}, (name, scheme)
            assert codes(cell) or cell == "itself", (name, scheme)


def test_every_key_of_a_rule_file_has_a_row() -> None:
    named = {key for row in rows("A rule file") for key in codes(row[0])}
    fields = set(rules.RuleFile.__struct_fields__)
    fields |= {f"trigger.{key}" for key in rules.Trigger.__struct_fields__}
    fields |= {f"presets.*.{key}" for key in rules.Preset.__struct_fields__}
    assert named == fields | set(rules.Example.__struct_fields__)
    needed = {codes(row[0])[0]: row[1] == "yes" for row in rows("A rule file") if codes(row[0])}
    for kind, prefix in ((rules.RuleFile, ""), (rules.Trigger, "trigger."), (rules.Example, "")):
        for field in msgspec.structs.fields(kind):
            assert needed.get(prefix + field.name, field.required) == field.required, field.name


def test_every_key_of_a_lexicon_file_has_a_row() -> None:
    named = {key for row in rows("A lexicon file") for key in codes(row[0])}
    kinds_of_table = (
        *(_lexicon_file._LexiconFile, _lexicon_file._Entry),
        *(_lexicon_file._Title, _lexicon_file._Declaration),
    )
    fields = {field.encode_name for kind in kinds_of_table for field in msgspec.structs.fields(kind)}
    assert named == fields - {"alias", "codes"}  # of an ambiguous alias, in the row of the list
    kinds = next(row for row in rows("A lexicon file") if "kind" in row[0])
    assert set(codes(kinds[2])) == {
        kind for name in ("countries", "police") for kind in load_lexicon(name).kinds.values()
    }


def test_the_notation_of_the_page_is_that_of_the_module() -> None:
    from corefsample.syntax import _paths as paths

    for row in rows("The notation of paths"):
        for code in codes(row[0]):
            path = f"{code}>obj" if code.startswith("[") else code
            paths.path_labels(path)
    tagged = [row for row in rows("The notation of paths") if row[0].partition(",")[0] in paths._PENN]
    assert {tag.strip(): codes(row[1])[0] for row in tagged for tag in row[0].split(",")} == paths._PENN


def test_every_condition_has_a_row_and_the_presets_exclude_those_of_the_page() -> None:
    assert [codes(row[0])[0] for row in rows("Whether the text asserts it") if codes(row[0])] == list(
        shipped_conditions()
    )
    for name in shipped_rules():
        others = ("reported", "passive", "nominal", "imprisonment", "no_arrest")
        assertion = tuple(each for each in shipped_conditions() if each not in others)
        # The conditions of "extended" say which sense of a word is meant.
        in_words = ("in_words",) if name in ("attack", "attack_target", "conflict") else ()
        assert load_rules(name, "asserted").unless == (*in_words, *load_rules(name, "extended").unless, *assertion)


def test_every_shipped_rule_has_a_row_with_its_columns_and_its_classes_of_plover() -> None:
    described = {re.match(r"\[(\w+)\]", row[0]): row for row in rows("Shipped rules")}
    named = {match.group(1): row for match, row in described.items() if match}
    assert sorted(named) == sorted(shipped_rules())
    # The classes of the PLOVER manual that concern violence, coercion, protest and meetings.
    plover = {"ASSAULT", "COERCE", "PROTEST", "CONSULT", "MOBILIZE", "THREATEN"}
    for name, row in named.items():
        rule = load_rules(name, "extended")
        assert tuple(codes(row[2])) == rule.columns
        assert ("may be absent" in row[2]) == bool(rule.optional)
        classes = set(re.findall(r"[A-Z]{3,}", row[3]))
        assert classes
        assert classes <= plover


# --- the page of pictures -------------------------------------------------------------------------------------

PICTURES = PROJECT / "docs" / "pictures.md"
SCRIPT = PROJECT / "docs" / "make_pictures.py"


def test_every_plot_is_shown_and_every_shown_plot_exists() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", PICTURES.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.name for path in PICTURES.parent.glob("picture-*.png"))
    assert len(set(shown)) == len(shown) == 9


def test_the_command_of_the_page_makes_the_pictures() -> None:
    assert f"python {SCRIPT.relative_to(PROJECT)}" in PICTURES.read_text(encoding="utf-8")
    keys = {
        key.value
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    assert {path.stem.removeprefix("picture-") for path in PICTURES.parent.glob("picture-*.png")} <= keys
