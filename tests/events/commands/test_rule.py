"""The commands of rules: from sentences to files, and what rules find in their examples."""

import re
import shlex
from pathlib import Path

import pytest
from command_line import Calls
from places import EN_CORE_WEB_SM, EN_GUM_UD, PROJECT

from events import load_rules

PAGE = PROJECT / "docs" / "rules.md"


@pytest.mark.parametrize("folder", [EN_CORE_WEB_SM, EN_GUM_UD], ids=lambda folder: folder.name)
@pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")
def test_the_commands_of_the_page_work(
    call: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if not folder.exists():
        pytest.skip(f"the pipeline is missing: {folder.name}")
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text("utf-8").partition("\n## From a sentence to a rule\n")[2].partition("\n## ")[0]
    new, test = (shlex.split(line)[1:] for line in re.findall(r"^corefsample .*", section, flags=re.M))
    out = call.good(*(str(folder) if word == "en_core_web_sm" else word for word in new))
    assert out.startswith(re.findall(r"```text\n(.*?)```", section, flags=re.S)[0])
    out = call.good(*test)
    assert ": Soldiers seized three ships on Monday .\n  extended  ARMY\n  asserted  ARMY\n" in out
    # A rule is not replaced by accident, and errors say what to give.
    assert call(*new[:-1], folder)[0] == 2
    assert call(*new[:-1], folder, "--overwrite")[0] == 0
    for words, named in ((["--example", "Men left. They ran."], "--example"), (["--actor", "Prussia"], "--actor")):
        status, _, err = call(*new[:-1], folder, "--overwrite", *words)
        assert (status, err.count("\n")) == (2, 1)
        assert named in err


@pytest.mark.skipif(not EN_CORE_WEB_SM.exists(), reason="the pipeline is missing: en_core_web_sm")
def test_the_examples_of_the_help_work(call: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^ *corefsample (rule new .*)", call.good("rule", "new", "--help"), flags=re.M)
    assert commands
    for command in commands:
        call.good(*(str(EN_CORE_WEB_SM) if word == "en_gum_ud" else word for word in shlex.split(command)))


def test_a_shipped_rule_is_tested_by_its_name(call: Calls) -> None:
    out = call.good("rule", "test", "attack")
    assert out.count("\nexamples[") == len(load_rules("attack").examples)
    assert call("rule", "test", "scored.jsonl")[0] == 2
