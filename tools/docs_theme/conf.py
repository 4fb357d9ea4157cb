"""Sphinx's configuration of the documentation site. `docs_site.py` gives the sources; see there.

The theme, its fonts and its scripts come with the site: a page asks nothing of another host.
"""

import re

from sphinx.application import Sphinx

from collage_core.version import __version__

project = "Collage Explorer"
author = "the authors of Collage Explorer"
version = release = __version__
root_doc = "index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 4
myst_heading_slug_func = "github"
"""Headings have the anchors that a code host gives them."""
highlight_language = "text"
pygments_style = "default"
suppress_warnings = ["misc.highlighting_failure"]
"""Examples with an ellipsis are no JSON."""
smartquotes = False

default_role = "code"
"""In docstrings single backticks mark names."""
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 110
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = project
html_favicon = "../../collage_server/static/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "collapse_navigation": True,
}
html_sidebars: dict[str, list[str]] = {"index": []}

_SEVERAL = re.compile(r"(    )(\w+(?:, \w+)+): ")


def setup(app: Sphinx) -> None:
    """Let each name of an entry such as ``inputs, outputs: …`` have a line of its own, before napoleon reads the docstring."""
    app.connect("autodoc-process-docstring", lambda *given: _expand(given[-1]), priority=1)


def _expand(lines: list[str]) -> None:
    made: list[str] = []
    entry: list[str] = []
    names: list[str] = []
    for line in [*lines, ""]:
        found = _SEVERAL.match(line)
        if names and (found or not line.startswith("     ")):
            made += [f"    {name}: {entry[0]}" if index == 0 else text for name in names for index, text in enumerate(entry)]
            names = []
        if found:
            names, entry = found[2].split(", "), [line[found.end() :]]
        elif names:
            entry.append(line)
        else:
            made.append(line)
    lines[:] = made
