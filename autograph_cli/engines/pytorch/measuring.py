"""Measurements of PyTorch, and what a recorder has it do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograph_cli.engines.protocol import Inside
from autograph_cli.engines.pytorch import marks
from autograph_cli.engines.pytorch.compiled import inside_of, watch
from autograph_cli.engines.pytorch.node_types import flops
from autograph_cli.engines.pytorch.private import current_node, is_transforming


class Measuring:
    """See `protocol.Measuring`."""

    flops = staticmethod(flops)
    mark, since = staticmethod(marks.mark), staticmethod(marks.since)
    is_transforming = staticmethod(is_transforming)

    def call(self, operation: Any, *args: Any, **words: Any) -> Any:
        return operation(*args, **words)

    def runs(self) -> Any:
        return current_node()

    def prepare_inside(self) -> None:
        watch()

    def inside(self, node: Any, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """PyTorch tells what the backward of a node is made of where it has compiled it."""
        return inside_of(node)

    @property
    def namespace(self) -> Any:
        return torch
