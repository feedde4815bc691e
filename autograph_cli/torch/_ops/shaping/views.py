"""Views: tensors that share the memory of another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..._arrays.storages import in_shape
from ..._core.base import dims, dims as dims_, dtypes
from ..._core.base.class_names import type_name
from ..._core.base.errors import refused
from ..._core.base.memory_format import strides_of
from ..._core.base.user_warnings import warn_once
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, methods
from ..._core.tape.tensor import Tensor, Wrapped, materialize, share
from ..._core.transforms import batching, batching_rules
from ..pointwise import unary

view_op = operation(
    "view(Tensor self, int[] size)",
    view=True,
    batch=batching.leading,
    self=lambda f, grad, self_sizes: f.reshape(grad, self_sizes),
)
unsafe_view = operation(
    "_unsafe_view(Tensor self, int[] size)",
    "reshape",
    node="UnsafeViewBackward0",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, self_sizes: f.reshape(grad, self_sizes),
)
reshape_alias = operation(
    "_reshape_alias(Tensor self, int[] size, int[] stride)",
    "reshape_alias",
    node="ReshapeAliasBackward0",
    view=True,
    batch=batching_rules.as_strided,
    by_strides=True,
    self=lambda f, grad, self_sizes: f.reshape(grad, self_sizes),
)
permute_op = operation(
    "permute(Tensor self, int[] dims)",
    view=True,
    batch=batching_rules.permute,
    self=lambda f, grad, dims: f.permute(grad, inverse_order(dims)),
)
transpose_op = operation(
    "transpose(Tensor self, int dim0, int dim1)",
    view=True,
    batch=batching.leading,
    aten="transpose.int",
    self=lambda f, grad, dim0, dim1: f.transpose(grad, dim0, dim1),
)
t_op = operation("t(Tensor self)", view=True, node="TBackward0", batch=batching_rules.t, self=lambda f, grad: f.t(grad))
unsqueeze_op = operation(
    "unsqueeze(Tensor self, int dim)",
    view=True,
    batch=partial(batching.leading, more=1),
    self=lambda f, grad, dim: f.squeeze_dim(grad, dim),
)
squeeze_all = operation(
    "squeeze(Tensor self)",
    view=True,
    batch=batching_rules.squeeze,
    self=lambda f, grad, self_sizes: unsqueeze_to(f, grad, None, self_sizes),
)
squeeze_dim = operation(
    "squeeze.dim(Tensor self, int dim)",
    view=True,
    node="SqueezeBackward1",
    batch=batching_rules.squeeze_dim,
    self=lambda f, grad, dim, self_sizes: unsqueeze_to(f, grad, (dim,), self_sizes),
)
squeeze_dims = operation(
    "squeeze.dims(Tensor self, int[] dim)",
    view=True,
    node="SqueezeBackward2",
    batch=partial(batching.leading, empty=False),
    self=lambda f, grad, dim, self_sizes: unsqueeze_to(f, grad, dim, self_sizes),
)
unsqueeze_in_place = operation(
    "unsqueeze_in_place(Tensor self, int dim)",
    "unsqueeze",
    node="UnsqueezeBackward1",
    linear=True,
    batch=partial(batching.leading, more=1),
    self=lambda f, grad, dim: f.squeeze_dim(grad, dim),
)
squeeze_in_place = operation(
    "squeeze_.dim(Tensor self, int dim)",
    "squeeze_dim",
    node="SqueezeBackward4",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, dim, self_sizes: unsqueeze_to(f, grad, (dim,), self_sizes),
)
select_op = operation(
    "select(Tensor self, int dim, int index)",
    view=True,
    batch=batching.leading,
    aten="select.int",
    self=lambda f, grad, self_sizes, dim, index: f.select_backward(grad, self_sizes, dim, index),
)
select_backward = operation(
    "select_backward(Tensor grad_output, int[] input_sizes, int dim, int index)",
    node="SelectBackwardBackward0",
    linear=True,
    batch=batching.leading,
    grad_output=lambda f, grad, dim, index: f.select(grad, dim, index),
)
slice_op = operation(
    "slice(Tensor self, int dim, int start, int end, int step=1)",
    view=True,
    batch=batching.leading,
    aten="slice.Tensor",
    self=lambda f, grad, self_sizes, dim, start, end, step: f.slice_backward(grad, self_sizes, dim, start, end, step),
)
slice_backward = operation(
    "slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step)",
    node="SliceBackwardBackward0",
    linear=True,
    batch=batching.leading,
    grad_output=lambda f, grad, dim, start, end, step: f.slice(grad, dim, start, end, step),
)
alias = operation("alias(Tensor self)", view=True, batch=batching.pointwise, self=lambda f, grad: grad)
operation(
    "_fw_primal(Tensor self, int level)",
    lambda f, self, level: f.alias(self),
    node="torch::autograd::Identity",
    view=True,
    self=lambda f, grad: grad,
)
diagonal_op = operation(
    "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)",
    view=True,
    batch=batching.leading,
    self=lambda f, grad, self_sizes, offset, dim1, dim2: f.diagonal_backward(grad, self_sizes, offset, dim1, dim2),
)
diagonal_backward = operation(
    "diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2)",
    node="DiagonalBackwardBackward0",
    linear=True,
    batch=batching.leading,
    grad_output=lambda f, grad, offset, dim1, dim2: f.diagonal(grad, offset, dim1, dim2),
)


def inverse_order(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `order`."""
    return tuple(order.index(i) for i in range(len(order)))


