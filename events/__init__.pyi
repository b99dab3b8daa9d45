from . import audit as audit, commands as commands, counts as counts, plots as plots, runs as runs
from .counts._counter import EventCounter as EventCounter
from .counts._credible_intervals import hdi_interval as hdi_interval, quantile_interval as quantile_interval
from .counts._distributions import count_posterior as count_posterior, count_samples as count_samples
from .counts._evidence import read_evidence as read_evidence
from .evidence._true_events import TrueEvents as TrueEvents
from .lexicon._lexicon import load_lexicon as load_lexicon
from .rules._rules import load_rules as load_rules
from .simulation._documents import simulate_documents as simulate_documents
