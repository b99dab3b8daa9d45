from .audit_estimate import AuditEstimateOptions as AuditEstimateOptions
from .audit_estimate import run_audit_estimate as run_audit_estimate
from .audit_plan import AuditPlanOptions as AuditPlanOptions
from .audit_plan import run_audit_plan as run_audit_plan
from .events import EventsOptions as EventsOptions
from .events import run_events as run_events
from .score import ScoreOptions as ScoreOptions
from .score import run_score as run_score
