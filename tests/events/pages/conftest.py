"""A finished run for pages: simulated news, and hand-made documents that would break an unsafe page."""

import datetime
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, chromium, requested, resize, until
from page_documents import HOSTILE_TITLE, LEXICON, hostile
from report_pages import DRAWN
from run_cases import CountOptions, count_events

from corefsample import write_documents
from events import simulate_documents
from events.pages._report import write_report


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "lexicon.yaml").write_text(LEXICON, encoding="utf-8")
    news = folder / "news.parquet"
    simulated = [
        each.document
        for each in simulate_documents(
            160,
            seed=3,
            event_share=0.6,
            median_mentions=30,
            start=datetime.date(1995, 1, 1),
            end=datetime.date(1996, 12, 31),
        )
    ]
    write_documents([*simulated, hostile()], news)
    options = CountOptions(n_samples=200, lexicon=str(folder / "lexicon.yaml"), threads=1, triggers="rules")
    count_events(str(news), folder / "run", options)
    return folder / "run"


@pytest.fixture(scope="module")
def page(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "page with #, 'é'.html"
    return Path(write_report(run, out, title=HOSTILE_TITLE)["out"])


@pytest.fixture(scope="module")
def session() -> Iterator[Browser]:
    with chromium() as browser:
        alerts = "window.alerts = []; window.alert = (text) => window.alerts.push(text);"
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": alerts})
        yield browser


@pytest.fixture
def browser(session: Browser, page: Path) -> Iterator[Browser]:
    """The page, just opened; whatever a test does, there are no messages, no requests and no foreign scripts."""
    resize(session, 1280, 900)
    session.get("about:blank")
    requested(session), session.get_log("browser")
    session.get(page.as_uri())
    until(session, DRAWN)
    yield session
    assert session.get_log("browser") == []
    assert {urllib.parse.unquote(address) for address in requested(session)} <= {urllib.parse.unquote(page.as_uri())}
    assert session.execute_script("return window.alerts") == []
