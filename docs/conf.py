"""Sphinx configuration: python -m sphinx -W --keep-going docs public."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import api_pages  # noqa: E402
import command_pages  # noqa: E402
import gallery_pages  # noqa: E402

from corefsample import __version__  # noqa: E402

project = "corefsample"
author = "The corefsample developers"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
smartquotes = False  # of "--out" it would make a dash
exclude_patterns = [
    "_build",
    "public",
    f"gallery/{gallery_pages.OVERVIEW}",
    f"reference/commands/{command_pages.OVERVIEW}",
]


# Pages are Markdown, the gallery executed notebooks; nothing is executed here.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Docstrings are numpydoc; types come from the signatures. The pages of the API are made by api_pages.py.
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in api_pages.TYPE_ALIASES}
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"corefsample {release}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
# Pages without others below them need no column for these.
html_sidebars = {page: [] for page in ("get-started", "installation")}
html_static_path = ["site"]
html_css_files = ["site.css"]
html_sourcelink_suffix = ""
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

api_pages.write_pages(FOLDER / "reference" / "api")
command_pages.write_pages(FOLDER / "reference" / "commands")
gallery_pages.write_overview(FOLDER / "gallery")
