"""The page on which a sheet is labelled, in a real browser from disk: keys, progress, and what it exports."""

import re
import urllib.parse
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chromium import Browser, accessibility_faults, choose_scheme, missing, requested, resize, until
from events_audit_made import actor_frame, frame
from page_documents import HOSTILE_ID, HOSTILE_NAME, HOSTILE_WORDS
from report_pages import allow_downloads, downloaded

from events.audit import AuditFrame, plan_audit, read_sheets
from events.audit._plan import SHEET_COLUMNS, AuditPlan
from events.audit._sheets import NO, RESOLVED, UNSURE, YES, disagreement_sheet
from events.pages._audit_sheet import rendered_sheet
from events.pages._document_texts import NAME, PLAIN, TRIGGER, MarkedText

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

PLAN = plan_audit(frame(), 20)
ACTORS = plan_audit(actor_frame(), 12, floor=2)
QUESTION = ("Does the article say so?", ("What counts, in some words.", "Counts: “They attacked.”"))
HEAD = ["dateline", "NAIROBI, Kenya (AP) —"]
HOSTILE_TEXT = ' ,"quoted"\n' + " ".join(HOSTILE_WORDS) + "\r\nlast line, with a comma "


def doc_ids(plan: AuditPlan) -> list[str]:
    return [str(doc_id) for doc_id in plan.frame.doc_ids[plan.sample]]


def texts(plan: AuditPlan) -> dict[str, MarkedText]:
    """The first text would break an unsafe page; the others have a trigger and a name."""
    pieces = ((NAME, "Iraqi"), (PLAIN, " troops "), (TRIGGER, "attacked"), (PLAIN, "."))
    plain = {doc_ids(plan)[0]: MarkedText(((PLAIN, HOSTILE_TEXT),))}
    return {doc_id: MarkedText(pieces, [HEAD]) for doc_id in doc_ids(plan)} | plain


def write_page(folder: Path, plan: AuditPlan = PLAN, **options: Any) -> Path:
    marked = texts(plan)
    sheet = plan.sheet(1, {doc_id: each.text for doc_id, each in marked.items()})
    path = folder / "sheet.html"
    path.write_text(rendered_sheet(plan, sheet, marked, **options), encoding="utf-8")
    return path


