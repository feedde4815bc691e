"""Measurements of PyTorch, and what a recorder has it do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from autograph_cli.engines.protocol import Inside
from autograph_cli.engines.pytorch.compiled import inside_of, watch
from autograph_cli.engines.pytorch.hooks import tensors_in
from autograph_cli.engines.pytorch.node_types import flops
from autograph_cli.engines.pytorch.private import current_node, is_captured, is_transforming


def mark(values: Iterable[Any]) -> Any:
    """An event in the queue of the GPU that the first tensor of a GPU among values is on; None where there is none, or
    where the GPU only notes what it is to do.

    A script goes on before a GPU is done: the time on the GPU is that between two events.
    """
    where = None if is_captured() else next((x.device for x in tensors_in(values) if x.is_cuda), None)
    return None if where is None else _recorded(where)


def since(before: Any) -> Callable[[], int] | None:
    """Return what waits until a GPU has come to now, and tells the nanoseconds since a mark; None for no mark."""
    if before is None or is_captured():
        return None
    end = _recorded(before.device)

    def nanoseconds() -> int:
        end.synchronize()
        milliseconds: float = before.elapsed_time(end)
        return round(milliseconds * 1e6)

    return nanoseconds


def _recorded(where: Any) -> Any:
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(where))
    return event


class Measuring:
    """See `protocol.Measuring`."""

    flops = staticmethod(flops)
    mark, since = staticmethod(mark), staticmethod(since)
    is_transforming = staticmethod(is_transforming)

    def call(self, operation: Any, *args: Any, **words: Any) -> Any:
        return operation(*args, **words)

    def runs(self) -> Any:
        return current_node()

    def prepare_inside(self, *, numbers: bool) -> None:
        watch(numbers=numbers)

    def inside(self, node: Any, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """PyTorch tells what the backward of a node is made of where it has compiled it."""
        return inside_of(node)

    @property
    def namespace(self) -> Any:
        return torch
