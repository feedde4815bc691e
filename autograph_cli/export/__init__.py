"""Pure functions from a graph to the bytes of a picture or a text."""

from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.programs import LAYOUTS
from autograph_cli.export.layout.direction import DIRECTIONS
from autograph_cli.export.options import FLOWS, PARAMETERS, READABLE, RenderOptions
from autograph_cli.export.picture import VIEWS
from autograph_cli.export.rendering import (
    FORMATS,
    Format,
    notebook_html,
    notebook_page,
    notebook_svg as notebook_svg,
    render,
)

__all__ = [
    "DIRECTIONS",
    "FLOWS",
    "FORMATS",
    "LAYOUTS",
    "PARAMETERS",
    "READABLE",
    "VIEWS",
    "ExportError",
    "Format",
    "RenderOptions",
    "notebook_html",
    "notebook_page",
    "render",
]
