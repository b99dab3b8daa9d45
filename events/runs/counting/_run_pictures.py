"""The plots of a finished events run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from events.plots import actor_comparison, bands_by_event, comparisons_by_event, event_bands
from events.runs._pictures import save_pictures
from events.runs.counting._run_folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd


def draw_run(
    folder: RunFolder, counts: pd.DataFrame, comparison: pd.DataFrame | None, names: Mapping[str, str]
) -> None:
    """Draw the bands, and the comparison if there is one, into the folder, as `save_pictures` does."""
    several = len(counts["event"].unique()) > 1
    pictures = {"bands": partial(bands_by_event if several else event_bands, counts, names=names)}
    if comparison is not None:
        draw = comparisons_by_event if len(comparison["event"].unique()) > 1 else actor_comparison
        pictures["comparison"] = partial(draw, counts, comparison, names=names)
    save_pictures(pictures, folder.file)
