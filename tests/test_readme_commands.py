"""The README's commands from articles to the page of a run, with pipelines of both schemes of English."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from command_line import Calls
from places import EN_CORE_WEB_SM, EN_GUM_UD, PROJECT

import corefsample as cs
from corefsample.syntax._schemes import document_schemes

README = PROJECT / "README.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is beside the sources alone")

ARTICLES = [
    # One mention is Russian and attacks, and no other mention names a country: probability 1.
    ("certain", "1999-05-03", "Russian forces attacked a village in the north on Monday. Officials confirmed it."),
    # Russia attacks if "They" are the troops.
    ("pronoun", "1999-06-10", "Russian troops crossed the river at dawn. They attacked the bridge an hour later."),
    # Negated: the preset `asserted` does not count it.
    ("negated", "1999-08-02", "French soldiers did not attack the town. The mayor thanked the people."),
    ("other", "1999-08-20", "Egyptian soldiers attacked a camp in the desert.\n\nThe camp was empty, a witness said."),
]


def commands() -> list[list[str]]:
    """Arguments of the commands under "Your own news" that count, without comments."""
    section = README.read_text(encoding="utf-8").partition("\n## Your own news\n")[2]
    block = re.findall(r"```sh\n(.*?)```", section, flags=re.S)[0]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    return [words[1:] for words in lines if words[0] == "corefsample"]


@pytest.fixture(params=[(EN_CORE_WEB_SM, "clearnlp"), (EN_GUM_UD, "ud2")], ids=lambda param: param[0].name)
def pipeline(request: pytest.FixtureRequest) -> tuple[Path, str]:
    folder, scheme = request.param
    if not folder.exists():
        pytest.skip(f"the pipeline is missing: {folder.name}")
    return folder, scheme


def test_the_commands_of_the_readme_lead_from_articles_to_a_page(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pipeline: tuple[Path, str],
) -> None:
    pytest.importorskip("altair", reason="extra `report`")
    folder, scheme = pipeline
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ARTICLES, columns=["doc_id", "date", "text"]).to_csv("news.csv", index=False)
    given = commands()
    assert [words[0] for words in given] == ["run"]
    assert "en_core_web_sm" in given[0]
    for words in given:
        arguments = [str(folder) if word == "en_core_web_sm" else word for word in words]
        status, _, err = Calls(capsys)(*arguments)
        assert status == 0, err  # a first run may write its progress while kernels are compiled

    record = json.loads(Path("run-scored.parquet.scoring.json").read_text(encoding="utf-8"))
    assert record["pipeline"]["pipeline"].startswith(folder.name)
    documents = list(cs.read_documents("run-scored.parquet"))
    assert len(documents) == len(ARTICLES)
    assert all(scheme in document_schemes(document.tokens.dep) for document in documents)
    counts = pd.read_csv("run/counts.csv").set_index(["actor", "period"])["mean"]
    evidence = pd.read_csv("run/evidence.csv").set_index("doc_id")["probability"]
    assert set(evidence.index) == {"certain", "pronoun", "other"}
    assert 0 < evidence["pronoun"] < 1
    assert counts["RUS", "1999Q2"] == pytest.approx(1 + evidence["pronoun"], abs=1e-6)
    assert counts["EGY", "1999Q3"] == evidence["other"] == 1
    assert counts["RUS", "1999Q3"] == counts["EGY", "1999Q2"] == 0
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert all(doc_id in page for doc_id in evidence.index)
