"""autograph shows what autograd recorded: it runs a PyTorch-style script and draws the graphs that the script built.

>>> from autograph_cli import torch          # the engine, laid out as PyTorch's own namespace
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["AutographError", "__version__"]


class AutographError(Exception):
    """What a person did wrong, in one clear sentence; `exit_code` is what the command ends with."""

    exit_code = 1
