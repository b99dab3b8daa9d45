"""Frames, plans and filled sheets for tests of the audit."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from events.audit import AuditFrame
from events.audit._plan import AuditPlan
from events.audit._sheets import SheetLabels


def frame(n: int = 300, *, seed: int = 0) -> AuditFrame:
    """Documents of three years: two thirds with P = 0, the others with P from 0 to 1."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n) < 2 / 3, 0.0, np.round(rng.beta(0.5, 0.5, n), 3))
    dates = np.datetime64("1999-01-01") + rng.integers(0, 3 * 365, n)
    colours = np.where(rng.random(n) < 0.5, "red", "blue").tolist()
    return AuditFrame.from_arrays(
        [f"d{i:04d}" for i in range(n)], dates, p, event="attack", period="year", properties={"colour": colours}
    )


def actor_frame() -> AuditFrame:
    """Sixty documents with P of two actors, USA and IRQ."""
    rng = np.random.default_rng(3)
    base = frame(60)
    p = np.where(rng.random((60, 2)) < 0.6, 0.0, rng.random((60, 2)).round(2))
    rows, columns = np.nonzero(p)
    return AuditFrame(
        base.doc_ids, base.dates, ("USA", "IRQ"), rows, columns.astype(np.int32), p[rows, columns], "attack", "year"
    )


def write_sheet(
    path: Path, plan: AuditPlan, label_of: Callable[[str], str], *, round_number: int = 1, labeller: str = ""
) -> Path:
    """The sheet of a round with labels."""
    sheet = plan.sheet(round_number)
    sheet.assign(label=sheet["doc_id"].map(label_of), labeller=labeller).to_csv(path, index=False)
    return path


def fill(path: Path | str, label: str | Sequence[str] | Callable[[str], str] = "no") -> str:
    """Write the labels of a sheet: the same in each row, those of its rows, or those of their documents."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.assign(label=table["doc_id"].map(label) if callable(label) else label).to_csv(path, index=False)
    return str(path)


def true_labels(plan: AuditPlan, truth: np.ndarray) -> SheetLabels:
    """Labels of the sample, as the truth of every document of the frame is, or its labels are."""
    own = truth[plan.sample].astype(np.int8)[:, None]
    return SheetLabels(own, {"ann": own}, len(plan.rounds), {})


def edit(path: Path, row: int, **values: object) -> Path:
    """Change cells of one row of a sheet, from 0."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name, value in values.items():
        table.loc[row, name] = str(value)
    table.to_csv(path, index=False)
    return path
