"""One HTML file from a template, style sheets, ES modules, and data: JSON that cannot end its element, or packed.

``python -m events.pages._rendering`` prints the charts of a report as JSON, with their library: Vega specifications
without data, to which the page adds the counts.
"""

import base64
import hashlib
import json
import re
import sys
import zlib
from collections.abc import Iterable, Mapping
from importlib import resources
from itertools import islice
from typing import Any

import jinja2
from markupsafe import Markup

PER_PART = 16  # documents that are unpacked together
Json = dict[str, Any]  # part of a Vega-Lite specification

_BAND, _ONE_BEST = "#0072B2", "#D55E00"  # blue and vermilion of Okabe & Ito; the one best is also dashed
_INNER = "#777"  # grey, for what the rule counts beside what readers would count
_OTHER = "#007A59"  # a darker bluish green, for a second actor
_STEPS: Json = {"interpolate": "step-after", "clip": True}


def rendered(
    template: str, styles: str, scripts: str, values: Mapping[str, Any], *, libraries: Mapping[str, str] | None = None
) -> str:
    """Return the HTML of a page.

    The template gets `values`, and ``style``, ``script``, the libraries by name, and ``hashes`` of each for the page's
    security policy. Its filter ``embedded`` is `embedded_json`; all other text is escaped.

    Parameters
    ----------
    template
        Name of the template: its file is in the folder templates and ends in .html.j2.
    styles, scripts
        Names of style sheets and of ES modules in the folder static, separated by blanks, in their order: a module
        comes after the modules that it needs on loading.
    values
        Values that the template shows, by name.
    libraries
        Scripts of other projects by name, which must be safe inside a script element.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _file("templates", name)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["embedded"] = embedded_json
    # These come only from this package and libraries, never from input.
    style = "".join(_file("static", f"{name}.css") for name in styles.split())
    modules = "\n".join(_file("static", f"{name}.js") for name in scripts.split())
    # Inline modules cannot import each other: they share one scope, without imports and the word export.
    statements = re.sub(r"^import \{[^}]*\} from [^\n]*;\n|^export ", "", modules, flags=re.M)
    script = f"(() => {{\n'use strict';\n{statements}\n}})();\n"
    texts = {"style": style, "script": script, **(libraries or {})}
    digests = {key: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for key, text in texts.items()}
    page: str = environment.get_template(f"{template}.html.j2").render(
        **values,
        **{key: Markup(text) for key, text in texts.items()},
        hashes={key: f"'sha256-{digest}'" for key, digest in digests.items()},
    )
    return page


def _file(folder: str, name: str) -> str:
    return resources.files("events.pages").joinpath(folder, name).read_text(encoding="utf-8")


def embedded_json(value: object) -> Markup:
    r"""Return JSON that is safe inside a script element of HTML.

    It cannot end the element or begin a comment: <, > and & are written as \u003c, \u003e, \u0026, and so are the two
    line separators that older versions of JavaScript reject in strings.

    Examples
    --------
    >>> print(embedded_json("</script>&\u2028"))
    "\u003c/script\u003e\u0026\u2028"
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}))


def packed_parts(contents: Iterable[object], per_part: int = PER_PART) -> list[str]:
    """Pack a list in parts of this many elements, of which a page unpacks those that it needs.

    A part is JSON, deflated without a header, in base64; `inflated` of static/elements.js unpacks it.
    """
    parts = []
    waiting = iter(contents)
    while part := list(islice(waiting, per_part)):
        compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        plain = json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        parts.append(base64.b64encode(compressor.compress(plain) + compressor.flush()).decode("ascii"))
    return parts


# --- charts ---


def band_chart(*, small: bool = False) -> Json:
    """Vega specification of one actor's band: mean and interval, one best, and a cursor on one period.

    A count belongs to a whole period, so all lines are steps. The data set ``counts`` has one row per period, and the
    last again at its end: i, start, middle (milliseconds since 1970, UTC), mean, lower, upper, one_best, and
    rule_mean, rule_lower, rule_upper if the first three are not those of the rule's count; ``other``, of the large
    chart, the same of a second actor, or no rows. Signals: ``cursor``, the marked i (-1 for none); ``first`` and
    ``last``, ``bottom`` and ``top``, the ends of the scales; ``middles`` and ``names`` of the periods, which label the
    axis. The page sets all of them.

    Parameters
    ----------
    small
        True if the chart is one of many small ones, false for the large one.
    """
    marked = "datum.i === cursor"
    layers = [
        _band(_BAND, "lower", "upper"),
        _band(_INNER, "rule_lower", "rule_upper", opacity=0.35),
        _line(_ONE_BEST, "one_best", strokeWidth=1, strokeDash=[4, 2]),
        _line(_INNER, "rule_mean", strokeWidth=0.8),
        _line(_BAND, "mean", strokeWidth=1.4 if small else 2),
        _layer("rule", "middle", where=marked, color="#555", strokeWidth=1),
        _layer("point", "middle", "one_best", where=marked, color=_ONE_BEST, size=30, shape="diamond"),
        _layer("point", "middle", "mean", where=marked, color=_BAND, size=44),
    ]
    if not small:
        layers += [
            _band(_OTHER, "lower", "upper", data="other"),
            _line(_OTHER, "mean", data="other", strokeWidth=2, strokeDash=[8, 2]),
        ]
    return _vega(layers, small=small)


