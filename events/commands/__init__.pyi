from .audit_estimate import AuditEstimateOptions as AuditEstimateOptions, run_audit_estimate as run_audit_estimate
from .audit_plan import AuditPlanOptions as AuditPlanOptions, run_audit_plan as run_audit_plan
from .events import EventsOptions as EventsOptions, run_events as run_events
from .score import ScoreOptions as ScoreOptions, run_score as run_score
