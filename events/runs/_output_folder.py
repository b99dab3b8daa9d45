"""The output folder of a run, and its pictures; a picture that cannot be drawn is reported as a warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from corefsample._log import logger
from corefsample.files._folders import OutputFolder
from corefsample.plots import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

log = logger("jobs")

_KINDS = ("png", "svg")


def picture_files(*names: str) -> list[str]:
    """Files of pictures with these names."""
    return [f"{name}.{kind}" for name in names for kind in _KINDS]


def save_pictures(pictures: Mapping[str, Callable[[], Figure | SubFigure]], file: Callable[[str], Path]) -> None:
    """Draw pictures and save each as PNG and SVG; log a warning for each picture that cannot be drawn.

    For example, axes cannot show dates in the first or the last year of the calendar.

    Parameters
    ----------
    pictures
        Functions that draw the pictures, by the names of the files without their endings.
    file
        Function that returns the path of a file of the run by its name.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    for name, draw in pictures.items():
        paths = [file(each) for each in picture_files(name)]
        try:
            figure = draw()
            for path in paths:
                save_figure(figure, path)
        except OSError:
            raise
        except Exception as error:
            for path in paths:
                path.unlink(missing_ok=True)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            log.warning("the picture %s could not be drawn, all tables are complete: %s", name, reason)


class RunFolder(OutputFolder):
    """Collects the files of an events run: see `OutputFolder`."""

    RECORD: ClassVar[str] = "run.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
        [
            *(f"{name}.csv" for name in ("counts", "totals", "evidence", "near_half", "events", "comparisons")),
            *(f"{name}.parquet" for name in ("counts", "evidence", "count_samples", "documents", "all_documents")),
            *picture_files("bands", "comparison"),
            "report.html",  # written by another command, and outdated when the run is repeated
            *("quarantine.jsonl", RECORD),
        ]
    )
    STORES: ClassVar[frozenset[str]] = frozenset(["parts"])

    def _is_run(self, names: set[str]) -> bool:
        """Whether a folder contains a run, or the parts of a run that was killed while its files were moved there."""
        return super()._is_run(names) or (self.RECORD not in names and (self.path / "parts").is_dir())
