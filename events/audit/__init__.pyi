from ._audit_frame import AuditFrame as AuditFrame
from ._estimates import estimate_counts as estimate_counts
from ._plan import plan_audit as plan_audit
from ._regression import regress_counts as regress_counts
from ._sheets import read_sheets as read_sheets
from ._totals import estimate_total as estimate_total
