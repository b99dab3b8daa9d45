from .page import ReportSummary as ReportSummary
from .page import can_report as can_report
from .page import write_report as write_report
