"""README and pages of the documentation: their code runs; commands, options, links and names in them exist."""

import importlib
import inspect
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import matplotlib as mpl
import pandas as pd
import pytest
from command_line import LEAVES, Calls, unknown_options
from places import EN_CORE_WEB_SM, EN_GUM_UD, PROJECT, blocks

import corefsample as cs
from corefsample.syntax._schemes import schemes_of

README, DOCS = PROJECT / "README.md", PROJECT / "docs"
PIPELINE, UD_PIPELINE = "en_core_web_sm", PROJECT / ".." / "shared" / "models" / "en_gum_ud"
PAGES = [README, *sorted(DOCS.glob("*.md"))]
# Pages whose Python runs here; other pages have tests of their own.
RUNNABLE = [README, *(DOCS / f"{name}.md" for name in ("recipes", "python", "my-system"))]
# Pages whose blocks use names of earlier blocks.
BUILDING = ["audit", "hmm-crf", "installation", "pictures", "recalibration", "scores", "summaries", "tagging"]

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is beside the sources alone")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.fixture
def api_pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("api_pages")


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert blocks(page, "python")
    for code in blocks(page, "python"):
        if PIPELINE in code:  # it stands for any pipeline
            if not UD_PIPELINE.exists():
                continue
            code = code.replace(PIPELINE, str(UD_PIPELINE.resolve()))
        exec(compile(code, page.name, "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", BUILDING)
def test_the_python_of_a_building_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = blocks(DOCS / f"{name}.md", "python")
    assert codes
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with mpl.rc_context():
        for code in codes:
            exec(compile(code, name, "exec"), names)


@each_page
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    for block in blocks(page, "sh"):
        for line in re.sub(r"\\\n *", " ", block).splitlines():
            for part in re.findall(r"(?:^|&& |\| )(corefsample [^#|&]*)", line.strip()):
                words = part.split()[1:]
                if words[0].startswith("-"):
                    continue
                assert unknown_options(words) == set(), part


@each_page
def test_every_link_of_a_page_has_a_target(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    links = [link for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text) if not link.startswith("reference/api/")]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_public_name_is_on_a_reference_page_and_has_a_docstring(api_pages: ModuleType, tmp_path: Path) -> None:
    names = list(api_pages.public_names())
    assert {"sample_clusterings", "EventCounter", "calibration_error"} <= {each.name for each in names}
    api_pages.write_pages(tmp_path)
    for each in names:
        text = (tmp_path / f"{each.package}.md").read_text(encoding="utf-8")
        assert re.search(rf"(:: |`){each.name}(\n|`)", text), f"{each.package}.{each.name}"
        if inspect.isclass(each.value) or inspect.isroutine(each.value):
            assert inspect.getdoc(each.value), f"{each.package}.{each.name} has no docstring"


def test_every_command_has_a_page_with_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    (tmp_path / "gone.md").write_text("# gone", encoding="utf-8")
    importlib.import_module("command_pages").write_pages(tmp_path)
    found = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md")}
    overview = found.pop("overview")
    assert "gone" not in found
    for name, command in LEAVES.items():
        page = found[name.replace(" ", "-")]
        assert f"# corefsample {name}\n" in page
        assert f"[{name}](reference/commands/{name.replace(' ', '-')}.md)" in overview
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert f"{parameter.opts[0]}" in page
        assert "Sentinel" not in page
        assert page.count("```") % 2 == 0
    assert r"default: .95" in found["events"] or r"default: 0.95" in found["events"]


# --- the README's commands, from articles to the page of a run -------------------------------------------------


ARTICLES = [
    # One mention is Russian and attacks, and no other mention names a country.
    ("certain", "1999-05-03", "Russian forces attacked a village in the north on Monday. Officials confirmed it."),
    # Russia attacks if "They" are the troops.
    ("pronoun", "1999-06-10", "Russian troops crossed the river at dawn. They attacked the bridge an hour later."),
    # Negated: the trigger model gives it a low probability, or none.
    ("negated", "1999-08-02", "French soldiers did not attack the town. The mayor thanked the people."),
    ("other", "1999-08-20", "Egyptian soldiers attacked a camp in the desert.\n\nThe camp was empty, a witness said."),
]


def counting_commands() -> list[list[str]]:
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
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: tuple[Path, str]
) -> None:
    pytest.importorskip("vl_convert", reason="extra `report`")
    folder, scheme = pipeline
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ARTICLES, columns=["doc_id", "date", "text"]).to_csv("news.csv", index=False)
    given = counting_commands()
    assert [words[0] for words in given] == ["doctor", "run"]
    assert "en_core_web_sm" in given[1]
    for words in given:
        arguments = [str(folder) if word == "en_core_web_sm" else word for word in words]
        status, _, err = Calls(capsys)(*arguments)
        assert status == 0, err  # a first run may write its progress while kernels are compiled

    record = json.loads(Path("run-scored.parquet.scoring.json").read_text(encoding="utf-8"))
    assert record["pipeline"]["pipeline"].startswith(folder.name)
    documents = list(cs.read_documents("run-scored.parquet"))
    assert len(documents) == len(ARTICLES)
    assert all(scheme in schemes_of(document.tokens.dep) for document in documents)
    counts = pd.read_csv("run/counts.csv").set_index(["actor", "period"])["mean"]
    evidence = pd.read_csv("run/evidence.csv").set_index("doc_id")["probability"]
    assert set(evidence.index) - {"negated"} == {"certain", "pronoun", "other"}
    assert evidence.get("negated", 0.0) < 0.3
    assert 0.3 < evidence["pronoun"] < min(evidence[["certain", "other"]]) > 0.8
    assert counts["RUS", "1999Q2"] == pytest.approx(evidence["certain"] + evidence["pronoun"], abs=1e-6)
    assert counts["EGY", "1999Q3"] == evidence["other"]
    assert counts["RUS", "1999Q3"] == counts["EGY", "1999Q2"] == 0
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert all(doc_id in page for doc_id in evidence.index)
