"""One HTML file from a template, style sheets, ES modules, and data: JSON that cannot end its element, or packed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from importlib import resources
from itertools import islice
from typing import Any

import jinja2
from markupsafe import Markup

PER_PART = 16  # documents that are unpacked together


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
        loader=jinja2.FunctionLoader(lambda template: _file("templates", template)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["embedded"] = embedded_json
    # These come only from this package and libraries, never from input.
    style = "".join(_file("static", f"{name}.css") for name in styles.split())
    script = bundled(f"{name}.js" for name in scripts.split())
    texts = {"style": style, "script": script, **(libraries or {})}
    page: str = environment.get_template(f"{template}.html.j2").render(
        **values,
        **{key: Markup(text) for key, text in texts.items()},
        hashes={key: _hash(text) for key, text in texts.items()},
    )
    return page


def bundled(scripts: Iterable[str]) -> str:
    """ES modules as one script, because inline modules cannot import each other.

    All modules share one scope, so imports and the word ``export`` are removed.
    """
    modules = "\n".join(_file("static", name) for name in scripts)
    statements = re.sub(r"^import \{[^}]*\} from [^\n]*;\n|^export ", "", modules, flags=re.M)
    return f"(() => {{\n'use strict';\n{statements}\n}})();\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


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


def packed(value: object) -> str:
    """JSON, deflated without a header, in base64; `inflated` of static/elements.js unpacks it."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(compressor.compress(plain) + compressor.flush()).decode("ascii")


def packed_parts(contents: Iterable[object], per_part: int = PER_PART) -> list[str]:
    """Pack a list in parts of this many elements, of which a page unpacks those that it needs."""
    waiting = iter(contents)
    return [packed(part) for part in iter(lambda: list(islice(waiting, per_part)), [])]
