"""One self-contained HTML page of a finished events run, to explore and to keep."""

from __future__ import annotations

from events.report.page import ReportSummary, write_report

__all__ = ["ReportSummary", "write_report"]