def unsqueeze_to(f: Any, grad: Any, dim: tuple[int, ...] | None, sizes: tuple[int, ...]) -> Any:
    """Put back the dimensions of length 1 that a squeeze took away."""
    wanted = range(len(sizes)) if dim is None else dim
    for d in sorted(wanted):
        if sizes and sizes[d] == 1:
            grad = f.unsqueeze(grad, d)
    return grad


# ---------------------------------------------------------------- methods


@composite(function=False)
def view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """This tensor in another shape of as many elements (one size may be -1), or its bytes read as another dtype.

    The result shares the memory. RuntimeError where strides do not allow that: `reshape` copies then.
    """
    if dtype is not None:
        return _view_dtype(input, dtype)
    if (
        len(size) == 1
        and not isinstance(size[0], (int, tuple, list))
        and hasattr(size[0], "itemsize")
        and not hasattr(size[0], "_ag_raw")
    ):
        return _view_dtype(input, size[0])
    return view_op(input, dims.infer(dims.sizes(size), input._ag_raw.size))


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The same bytes read as another dtype: outside the graph, for it has no derivative."""
    for bit, what in (
        (unary.is_conj, "conjugate view tensors"),
        (unary.is_neg, "tensors with negative bit set"),
    ):
        if dtype is not input.dtype and bit(input):
            raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")
    result = share(input, counts=True)
    if isinstance(result, Wrapped):
        return result._ag_lower(lambda lower: _view_dtype(lower, dtype))  # type: ignore[no-any-return]
    raw = materialize(input)
    if raw.itemsize != dtype.itemsize:
        _check_other_size(raw, dtype)
    result._ag_raw = raw.view(dtype.numpy)
    return result


def _check_other_size(raw: Any, dtype: Any) -> None:
    """Raise PyTorch's error where elements of another size cannot be read from an array's memory."""
    names = f"to view {dtypes.cpp_name(raw.dtype)} as {dtypes.cpp_name(dtype.numpy)} (different element sizes)"
    if not raw.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {names}")
    strides = strides_of(raw)
    times = dtype.itemsize // raw.itemsize
    if times and raw.shape[-1] % times:
        raise RuntimeError(f"self.size(-1) must be divisible by {times} {names}, but got {raw.shape[-1]}")
    if strides[-1] != 1 and raw.size:
        raise RuntimeError(f"self.stride(-1) must be 1 {names}, but got {strides[-1]}")
    for dim, stride in enumerate(strides[:-1]):
        if times and stride % times:
            raise RuntimeError(f"self.stride({dim}) must be divisible by {times} {names}, but got {stride}")


@composite(function=False)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor as a view of the shape of `other`, under the conditions of `view`."""
    return view(input, other.shape)


def is_contiguous(raw: Any) -> bool:
    """Return whether the elements are stored in order without gaps."""
    return bool(raw.flags.c_contiguous)


