"""Runs a script in another default dtype, with the random numbers that it draws in float32."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DTYPES = ("float64", "float32", "bfloat16", "float16")
_MADE = ("randn", "rand", "randn_like", "rand_like")
_FILLED = ("normal_", "uniform_", "exponential_", "log_normal_", "cauchy_")


@contextmanager
def drawn_alike(engine: str, name: str) -> Iterator[None]:
    """Within the block, tensors are made in this dtype unless the script says in which, and random numbers are drawn in
    float32 and rounded to it; nothing without a name."""
    if not name:
        yield
        return
    torch = importlib.import_module("torch" if engine == "torch" else "autograph_cli.torch")
    overrides: Any = importlib.import_module(f"{torch.__name__}.overrides")
    wanted, before = getattr(torch, name), torch.get_default_dtype()

    class Draws(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs, called = kwargs or {}, getattr(func, "__name__", "")
            if called in _MADE and kwargs.get("dtype") is None:
                like = args[0].dtype if called.endswith("_like") else wanted
                return func(*args, **{**kwargs, "dtype": torch.float32}).to(like)
            tensor = args[0] if args else kwargs.get("tensor")
            fills = called in _FILLED or getattr(torch.nn.init, called, None) is func
            if fills and wanted is not torch.float32 and tensor is not None and tensor.dtype is wanted:
                drawn = torch.empty(tensor.shape, dtype=torch.float32, device=tensor.device)
                words = {word: drawn if value is tensor else value for word, value in kwargs.items()}
                func(*[drawn if value is tensor else value for value in args], **words)
                with torch.no_grad():
                    return tensor.copy_(drawn)
            return func(*args, **kwargs)

    torch.set_default_dtype(wanted)
    try:
        with Draws():
            yield
    finally:
        torch.set_default_dtype(before)
