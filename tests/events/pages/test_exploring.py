"""State in the address, search, two actors, files to download, documents without evidence, and accessibility."""

from __future__ import annotations

import itertools
import math
import urllib.parse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import report_pages
from chromium import Browser, accessibility_faults, choose_scheme, missing, resize, until
from run_cases import CountOptions, count_events

from corefsample import read_documents, write_documents
from corefsample.recalibration._uncertain import read_recalibration
from events import simulate_documents
from events.counts import read_count_samples
from events.pages._report import write_report

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def state(browser: Browser) -> dict[str, str]:
    """What the address says."""
    fragment = urllib.parse.urlsplit(browser.current_url).fragment
    return dict(urllib.parse.parse_qsl(fragment))


def actors(browser: Browser) -> list[str]:
    """Codes of actors in the order of the page."""
    found = browser.execute_script("return JSON.parse(document.getElementById('counts').textContent).actors")
    return [actor["code"] for actor in found]


def likeliest(run: Path, n: int = 1) -> Any:
    """The n-th row of evidence by probability, of an actor with a plain name."""
    table = report_pages.evidence(run)
    plain = table[table["actor"].str.fullmatch("[A-Z]{3}")]
    return plain.sort_values("probability", kind="stable").iloc[-n]


def find(browser: Browser, words: str) -> None:
    field = report_pages.one(browser, "#find")
    field.clear()
    field.send_keys(words)


# --- the address --------------------------------------------------------------------------------------------


def test_a_link_shows_what_its_sender_saw(browser: Browser, page: Path, run: Path) -> None:
    row = likeliest(run)
    sent = {
        "actor": row["actor"],
        "period": row["period"],
        "show": "period",
        "order": "date",
        "document": row["doc_id"],
    }
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#{urllib.parse.urlencode(sent)}")
    until(browser, report_pages.DRAWN)
    assert report_pages.text(browser, "#documents-heading").endswith(f", {row['period']}: documents by date")
    assert report_pages.text(browser, "#reader-heading") == row["doc_id"]
    expected = (
        report_pages.evidence(run)
        .query("actor == @row.actor and period == @row.period")
        .sort_values("date", kind="stable")
    )
    assert sorted(report_pages.listed(browser)) == sorted(expected["doc_id"])
    assert report_pages.text(browser, "#readout").startswith(row["period"])


def test_a_link_to_a_document_opens_at_it_on_a_narrow_page(browser: Browser, page: Path, run: Path) -> None:
    resize(browser, 390, 800)
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#{urllib.parse.urlencode({'document': likeliest(run)['doc_id']})}")
    until(browser, report_pages.DRAWN)
    top = "Math.abs(document.getElementById('reader').getBoundingClientRect().top)"
    until(browser, f"{top} < 100")


# --- search -------------------------------------------------------------------------------------------------


def test_words_are_searched_in_texts_and_ids(browser: Browser, run: Path) -> None:
    table = report_pages.evidence(run)
    texts = {each.doc_id: " ".join(each.tokens.text).lower() for each in read_documents(run / "documents.parquet")}  # type: ignore[union-attr]
    row = likeliest(run)
    find(browser, row["doc_id"])
    until(browser, f"document.querySelectorAll('#list .item').length === {(table['doc_id'] == row['doc_id']).sum()}")
    assert set(report_pages.listed(browser)) == {row["doc_id"]}
    word = max(texts[row["doc_id"]].split(), key=len)
    expected = {doc_id for doc_id in table["doc_id"] if word in texts[doc_id]}
    find(browser, word.upper())
    until(browser, f"document.getElementById('status').textContent.startsWith('{len(expected)} document')")
    assert set(report_pages.listed(browser)) <= expected
    assert state(browser)["find"] == word.upper()


# --- two actors ---------------------------------------------------------------------------------------------


def greater(table: pd.DataFrame, a: str, b: str, period: str) -> tuple[float, float]:
    """Bounds of P(n_a > n_b): all outcomes of all documents, for all ends of the ranges of the joint probabilities."""
    rows = table[table["period"] == period]
    p = {each: rows[rows["actor"] == each].set_index("doc_id")["probability"] for each in (a, b)}
    documents = sorted(set(p[a].index) | set(p[b].index))
    pairs = [(p[a].get(d, 0.0), p[b].get(d, 0.0)) for d in documents]
    ends = [sorted({max(0.0, pa + pb - 1.0), min(pa, pb)}) for pa, pb in pairs]
    found = []
    for joint in itertools.product(*ends):
        pmf = {0: 1.0}
        for (pa, pb), j in zip(pairs, joint, strict=True):
            after: dict[int, float] = {}
            for difference, weight in pmf.items():
                for step, share in ((1, pa - j), (-1, pb - j), (0, 1 - pa - pb + 2 * j)):
                    after[difference + step] = after.get(difference + step, 0.0) + weight * share
            pmf = after
        found.append(sum(weight for difference, weight in pmf.items() if difference > 0))
    return min(found), max(found)


