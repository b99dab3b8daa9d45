"""A headless Chromium without a network, controlled by Selenium: for tests and benchmarks of pages."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

Browser: TypeAlias = "WebDriver"  # for tests, which name it in their parameters
PROGRAMS = ("chromium", "chromedriver")
_QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--force-prefers-reduced-motion", "--host-resolver-rules=MAP * ~NOTFOUND"),
)


def missing() -> str | None:
    """Return which programs a browser test lacks here, or None."""
    names = [name for name in PROGRAMS if shutil.which(name) is None]
    names += [] if find_spec("selenium") else ["selenium"]
    return f"a browser test needs {', '.join(names)}" if names else None


@contextmanager
def chromium(width: int = 1280, height: int = 900) -> Iterator[WebDriver]:
    """Start a browser with an empty profile that can open only files."""
    os.environ["SE_OFFLINE"] = "true"  # Selenium would look for a driver on the network
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    programs = [shutil.which(name) for name in PROGRAMS]
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(programs[0])
        for argument in (*_QUIET, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(str(programs[1])))
        try:
            yield browser
        finally:
            browser.quit()


def resize(browser: WebDriver, width: int, height: int) -> None:
    """Set the size of the page, which may be smaller than the smallest window."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def until(browser: WebDriver, script: str, seconds: float = 20.0) -> Any:
    """Wait until an expression of JavaScript is true, and return its value.

    It may read an element that the page is about to make, or makes again: then it is not true yet.
    """
    from selenium.common.exceptions import JavascriptException
    from selenium.webdriver.support.wait import WebDriverWait

    value: Callable[[WebDriver], Any] = lambda page: page.execute_script(f"return {script}")  # noqa: E731
    waiting = WebDriverWait(browser, seconds, poll_frequency=0.02, ignored_exceptions=[JavascriptException])
    return waiting.until(value, f"waited for {script}")


def accessibility_faults(browser: WebDriver) -> list[list[str]]:
    """What axe-core finds on the page: the rule, and up to three elements that break it."""
    import axe_core_python

    library = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    # As developer tools do: not by the page, whose policy allows no other scripts.
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": library})
    found: list[list[str]] = browser.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((it) =>"
        " done(it.violations.map((each) => [each.id, ...each.nodes.slice(0, 3).map((node) => node.html)])),"
        " (error) => done([[String(error)]]))"
    )
    return found


def choose_scheme(browser: WebDriver, scheme: str) -> None:
    """Show pages in light or dark colours; "" is the browser's own choice."""
    features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def requested(browser: WebDriver) -> list[str]:
    """Addresses that pages requested since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
