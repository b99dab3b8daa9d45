"""The labels of a sample as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from events.audit._plan import AuditPlan
from events.audit._sheets import MISSING, SheetLabels, label_text

if TYPE_CHECKING:
    import pandas as pd

LABEL_COLUMNS = ("plan", "doc_id", "date", "label", "note")


def label_table(plan: AuditPlan, labels: SheetLabels) -> pd.DataFrame:
    """Tidy table, one row for each document with a label, in the order of the sample.

    Parameters
    ----------
    plan, labels
        The plan and the labels of its sheets.

    Returns
    -------
    pandas.DataFrame
        plan, doc_id, date; label as in a sheet ("unsure" where labellers disagree); note.
    """
    import pandas as pd

    rows = []
    for row, label in zip(plan.sample.tolist(), labels.labels, strict=True):
        if label[0] != MISSING:
            doc_id = str(plan.frame.doc_ids[row])
            note = labels.notes.get(doc_id, "")
            rows.append((plan.identity, doc_id, str(plan.frame.dates[row]), label_text(plan, label), note))
    return pd.DataFrame(rows, columns=list(LABEL_COLUMNS), dtype=str)
