"""The pages under docs on rules and lexicons: their examples run, and their tables agree with the code."""

from pathlib import Path

import pytest
from places import PROJECT, blocks

from events.commands.doctor import run_doctor
from events.inspection._reports import Report
from events.lexicon._lexicon import load_lexicon

PAGE = PROJECT / "docs" / "rules.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


def examined(text: str, folder: Path) -> Report:
    path = folder / "example.yaml"
    path.write_text(text, encoding="utf-8")
    (report,) = run_doctor([str(path)]).result
    assert isinstance(report, Report)
    return report


@pytest.mark.parametrize(
    ("page", "block", "expected"),
    [
        ("rules", 0, {"rule": "arrest", "preset broad": "examples hold (1: ud2 1); serves ud2, ud1, clearnlp"}),
        ("rules", 1, dict.fromkeys(("preset paper", "preset wide", "preset asserted"), "no examples;")),
        ("rules", 2, dict.fromkeys(("preset extended", "preset asserted"), "no examples; serves ud2, ud1")),
    ],
)
def test_the_rules_of_a_page_pass_the_doctor(page: str, block: int, expected: dict[str, str], tmp_path: Path) -> None:
    report = examined(blocks(PAGE.with_stem(page), "yaml")[block], tmp_path)
    assert report.problems == []
    pairs = dict(report.pairs)
    assert all(pairs[name].startswith(text) for name, text in expected.items()), pairs


def test_the_lexicon_of_the_page_passes_the_doctor(tmp_path: Path) -> None:
    report = examined(next(each for each in blocks(PAGE, "yaml") if "entries:" in each), tmp_path)
    assert report.problems == []
    lexicon = load_lexicon(tmp_path / "example.yaml")
    assert lexicon.name("X-G7") == "Group of Seven"
    assert "JEY" not in lexicon.codes
    assert lexicon.match(["Yankees"], [-1], None).codes == {0: "USA"}
