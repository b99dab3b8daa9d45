from .audit import audit_bands as audit_bands
from .bands import (
    actor_comparison as actor_comparison,
    count_bars as count_bars,
    event_band as event_band,
    event_bands as event_bands,
)
