"""Writing the sheets of an audit as pages for labelling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from corefsample.files import PathLike, write_bytes
from events.audit import AuditPlan
from events.pages import MarkedText, rendered_sheet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["actor_names", "page_name", "write_sheet_page"]


def page_name(sheet: str) -> str:
    """Name of the page of a sheet: sheet.html of sheet.csv."""
    return sheet.removesuffix(".csv") + ".html"


def write_sheet_page(
    sheet_path: Path,
    plan: AuditPlan,
    sheet: pd.DataFrame,
    texts: Mapping[str, MarkedText],
    *,
    source: PathLike,
    question: str | None,
) -> None:
    """Write the page of a sheet beside it.

    Parameters
    ----------
    sheet_path
        The CSV file of the sheet.
    plan, sheet, texts, question
        As in `events.pages.rendered_sheet`.
    source
        The run or CSV file of which the plan is.
    """
    page = rendered_sheet(
        plan, sheet, texts, file_name=sheet_path.name, question=question, names=actor_names(plan, source)
    )
    write_bytes(sheet_path.with_name(page_name(sheet_path.name)), page.encode("utf-8", "replace"), overwrite=True)


def actor_names(plan: AuditPlan, source: PathLike) -> dict[str, str]:
    """Names of actors by code, of a run; of a table none."""
    if plan.frame.source["kind"] != "run":
        return {}
    record = json.loads((Path(source) / "run.json").read_text(encoding="utf-8"))
    return {str(code): str(name) for code, name in record.get("names", {}).items()}
