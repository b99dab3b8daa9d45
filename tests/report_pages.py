"""A person at a report in a browser: what tests of its page share."""

from __future__ import annotations

import base64
import json
import time
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
from chromium import Browser, until

DRAWN = "document.documentElement.dataset.band === 'drawn'"


def evidence(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "evidence.csv", keep_default_na=False)


def unpacked(part: str) -> Any:
    """What a page has in compressed form."""
    return json.loads(zlib.decompress(base64.b64decode(part), wbits=-zlib.MAX_WBITS))


def allow_downloads(browser: Browser, folder: Path) -> None:
    browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})


def downloaded(folder: Path, name: str) -> Path:
    """Wait for the file that the page saves, with this name or pattern of a name."""
    for _ in range(400):
        for path in folder.glob(name):
            if path.stat().st_size:
                return path
        time.sleep(0.05)
    raise AssertionError(f"no {name} in {list(folder.iterdir())}")


def all_of(browser: Browser, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)


def one(browser: Browser, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def text(browser: Browser, selector: str) -> str:
    return str(browser.execute_script("return document.querySelector(arguments[0]).textContent", selector))


def press(browser: Browser, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def focused(browser: Browser) -> str:
    """Id, or class, of the element that has the focus."""
    return str(browser.execute_script("const it = document.activeElement; return it.id || it.className"))


def choose(browser: Browser, selector: str, value: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(one(browser, selector)).select_by_value(value)


def choose_actor(browser: Browser, code: str) -> None:
    actors = browser.execute_script("return JSON.parse(document.getElementById('counts').textContent).actors")
    choose(browser, "#actor", str([actor["code"] for actor in actors].index(code)))


def listed(browser: Browser) -> list[str]:
    return [str(each.get_attribute("textContent")) for each in all_of(browser, "#list .item .name")]


def open_document(browser: Browser, doc_id: str) -> None:
    while True:
        found = [button for button in all_of(browser, "#list .item") if doc_id in button.get_attribute("textContent")]
        if found:
            break
        one(browser, "#more").click()
    found[0].click()
    until(browser, f"document.getElementById('reader-heading').textContent === {json.dumps(doc_id)}")
