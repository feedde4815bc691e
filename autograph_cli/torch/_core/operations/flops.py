"""The floating-point operations of products: two for each product of two numbers and its sum.

These are the rules of PyTorch's `FlopCounterMode`. Each is the trait `flops` of operations, and takes their raw results
(one, or several) and arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..base.op_namespace import table


def product(left: int) -> Callable[..., int]:
    """Return those of a product of matrices, or of batches of them, whose left factor is the argument of this
    number."""
    return lambda result, *args: 2 * math.prod(result.shape) * int(args[left].shape[-1])


def convolution(
    result: Any, image: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, *_: Any
) -> int:
    """Return those of a convolution: each number of the kernel for each position."""
    return _convolved(image.shape, weight.shape, result.shape, transposed)


def convolution_backward(results: Any, grad: Any, image: Any, weight: Any, *options: Any) -> int:
    """Return those of the gradients of a convolution that are asked for; that of the bias is not counted."""
    transposed, mask = options[3], options[-1]
    result = 0
    if mask[0]:
        result += _convolved(grad.shape, weight.shape, results[0].shape, not transposed)
    if mask[1]:
        given, kernel = (grad.shape, image.shape) if transposed else (image.shape, grad.shape)
        result += _convolved(_swapped(given), _swapped(kernel), _swapped(results[1].shape), False)
    return result


def _convolved(image: Any, weight: Any, result: Any, transposed: bool) -> int:
    return int(2 * image[0] * math.prod((image if transposed else result)[2:]) * math.prod(weight))


def _swapped(shape: Any) -> tuple[int, ...]:
    return (shape[1], shape[0], *shape[2:])


def attention(results: Any, query: Any, key: Any, value: Any, *_: Any) -> int:
    """Return those of attention: the scores, and the weighted sum of values, also where a mask leaves some out."""
    return int(2 * math.prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1]))


def attention_backward(results: Any, grad: Any, query: Any, key: Any, value: Any, *_: Any) -> int:
    """Return those of its gradients: the scores again, then two products for the values and two for query and key."""
    return int(2 * math.prod(query.shape[:-1]) * key.shape[-2] * (3 * query.shape[-1] + 2 * value.shape[-1]))


def count(operation: Any, args: Sequence[Any], results: Sequence[Any]) -> int:
    """Return the number for an operation on tensors; 0 if it is not counted."""
    if operation.flops is None:
        return 0
    raws = [getattr(result, "_ag_raw", result) for result in results]
    return int(operation.flops(raws if operation.multiple else raws[0], *[getattr(x, "_ag_raw", x) for x in args]))


class Counted:
    """Kernels that tell of the floating-point operations that they take."""

    def __init__(self, kernels: Any, told: Callable[[int], None]) -> None:
        self._kernels, self._told = kernels, told

    def add_product(self, total: Any, left: Any, right: Any) -> bool:
        """Never: the product is an operation of its own, so that it is told."""
        return False

    def __getattr__(self, name: str) -> Any:
        kernel = getattr(self._kernels, name)
        operation = table.get(name)
        result = kernel if operation is None or operation.flops is None else self._telling(kernel, operation.flops)
        setattr(self, name, result)
        return result

    def _telling(self, kernel: Any, flops: Callable[..., int]) -> Any:
        def run(*args: Any, **options: Any) -> Any:
            result = kernel(*args, **options)
            self._told(int(flops(result, *args)))
            return result

        return run
