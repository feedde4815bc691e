"""Views in memory of their own (`view_copy`); views changed in place; and values put where a view would look."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..._core.base import dims
from ..._core.base.state import thread_state
from ..._core.operations.operation import Operation, OperationFunction, operation, operations
from ..._core.operations.registry import composite
from ..._core.running.views import bump, check_inplace
from ..._core.tape.node import View
from ..._core.tape.tensor import Tensor, counter
from ..._core.transforms import batching, batching_rules
from ..._core.transforms.interpreter_stack import refuse_captured
from ..._core.transforms.transforms import Batched, Dual
from ..._kernels.elements.shapes import copy_of_view
from ..pointwise import complexes
from . import as_strided, broadcasting, joining, rearrange, views

# ---------------------------------------------------------------- windows that slide

unfold_op = operation(
    "unfold(Tensor self, int dimension, int size, int step)",
    "windows",
    view=True,
    batch=batching_rules.unfold,
    self=lambda f, grad, self_sizes, dimension, size, step: f.unfold_backward(grad, self_sizes, dimension, size, step),
)
unfold_backward = operation(
    "unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step)",
    node="UnfoldBackwardBackward0",
    saved={"grad_in_sizes": None},
    linear=True,
    batch=batching_rules.unfold_backward,
    grad_in=lambda f, grad, dim, size, step: f.windows(grad, dim, size, step),
)
operations.windows = unfold_op


@composite(function=False)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements along a dimension, every `step`, as a new last dimension that shares memory."""
    return unfold_op(input, *_sliding(input, dimension, size, step))


def _sliding(input: Tensor, dimension: int, size: int, step: int) -> tuple[int, int, int]:
    d = dims.wrap(dimension, input.ndim)
    longest = input._ag_raw.shape[d] if input.ndim else 1
    if size > longest:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {longest} but size is {size}")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return d, size, min(step, _FAR)


_FAR = 1 << 40
"""A step past the end of all memory; a longer one would overflow."""


# ---------------------------------------------------------------- copies


_BATCHED = {
    views.t_op: batching_rules.t_copy,
    views.squeeze_all: batching_rules.squeeze_copy,
    as_strided.as_strided_op: None,
}
"""The rules of copies where that of the view would call views."""


def _copier(run: Any) -> Callable[..., Any]:
    """The operation that does what a view does, in memory of its own."""
    view: Operation = run.op

    assert isinstance(view.kernel, str)
    overload = f".{view.schema.overload}" if view.schema.overload else ""
    parameters = ", ".join(f"{p.type} {p.name}" for p in view.schema.parameters)
    formulas: dict[str, Any] = {name: d.formula for d in view.derivatives for name in d.inputs}
    return operation(
        f"{view.name}_copy{overload}({parameters})",
        copy_of_view(view.kernel),
        node=f"{view.node_name}_copy",
        list_result=view.list_result,
        saved=view.saved,
        batch=_BATCHED.get(run, view.batch),
        linear=True,
        **formulas,
    )


Chosen = tuple[Any, ...]
wrap_all = dims.wrap_all


def _squeeze(x: Tensor, dim: Any = None) -> Chosen:
    if dim is None:
        return views.squeeze_all, x
    if isinstance(dim, int):
        return views.squeeze_dim, x, dims.wrap(dim, x.ndim)
    return views.squeeze_dims, x, dims.wrap_all(dim, x.ndim)


