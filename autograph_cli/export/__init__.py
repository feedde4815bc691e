"""Pure functions from a graph to the bytes of a picture or a text."""

from autograph_cli.export.errors import ExportError
from autograph_cli.export.layout import ENGINES
from autograph_cli.export.rendering import FORMATS, VIEWS, Format, render

__all__ = ["ENGINES", "FORMATS", "VIEWS", "ExportError", "Format", "render"]
