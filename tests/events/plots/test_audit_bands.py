"""Pictures of audits: one panel for each target, with its own counts."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd

from events.plots import audit_bands

YEARS = [datetime.date(1999, 1, 1), datetime.date(2000, 1, 1)]


def counts(event: str, actor: str, estimates: list[float]) -> pd.DataFrame:
    """A total and two years of one target."""
    columns = {
        "event": event,
        "actor": actor,
        "period": ["total", "1999", "2000"],
        "period_start": [YEARS[0], *YEARS],
        "estimate": [sum(estimates), *estimates],
        "level": 0.95,
        "assumption": "",
        "model_mean": 1.0,
        "model_lower": 0,
        "model_upper": 2,
    }
    table = pd.DataFrame(columns)
    return table.assign(lower=np.floor(table["estimate"] / 2).astype(int), upper=(2 * table["estimate"]).astype(int))


def test_each_event_has_a_panel_with_its_own_counts() -> None:
    """Several rules have no actors, so that the event alone tells them apart."""
    table = pd.concat([counts("attack", "", [3.0, 4.0]), counts("meet", "", [10.0, 20.0])], ignore_index=True)
    panels = audit_bands(table).axes
    assert [ax.get_title(loc="left").partition(":")[0] for ax in panels] == ["meet", "attack"]
    drawn = [ax.containers[0].lines[0].get_ydata().tolist() for ax in panels]
    assert drawn == [[10.0, 20.0], [3.0, 4.0]]


def test_each_actor_has_a_panel_with_its_own_counts() -> None:
    table = pd.concat([counts("attack", "USA", [3.0, 4.0]), counts("attack", "IRQ", [10.0, 20.0])], ignore_index=True)
    panels = audit_bands(table, most=1).axes
    assert [ax.get_title(loc="left").partition(":")[0] for ax in panels] == ["IRQ"]
