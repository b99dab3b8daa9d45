"""One self-contained HTML page of a finished events run, to explore and to keep."""

from __future__ import annotations

from events.report.page import ReportSummary, can_report, write_report

__all__ = ["ReportSummary", "can_report", "write_report"]
