"""Elements kept between bounds."""

from __future__ import annotations

from typing import Any

from ..._core.base.errors import refused
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import overloaded
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms.batching import elementwise

clamp_scalar = operation(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None)",
    node="ClampBackward1",
    pointwise=True,
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, self, min, max: f.where(f.within(self, min, max), grad, f.zero_beside(grad)),
)


clamp_min_scalar = operation(
    "clamp_min(Tensor self, Scalar min)",
    pointwise=True,
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, self, min: f.where(f.within(self, min, None), grad, f.zero_beside(grad)),
)


clamp_max_scalar = operation(
    "clamp_max(Tensor self, Scalar max)",
    pointwise=True,
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, self, max: f.where(f.within(self, None, max), grad, f.zero_beside(grad)),
)


@overloaded(inplace=True, aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Any:
    """Each element, but `min` where it is below that and `max` where it is above; both may be numbers or tensors.

    The gradient is zero where a bound was taken. RuntimeError without any bound.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        min, max = _bounds(min, max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return operations.clamp_Tensor, input, min, max
    return clamp_scalar, input, min, max


def _bounds(*bounds: Any) -> list[Any]:
    """Bounds as tensors, or as numbers if one of them is: the other may be a tensor without dimensions then."""
    tensors = [b for b in bounds if isinstance(b, Tensor)]
    if len(tensors) == len([b for b in bounds if b is not None]):
        return list(bounds)
    if any(b.ndim or b.requires_grad for b in tensors):
        kinds = ", ".join(type(b).__name__ for b in bounds)
        raise refused(TypeError, f"clamp() received an invalid combination of arguments - got (Tensor, {kinds})")
    return [b.item() if isinstance(b, Tensor) else b for b in bounds]


@overloaded()
def clamp_min(input: Tensor, min: Any) -> Any:
    """Elements below `min` become `min`."""
    return (operations.clamp_min_Tensor if isinstance(min, Tensor) else clamp_min_scalar), input, min


@overloaded()
def clamp_max(input: Tensor, max: Any) -> Any:
    """Elements above `max` become `max`."""
    return (operations.clamp_max_Tensor if isinstance(max, Tensor) else clamp_max_scalar), input, max


def within(input: Tensor, low: Any, high: Any) -> Tensor:
    """Return where low <= input <= high."""
    return make(kernels(input._ag_raw).within(input._ag_raw, low, high))


operations.within = elementwise(within)
