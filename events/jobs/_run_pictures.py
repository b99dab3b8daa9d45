"""Saving plots, each as PNG and SVG; the plots of a finished events run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from corefsample.plots import save_figure
from events.jobs._run_folder import RunFolder
from events.plots import country_comparison, event_bands

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure


_KINDS = ("png", "svg")


def picture_files(*names: str) -> list[str]:
    """Files of pictures with these names."""
    return [f"{name}.{kind}" for name in names for kind in _KINDS]


def save_pictures(figures: Mapping[str, Figure | SubFigure], file: Callable[[str], Path]) -> None:
    """Save figures by name; `file` returns the path of each file."""
    for name, figure in figures.items():
        for kind in _KINDS:
            save_figure(figure, file(f"{name}.{kind}"))


def draw_run(
    folder: RunFolder, counts: pd.DataFrame, comparison: pd.DataFrame | None, names: Mapping[str, str]
) -> None:
    """Draw the bands, and the comparison if there is one, into the folder as PNG and SVG."""
    figures = {"bands": event_bands(counts, names=names)}
    if comparison is not None:
        figures["comparison"] = country_comparison(counts, comparison, names=names)
    save_pictures(figures, folder.file)
