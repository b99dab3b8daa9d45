"""Pictures of audits: one panel for each target, with its own counts."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
from matplotlib.dates import date2num

from events.plots import audit_bands
from events.plots.audit import learned_bands

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


def test_the_legend_names_the_uncertainty_that_the_band_covers() -> None:
    table = counts("attack", "USA", [3.0, 4.0])
    for covers, words in (("", "95% model band"), ("coreference and sampled parses",) * 2):
        figure = audit_bands(table, covers=covers)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert any(label.startswith("95% model band") and words in label for label in labels)
        assert any("(" in label for label in labels) == bool(covers)


def test_audited_counts_stand_in_the_middle_of_the_steps_of_the_model() -> None:
    (ax,) = audit_bands(counts("attack", "USA", [3.0, 4.0])).axes
    steps = date2num(ax.lines[0].get_xdata())
    points = date2num(ax.containers[0].lines[0].get_xdata())
    assert points.tolist() == ((steps[:-1] + steps[1:]) / 2).tolist()


def test_learned_counts_of_several_events_of_an_actor_have_panels_of_their_own() -> None:
    table = pd.concat([counts("arrest", "POLICE", [3.0, 4.0]), counts("kill", "POLICE", [10.0, 20.0])])
    names = {"estimate": "mean", "model_mean": "run_mean", "model_lower": "run_lower", "model_upper": "run_upper"}
    figure = learned_bands(table.drop(columns="assumption").rename(columns=names))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert [title.rpartition(": ")[0] for title in titles] == ["kill: POLICE", "arrest: POLICE"]
    drawn = [ax.containers[0].lines[0].get_ydata().tolist() for ax in figure.axes]
    assert drawn == [[10.0, 20.0], [3.0, 4.0]]
    assert "assumption" in figure.get_supxlabel()


def test_weeks_are_named_by_their_first_day() -> None:
    table = counts("attack", "USA", [3.0, 4.0])
    weeks = {"1999": "1999-01-04/1999-01-10", "2000": "1999-01-11/1999-01-17"}
    (ax,) = audit_bands(table.assign(period=table["period"].replace(weeks))).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1999-01-04", "1999-01-11"]
