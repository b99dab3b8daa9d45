"""Pictures of results, each as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from corefsample.plots import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

__all__ = ["picture_files", "save_pictures"]

_KINDS = ("png", "svg")


def picture_files(*names: str) -> list[str]:
    """Files of pictures with these names."""
    return [f"{name}.{kind}" for name in names for kind in _KINDS]


def save_pictures(figures: Mapping[str, Figure | SubFigure], file: Callable[[str], Path]) -> None:
    """Save figures by name; `file` returns the path of each file."""
    for name, figure in figures.items():
        for kind in _KINDS:
            save_figure(figure, file(f"{name}.{kind}"))