def audited_chart() -> Json:
    """Vega specification of audited counts beside the band of the model.

    The data set ``counts`` has one row per period, and the last again: start, middle, mean, lower and upper of the
    model, and estimate, audited_lower and audited_upper, which rows without an audited count do not have; ``learned``
    has mean, lower and upper of learned counts, or no rows. Signals as in `band_chart`.
    """
    audited = "isValid(datum.estimate)"
    ends = "audited_lower", "audited_upper"
    layers = [
        _band(_BAND, "lower", "upper"),
        _layer("rule", "middle", *ends, where=audited, color=_ONE_BEST, strokeWidth=2),
        _line(_BAND, "mean", strokeWidth=2),
        _layer("point", "middle", "estimate", where=audited, color=_ONE_BEST, size=44, shape="diamond"),
        _band(_OTHER, "lower", "upper", data="learned"),
        _line(_OTHER, "mean", data="learned", strokeWidth=2, strokeDash=[8, 2]),
    ]
    return _vega(layers, small=False)


def _band(color: str, lower: str, upper: str, *, opacity: float = 0.22, data: str = "counts") -> Json:
    return _layer("area", "start", lower, upper, data=data, color=color, opacity=opacity, **_STEPS)


def _line(color: str, field: str, *, data: str = "counts", **look: Any) -> Json:
    return _layer("line", "start", field, data=data, color=color, **look, **_STEPS)


def _layer(
    mark: str, time: str, count: str = "", upper: str = "", *, data: str = "counts", where: str = "", **look: Any
) -> Json:
    """One layer: a mark at a field of time, start or middle of a period, and at a field of counts, or between two."""
    encoding: Json = {"x": {"field": time, "type": "temporal"}}
    if upper:
        encoding["y2"] = {"field": upper}
    if count:
        encoding["y"] = {"field": count, "type": "quantitative"}
    if mark == "point":
        look = {"filled": True, "opacity": 1, **look}
    # No aria, because the page describes its charts in words.
    layer = {"data": {"name": data}, "mark": {"type": mark, "aria": False, **look}, "encoding": encoding}
    return {**layer, "transform": [{"filter": where}]} if where else layer


def _vega(layers: list[Json], *, small: bool) -> Json:
    """Add axes, signals and sizes to the layers of a chart, and compile it."""
    import vl_convert

    x_scale = {"type": "utc", "nice": False, "domain": [{"expr": "first"}, {"expr": "last"}]}
    x_axis: Json = {"title": None, "grid": False, "labelOverlap": "greedy", "labelFlush": True}
    # Periods by their names; Vega leaves out every other one until there are no more than the number of ticks.
    x_axis |= {"values": {"expr": "middles"}, "labelExpr": "names[indexof(middles, time(datum.value))]"}
    x_axis["tickCount"] = {"expr": "max(2, width / 90)"}
    y_scale = {"domain": [{"expr": "bottom"}, {"expr": "top"}], "nice": False, "zero": False}
    # At most one tick per whole number: Vega's own tickMinStep allows halves.
    ticks = {"expr": f"min({2 if small else 5}, max(1, floor(top - bottom)))"}
    y_axis = {"title": None, "format": ",d", "tickCount": ticks, "domain": False, "ticks": False}
    for encoding in (layer["encoding"] for layer in layers):
        encoding["x"] |= {"scale": x_scale, "axis": x_axis}
        if "y" in encoding:
            encoding["y"] |= {"scale": y_scale, "axis": y_axis}
    signals: Json = {"cursor": -1, "first": 0, "last": 1, "bottom": 0, "top": 1, "middles": [], "names": []}
    config = {"background": "transparent", "padding": {"left": 2, "right": 8, "top": 8, "bottom": 2}}
    specification: Json = {
        "layer": layers,
        "params": [{"name": name, "value": value} for name, value in signals.items()],
        "width": "container",
        "height": 72 if small else 280,
        "autosize": {"type": "fit", "contains": "padding"},
        "config": {**config, "view": {"stroke": None}, "axis": {"labelFontSize": 10 if small else 12}},
    }
    compiled: Json = vl_convert.vegalite_to_vega(specification)
    return compiled


def chart_library() -> str:
    """Script of Vega-Embed with Vega and its interpreter of expressions, which needs no ``eval``; about 0.9 MB.

    It is safe inside a script element of HTML.
    """
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


if __name__ == "__main__":
    drawn = {"large": band_chart(), "small": band_chart(small=True), "audited": audited_chart()}
    json.dump({"charts": drawn, "library": chart_library()}, sys.stdout)
