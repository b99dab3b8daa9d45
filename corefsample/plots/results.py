"""A picture of any result."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

# The function that draws a class, and the attribute or method of the result that it takes ("" for the result itself).
# By name, so that neither computing loads plotting, nor plotting what computes; those of `events` are names only, too.
_DRAWN_BY = {
    "corefsample.calibration._error.CalibrationError": ("reliability.calibration_error_dots", ""),
    "corefsample.calibration._reliability.ReliabilityCurve": ("reliability.reliability_figure", ""),
    "corefsample.links._calibration.LinkCalibration": ("reliability.calibration_error_dots", ""),
    "corefsample.metrics._scores.CorpusScoreSamples": ("clusterings.score_bars", "corpus"),
    "corefsample.metrics._scores.ScoreSamples": ("clusterings.score_bars", ""),
    "corefsample.summaries._alternatives.CredibleBall": ("clusterings.distance_bars", ""),
    "corefsample.summaries._document_links.DocumentLinks": ("clusterings.link_heat_map", ""),
    "corefsample.summaries._document_links.EntityCountDistribution": ("clusterings.entity_count_bars", ""),
    "events.audit._estimates.AuditEstimate": ("events.plots.audit.audit_bands", "to_frame"),
    "events.counts._count_posterior.CountDistribution": ("events.plots.bands.count_bars", ""),
    "events.counts._event_counts.EventCounts": ("events.plots.bands.event_bands", "to_frame"),
}


def plot(result: object, **options: Any) -> Figure | SubFigure:
    """Draw a result, whatever it is.

    Parameters
    ----------
    result
        A reliability curve, calibration errors, counts or one count of events, audited counts, the
        posterior of a score, or a summary of a document (links, number of entities, credible ball). Several
        reliability curves or calibration errors can be given as a dict by name.
    **options
        Options of the function that draws this kind of result, such as ``ax`` or ``fig`` and ``title``. The table of
        docs/pictures.md lists these functions.

    Returns
    -------
    matplotlib.figure.Figure
        The figure that was drawn on.

    Raises
    ------
    ParameterError
        If there is no picture of such a result.

    Examples
    --------
    >>> from corefsample import AntecedentDistribution
    >>> from corefsample.summaries import credible_ball
    >>> dist = AntecedentDistribution.from_lists([[], [0]], [[], [2.0]])
    >>> plot(credible_ball(dist), title="Two mentions").get_axes()[0].get_title("left")
    'Two mentions'
    """
    results = list(result.values()) if isinstance(result, dict) else [result]
    path, method_name = _drawn_by(results)
    module, _, name = (path if path.startswith("events.") else f"corefsample.plots.{path}").rpartition(".")
    drawn: Any = getattr(result, method_name) if method_name else result
    drawing = getattr(import_module(module), name)(drawn() if callable(drawn) else drawn, **options)
    figure: Figure | SubFigure = drawing.figure if hasattr(drawing, "get_xlim") else drawing  # of axes
    return figure


def _drawn_by(results: list[object]) -> tuple[str, str]:
    names = [f"{each.__module__}.{each.__qualname__}" for each in type(results[0]).__mro__] if results else []
    type_name = next((name for name in names if name in _DRAWN_BY), None)
    if type_name is not None and all(type(each) is type(results[0]) for each in results):
        return _DRAWN_BY[type_name]
    is_document = bool(results) and hasattr(results[0], "mentions")
    hint = "corefsample.summaries.document_links(document) makes one" if is_document else None
    kinds = ", ".join(sorted(name.rpartition(".")[2] for name in _DRAWN_BY))
    type_names = " and ".join(dict.fromkeys(type(each).__name__ for each in results)) or "none"
    raise ParameterError(f"must be one of {kinds}, got {type_names}", parameter="result", hint=hint)