def compare(browser: Browser, a: str, b: str) -> None:
    """Show two actors in one chart, and open its table."""
    script = (
        "const band = arguments; document.getElementById('actor').value = band[0];"
        "document.getElementById('actor').dispatchEvent(new Event('change'));"
        "document.getElementById('other').value = band[1];"
        "document.getElementById('other').dispatchEvent(new Event('change'));"
        "const frame = document.getElementById('band-table-frame'); frame.open = true;"
    )
    browser.execute_script(script, *(str(actors(browser).index(code)) for code in (a, b)))
    until(browser, "document.querySelectorAll('#band-table th[scope=col]').length === 10")


def greater_in_table(browser: Browser) -> list[list[str]]:
    """Periods and the texts of P(a > b)."""
    script = (
        "return [...document.querySelectorAll('#band-table tbody tr')].map((it) =>"
        " [it.querySelector('th').textContent, it.querySelector('td:last-child').textContent])"
    )
    rows: list[list[str]] = browser.execute_script(script)
    return rows


def test_the_probability_of_more_documents_is_that_of_the_enumeration(
    session: Browser, run: Path, tmp_path: Path
) -> None:
    of_rule: dict[str, Any] = {"triggers": "rules", "rule_error": "none"}
    options = CountOptions(n_samples=200, lexicon=str(run.parent / "lexicon.yaml"), threads=1, **of_rule)
    count_events(str(run.parent / "news.parquet"), tmp_path / "run", options)
    write_report(tmp_path / "run", tmp_path / "page.html")
    session.get((tmp_path / "page.html").as_uri())
    until(session, report_pages.DRAWN)
    table = report_pages.evidence(run)
    codes = [code for code in actors(session) if len(code) == 3]
    n_checked = 0
    for a, b in itertools.permutations(codes[:4], 2):
        compare(session, a, b)
        for period, shown in greater_in_table(session):
            low, high = greater(table, a, b, period)
            numbers = [float(word) for word in shown.split(" to ")]
            # At worst one division after another: bounds may be wider, and evidence is rounded.
            assert numbers[0] <= low + 0.0055
            assert numbers[-1] >= high - 0.0055
            if math.isclose(low, high):
                assert numbers == [pytest.approx(low, abs=0.0055)]
                n_checked += low > 0
    assert n_checked >= 5
    assert state(session)["beside"] == codes[:4][2]


def test_counts_that_share_an_uncertainty_are_compared_by_sample(session: Browser, tmp_path: Path) -> None:
    change = read_recalibration("english").recalibration
    documents = (change.apply_document(each.document) for each in simulate_documents(60, seed=3, event_share=1.0))
    write_documents(documents, tmp_path / "news.jsonl")
    count_events(
        tmp_path / "news.jsonl", tmp_path / "run", CountOptions(n_samples=100, period="year", rule_error="none")
    )
    write_report(tmp_path / "run", tmp_path / "page.html")
    session.get((tmp_path / "page.html").as_uri())
    until(session, report_pages.DRAWN)
    samples = read_count_samples(tmp_path / "run")
    n_checked = 0
    for a, b in itertools.permutations(actors(session)[:4], 2):
        compare(session, a, b)
        drawn = (samples.counts[:, samples.actors.index(code)] for code in (a, b))
        shares = dict(zip(samples.periods, np.mean(np.greater(*drawn), axis=0), strict=True))
        for period, shown in greater_in_table(session):
            assert float(shown) == pytest.approx(shares[period], abs=0.0055)
            n_checked += 0 < shares[period] < 1
    assert n_checked >= 5
    help_text = session.execute_script("return document.getElementById('other-help').textContent")
    assert "share of the 100 samples" in help_text


# --- files --------------------------------------------------------------------------------------------------


@pytest.fixture
def downloads(browser: Browser, tmp_path: Path) -> Path:
    report_pages.allow_downloads(browser, tmp_path)
    return tmp_path


def saved(browser: Browser, folder: Path, button: str, name: str) -> Path:
    """The file that a button downloads."""
    browser.execute_script("document.getElementById(arguments[0]).click()", button)
    return report_pages.downloaded(folder, name)


def test_the_table_of_an_actor_is_that_of_the_run(browser: Browser, run: Path, downloads: Path) -> None:
    code = likeliest(run)["actor"]
    report_pages.choose_actor(browser, code)
    path = saved(browser, downloads, "save-csv", f"counts-{code}.csv")
    found = pd.read_csv(path, encoding="utf-8-sig", keep_default_na=False)
    expected = pd.read_csv(run / "counts.csv", keep_default_na=False).query("actor == @code")
    assert found.columns.tolist() == expected.columns.tolist()
    rounded = ["mean_rule", "mean", "mean_mc_se", "sd"]
    assert found.drop(columns=rounded).to_numpy().tolist() == expected.drop(columns=rounded).to_numpy().tolist()
    np.testing.assert_allclose(found[rounded], expected[rounded], rtol=1e-3)


# --- accessibility --------------------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("axe_core_python") is None, reason="axe-core-python is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_automated_checks_of_accessibility_pass(browser: Browser, run: Path, scheme: str) -> None:
    """Axe's rules, contrast included, with a document open, and two actors in the chart."""
    choose_scheme(browser, scheme)
    try:
        report_pages.choose(browser, "#other", "1")
        report_pages.open_document(browser, likeliest(run)["doc_id"])
        assert accessibility_faults(browser) == []
    finally:
        choose_scheme(browser, "")