class Labeller:
    """A person at the page, with a keyboard only."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        allow_downloads(browser, folder)

    def open(self, page: Path) -> None:
        self.browser.get("about:blank")
        requested(self.browser), self.browser.get_log("browser")
        self.browser.get(page.as_uri())
        until(self.browser, "document.documentElement.dataset.shown !== undefined")

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()
            self.settle()

    def settle(self) -> None:
        """Wait until the document whose number the heading says is drawn."""
        shown = "Number(document.getElementById('heading').textContent.match(/\\d+/)[0]) - 1"
        until(self.browser, f"document.documentElement.dataset.shown === String({shown})")

    def text(self, selector: str) -> str:
        script = "return document.querySelector(arguments[0]).textContent"
        return str(self.browser.execute_script(script, selector))

    def heading(self) -> int:
        return int(re.findall(r"\d+", self.text("#heading"))[0])

    def exported(self, name: str = "sheet.csv") -> Path:
        self.press("e")
        return downloaded(self.folder, name)


@pytest.fixture
def labeller(session: Browser, tmp_path: Path) -> Iterator[Labeller]:
    """Whatever a test does, the page logs nothing and requests nothing but itself."""
    resize(session, 1280, 900)
    yield Labeller(session, tmp_path)
    assert session.get_log("browser") == []
    addresses = {urllib.parse.urlsplit(address).scheme for address in requested(session)}
    assert addresses <= {"file", "data", "blob", "about"}
    if not session.current_url.startswith("about"):
        session.execute_script("localStorage.clear()")


# --- what the page exports is what `audit estimate` reads ----------------------------------------------------


def test_the_exported_sheet_differs_from_the_plans_in_labels_names_and_notes_alone(labeller: Labeller) -> None:
    labeller.open(write_page(labeller.folder))
    labeller.press("t", "one,", ' "two"')
    from selenium.webdriver.common.keys import Keys

    labeller.press(Keys.ESCAPE, "y", "n", "u")
    found = pd.read_csv(labeller.exported(), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    marked = texts(PLAN)
    expected = PLAN.sheet(1, {doc_id: each.text for doc_id, each in marked.items()})
    assert tuple(found.columns) == SHEET_COLUMNS
    for column in ("plan", "doc_id", "date", "text"):
        assert found[column].tolist() == expected[column].tolist(), column
    np.testing.assert_array_equal(found["inclusion_probability"].astype(float), expected["inclusion_probability"])
    np.testing.assert_array_equal(found[["round", "stratum"]].astype(int), expected[["round", "stratum"]])
    assert found["label"].tolist() == ["yes", "no", "unsure"] + [""] * 17
    assert found["note"].tolist() == ['one, "two"'] + [""] * 19


def test_a_hostile_document_is_text_and_comes_back_whole(labeller: Labeller) -> None:
    days = np.full(2, np.datetime64("1999-01-01"))
    hostile = AuditFrame.from_arrays([HOSTILE_ID, "=1+1"], days, [0.5, 0.0], event=HOSTILE_NAME)
    plan = plan_audit(hostile, 2, floor=1)
    labeller.open(write_page(labeller.folder, plan, question=(HOSTILE_NAME, (HOSTILE_NAME,))))
    assert labeller.text("h1") == HOSTILE_NAME
    assert labeller.text("#doc-id") == doc_ids(plan)[0]
    assert labeller.text("#text") == HOSTILE_TEXT
    labeller.press("y", "n")
    assert read_sheets(plan, [labeller.exported()]).labels[:, 0].tolist() == [YES, NO]


def test_the_head_of_an_article_is_shown_before_its_text(labeller: Labeller) -> None:
    labeller.open(write_page(labeller.folder))
    labeller.press("y")
    assert labeller.text("#text") == "dateline NAIROBI, Kenya (AP) —Iraqi troops attacked."
    assert labeller.text("#text .tag") == "dateline"


def test_actors_are_chosen_by_digits_and_found_by_their_names(labeller: Labeller) -> None:
    labeller.open(write_page(labeller.folder, ACTORS, names={"USA": "United States"}))
    assert "United States (USA)" in labeller.text("#label-actors")
    from selenium.webdriver.common.keys import Keys

    given: list[tuple[tuple[str, ...], list[int]]] = [
        (("1", Keys.ENTER), [YES, NO]),
        (("1", "2", "2", Keys.ENTER), [YES, UNSURE]),
        (("n",), [NO, NO]),
        (("u",), [UNSURE, UNSURE]),
        (("o", Keys.ENTER), [NO, NO]),  # another actor than the plan's
        (("2", "2", "2", "1", Keys.ENTER), [YES, NO]),  # three times is none
        ((Keys.ENTER,), [3, 3]),  # nothing chosen: no label
    ]
    for keys, _ in given:
        labeller.press(*keys)
    labels = read_sheets(ACTORS, [labeller.exported()])
    assert labels.labels[: len(given)].tolist() == [expected for _, expected in given]


def test_the_sheet_of_disagreements_resolves_them(labeller: Labeller) -> None:
    first, second = PLAN.sheet(1), PLAN.sheet(1)
    first.assign(label="yes", labeller="anna").to_csv(labeller.folder / "a.csv", index=False)
    second.assign(label=["no", "no", *["yes"] * 18], labeller="ben").to_csv(labeller.folder / "b.csv", index=False)
    sheets = [labeller.folder / "a.csv", labeller.folder / "b.csv"]
    resolve = disagreement_sheet(PLAN, read_sheets(PLAN, sheets))
    page = labeller.folder / "sheet-resolve.html"
    page.write_text(rendered_sheet(PLAN, resolve, file_name="sheet-resolve.csv"), encoding="utf-8")
    labeller.open(page)
    assert labeller.browser.find_element("id", "note").get_attribute("value") == "anna: yes; ben: no"
    assert labeller.browser.find_element("id", "labeller").get_attribute("value") == RESOLVED
    labeller.press("n", "y")
    labels = read_sheets(PLAN, [*sheets, labeller.exported("sheet-resolve.csv")])
    assert labels.labels[:, 0].tolist() == [NO, *[YES] * 19]


# --- going through a sheet -----------------------------------------------------------------------------------


def test_back_shows_the_label_and_p_which_are_hidden_before(labeller: Labeller) -> None:
    labeller.open(write_page(labeller.folder))
    row = int(PLAN.sample[0])
    p = f"P = {PLAN.frame.probability(0)[row] + 1e-9:.2f}"
    assert "P =" not in labeller.text("body > main") + labeller.text("#status")
    page = labeller.browser.execute_script(
        "const copy = document.documentElement.cloneNode(true);"
        "copy.querySelectorAll('script').forEach((each) => each.remove()); return copy.outerHTML"
    )
    assert p not in page
    labeller.press("y")
    assert labeller.heading() == 2
    assert p in labeller.text("#status")
    assert labeller.text("#model") == ""
    labeller.press("b")
    assert (labeller.heading(), labeller.text("#given")) == (1, "label: yes")
    assert p in labeller.text("#model")
    labeller.browser.find_element("id", "show-p").click()
    until(labeller.browser, "document.getElementById('model').textContent === ''")


def test_each_labeller_has_labels_of_their_own(labeller: Labeller) -> None:
    def be(name: str, n_labelled: int) -> None:
        field = labeller.browser.find_element("id", "labeller")
        field.clear()
        field.send_keys(name, "\t")
        until(labeller.browser, f"document.getElementById('count').textContent === '{n_labelled} of 20 labelled'")

    page = write_page(labeller.folder)
    labeller.open(page)
    labeller.press("y")
    be("Anna", 1)  # labels without a name become hers
    be("Ben", 0)
    labeller.browser.execute_script("document.getElementById('heading').focus()")
    labeller.press("n")
    assert list(read_sheets(PLAN, [labeller.exported("sheet-Ben.csv")]).by_labeller) == ["Ben"]
    be("Anna", 1)


def load(labeller: Labeller, path: Path) -> str:
    """Load a file of labels, and return what the page says of it."""
    before = labeller.browser.execute_script("return Number(document.documentElement.dataset.loads ?? 0)")
    labeller.browser.find_element("id", "load").send_keys(str(path))
    until(labeller.browser, f"document.documentElement.dataset.loads === String({before} + 1)")
    return labeller.text("#status")


def test_exported_labels_are_loaded_where_the_browser_has_none(labeller: Labeller) -> None:
    from selenium.webdriver.common.keys import Keys

    page = write_page(labeller.folder)
    labeller.open(page)
    labeller.press("t", ' why, "so"', Keys.ESCAPE, "y", "n", "u")  # the first text is the hostile one
    first = labeller.exported().rename(labeller.folder / "first.csv")
    labeller.browser.execute_script("localStorage.clear()")
    labeller.open(page)
    assert load(labeller, first) == "Loaded 3 labels."
    assert labeller.text("#count") == "3 of 20 labelled"
    second = labeller.exported()
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("plan", "0" * 12, "row 2: plan must be"),
        ("label", "perhaps", "row 2: a label of this plan is needed, got “perhaps”"),
    ],
)
def test_files_of_other_labels_are_not_loaded(labeller: Labeller, column: str, value: str, message: str) -> None:
    labeller.open(write_page(labeller.folder))
    path = labeller.folder / "wrong.csv"
    PLAN.sheet(1).assign(label="no").assign(**{column: value}).to_csv(path, index=False)
    assert message in load(labeller, path)
    path.write_text("a,b\n1,2\n")
    assert load(labeller, path) == "wrong.csv was not loaded: columns must include plan."
    assert labeller.text("#count") == "0 of 20 labelled"


# --- accessible ----------------------------------------------------------------------------------------------


def test_letters_in_fields_are_no_labels_and_keys_can_be_switched_off(labeller: Labeller) -> None:
    labeller.open(write_page(labeller.folder))
    labeller.press("t", "y", "n")
    assert labeller.text("#count") == "0 of 20 labelled"
    labeller.browser.execute_script("document.getElementById('heading').focus()")
    labeller.browser.find_element("id", "shortcuts").click()
    labeller.press("y")
    assert labeller.text("#count") == "0 of 20 labelled"
    labeller.browser.find_element("css selector", "[data-label=yes]").click()
    until(labeller.browser, "document.getElementById('count').textContent === '1 of 20 labelled'")
    until(labeller.browser, "document.activeElement.id === 'heading'")


@pytest.mark.skipif(find_spec("axe_core_python") is None, reason="axe-core-python is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("plan", [PLAN, ACTORS], ids=["yes-no", "actors"])
def test_the_automated_checks_of_accessibility_pass(labeller: Labeller, plan: AuditPlan, scheme: str) -> None:
    choose_scheme(labeller.browser, scheme)
    try:
        labeller.open(write_page(labeller.folder, plan, question=QUESTION))
        labeller.press("n", "h")
        assert accessibility_faults(labeller.browser) == []
    finally:
        choose_scheme(labeller.browser, "")
