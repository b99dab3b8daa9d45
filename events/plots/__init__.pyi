from .audit import audit_bands as audit_bands
from .bands import actor_comparison as actor_comparison
from .bands import count_bars as count_bars
from .bands import event_band as event_band
from .bands import event_bands as event_bands
