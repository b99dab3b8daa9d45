"""The page in a real browser, from disk, without a network: by mouse, by keyboard, and with hostile text."""

import json
from pathlib import Path

import pandas as pd
import pytest
from chromium import Browser, missing, requested, until
from page_documents import HOSTILE_ABOUT, HOSTILE_CODE, HOSTILE_ID, HOSTILE_NAME, HOSTILE_TITLE, HOSTILE_WORDS
from report_pages import all_of, choose, choose_actor, evidence, focused, listed, one, open_document, press, text

from corefsample import ScoredDocument, read_documents

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture(scope="module")
def documents(run: Path) -> dict[str, ScoredDocument]:
    return {document.doc_id: document for document in read_documents(run / "documents.parquet")}


# --- three levels by mouse ---------------------------------------------------------------------------------


def test_a_click_on_a_document_shows_its_text(
    browser: Browser, run: Path, documents: dict[str, ScoredDocument]
) -> None:
    row = evidence(run).iloc[(evidence(run)["probability"] - 0.5).abs().argsort(kind="stable").iloc[0]]
    open_document(browser, row["doc_id"])
    tokens = documents[row["doc_id"]].tokens
    shown = "".join(each.get_attribute("textContent") for each in all_of(browser, "#text .sentence"))
    assert all(word in shown for word in tokens.text)
    assert all_of(browser, "#text .of-event")
    triggers = {each.get_attribute("textContent") for each in all_of(browser, "#text mark.trigger")}
    words = {each.get_attribute("textContent") for each in all_of(browser, "#text mark.word")}
    assert all(trigger.startswith("attack") for trigger in triggers)
    assert triggers
    assert words
    assert all(word in row["actor_mentions"] for word in words)
    assert f"= {row['probability']:.3f}" in text(browser, ".verdict")


# --- three levels by keyboard ------------------------------------------------------------------------------


def test_all_levels_can_be_reached_by_keyboard_and_left_again(browser: Browser, run: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    for _ in range(12):
        press(browser, Keys.TAB)
        if focused(browser) == "band":
            break
    assert focused(browser) == "band"
    assert one(browser, "#band").get_attribute("aria-valuetext").startswith("199")
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(outline) == "solid"
    press(browser, Keys.HOME)
    labels = list(pd.read_csv(run / "counts.csv")["period"].unique())
    assert one(browser, "#band").get_attribute("aria-valuetext").startswith(f"{labels[0]}: a reader would count ")
    press(browser, Keys.ARROW_RIGHT)
    assert one(browser, "#band").get_attribute("aria-valuetext").startswith(f"{labels[1]}: a reader would count ")
    press(browser, Keys.ENTER)
    assert text(browser, "#documents-heading").endswith(f", {labels[1]}: the likeliest documents")
    assert focused(browser) == "item"
    first, second = listed(browser)[:2]
    press(browser, Keys.ARROW_DOWN, Keys.ENTER)
    until(browser, f"document.getElementById('reader-heading').textContent === {json.dumps(second)}")
    until(browser, "document.activeElement.id === 'reader-heading'")
    for _ in range(20):
        press(browser, Keys.TAB)
        if focused(browser) == "text":
            break
    assert focused(browser) == "text"
    press(browser, Keys.ARROW_RIGHT)
    assert focused(browser).startswith("mention")
    before = text(browser, "#mention-body")
    press(browser, Keys.ARROW_LEFT)
    assert text(browser, "#mention-body") != before
    assert "Likeliest antecedents" in before
    press(browser, Keys.ESCAPE)
    assert focused(browser) == "item"
    assert second in browser.execute_script("return document.activeElement.textContent")
    press(browser, Keys.ARROW_UP)
    assert first in browser.execute_script("return document.activeElement.textContent")
    press(browser, Keys.ESCAPE)
    assert focused(browser) == "band"


# --- text that would break a careless page -----------------------------------------------------------------


def test_hostile_text_is_shown_as_text_and_runs_nothing(browser: Browser) -> None:
    assert browser.title == HOSTILE_TITLE
    before = browser.execute_script("return document.scripts.length")
    choose_actor(browser, HOSTILE_CODE)
    assert text(browser, "#chart-actor") == HOSTILE_NAME
    choose(browser, "#scope", "actor")
    open_document(browser, HOSTILE_ID)
    assert HOSTILE_ID in listed(browser)
    shown = text(browser, "#text")
    assert all(word in shown for word in HOSTILE_WORDS)
    about = text(browser, ".about")
    assert all(name in about and value in about for name, value in HOSTILE_ABOUT.items())
    browser.execute_script("document.querySelector('#text [data-mention=\"1\"]').click()")
    assert HOSTILE_WORDS[0] in text(browser, "#mention .quoted")
    assert browser.execute_script("return document.scripts.length") == before
    assert all_of(browser, "main b, main img, main iframe, main object") == all_of(
        browser, "#reading b, .verdict b, .scope b"
    )


def test_the_policy_blocks_scripts_made_from_text_and_the_network(browser: Browser) -> None:
    refused = browser.execute_async_script(
        "const done = arguments[0]; const refused = [];"
        "const attempt = (name, work) => { try { work(); } catch (error) { refused.push(name); } };"
        "setTimeout(() => {"  # outside of what the driver evaluates, which may make functions of text
        "attempt('html', () => { document.createElement('p').innerHTML = '<i>x</i>'; });"
        "attempt('function', () => new Function('return 1'));"
        "fetch('https://example.org/').catch(() => { refused.push('fetch'); done(refused); });"
        "});"
    )
    assert refused == ["html", "function", "fetch"]
    complaints = [entry["message"] for entry in browser.get_log("browser")]  # of these three
    assert any("Content Security Policy" in message for message in complaints)
    requested(browser)
