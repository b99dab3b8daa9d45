"""Sheets: what is written, what is read, and what is refused."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from events_audit_made import actor_frame, edit, frame, write_sheet
from expected_errors import error

from corefsample import InputError, ParameterError
from corefsample.files._atomic import unescaped, write_csv
from events.audit import AuditFrame, plan_audit, read_sheets
from events.audit._plan import SHEET_COLUMNS, AuditPlan, extend_plan
from events.audit._sheets import MISSING, NO, UNSURE, YES, disagreement_sheet

PLAN = plan_audit(frame(), 40)
ACTORS = plan_audit(actor_frame(), 20)


def first_ids(n: int) -> list[str]:
    return PLAN.frame.doc_ids[PLAN.sample[:n]].tolist()


def test_a_sheet_has_its_columns_and_no_p() -> None:
    sheet = PLAN.sheet(1, {first_ids(1)[0]: "A text."})
    assert tuple(sheet.columns) == SHEET_COLUMNS
    assert sheet["doc_id"].tolist() == first_ids(40)
    assert sheet["text"].tolist() == ["A text."] + [""] * 39
    assert set(sheet["label"]) == {""}


def test_labels_of_an_event_are_words_in_any_order(tmp_path: Path) -> None:
    words = {doc_id: ("yes", "No", " unsure ", "", "1", "0")[i % 6] for i, doc_id in enumerate(first_ids(40))}
    path = write_sheet(tmp_path / "s.csv", PLAN, words.__getitem__)
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *reversed(rows[6:])]) + "\n")
    labels = read_sheets(PLAN, [path]).labels[:12, 0].tolist()
    assert labels == [MISSING] * 6 + [YES, NO, UNSURE, MISSING, YES, NO]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("USA", [YES, NO]),
        ("usa; IRQ", [YES, YES]),
        ("IRQ?", [NO, UNSURE]),
        ("none", [NO, NO]),
        ("unsure", [UNSURE, UNSURE]),
        ("other", [NO, NO]),
        ("IRQ;other", [NO, YES]),
        ("", [MISSING, MISSING]),
    ],
)
def test_labels_of_actors_are_sets(tmp_path: Path, text: str, expected: list[int]) -> None:
    path = edit(write_sheet(tmp_path / "s.csv", ACTORS, lambda doc_id: "none"), 0, label=text)
    assert read_sheets(ACTORS, [path]).labels[0].tolist() == expected


def test_two_labellers_who_differ_are_unsure_until_it_is_resolved(tmp_path: Path) -> None:
    one = write_sheet(tmp_path / "one.csv", PLAN, lambda doc_id: "yes", labeller="ann")
    other = write_sheet(tmp_path / "two.csv", PLAN, lambda doc_id: "yes", labeller="ben")
    edit(other, 3, label="no")
    edit(other, 4, label="")
    labels = read_sheets(PLAN, [one, other])
    assert labels.labels[:, 0].tolist() == [YES] * 3 + [UNSURE] + [YES] * 36
    sheet = disagreement_sheet(PLAN, labels)
    assert sheet["doc_id"].tolist() == [first_ids(4)[3]]
    assert sheet["note"].tolist() == ["ann: yes; ben: no"]
    resolved = tmp_path / "resolved.csv"
    sheet.assign(label="no").to_csv(resolved, index=False)
    assert read_sheets(PLAN, [one, other, resolved]).labels[3, 0] == NO


@pytest.mark.parametrize("names", [("ann", "ben"), ("", "")])
def test_labellers_have_a_file_each_or_share_one_with_names(tmp_path: Path, names: tuple[str, str]) -> None:
    """Two sheets without names that label the same documents are of two labellers."""
    sheets = [
        write_sheet(tmp_path / f"{word}.csv", PLAN, lambda doc_id, w=word: w, labeller=name)
        for word, name in zip(("yes", "no"), names, strict=True)
    ]
    both = tmp_path / "both.csv"
    both.write_text(sheets[0].read_text() + "".join(sheets[1].read_text().splitlines(keepends=True)[1:]))
    for paths in [sheets, [both]] if any(names) else [sheets]:
        labels = read_sheets(PLAN, paths)
        assert list(labels.by_labeller) == (list(names) if any(names) else [str(path) for path in sheets])
        assert (labels.labels == UNSURE).all()


def test_sheets_of_two_rounds_are_one_labellers(tmp_path: Path) -> None:
    plan = extend_plan(PLAN, 20)
    sheets = [write_sheet(tmp_path / f"{n}.csv", plan, lambda doc_id: "yes", round_number=n) for n in (1, 2)]
    labels = read_sheets(plan, sheets)
    assert labels.labels.shape == (60, 1)
    assert len(labels.by_labeller) == 1
    assert labels.n_rounds == 2
    assert read_sheets(plan, sheets[:1], rounds=1).n_rounds == 1
    for some, rounds in ((sheets[:1], None), (sheets[1:], None), (sheets[1:], 1), (sheets, 1)):
        with error(InputError, hint="rounds"):
            read_sheets(plan, some, rounds=rounds)
    with error(ParameterError, "rounds"):
        read_sheets(plan, sheets, rounds=3)


# --- what is refused ---------------------------------------------------------------------------------------

BAD_CELLS = [
    ({"plan": "000000000000"}, f"plan must be {PLAN.identity}, got '000000000000': a sheet of another plan"),
    ({"doc_id": "d9999"}, "doc_id must be one of the plan's sample, got 'd9999'"),
    ({"label": "maybe"}, "label must be yes, no or unsure, got 'maybe'"),
    ({"inclusion_probability": "0.9"}, "inclusion_probability must be the plan's, 0."),
    ({"inclusion_probability": "much"}, "inclusion_probability must be the plan's, 0."),
    ({"stratum": "9"}, "stratum must be the plan's, "),
    ({"round": "2"}, "round must be the plan's, 1, got '2'"),
]


@pytest.mark.parametrize(("cells", "message"), BAD_CELLS)
def test_a_bad_cell_is_named_with_file_and_row(tmp_path: Path, cells: dict[str, str], message: str) -> None:
    path = edit(write_sheet(tmp_path / "s.csv", PLAN, lambda doc_id: "yes"), 6, **cells)
    with pytest.raises(InputError) as caught:
        read_sheets(PLAN, [path])
    assert str(caught.value).startswith(f"{path}: row 8: {message}")


@pytest.mark.parametrize("label", ["yes", "no"])
def test_a_document_in_two_rows_is_refused_whatever_its_labels(tmp_path: Path, label: str) -> None:
    path = write_sheet(tmp_path / "s.csv", PLAN, lambda doc_id: "yes")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[1].replace(",yes,", f",{label},")]))
    with error(InputError, place="row 42"):
        read_sheets(PLAN, [path])


@pytest.mark.parametrize(
    "targets",
    [("us", "US"), ("A", "A;B"), ("A", "A?"), (" A", "B"), ("A", "None"), ("unsure", "A"), ("no",), ("other", "A")],
)
def test_names_that_a_label_cannot_tell_apart_are_refused(targets: tuple[str, ...]) -> None:
    documents = replace(actor_frame(), targets=targets, columns=np.zeros(len(actor_frame().rows), np.int32))
    with error(InputError):
        plan_audit(documents, 20)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_sheets_of_a_spreadsheet_are_read(tmp_path: Path, separator: str) -> None:
    """Semicolons with decimal commas, as where the comma is the decimal mark, and empty rows at the end."""
    path = write_sheet(tmp_path / "s.csv", PLAN, lambda doc_id: "yes")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["inclusion_probability"] = table["inclusion_probability"].str.replace(".", "," if separator == ";" else ".")
    table.to_csv(path, index=False, sep=separator)
    path.write_text(path.read_text() + 2 * (separator * (len(SHEET_COLUMNS) - 1) + "\n"))
    assert (read_sheets(PLAN, [path]).labels == YES).all()
    edit_row = path.read_text().splitlines()
    edit_row.insert(20, separator * (len(SHEET_COLUMNS) - 1))
    path.write_text("\n".join(edit_row).replace("yes", "maybe", 30))
    with error(InputError, place="row 2"):
        read_sheets(PLAN, [path])


BLANKS = [" a", "b ", "\u00a0c", "d\u2028", "\te", "f\r", "\rg", "h\n", "i\r\ni"]
ODD_IDS = [*BLANKS, "=1+1", "+j", "-k", "@l", "'=m", "''n", "'o", ","]


def odd_plan(ids: list[str] = ODD_IDS) -> AuditPlan:
    documents = AuditFrame.from_arrays(ids, ["1999-01-01"] * len(ids), [0.5] * len(ids))
    return plan_audit(documents, len(ids), floor=1)


def labels_of(plan: AuditPlan, path: Path) -> dict[str, int]:
    ids = plan.frame.doc_ids[plan.sample].tolist()
    return dict(zip(ids, read_sheets(plan, [path]).labels[:, 0].tolist(), strict=True))


def test_any_doc_id_is_read_back_from_a_sheet_and_none_is_a_formula(tmp_path: Path) -> None:
    plan, path = odd_plan(), tmp_path / "sheet.csv"
    sheet = plan.sheet(1, {doc_id: doc_id for doc_id in ODD_IDS})
    write_csv(sheet.assign(label="yes", note=ODD_IDS), str(path))
    with open(path, encoding="utf-8", newline="") as lines:
        cells = [cell for row in csv.reader(lines) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
    assert labels_of(plan, path) == dict.fromkeys(ODD_IDS, YES)
    # A spreadsheet that takes blanks away changes none of these doc_ids into another one.
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    write_csv(table.assign(doc_id=table["doc_id"].map(unescaped).str.strip()), str(path))
    assert labels_of(plan, path) == dict.fromkeys(ODD_IDS, YES)


def test_doc_ids_that_a_spreadsheet_makes_equal_lose_no_label(tmp_path: Path) -> None:
    plan, path = odd_plan(["a", "a ", "7", "007"]), tmp_path / "sheet.csv"
    sheet = plan.sheet(1).assign(label="yes")
    write_csv(sheet, str(path))
    assert labels_of(plan, path) == dict.fromkeys(["a", "a ", "7", "007"], YES)
    for changed in ({"a ": "a"}, {"007": "7"}):
        write_csv(sheet.replace({"doc_id": changed}), str(path))
        with error(InputError, place="sheet.csv: row"):
            read_sheets(plan, [path])


def test_a_labeller_with_different_labels_in_two_sheets_is_refused(tmp_path: Path) -> None:
    sheets = [write_sheet(tmp_path / f"{w}.csv", PLAN, lambda doc_id, w=w: w, labeller="ann") for w in ("yes", "no")]
    with pytest.raises(InputError, match=r"row 2: doc_id 'd.*': a document must have one label of 'ann', got another"):
        read_sheets(PLAN, sheets)


@pytest.mark.parametrize("text", ["USA,IRQ", "GBR", "yes", "?USA"])
def test_unknown_actors_are_named(tmp_path: Path, text: str) -> None:
    path = edit(write_sheet(tmp_path / "s.csv", ACTORS, lambda doc_id: "none"), 2, label=text)
    with pytest.raises(InputError) as caught:
        read_sheets(ACTORS, [path])
    assert f"row 4: label must be none, unsure, or actors of the plan separated by ';', got {text!r}" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "file must be readable, got: No such file"),
        ("a,b\n1,2\n", "columns must include 'plan', got 'a, b'"),
        (",".join(SHEET_COLUMNS) + "\n", "table must have at least one row, got none"),
    ],
)
def test_tables_that_are_no_sheets_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "s.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_sheets(PLAN, [tmp_path / "s.csv"])


def test_a_spreadsheets_rounding_and_byte_order_mark_are_accepted(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "s.csv", PLAN, lambda doc_id: "yes")
    probability = PLAN.strata[int(PLAN.stratum_of[PLAN.sample[0]])].inclusion_probability
    edit(path, 0, inclusion_probability=f"{probability:.9g}")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert np.all(read_sheets(PLAN, [path]).labels == YES)
