"""`torch._dynamo`: nothing is compiled here; what libraries ask of the compiler."""

from __future__ import annotations

from typing import Any

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset
from ..nn.modules.module import Module

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "is_compiling", "list_backends",
    "reset",
]  # fmt: skip


class OptimizedModule(Module):
    """The class of modules that PyTorch's `torch.compile` returns; the engine's returns the module itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("torch._dynamo.OptimizedModule is not available in autograph's engine: nothing is compiled")
