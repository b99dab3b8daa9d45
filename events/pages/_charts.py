"""The charts of a report: Vega specifications without data; the page adds the counts.

``python -m events.pages._charts`` prints them as JSON, with their library: see `events.pages._report`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import vl_convert

Json = dict[str, Any]  # part of a Vega-Lite specification

_BAND, _ONE_BEST = "#0072B2", "#D55E00"  # blue and vermilion of Okabe & Ito; the one best is also dashed
_RULE_BAND = "#777"  # grey, for the interval with the error of the rule
_OTHER = "#007A59"  # a darker bluish green, for a second actor
# No aria, because the page describes its charts in words.
_STEPS: Json = {"aria": False, "interpolate": "step-after", "clip": True}
_POINT: Json = {"type": "point", "aria": False, "filled": True, "opacity": 1}
_DIAMOND: Json = {"shape": {"value": "diamond"}}


def band_chart(*, small: bool = False) -> Json:
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
    marked = [{"filter": "datum.i === cursor"}]
    cursor = {"type": "rule", "aria": False, "color": "#555", "strokeWidth": 1}
    layers = [
        _band(_RULE_BAND, "lower_rule", "upper_rule", opacity=0.18),
        _band(_BAND, "lower", "upper"),
        _line(_ONE_BEST, "one_best", width=1, dash=[4, 2]),
        _line(_BAND, "mean", width=1.4 if small else 2),
        _layer(cursor, "middle", transform=marked),
        _layer({**_POINT, "color": _ONE_BEST, "size": 30}, "middle", "one_best", _DIAMOND, transform=marked),
        _layer({**_POINT, "color": _BAND, "size": 44}, "middle", "mean", transform=marked),
    ]
    if not small:
        layers += [
            _band(_OTHER, "lower", "upper", data="other"),
            _line(_OTHER, "mean", dash=[8, 2], data="other"),
        ]
    return _vega(layers, small=small)


def audited_chart() -> Json:
    """Vega specification of audited counts beside the band of the model.

    The data set ``counts`` has one row per period, and the last again: start, middle, mean, lower and upper of the
    model, and estimate, audited_lower and audited_upper, which rows without an audited count do not have; ``learned``
    has mean, lower and upper of learned counts, or no rows. Signals as in `band_chart`.
    """
    audited = [{"filter": "isValid(datum.estimate)"}]
    interval = {"type": "rule", "aria": False, "color": _ONE_BEST, "strokeWidth": 2}
    upper = {"y2": {"field": "audited_upper"}}
    layers = [
        _band(_BAND, "lower", "upper"),
        _layer(interval, "middle", "audited_lower", upper, transform=audited),
        _line(_BAND, "mean"),
        _layer({**_POINT, "color": _ONE_BEST, "size": 44}, "middle", "estimate", _DIAMOND, transform=audited),
        _band(_OTHER, "lower", "upper", data="learned"),
        _line(_OTHER, "mean", dash=[8, 2], data="learned"),
    ]
    return _vega(layers, small=False)


def _band(color: str, lower: str, upper: str, *, opacity: float = 0.22, data: str = "counts") -> Json:
    mark = {"type": "area", "color": color, "opacity": opacity, **_STEPS}
    return _layer(mark, "start", lower, {"y2": {"field": upper}}, data=data)


def _line(color: str, field: str, *, width: float = 2, dash: list[int] | None = None, data: str = "counts") -> Json:
    mark = {"type": "line", "color": color, "strokeWidth": width, **_STEPS}
    return _layer(mark if dash is None else {**mark, "strokeDash": dash}, "start", field, data=data)


def _layer(
    mark: Json,
    time: str,
    count: str | None = None,
    channels: Json | None = None,
    *,
    data: str = "counts",
    transform: list[Json] | None = None,
) -> Json:
    """One layer: a mark whose position is a field of time, start or middle of a period, and a field of counts."""
    encoding = {"x": {"field": time, "type": "temporal"}, **(channels or {})}
    if count is not None:
        encoding["y"] = {"field": count, "type": "quantitative"}
    layer = {"data": {"name": data}, "mark": mark, "encoding": encoding}
    return layer if transform is None else {**layer, "transform": transform}


def _vega(layers: list[Json], *, small: bool) -> Json:
    """Add axes, signals and sizes to the layers of a chart, and compile it."""
    x = {
        "scale": {"type": "utc", "nice": False, "domain": [{"expr": "first"}, {"expr": "last"}]},
        "axis": {
            "title": None,
            "grid": False,
            "labelOverlap": "greedy",
            "labelFlush": True,
            # Periods by their names; Vega leaves out every other one until there are no more than this.
            "values": {"expr": "middles"},
            "labelExpr": "names[indexof(middles, time(datum.value))]",
            "tickCount": {"expr": "max(2, width / 90)"},
        },
    }
    # At most one tick per whole number: Vega's own tickMinStep allows halves.
    ticks = f"min({2 if small else 5}, max(1, floor(top - bottom)))"
    y = {
        "scale": {"domain": [{"expr": "bottom"}, {"expr": "top"}], "nice": False, "zero": False},
        "axis": {"title": None, "format": ",d", "tickCount": {"expr": ticks}, "domain": False, "ticks": False},
    }
    for encoding in (layer["encoding"] for layer in layers):
        encoding["x"] |= x
        if "y" in encoding:
            encoding["y"] |= y
    signals: Json = {"cursor": -1, "first": 0, "last": 1, "bottom": 0, "top": 1, "middles": [], "names": []}
    compiled: Json = vl_convert.vegalite_to_vega(
        {
            "layer": layers,
            "params": [{"name": name, "value": value} for name, value in signals.items()],
            "width": "container",
            "height": 72 if small else 280,
            "autosize": {"type": "fit", "contains": "padding"},
            "config": {
                "background": "transparent",
                "padding": {"left": 2, "right": 8, "top": 8, "bottom": 2},
                "view": {"stroke": None},
                "axis": {"labelFontSize": 10 if small else 12},
            },
        }
    )
    return compiled


def chart_library() -> str:
    """Script of Vega-Embed with Vega and its interpreter of expressions, which needs no ``eval``; about 0.9 MB.

    It is safe inside a script element of HTML.
    """
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


if __name__ == "__main__":
    drawn = {"large": band_chart(), "small": band_chart(small=True), "audited": audited_chart()}
    json.dump({"charts": drawn, "library": chart_library()}, sys.stdout)
