"""The gradients of convolutions by their input and by their weight, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.operations.operation import operations


def _settings(n: int, *values: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(v) if isinstance(v, (tuple, list)) else (v,) * n for v in values)


def _gradient(n: int, of_input: bool) -> Callable[..., Any]:
    def run(
        first: Any, second: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        stride, padding, dilation = _settings(n, stride, padding, dilation)
        if of_input:
            input, weight = grad_output.new_empty(1).expand(first), second
        else:
            input, weight = first, grad_output.new_empty(1).expand(second)
        found = operations.convolution_backward(
            grad_output,
            input,
            weight,
            stride,
            padding,
            dilation,
            False,
            (0,) * n,
            groups,
            (of_input, not of_input, False),
        )
        return found[0 if of_input else 1]

    by = "input" if of_input else "weight"
    run.__name__ = run.__qualname__ = f"conv{n}d_{by}"
    run.__doc__ = f"The gradient of `conv{n}d` by its {by}: " + (
        "(input_size, weight, grad_output, ...)." if of_input else "(input, weight_size, grad_output, ...)."
    )
    return run


for _n in (1, 2, 3):
    for _of_input in (True, False):
        _made = _gradient(_n, _of_input)
        globals()[_made.__name__] = _made
