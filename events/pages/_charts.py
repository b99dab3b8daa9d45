"""The charts of a report: Vega specifications without data; the page adds the counts.

``python -m events.pages._charts`` prints them as JSON, with their library: see `events.pages._report`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import altair as alt
import vl_convert

_BAND, _ONE_BEST = "#0072B2", "#D55E00"  # blue and vermilion of Okabe & Ito; the one best is also dashed
_RULE_BAND = "#777"  # grey, for the interval with the error of the rule
_OTHER = "#007A59"  # a darker bluish green, for a second actor
# No aria, because the page describes its charts in words.
_STEPS: dict[str, Any] = {"aria": False, "interpolate": "step-after", "clip": True}


def band_chart(*, small: bool = False) -> dict[str, Any]:
    """Vega specification of one actor's band: interval, posterior mean, one best, and a cursor on one period.

    A count belongs to a whole period, so all lines are steps. The data set ``counts`` has one row per period, and the
    last again at its end: i, start, middle (milliseconds since 1970, UTC), mean, lower, upper, one_best, and
    lower_rule, upper_rule of runs with the error of rules; ``other``, of the large chart, the same of a second actor,
    or no rows. Signals: ``cursor``, the marked i (-1 for none); ``first`` and ``last``, ``bottom`` and ``top``, the
    ends of the scales; ``middles`` and ``names`` of the periods, which label the axis. The page sets all of them.

    Parameters
    ----------
    small
        True if the chart is one of many small ones, false for the large one.
    """
    parameters, x, middle, y = _axes(small=small)
    counts = alt.Chart(alt.NamedData("counts"))
    marked = counts.transform_filter("datum.i === cursor")
    second = alt.Chart(alt.NamedData("other"))
    layers = [
        counts.mark_area(color=_RULE_BAND, opacity=0.18, **_STEPS).encode(x, y("lower_rule"), alt.Y2("upper_rule")),
        counts.mark_area(color=_BAND, opacity=0.22, **_STEPS).encode(x, y("lower"), alt.Y2("upper")),
        counts.mark_line(color=_ONE_BEST, strokeWidth=1, strokeDash=[4, 2], **_STEPS).encode(x, y("one_best")),
        counts.mark_line(color=_BAND, strokeWidth=1.4 if small else 2, **_STEPS).encode(x, y("mean")),
        marked.mark_rule(aria=False, color="#555", strokeWidth=1).encode(middle),
        marked.mark_point(aria=False, color=_ONE_BEST, filled=True, size=30, opacity=1).encode(
            middle, y("one_best"), shape=alt.value("diamond")
        ),
        marked.mark_point(aria=False, color=_BAND, filled=True, size=44, opacity=1).encode(middle, y("mean")),
    ]
    if not small:
        band = second.mark_area(color=_OTHER, opacity=0.22, **_STEPS).encode(x, y("lower"), alt.Y2("upper"))
        line = second.mark_line(color=_OTHER, strokeWidth=2, strokeDash=[8, 2], **_STEPS).encode(x, y("mean"))
        layers += [band, line]
    return _vega(alt.layer(*layers), parameters, small=small)


def audited_chart() -> dict[str, Any]:
    """Vega specification of audited counts beside the band of the model.

    The data set ``counts`` has one row per period, and the last again: start, middle, mean, lower and upper of the
    model, and estimate, audited_lower and audited_upper, which rows without an audited count do not have; ``learned``
    has mean, lower and upper of learned counts, or no rows. Signals as in `band_chart`.
    """
    parameters, x, middle, y = _axes(small=False)
    counts = alt.Chart(alt.NamedData("counts"))
    learned = alt.Chart(alt.NamedData("learned"))
    audited = counts.transform_filter("isValid(datum.estimate)")
    layers = alt.layer(
        counts.mark_area(color=_BAND, opacity=0.22, **_STEPS).encode(x, y("lower"), alt.Y2("upper")),
        audited.mark_rule(aria=False, color=_ONE_BEST, strokeWidth=2).encode(
            middle, y("audited_lower"), alt.Y2("audited_upper")
        ),
        counts.mark_line(color=_BAND, strokeWidth=2, **_STEPS).encode(x, y("mean")),
        audited.mark_point(aria=False, color=_ONE_BEST, filled=True, size=44, opacity=1).encode(
            middle, y("estimate"), shape=alt.value("diamond")
        ),
        learned.mark_area(color=_OTHER, opacity=0.22, **_STEPS).encode(x, y("lower"), alt.Y2("upper")),
        learned.mark_line(color=_OTHER, strokeWidth=2, strokeDash=[8, 2], **_STEPS).encode(x, y("mean")),
    )
    return _vega(layers, parameters, small=False)


def _axes(*, small: bool) -> tuple[list[alt.Parameter], alt.X, alt.X, Callable[[str], alt.Y]]:
    """Signals, start and middle of a period on the axis of time, and an axis of counts for a field."""
    ends: dict[str, Any] = {"cursor": -1, "first": 0, "last": 1, "bottom": 0, "top": 1, "middles": [], "names": []}
    parameters = [alt.param(name=name, value=value) for name, value in ends.items()]
    times = alt.Axis(
        title=None,
        grid=False,
        labelOverlap="greedy",
        labelFlush=True,
        # Periods by their names; Vega leaves out every other one until there are no more than this.
        values=alt.ExprRef("middles"),
        labelExpr="names[indexof(middles, time(datum.value))]",
        tickCount=alt.ExprRef("max(2, width / 90)"),
    )
    utc = alt.Scale(type="utc", nice=False, domain=[alt.ExprRef("first"), alt.ExprRef("last")])
    # At most one tick per whole number: Vega's own tickMinStep allows halves.
    ticks = alt.ExprRef(f"min({2 if small else 5}, max(1, floor(top - bottom)))")
    heights = alt.Axis(title=None, format=",d", tickCount=ticks, domain=False, ticks=False)
    linear = alt.Scale(domain=[alt.ExprRef("bottom"), alt.ExprRef("top")], nice=False, zero=False)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=linear, axis=heights)

    x, middle = (alt.X(f"{field}:T", scale=utc, axis=times) for field in ("start", "middle"))
    return parameters, x, middle, y


def _vega(layers: alt.LayerChart | alt.FacetChart, parameters: list[alt.Parameter], *, small: bool) -> dict[str, Any]:
    """Lay out a chart, and compile it."""
    chart = layers.add_params(*parameters).properties(
        width="container", height=72 if small else 280, autosize=alt.AutoSizeParams(type="fit", contains="padding")
    )
    chart = chart.configure(background="transparent", padding={"left": 2, "right": 8, "top": 8, "bottom": 2})
    chart = chart.configure_view(stroke=None).configure_axis(labelFontSize=10 if small else 12)
    specification: dict[str, Any] = vl_convert.vegalite_to_vega(chart.to_dict())
    return specification


def chart_library() -> str:
    """Script of Vega-Embed with Vega and its interpreter of expressions, which needs no ``eval``; about 0.9 MB.

    It is safe inside a script element of HTML.
    """
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


if __name__ == "__main__":
    drawn = {"large": band_chart(), "small": band_chart(small=True), "audited": audited_chart()}
    json.dump({"charts": drawn, "library": chart_library()}, sys.stdout)
