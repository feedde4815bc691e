"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any

from ..._arrays.storages import offset_in
from ..._core.base import dtypes
from ..._core.base.memory_format import strides_of
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, methods
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..shaping import views
from . import unary as unary

view_as_real_op = operation(
    "view_as_real(Tensor self)",
    view=True,
    rereads=True,
    batch=batching.leading,
    self=lambda f, grad: f.view_as_complex(f.contiguous(grad)),
)
view_as_complex_op = operation(
    "view_as_complex(Tensor self)",
    view=True,
    rereads=True,
    autocast="fp32",
    batch=batching.leading,
    self=lambda f, grad: f.view_as_real(f.resolve_conj(f.contiguous(grad))),
)
angle_op = operation(
    "angle(Tensor self)",
    pointwise=True,
    self=lambda f, grad, self: angle_gradient(f, grad, self),
)


def angle_gradient(f: Any, grad: Any, self: Any) -> Any:
    """i x / |x|**2 times the gradient; a real number's angle does not change."""
    if not f.is_complex(self):
        return f.zeros_like(self)
    turned = f.mul_Scalar(f.div(grad * self, f.pow_Tensor_Scalar(f.abs(self), 2)), 1j)
    return f.where(f.eq(self, f.zeros_like(self)), f.full_like_number(self, 0), turned)


@composite()
def view_as_real(input: Tensor) -> Tensor:
    """The memory of a complex tensor as pairs of real numbers; RuntimeError for a real one."""
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if unary.is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )
    return view_as_real_op(input)


@composite()
@autocasts("fp32")
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers, in the last dimension, as complex ones."""
    if input._ag_raw.dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{dtypes.cpp_name(input._ag_raw.dtype)}"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input._ag_raw.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    steps = strides_of(input._ag_raw)
    if steps[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step in steps[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset_in(input._ag_raw) % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return view_as_complex_op(input)


def _part(name: str, index: int) -> Any:
    def get(input: Tensor) -> Tensor:
        if not input.dtype.is_complex:
            if index:
                raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
            return input
        conjugated = unary.is_conj(input)
        pairs = view_as_real_op(unary.conj(input) if conjugated else input)
        if conjugated and index:
            pairs = unary._neg_view(pairs)
        return views.select_op(pairs, pairs.ndim - 1, index)

    def put(input: Tensor, value: Any) -> None:
        get(input).copy_(value)

    get.__name__ = get.__qualname__ = name
    get.__doc__ = f"The {name} parts, as a view."
    composite(method=False, formula=True)(get)
    methods[name] = property(get, put, doc=get.__doc__)
    return get


real, imag = _part("real", 0), _part("imag", 1)


@composite(out=True)
def angle(input: Tensor) -> Tensor:
    """The angle of each number in the complex plane, in radians."""
    return angle_op(input)


def is_complex(x: Tensor) -> bool:
    return bool(x._ag_raw.dtype.kind == "c")


operations.is_complex = is_complex


def _check_parts(name: str, a: Any, b: Any) -> None:
    kinds = [dtypes.cpp_name(t._ag_raw.dtype) for t in (a, b)]
    if not all(k in ("Half", "Float", "Double") for k in kinds):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {kinds[0]} and {kinds[1]}"
        )
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second argument"
        )
    if kinds[0] == "Half":
        raise NotImplementedError(
            f"torch.{name} of halves is not available in autograph's engine: it has no torch.complex32"
        )


def _polar_gradients(f: Any, grad: Any, result: Any) -> tuple[Any, Any]:
    return f.real(grad * f.sgn(result)), f.real(grad * f.mul_Scalar(result, 1j))


complex_op = operation(
    "complex(Tensor real, Tensor imag)",
    "from_parts",
    pointwise=True,
    linear=True,
    real=lambda f, grad, real: f.real(grad),  # each is named for PyTorch saves it
    imag=lambda f, grad, imag: f.imag(grad),
)


polar_op = operation(
    "polar(Tensor abs, Tensor angle)",
    pointwise=True,
    autocast="fp32",
    joint={("abs", "angle"): lambda f, grad, result: _polar_gradients(f, f.conj(grad), result)},
)


@composite(method=False, out="exact")
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """real + imag * 1j; RuntimeError if the two are not floats of one dtype."""
    _check_parts("complex", real, imag)
    return complex_op(real, imag)


@composite(method=False, out=True)
@autocasts("fp32")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex number of a size and an angle in radians."""
    _check_parts("polar", abs, angle)
    return polar_op(abs, angle)
