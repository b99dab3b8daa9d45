"""README and pages of the documentation: their code runs; commands, options, links and names in them exist."""

import ast
import importlib
import inspect
import json
import math
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from command_line import LEAVES, Calls, unknown_options
from places import EN_CORE_WEB_SM, PROJECT, blocks
from scipy.stats import nbinom

import corefsample as cs
from corefsample.syntax._schemes import schemes_of
from events import load_lexicon, load_rules
from events.commands.demo import DemoOptions, run_demo
from events.commands.doctor import run_doctor
from events.evidence._evaluation import evaluate_clustering
from events.inspection._reports import Report
from events.matching._matching import match_document

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


def test_the_commands_of_the_readme_lead_from_articles_to_a_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: Path
) -> None:
    pytest.importorskip("vl_convert", reason="extra `report`")
    scheme = "clearnlp" if pipeline == EN_CORE_WEB_SM else "ud2"
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ARTICLES, columns=["doc_id", "date", "text"]).to_csv("news.csv", index=False)
    given = counting_commands()
    assert [words[0] for words in given] == ["doctor", "run"]
    assert "en_core_web_sm" in given[1]
    for words in given:
        arguments = [str(pipeline) if word == "en_core_web_sm" else word for word in words]
        status, _, err = Calls(capsys)(*arguments)
        assert status == 0, err  # a first run may write its progress while kernels are compiled

    record = json.loads(Path("run-scored.parquet.scoring.json").read_text(encoding="utf-8"))
    assert record["pipeline"]["pipeline"].startswith(pipeline.name)
    documents = list(cs.read_documents("run-scored.parquet"))
    assert len(documents) == len(ARTICLES)
    assert all(scheme in schemes_of(document.tokens.dep) for document in documents)
    counts = pd.read_csv("run/counts.csv").set_index(["actor", "period"])["mean"]
    evidence = pd.read_csv("run/evidence.csv").set_index("doc_id")["probability"]
    assert set(evidence.index) - {"negated"} == {"certain", "pronoun", "other"}
    assert evidence.get("negated", 0.0) < 0.3
    assert 0.3 < evidence["pronoun"] < evidence["certain"] > 0.8 < evidence["other"]
    assert counts["RUS", "1999Q2"] == pytest.approx(evidence["certain"] + evidence["pronoun"], abs=1e-6)
    assert counts["EGY", "1999Q3"] == evidence["other"]
    assert counts["RUS", "1999Q3"] == counts["EGY", "1999Q2"] == 0
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert all(doc_id in page for doc_id in evidence.index)


# --- the pages under docs on rules and lexicons -----------------------------------------------------------


RULES_PAGE = DOCS / "rules.md"


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
    report = examined(blocks(RULES_PAGE.with_stem(page), "yaml")[block], tmp_path)
    assert report.problems == []
    pairs = dict(report.pairs)
    assert all(pairs[name].startswith(text) for name, text in expected.items()), pairs


def test_the_lexicon_of_the_page_passes_the_doctor(tmp_path: Path) -> None:
    report = examined(next(each for each in blocks(RULES_PAGE, "yaml") if "entries:" in each), tmp_path)
    assert report.problems == []
    lexicon = load_lexicon(tmp_path / "example.yaml")
    assert lexicon.name("X-G7") == "Group of Seven"
    assert "JEY" not in lexicon.codes
    assert lexicon.match(["Yankees"], [-1], None).codes == {0: "USA"}


# --- the page on what to do with counts -------------------------------------------------------------------


