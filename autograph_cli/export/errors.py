"""What can go wrong when a graph is drawn."""


class ExportError(ValueError):
    """A picture that cannot be made, and what to do instead."""
