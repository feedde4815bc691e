"""The site: `make docs`. The course is executed, the reference is made from the code; nothing is fetched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import make_pictures  # noqa: E402
import make_reference  # noqa: E402

from autograph_cli import __version__  # noqa: E402

project = "autograph"
author = copyright = "autograph authors"
version = release = __version__
extensions = ["myst_nb"]
smartquotes = False  # options begin with two hyphens
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pictures.css"]
html_title = f"autograph {version}"
exclude_patterns = ["_build", "conformance-graphs.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# Links to files outside of docs/ are right on the forge, and nothing here.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "myst.header"]


def without_pictures(_: Sphinx, name: str, source: list[str]) -> None:
    """Take the committed pictures and outputs out of a chapter: here its cells are executed, and make them."""
    if "course/" in name:
        source[0] = make_pictures.OUTPUT.sub(r"\1", source[0])
        source[0] = re.sub(r"^!\[.*\]\(.*pictures/.*\.svg\)\n\n", "", source[0], flags=re.MULTILINE)


def accessible(app: Sphinx, failure: Exception | None) -> None:
    """Give the theme's captions a level, and let the keyboard reach what scrolls."""
    swaps = {
        'role="heading">': 'role="heading" aria-level="2">',
        "<pre>": '<pre tabindex="0">',
        "<p><img": '<p tabindex="0"><img',
        '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
        ' aria-label="Toggle hidden content"': "",  # the text beside it names the button
    }
    for page in Path(app.outdir).rglob("*.html") if failure is None else ():
        text = page.read_text("utf-8")
        for old, new in swaps.items():
            text = text.replace(old, new)
        page.write_text(text, "utf-8")


def setup(app: Sphinx) -> None:
    """Write the reference before the pages are read."""
    app.connect("builder-inited", lambda _: make_reference.write(HERE / "reference"))
    app.connect("source-read", without_pictures)
    app.connect("build-finished", accessible)
