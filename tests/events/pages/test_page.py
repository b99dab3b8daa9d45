"""The page as text: escaping, security policy, script modules, and the command that writes it."""

import base64
import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from hypothesis import given, strategies as st
from page_documents import HOSTILE_TITLE
from places import TEST_DATA
from report_pages import unpacked

from events.audit import AuditFrame
from events.evidence._rule_set import RuleSet
from events.pages._questions import rule_question
from events.pages._rendering import embedded_json, packed_parts
from events.pages._report import rendered_page
from events.pages._report_content import read_report


class Elements(HTMLParser):
    """Elements of a page with their attributes and text, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))

    def handle_data(self, data: str) -> None:
        if self.found:
            self.found[-1][2].append(data)

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(text).strip()) for name, attributes, text in self.found if name == tag]


@pytest.fixture(scope="module")
def page(run: Path) -> str:
    pytest.importorskip("vl_convert", reason="extra `report`")
    return rendered_page(read_report(run), title=HOSTILE_TITLE)


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    return Elements(page)


# --- text in, text out -------------------------------------------------------------------------------------


def test_a_page_refers_to_nothing_outside_it(elements: Elements) -> None:
    for tag, attributes, _ in elements.found:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action", "data", "style", "ping"), (tag, name)
            assert not name.startswith("on"), (tag, name)
            assert name != "href" or str(value).startswith("#"), (tag, value)
    style = elements.of("style")[0][1]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_the_style_and_scripts_by_hash_and_nothing_else(page: str, elements: Elements) -> None:
    policy = next(a["content"] for a, _ in elements.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    rules = {rule.split()[0]: rule.split()[1:] for rule in str(policy).split(";")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["require-trusted-types-for"] == ["'script'"]

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    assert rules["script-src"] == [hashed(text) for text in scripts]
    assert rules["style-src"] == [hashed(text) for text in re.findall(r"<style>(.*?)</style>", page, flags=re.S)]


# --- the file and the command ------------------------------------------------------------------------------


@pytest.fixture
def folder(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def test_an_existing_page_is_replaced_only_with_overwrite(folder: Path, call: Calls) -> None:
    (folder / "report.html").write_text("mine")
    assert "--overwrite" in call.refused("report", folder, status=2)
    assert (folder / "report.html").read_text() == "mine"
    assert call("report", folder, "--overwrite")[0] == 0
    assert (folder / "report.html").read_text() != "mine"


_PAGE_UNDER_A_LIMIT = """
import logging, resource, sys
from events.pages._report import page_of_run

logging.basicConfig(format="%(message)s")
resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))
print(page_of_run(sys.argv[1], overwrite=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit addresses")
def test_a_limit_of_memory_is_a_warning_and_does_not_end_the_process(folder: Path) -> None:
    before = sorted(os.listdir(folder))
    command = [sys.executable, "-c", _PAGE_UNDER_A_LIMIT, str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (0, "None\n")
    assert "out of memory" in process.stderr
    assert f"`corefsample report {folder}`" in process.stderr
    assert sorted(os.listdir(folder)) == before


# --- scripts, styles and embedded data of every page ------------------------------------------------------


# --- embedded data -----------------------------------------------------------------------------------------

json_text = st.text() | st.sampled_from(["</script>", "<!--", "&lt;", "\u2028", "\u2029", "]]>"])


@given(st.recursive(json_text | st.integers() | st.booleans(), lambda x: st.lists(x) | st.dictionaries(json_text, x)))
def test_embedded_json_can_be_read_back_and_cannot_end_its_element(content: Any) -> None:
    text = str(embedded_json(content))
    assert json.loads(text) == content
    assert not set(text) & set("<>&\u2028\u2029")


@given(st.lists(json_text, max_size=9), st.integers(1, 4))
def test_packed_parts_have_all_contents_in_order(contents: list[str], per_part: int) -> None:
    parts = packed_parts(contents, per_part)
    read = [unpacked(part) for part in parts]
    assert [each for part in read for each in part] == [text.encode("utf-8", "replace").decode() for text in contents]
    assert all(len(part) == per_part for part in read[:-1])


# --- what a label of an audit answers ---------------------------------------------------------------------


def frame(event: str, *targets: str) -> AuditFrame:
    made = AuditFrame.from_arrays(["a"], ["2000-01-01"], [0.5], event=event)
    return dataclasses.replace(made, targets=targets or (event,))


QUESTIONS = (TEST_DATA / "questions.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", QUESTIONS)
def test_the_question_is_of_rule_preset_and_actors(line: str) -> None:
    """A line has targets divided by |, rules and the preset if they are not those of arrest, and the question."""
    targets, options, text = line.split(" -> ")
    chosen = {"rules": "arrest", "preset": None, **json.loads(options)}
    rules = RuleSet.named(chosen["rules"].split(", "), chosen["preset"], "police")
    assert rule_question(frame(chosen["rules"], *targets.split("|")), rules)[0] == text


RULE = "name: strike\ntrigger: {lemma: [strike]}\npresets: {only: {described: [head], roles: {agent: [subject]}}}\n"


def test_a_rule_without_clauses_is_asked_about_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "strike.yaml"
    path.write_text(f"{RULE}description: Somebody strikes.\n")
    text, codebook = rule_question(frame("strike", "FRA"), RuleSet.named([str(path)], None))
    assert text == "Does the article say that there is the event “strike” by France?"
    assert codebook[0] == "Somebody strikes."
