"""Errors of drawing a graph."""

from autograph_cli.graph import GraphError


class ExportError(GraphError):
    """A picture that cannot be made, and what to do instead."""
