"""Measure the page of `corefsample report` at 20 years and 50 countries: python benchmarks/report_page.py.

Simulates that news, counts, makes the page, and opens it in headless Chromium from disk: size of the page and of its
parts, time to the first paint, to the large chart, to all small ones, and from a click on a document to its text.
`--folder RUN` measures the page of an existing run; `--screenshot FILE` makes the README's picture instead, from
the embedded example.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from corefsample import write_documents
from events.commands import EventsOptions, run_events
from events.commands.demo import DemoOptions, run_demo
from events.lexicon._lexicon import load_lexicon
from events.pages._rendering import chart_library
from events.pages._report import write_report
from events.simulation._documents import simulate_documents
from events.simulation._story import SimulatedCountry, default_countries

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from chromium import chromium, missing, resize, until

START, END, N_COUNTRIES = datetime.date(1990, 1, 1), datetime.date(2009, 12, 31), 50
RUNS = 5
MILLISECONDS = {
    "first contentful paint": "performance.getEntriesByName('first-contentful-paint')[0]?.startTime",
    "large chart drawn": "performance.getEntriesByName('band-drawn')[0]?.startTime",
}


def fifty_countries() -> list[SimulatedCountry]:
    """The countries of the simulation, and others of the lexicon up to fifty."""
    countries = list(default_countries())
    known = {country.code for country in countries}
    lexicon = load_lexicon()
    for code, name in lexicon.names.items():
        simple = lexicon.kinds[code] == "actor" and name.isalpha() and code not in known
        if simple and len(countries) < N_COUNTRIES and lexicon.match([name], [-1], START).codes == {0: code}:
            countries.append(SimulatedCountry(code, name, rate=0.3))
    return countries


def simulated_run(folder: Path, n_documents: int) -> Path:
    news = folder / "news.parquet"
    simulated = simulate_documents(n_documents, start=START, end=END, event_share=0.3, countries=fifty_countries())
    write_documents((each.document for each in simulated), news)
    run_events(str(news), EventsOptions(out=folder / "run", pictures=False))
    return folder / "run"


def loads(page: Path) -> dict[str, float]:
    """Medians over several loads, in milliseconds since the navigation began."""
    found: dict[str, list[float]] = {}
    with chromium() as browser:
        for _ in range(RUNS):
            browser.get("about:blank")
            browser.get(page.resolve().as_uri())
            for name, script in MILLISECONDS.items():
                found.setdefault(name, []).append(until(browser, script))
            until(browser, "document.documentElement.dataset.panels === 'drawn'")
            panels = browser.execute_script("return performance.getEntriesByName('panels-drawn')[0].startTime")
            found.setdefault("all small charts drawn", []).append(panels)
            browser.execute_script(
                "window.begun = performance.now(); document.querySelector('#list .item').click();"
                "new MutationObserver(() => { window.ended = performance.now(); })"
                ".observe(document.getElementById('text'), { childList: true });"
            )
            opened = until(browser, "window.ended && window.ended - window.begun")
            found.setdefault("a document opened", []).append(opened)
    return {name: statistics.median(values) for name, values in found.items()}


def measure(run: Path, page: Path, n_documents: int) -> None:
    begun = time.perf_counter()
    summary = write_report(run, page, n_documents=n_documents, overwrite=True)
    seconds = time.perf_counter() - begun
    print(f"{summary['n_actors']} countries, {summary['n_periods']} periods, {summary['n_with_events']:,} documents")
    print(f"{'page made in':<28}{seconds:10.1f} s")
    print(f"{'page':<28}{summary['n_bytes'] / 1e6:10.2f} MB, with {summary['n_texts']:,} texts")
    without = write_report(run, page.with_name("without.html"), n_documents=0)["n_bytes"]
    print(f"{'page without texts':<28}{without / 1e6:10.2f} MB")
    print(f"{'chart library, vl-convert':<28}{len(chart_library().encode()) / 1e6:10.2f} MB")
    if find_spec("plotly"):
        from plotly.offline import get_plotlyjs

        print(f"{'chart library, plotly':<28}{len(get_plotlyjs().encode()) / 1e6:10.2f} MB")
    if (reason := missing()) is not None:
        print(reason)
        return
    for name, milliseconds in loads(page).items():
        print(f"{name:<28}{milliseconds:10.0f} ms, median of {RUNS}")


def screenshot(picture: Path, folder: Path) -> None:
    """Draw the embedded example's page with one quarter's documents and one of them open."""
    run_demo(DemoOptions(out=f"{folder}/demo"))
    title = "Simulated news: who attacks? 1990 to 1999"
    page = Path(write_report(folder / "demo" / "run", folder / "demo.html", title=title)["out"])
    with chromium() as browser:
        resize(browser, 1200, 1500)
        browser.get(page.resolve().as_uri())
        until(browser, "document.documentElement.dataset.panels === 'drawn'")
        click: Callable[[str], object] = lambda selector: browser.execute_script(  # noqa: E731
            "document.querySelector(arguments[0]).click()", selector
        )
        browser.execute_script(
            "const chosen = document.getElementById('actor');"
            "chosen.value = [...chosen.options].find((option) => option.text.includes('IRQ')).value;"
            "chosen.dispatchEvent(new Event('change'));"
        )
        browser.execute_script("document.getElementById('band-table-frame').open = true")
        until(browser, "document.querySelectorAll('#band-table button').length")
        browser.execute_script(
            "[...document.querySelectorAll('#band-table button')].find((b) => b.textContent === '1990Q4').click();"
            "document.getElementById('band-table-frame').open = false;"
            "document.getElementById('order').value = 'half';"
            "document.getElementById('order').dispatchEvent(new Event('change'));"
        )
        click("#list .item")
        until(browser, "!document.getElementById('reader').hidden")
        browser.execute_script("document.getElementById('chart').scrollIntoView(); document.activeElement.blur()")
        time.sleep(0.5)
        browser.save_screenshot(str(picture))
    print(picture)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=8000, help="to simulate")
    parser.add_argument("--documents", type=int, default=1000, help="texts in the page")
    parser.add_argument("--folder", type=Path, help="an existing run")
    parser.add_argument("--screenshot", type=Path, help="make the README's picture instead")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.screenshot:
            screenshot(given.screenshot, folder)
        else:
            run = given.folder or simulated_run(folder, given.articles)
            measure(run, folder / "report.html", given.documents)


if __name__ == "__main__":
    main()