@composite(formula=True)
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape of as many elements (one size may be -1): a view where strides allow it, else a
    copy.

    RuntimeError if the number of elements does not fit.
    """
    return reshaped(input, dims.infer(dims.sizes(shape), input._ag_raw.size))


def reshaped(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """`reshape` to a size that is known to fit."""
    raw = input._ag_raw
    if is_contiguous(raw):
        return view_op(input, size)
    stride = _alias_strides(raw, size)
    if stride is not None:
        return view_op(input, size) if input.is_meta else reshape_alias(input, size, stride)
    return unsafe_view(unary.clone(input), size)


def _alias_strides(raw: Any, size: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides with which the memory of `raw` has shape `size`; None where a copy is needed."""
    try:
        window = in_shape(raw, size)
    except (AttributeError, ValueError):
        return None
    return tuple(s // raw.itemsize for s in window.strides)


@composite()
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor in the shape of `other`, as `reshape` gives it."""
    return reshape(input, other.shape)


methods["reshape_as"] = reshape_as


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one: a view where strides allow it, else a copy.

    RuntimeError if the start comes after the end.
    """
    ndim = input._ag_raw.ndim
    start, end = dims.wrap(start_dim, ndim), dims.wrap(end_dim, ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if ndim == 0:
        return reshape(input, (1,))
    if start == end:
        return input
    shape = input._ag_raw.shape
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """The dimension `dim` as several of `sizes`, of which one may be -1: a view.

    RuntimeError if they do not multiply to its size.
    """
    d = dims.wrap(dim, input._ag_raw.ndim)
    shape = input._ag_raw.shape
    given = _whole_sizes(sizes)
    if not given:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = math.prod(n for n in given if n != -1)
    if given.count(-1) < 2 and (shape[d] != known if -1 not in given else not known or shape[d] % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {given} don't multiply up to the size of dim {d} ({shape[d]}) in the input "
            "tensor"
        )
    return view(input, (*shape[:d], *dims.infer(given, shape[d]), *shape[d + 1 :]))


def _whole_sizes(sizes: Any) -> list[int]:
    """TypeError for sizes of `unflatten` that are no whole numbers."""
    several = hasattr(sizes, "__iter__")
    given = list(sizes) if several else [sizes]
    wrong = next((i for i, n in enumerate(given) if not several or not hasattr(n, "__index__")), None)
    if wrong is None:
        return [n.__index__() for n in given]
    kind = type_name(given[wrong])
    said = f"(position 2) must be tuple of ints, {'but found element of type' if several else 'not'} {kind}"
    said += " at pos 0" * several
    if wrong:
        said = f'failed to unpack the object at pos {wrong + 1} with error "type must be tuple of ints,but got {kind}"'
    raise refused(TypeError, f"unflatten(): argument 'sizes' {said}")


@composite()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view of a contiguous tensor, else a copy."""
    return view_op(operations.contiguous(input), (input._ag_raw.size,))


@composite()
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """A view with the dimensions in the order `dims`. RuntimeError unless each stands there once."""
    given, ndim = dims_.sizes(order) if order else tuple(dims), input._ag_raw.ndim
    if len(given) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(given)}"
        )
    return permute_op(input, dims_.wrap_all(given, ndim, "permute(): duplicate dims are not allowed."))


@composite(aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged. IndexError for one that the tensor does not have."""
    return transpose_op(input, dims.wrap(dim0, input._ag_raw.ndim), dims.wrap(dim1, input._ag_raw.ndim))


@composite(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with the dimensions `source` moved to `destination`, the others in their order around them.

    RuntimeError for different numbers of them or one that is named twice.
    """
    n = input._ag_raw.ndim
    if not n:
        return alias(input)
    sides = [[x] if isinstance(x, int) else list(x) for x in (source, destination)]
    if len(sides[0]) != len(sides[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sides[0]} dims) should contain the same number of "
            f"dims as destination ({sides[1]} dims)"
        )
    wrapped = [tuple(int(dims.wrap(d, n)) for d in side) for side in sides]
    for name, side, found in zip(("source", "destination"), sides, wrapped, strict=True):
        if len(set(found)) < len(found):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({side})")
    origin, goal = wrapped
    rest = iter(d for d in range(n) if d not in origin)
    at = dict(zip(goal, origin, strict=True))
    return permute_op(input, tuple(at[i] if i in at else next(rest) for i in range(n)))


@composite()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, a view; of a tensor with fewer dimensions itself. RuntimeError for one with more."""
    return t_op(input if input._ag_raw.ndim < 3 else at_most_matrix("t", input))


def at_most_matrix(name: str, input: Tensor) -> Tensor:
    """The tensor, which must not have more than two dimensions."""
    if input._ag_raw.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input


@composite()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a dimension of size 1 before `dim`. IndexError unless `dim` is in [-ndim - 1, ndim]."""
    n = input._ag_raw.ndim + 1
    return unsqueeze_op(input, dims.wrap(dim, n))


@composite()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """A view without the dimensions of size 1: all of them, or those that `dim` names."""
    if dim is None:
        return squeeze_all(input)
    if isinstance(dim, int):
        return squeeze_dim(input, dims.wrap(dim, input._ag_raw.ndim))
    return squeeze_dims(input, dims.wrap_all(dim, input._ag_raw.ndim))


@composite()
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """A view of what is at `index` of dimension `dim`, without that dimension. IndexError for an index out of range."""
    if input._ag_raw.ndim == 0:
        raise refused(IndexError, "select() cannot be applied to a 0-dim tensor.")
    if index.__class__ is bool:
        raise refused(TypeError, "an index must be int, not bool")
    d, i = dims.wrap(dim, input._ag_raw.ndim), index.__index__()
    n = input._ag_raw.shape[d]
    if not -n <= i < n:
        raise refused(
            IndexError,
            f"select(): index {i} out of range for tensor of size {list(input._ag_raw.shape)} at dimension {d}",
        )
    return select_op(input, d, dims.wrap(i, n))


@functools.lru_cache(4096, typed=True)
def window(start: int | None, end: int | None, step: int, n: int) -> tuple[int, int, int]:
    """A slice of `n` elements, cut to what is there, of which the node shows what was given."""
    lo, hi, _ = slice(start, end, step).indices(n)
    hi = max(lo, hi)
    return lo if lo == start else dims.given(lo, start), hi if hi == end else dims.given(hi, end), step


@composite()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` elements of dimension `dim`, from `start` on. RuntimeError or IndexError where it would
    leave the tensor.
    """
    if input._ag_raw.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start._ag_raw.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d = dims.wrap(dim, input._ag_raw.ndim)
    start = check_narrow(input, d, int(start), length)
    return slice_op(input, d, start, start + length, 1)


def check_narrow(input: Tensor, dim: int, start: int, length: int) -> int:
    """`start` counted from the front; an error where the part does not be inside."""
    n = input._ag_raw.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise refused(IndexError, f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return start


@composite()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonals of the matrices in `dim1` and `dim2`, which become the last dimension.

    `offset` counts upwards. RuntimeError if both dimensions are the same.
    """
    return diagonal_op(input, offset, *plane(dim1, dim2, input._ag_raw.ndim))


def plane(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """Two different dimensions counted from the front."""
    a, b = dims.wrap(dim1, ndim), dims.wrap(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return a, b


def _matrix_transpose(name: str) -> Callable[[Tensor], Tensor]:
    def get(self: Tensor) -> Tensor:
        if name in ("mT", "mH") and self.ndim == 1:
            raise RuntimeError(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
            )
        if name == "H" and self.ndim not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
        if not self.ndim and name in ("T", "H"):
            instead = "This function is the identity in these cases." if name == "T" else "Consider using x.conj()."
            warn_once(f"Tensor.{name} is deprecated on 0-D tensors. {instead}")
        elif name == "T" and self.ndim != 2:
            warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
                "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        if name == "T":
            return permute_op(self, tuple(reversed(range(self.ndim))))
        flipped = transpose_op(self, dims.wrap(-2, self.ndim), dims.wrap(-1, self.ndim)) if self.ndim else self
        return unary.conj(flipped) if name in ("H", "mH") else flipped

    return get


_TRANSPOSES = {
    "T": "A view with the dimensions in reverse; of a matrix its transpose. Deprecated for tensors that are no matrix.",
    "mT": "A view with the last two dimensions exchanged. RuntimeError for a vector.",
    "H": "The conjugate transpose of a matrix, a view. RuntimeError for a vector or more than two dimensions.",
    "mH": "A view with the last two dimensions exchanged and the elements conjugated. RuntimeError for a vector.",
}
methods |= {name: property(_matrix_transpose(name), doc=doc) for name, doc in _TRANSPOSES.items()}


@composite(method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and the elements conjugated: a view. RuntimeError for a vector."""
    return _matrix_transpose("mH")(input)
