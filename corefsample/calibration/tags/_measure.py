"""The measure that SMCE, GMCE and the errors by tag share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.calibration.binning import ReliabilityBins
from corefsample.calibration.measures import IntervalKind, calibration_error, resolved_interval
from corefsample.calibration.tags._scores import TagScores
from corefsample.errors import ParameterError

N_BINS = 10


class Rows(NamedTuple):
    """Errors by group or tag, float64 (n_rows,), NaN if unknown; ends and kind of their intervals; and the bins."""

    error: Floats
    lower: Floats
    upper: Floats
    interval: IntervalKind | None
    bins: tuple[ReliabilityBins | None, ...]


def error_rows(
    tag_scores: TagScores, place: Ints, n_rows: int, name: Callable[[int], str], options: dict[str, Any]
) -> Rows:
    """Error of the scores of each place in 0..n_rows - 1.

    Parameters
    ----------
    name
        Gives the name of a place for errors.
    options
        Of `calibration_error`.
    """
    kind = resolved_interval(options["interval"], tag_scores.documents is not None)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=n_rows))
    errors = np.full((3, n_rows), math.nan)
    bins: list[ReliabilityBins | None] = [None] * n_rows
    for row, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
        if start == end:
            continue
        chosen = order[start:end]
        documents = None if tag_scores.documents is None else tag_scores.documents[chosen]
        of_one_document = documents is not None and (documents == documents[0]).all()
        own_options = options | ({"interval": None} if kind == "bootstrap" and of_one_document else {})
        try:
            found = calibration_error(
                tag_scores.scores[chosen], tag_scores.labels[chosen], documents=documents, **own_options
            )
        except ParameterError as error:
            raise error.at(name(row)) from error
        bins[row] = found.bins
        errors[:, row] = found.estimate, found.lower, found.upper  # None becomes NaN
    return Rows(errors[0], errors[1], errors[2], kind, tuple(bins))