@pytest.fixture(scope="module")
def defined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Names that the blocks define."""
    folder = tmp_path_factory.mktemp("after")
    run_demo(DemoOptions(out=str(folder / "corefsample-demo"), n_documents=100))
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in blocks(DOCS / "after-counting.md", "python"):
            if "arviz_base" not in block or find_spec("arviz_base"):
                exec(block, names)
    return names


def test_the_blocks_of_the_page_run(defined: dict[str, Any]) -> None:
    counts, samples = defined["counts"], defined["samples"]
    assert counts.shape == (1000, len(samples.periods))
    assert counts.sum() == samples.counts.sum(axis=(0, 2)).max()
    assert defined["table"].shape == ((samples.n_docs > 0).sum(), 3)
    assert (defined["shares"] * samples.n_docs[samples.n_docs > 0] == counts[:, samples.n_docs > 0]).all()


def test_uncertain_counts_widen_the_error_as_rubin_says(defined: dict[str, Any]) -> None:
    """Two fits, 1 and 3 with standard errors 1 and 2: within 2.5, between 1.5 * 2 = 3."""
    slope, error, _ = defined["pooled"]([1.0, 3.0], [1.0, 2.0], 12)
    assert (slope, error) == pytest.approx((2.0, math.sqrt(5.5)))


def test_the_probability_of_a_change_is_that_of_the_two_marginal_likelihoods(defined: dict[str, Any]) -> None:
    """A count with a Gamma rate is negative binomial, given the counts before it."""
    numbers, exposure = np.array([0, 1, 4, 6]), np.array([10.0, 20.0, 10.0, 30.0])
    prior = 0.5, 0.5 * exposure.sum() / numbers.sum()

    def likelihood(part: slice) -> float:
        (shape, rate), product = prior, 1.0
        for n, e in zip(numbers[part], exposure[part], strict=True):
            product *= float(nbinom.pmf(n, shape, rate / (rate + e)))
            shape, rate = shape + n, rate + e
        return product

    by_hand = np.array([likelihood(slice(0, k)) * likelihood(slice(k, 4)) for k in (1, 2, 3)])
    np.testing.assert_allclose(defined["change_points"](numbers, exposure), by_hand / by_hand.sum())


# --- checks of the notebooks without running them; notebooks/execute.py runs them -------------------------


FOLDER = PROJECT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
OWN_NEWS = FOLDER / "own_news.conllu"

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def markdown_of(path: Path) -> str:
    """The text of the Markdown cells."""
    parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.M)[1:]
    bodies = [body for head, body in zip(parts[::2], parts[1::2], strict=True) if "[markdown]" in head]
    return re.sub(r"^# ?", "", "".join(bodies), flags=re.M)


def commands(path: Path) -> list[str]:
    """The commands that a notebook runs, and those that its text names in blocks."""
    ran = [
        "".join(part.value if isinstance(part, ast.Constant) else "x" for part in parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run"
        for parts in [node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else [node.args[0]]]  # noqa: PD011
    ]
    text = markdown_of(path)
    quoted = [" ".join(code.split()) for code in re.findall(r"(?<!`)`(corefsample [^`]+)`(?!`)", text)]
    return [*ran, *re.findall(r"^corefsample.*$", text, re.M), *quoted]


@each_notebook
def test_a_notebook_imports_only_public_names(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not any(part.startswith("_") for name in names for part in name.split(".")), ast.unparse(node)


@each_notebook
def test_every_command_of_a_notebook_exists_with_its_options(path: Path) -> None:
    for command in commands(path):
        assert unknown_options(shlex.split(command)[1:]) == set(), command


@each_notebook
def test_every_link_of_a_notebook_has_a_target(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", markdown_of(path))
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_parses_made_by_hand_fit_the_attack_rule() -> None:
    rule, lexicon = load_rules("attack"), load_lexicon()
    found = {}
    for document in cs.read_corefud(OWN_NEWS):
        matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
        found[document.doc_id] = [code for (code,) in evaluate_clustering(matches, np.asarray(document.labels))]
    # As the articles say: own-08 is about a bank, and all others have one attacker.
    attackers = ["IRQ", "USA", "YUG", "HRV", "HRV", "HRV", "IRN", None, "AZE", "ARM"]
    assert found == {f"own-{n:02d}": [code] if code else [] for n, code in enumerate(attackers, start=1)}
