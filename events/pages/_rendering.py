"""One HTML file from a template, style sheets and ES modules of packages of ours."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from events.pages._embedding import embedded_json

__all__ = ["Sources", "bundled", "rendered"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Files of a page, each as a package and a name: ``("events.report", "bands.js")`` is in its folder static.

    Attributes
    ----------
    template
        In the folder templates of its package.
    styles, scripts
        In their order; a module comes after those that it runs on loading.
    """

    template: tuple[str, str]
    styles: tuple[tuple[str, str], ...]
    scripts: tuple[tuple[str, str], ...]


def rendered(sources: Sources, values: Mapping[str, Any], *, libraries: Mapping[str, str] | None = None) -> str:
    """Return the HTML of a page.

    The template gets `values`, and ``style``, ``script``, the libraries by name, and ``hashes`` of each for the page's
    security policy. Its filter ``embedded`` is `embedded_json`; all other text is escaped.

    Parameters
    ----------
    sources
        Files of the page.
    values
        What the template shows.
    libraries
        Scripts of others by name, which must be safe inside a script element.
    """
    import jinja2
    from markupsafe import Markup

    package, name = sources.template
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda template: _file(package, "templates", template)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["embedded"] = embedded_json
    # These come only from packages of ours and their libraries, never from input.
    style = "".join(_file(home, "static", each) for home, each in sources.styles)
    texts = {"style": style, "script": bundled(sources.scripts), **(libraries or {})}
    page: str = environment.get_template(name).render(
        **values,
        **{key: Markup(text) for key, text in texts.items()},
        hashes={key: _hash(text) for key, text in texts.items()},
    )
    return page


def bundled(scripts: Iterable[tuple[str, str]]) -> str:
    """ES modules as one script, because inline modules cannot import each other.

    All modules share one scope, so imports and the word ``export`` are removed.
    """
    modules = "\n".join(_file(package, "static", name) for package, name in scripts)
    statements = re.sub(r"^import \{[^}]*\} from [^\n]*;\n|^export ", "", modules, flags=re.M)
    return f"(() => {{\n'use strict';\n{statements}\n}})();\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _file(package: str, folder: str, name: str) -> str:
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")