def _slice(x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Chosen:
    d = dims.wrap(dim, x.ndim)
    return views.slice_op, x, d, *views.window(start, end, step, x._ag_raw.shape[d])


def _select(x: Tensor, dim: int, index: int) -> Chosen:
    d = dims.wrap(dim, x.ndim)
    return views.select_op, x, d, dims.wrap(index, x._ag_raw.shape[d])


def _split_copy(x: Tensor, split_size: int, dim: int = 0) -> Chosen:
    d = dims.wrap(dim, x.ndim)
    return joining.split_op, x, joining.check_split(x, split_size, d), d


def _split_copies(x: Tensor, sizes: Any, dim: int = 0) -> Chosen:
    d = dims.wrap(dim, x.ndim)
    return joining.split_with_sizes, x, joining.check_sections(x, sizes, d, dim), d


_CHOICES: dict[str, Callable[..., Chosen]] = {
    "alias": lambda x: (views.alias, x),
    "view": lambda x, *size: (views.view_op, x, dims.infer(dims.sizes(size), x._ag_raw.size)),
    "expand": lambda x, *size, implicit=False: (broadcasting.expand_op, x, broadcasting.expanded(x, dims.sizes(size))),
    "permute": lambda x, dims: (views.permute_op, x, wrap_all(dims, x.ndim)),
    "t": lambda x: (views.t_op, views.at_most_matrix("t", x)),
    "transpose": lambda x, dim0, dim1: (views.transpose_op, x, dims.wrap(dim0, x.ndim), dims.wrap(dim1, x.ndim)),
    "unsqueeze": lambda x, dim: (views.unsqueeze_op, x, dims.wrap(dim, x.ndim + 1)),
    "squeeze": _squeeze,
    "select": _select,
    "slice": _slice,
    "as_strided": lambda x, size, stride, storage_offset=None: (
        as_strided.as_strided_op,
        x,
        tuple(size),
        tuple(stride),
        as_strided.window_offset(x, size, stride, storage_offset),
    ),
    "unbind": lambda x, dim=0: (joining.unbind_op, x, joining.unbind_dim(x, dim)),
    "split": _split_copy,
    "split_with_sizes": _split_copies,
    "unfold": lambda x, dimension, size, step: (unfold_op, x, *_sliding(x, dimension, size, step)),
    "view_as_real": lambda x: (complexes.view_as_real_op, x),
    "view_as_complex": lambda x: (complexes.view_as_complex_op, x),
}
"""The function of each `<name>_copy` that chooses the view to copy, and its arguments."""
_COPIERS = {
    run: _copier(run)
    for run in (
        views.alias,
        views.view_op,
        broadcasting.expand_op,
        views.permute_op,
        views.t_op,
        views.transpose_op,
        views.unsqueeze_op,
        views.squeeze_all,
        views.squeeze_dim,
        views.squeeze_dims,
        views.select_op,
        views.slice_op,
        as_strided.as_strided_op,
        joining.unbind_op,
        joining.split_op,
        joining.split_with_sizes,
        unfold_op,
        complexes.view_as_real_op,
        complexes.view_as_complex_op,
    )
}


def _publish_copy(name: str, choose: Callable[..., Chosen]) -> None:
    def run(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        chosen, *given = choose(input, *args, **kwargs)
        return _COPIERS[chosen](*given)

    run.__name__ = run.__qualname__ = f"{name}_copy"
    run.__doc__ = f"`{name}` in memory of its own."
    composite(method=False, out=True)(run)


for _name, _choose in _CHOICES.items():
    _publish_copy(_name, _choose)


@composite(method=False, out=True, name="diagonal_copy")
def diagonal_copied(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`diagonal` in memory of its own."""
    return rearrange.diagonal_copy(input, offset, *views.plane(dim1, dim2, input.ndim))


@composite(out=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow` in memory of its own."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= input.ndim:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.")
    d = dims.wrap(dim, input.ndim)
    if length < 0:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input._ag_raw.shape[d]}).")
    first = views.check_narrow(input, d, start, length)
    return narrow_copy_op(input, d, first, length)


narrow_copy_op = operation(
    "narrow_copy(Tensor self, int dim, int start, int length)",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, self_sizes, dim, start, length: f.slice_backward(
        grad, self_sizes, dim, start, start + length, 1
    ),
)


# ---------------------------------------------------------------- values put where a view would look


slice_scatter_op = operation(
    "slice_scatter(Tensor self, Tensor src, int dim, int start, int end, int step)",
    complex_gradient=False,
    saved={"src_sizes": None},
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, src_sizes, dim, start, end, step: f.slice_scatter(
        grad, f.zeros_of(src_sizes, grad), dim, start, end, step
    ),
    src=lambda f, grad, dim, start, end, step: f.slice(grad, dim, start, end, step),
)
select_scatter_op = operation(
    "select_scatter(Tensor self, Tensor src, int dim, int index)",
    complex_gradient=False,
    saved={"src_sizes": None},
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, src_sizes, dim, index: f.select_scatter(grad, f.zeros_of(src_sizes, grad), dim, index),
    src=lambda f, grad, dim, index: f.select(grad, dim, index),
)
diagonal_scatter_op = operation(
    "diagonal_scatter(Tensor self, Tensor src, int offset, int dim1, int dim2)",
    saved={"src_sizes": None},
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, src_sizes, offset, dim1, dim2: f.diagonal_scatter(
        grad, f.zeros_of(src_sizes, grad), offset, dim1, dim2
    ),
    src=lambda f, grad, offset, dim1, dim2: f.diagonal(grad, offset, dim1, dim2),
)
as_strided_scatter_op = operation(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? offset)",
    saved={"src_sizes": None, "offset": None, "storage_offset": "offset"},
    linear=True,
    self=lambda f, grad, src_sizes, size, stride, offset: f.as_strided_scatter(
        grad, f.zeros_of(src_sizes, grad), size, stride, offset
    ),
    src=lambda f, grad, size, stride, offset: f.as_strided(f.contiguous(grad), size, stride, offset),
)


@composite(out=True)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`input` with `src` instead of a slice."""
    return slice_scatter_op(input, src, *_slice(input, dim, start, end, step)[2:])


@composite(out=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """`input` with `src` instead of what `select` sees."""
    return select_scatter_op(input, src, *_select(input, dim, index)[2:])


@composite(out=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with `src` on a diagonal."""
    return diagonal_scatter_op(input, src, offset, *views.plane(dim1, dim2, input.ndim))


@composite(out=True)
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """`input` with `src` instead of what `as_strided` sees."""
    return as_strided_scatter_op(input, src, tuple(size), tuple(stride), storage_offset)


# ---------------------------------------------------------------- views changed in place


def _turned(schema: str, kernel: str, node: str, formula: Callable[..., Any], **traits: Any) -> Any:
    return operation(
        schema,
        kernel,
        node=node,
        linear=True,
        **traits,
        self=formula,
    )


_t = _turned("t_(Tensor self)", "t", "TBackward1", lambda f, grad: f.t(grad))
_transpose = _turned(
    "transpose_(Tensor self, int dim0, int dim1)",
    "transpose",
    "TransposeBackward1",
    lambda f, grad, dim0, dim1: f.transpose(grad, dim0, dim1),
)
_unsqueeze = _turned(
    "unsqueeze_(Tensor self, int dim)", "unsqueeze", "UnsqueezeBackward1", lambda f, grad, dim: f.squeeze_dim(grad, dim)
)
_squeeze_all = _turned(
    "squeeze_(Tensor self)",
    "squeeze",
    "SqueezeBackward3",
    lambda f, grad, self_sizes: views.unsqueeze_to(f, grad, None, self_sizes),
)
_squeeze_dims = _turned(
    "squeeze_.dims(Tensor self, int[] dim)",
    "squeeze_dims",
    "SqueezeBackward5",
    lambda f, grad, dim, self_sizes: views.unsqueeze_to(f, grad, dim, self_sizes),
    batch=partial(batching.leading, empty=False),
)


def turn(tensor: Tensor, choose: Callable[[], Chosen]) -> Tensor:
    """Give a tensor another shape in place by the operation (and its arguments) chosen: its memory stays, what sees it
    changes."""
    if isinstance(tensor, Batched):
        run, *arguments = choose()
        return _turned_batch(tensor, run, tuple(arguments))
    if isinstance(tensor, Dual) and tensor._ag_level.alive:
        run, *arguments = choose()
        made = run(tensor, *arguments)
        tensor._ag_primal, tensor._ag_tangent = made._ag_primal, made._ag_tangent
        return tensor
    if thread_state.levels:
        refuse_captured(tensor, choose()[0].op.name)
    check_inplace(tensor)
    run, *arguments = choose()
    made = run(tensor, *arguments)
    tensor._ag_raw = made._ag_raw
    bump(tensor)
    view = tensor._ag_edge
    if made._ag_edge is not None and view.__class__ is View:
        view.edge, view.version = made._ag_edge, counter(tensor)[0]
    elif made._ag_edge is not None:
        tensor._ag_edge = made._ag_edge
    return tensor


def _turned_batch(tensor: Batched, run: OperationFunction, arguments: tuple[Any, ...]) -> Tensor:
    """`turn` of each sample: the batched tensor goes on with another view of its memory."""
    name = run.op.identifier.replace("__", "_").rstrip("_")
    made = getattr(operations, name)(tensor, *arguments)
    tensor._ag_value, tensor._ag_bdim = made._ag_value, made._ag_bdim
    return tensor


@composite(function=False, name="t_")
def t_(self: Tensor) -> Tensor:
    """`t` in place."""
    return turn(self, lambda: (_t,) if views.at_most_matrix("t_", self) is self else ())


@composite(function=False, name="transpose_", aliases=("swapaxes_", "swapdims_"))
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` in place."""
    return turn(self, lambda: (_transpose, dims.wrap(dim0, self.ndim), dims.wrap(dim1, self.ndim)))


@composite(function=False, name="unsqueeze_")
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze` in place."""
    return turn(self, lambda: (_unsqueeze, dims.wrap(dim, self.ndim + 1)))


@composite(function=False, name="squeeze_")
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """`squeeze` in place."""
    if dim is None:
        return turn(self, lambda: (_squeeze_all,))
    if isinstance(dim, int):
        return turn(self, lambda: (views.squeeze_in_place, dims.wrap(dim, self.ndim)))
    return turn(self, lambda: (_squeeze_dims, dims.wrap_all(dim, self.ndim)))


@composite(name="as_strided_")
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """`as_strided` in place."""
    return turn(
        input,
        lambda: (_restrided, tuple(size), tuple(stride), as_strided.window_offset(input, size, stride, storage_offset)),
    )


_restrided = operation(
    "as_strided_(Tensor self, int[] size, int[] stride, int? offset=None)",
    "as_strided",
    node="AsStridedBackward1",
    linear=True,
    self=as_strided.as_strided_op.op.derivatives[0].formula,
)
