"""Pure functions from a graph to the bytes of a picture or a text."""

from autograph_cli.export.errors import ExportError
from autograph_cli.export.layout import LAYOUTS
from autograph_cli.export.rendering import (
    FLOWS,
    FORMATS,
    PARAMETERS,
    VIEWS,
    Format,
    RenderOptions,
    notebook_svg,
    render,
)
from autograph_cli.graph import records

__all__ = ["FLOWS", "FORMATS", "LAYOUTS", "PARAMETERS", "VIEWS", "ExportError", "Format", "RenderOptions", "render"]

records.pictured_by = notebook_svg
