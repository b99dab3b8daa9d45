"""Pictures of event counts; they draw finished tables and results and compute nothing.

The manner is that of `corefsample.plots`.
"""

from __future__ import annotations

from events.plots.bands import event_band, event_bands
from events.plots.comparisons import country_comparison
from events.plots.posteriors import count_bars
from events.plots.queries import query_coverage

__all__ = ["count_bars", "country_comparison", "event_band", "event_bands", "query_coverage"]
