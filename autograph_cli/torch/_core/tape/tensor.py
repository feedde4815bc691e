"""The tensor: an array, an edge into the graph, a version; the rest is made at need."""

from __future__ import annotations

import inspect
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._above import above
from ..._arrays import Array, dispatched
from ..._arrays.backends import device_of
from ..._arrays.dispatched import Dispatched
from ..._arrays.meta import Meta
from ..._arrays.sparse import Coo, Csr
from ..base import dtypes
from ..base.class_names import Named
from ..base.errors import refused
from ..base.layout import sparse_coo, sparse_csr, strided
from ..base.size import Size, of_shape
from ..base.state import process_state, thread_state
from ..base.user_warnings import warn
from .node import (
    INFERENCE,
    LEAF,
    AccumulateGrad,
    Handle,
    Node,
    View,
    add_hook,
    edge_of,
    extra_of,
    has_no_history,
    marks_leaf,
    shown,
)

subclassed: list[Callable[[type], None]] = []
"""Called with each new subclass of `Tensor`."""


def disabled(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class that is not asked instead of functions: runs it, and asks no other class."""
    before = thread_state.overrides_off
    thread_state.overrides_off = before or 1  # `overrides.SUBCLASSES`, which is above this file
    try:
        return func(*args, **(kwargs or {}))
    finally:
        thread_state.overrides_off = before


if TYPE_CHECKING:
    from .tensor_methods import Methods
else:
    Methods = object


class TensorMeta:
    """Rare attributes of a tensor: a gradient, hooks, a base whose memory it views."""

    __slots__ = ("accumulator", "accumulator_extra", "grad", "hooks", "name", "post_hooks", "retains")

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.hooks: dict[int, Callable[..., Any]] | None = None
        self.post_hooks: dict[int, Callable[..., Any]] | None = None
        self.retains = False
        self.name: str | None = None
        self.accumulator: weakref.ref[AccumulateGrad] | None = None
        self.accumulator_extra: Any = None


class Tensor(Methods, metaclass=Named):
    """An n-dimensional array that autograd can follow.

    >>> from autograph_cli import torch
    >>> torch.tensor([1.0, 2.0], requires_grad=True) * 3
    tensor([3., 6.], grad_fn=<MulBackward0>)
    """

    __slots__ = ("__dict__", "__weakref__", "_ag_born", "_ag_counter", "_ag_edge", "_ag_meta", "_ag_raw")

    _ag_raw: Array
    """A NumPy scalar (0-d, nothing shares its memory) or an array of the device's backend."""
    _ag_edge: Any
    """None, an edge (node, output number), LEAF, or a `View`."""
    _ag_counter: Any
    """Counts in-place changes; shared with views; None while nobody counts."""
    _ag_meta: TensorMeta | None
    _ag_born: Any
    """The innermost transform that ran when the tensor was made; unset if none did (see interpreter_stack.py)."""
    _ag_number: Any
    """The Python number that the engine made it of; unset in all others (see wrapped_numbers.py), so it has no slot."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return above("_ops.tensors.legacy", "legacy_constructor")(cls, *args, **kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A class that may be asked instead of functions makes them look."""
        super().__init_subclass__(**kwargs)
        if dispatches(cls):
            for name in [n for n, x in vars(cls).items() if inspect.ismemberdescriptor(x)]:
                delattr(cls, name)  # so that what is kept there is shared with copies, as all attributes are
        for notice in subclassed:
            notice(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what operations on instances of a subclass give: instances of it."""
        return above("_core.arguments.overrides", "default")(cls, func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what an operation gives on the memory of instances."""
        return dispatched.default(func, args, kwargs)

    def _ag_need_meta(self) -> TensorMeta:
        """The tensor's `TensorMeta`, made at first need."""
        if self._ag_meta is None:
            self._ag_meta = TensorMeta()
        return self._ag_meta

    # -- what it is

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.FROM_NUMPY[self._ag_raw.dtype]

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return of_shape(self._ag_raw.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        result: int = self._ag_raw.ndim
        return result

    @property
    def device(self) -> Any:
        """`cpu`, or `meta` for a tensor without memory."""
        return device_of(self._ag_raw)

    @property
    def layout(self) -> Any:
        """`torch.strided`, or the layout of a sparse tensor."""
        return {Coo: sparse_coo, Csr: sparse_csr}.get(self._ag_raw.__class__, strided)

    is_sparse = property(lambda self: self._ag_raw.__class__ is Coo, doc="Whether the layout is `torch.sparse_coo`.")
    is_sparse_csr = property(
        lambda self: self._ag_raw.__class__ is Csr, doc="Whether the layout is `torch.sparse_csr`."
    )
    is_meta = property(lambda self: self._ag_raw.__class__ is Meta, doc="Whether the tensor has no memory.")
    is_quantized = is_mkldnn = is_mps = is_xpu = property(lambda self: False, doc="False in this engine.")
    is_ipu = is_maia = is_mtia = is_nested = is_vulkan = is_xla = is_quantized
    is_cpu = property(lambda self: self.device.type == "cpu", doc="Whether the elements are in main memory.")
    is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether the elements are in the memory of a GPU.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="The bytes of one element.")
    nbytes = property(lambda self: self._ag_raw.size * self.dtype.itemsize, doc="The bytes of all elements.")

    @property
    def _version(self) -> int:
        """Return how often the memory was changed in place."""
        if self._ag_counter is INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._ag_counter is None else self._ag_counter[0]

    @property
    def name(self) -> str | None:
        """The name that was given to this tensor, or None."""
        return None if self._ag_meta is None else self._ag_meta.name

    # -- the graph

    @property
    def requires_grad(self) -> bool:
        """Return whether gradients with respect to this tensor are computed.

        Setting it is an error for what an operation made, and for integers and booleans.
        """
        edge = self._ag_edge
        if edge.__class__ is View:
            # Also a view made without recording, which has no history, asks for what its base does.
            return edge.base.requires_grad or edge.edge is not None
        return edge is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not has_no_history(self):
            raise RuntimeError(_NO_LEAF if wanted else f"{_NO_LEAF} {_DETACH}")
        view = self._ag_edge if self._ag_edge.__class__ is View else None
        if not wanted:
            if view is None:
                self._ag_edge = None
            elif view.edge is LEAF:
                view.edge = None
            return
        if dtypes.CATEGORY[self._ag_raw.dtype] < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if self.is_inference() and not thread_state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if view is None:
            self._ag_edge = LEAF
        else:
            view.edge = LEAF

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for (or stop asking for) the gradient of this leaf."""
        if dtypes.CATEGORY[self._ag_raw.dtype] < dtypes.FLOATING and requires_grad:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if thread_state.levels and requires_grad:
            thread_state.levels[-1].refuse_call("requires_grad_")
        if not requires_grad or has_no_history(self):
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Return whether no recorded operation made this tensor: its gradient is accumulated in `grad`."""
        return has_no_history(self) if self._ag_edge.__class__ is not View else self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the graph that made this tensor; None for a leaf."""
        edge = self._ag_edge
        if edge is None or marks_leaf(edge):
            return None
        edge = edge_of(self)
        return None if edge is None else shown(edge)[0]

    @property
    def output_nr(self) -> int:
        """Return which output of `grad_fn` this tensor is."""
        edge = None if marks_leaf(self._ag_edge) else edge_of(self)
        return 0 if edge is None else shown(edge)[1]

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated for this leaf; None before the first."""
        meta = self._ag_meta
        result = None if meta is None else meta.grad
        if result is None and not has_no_history(self) and not (meta is not None and meta.retains):
            _warn_non_leaf_grad()
        return result

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_grad(self, value)
        self._ag_need_meta().grad = value

    @grad.deleter
    def grad(self) -> None:
        self._ag_need_meta().grad = None

    _grad = property(lambda self: None if self._ag_meta is None else self._ag_meta.grad)

    @property
    def retains_grad(self) -> bool:
        """Return whether `retain_grad` was called on this tensor, which is no leaf."""
        return self._ag_meta is not None and self._ag_meta.retains

    @property
    def data(self) -> Tensor:
        """The same memory outside of the graph; changes of it are not seen by version checks."""
        result = share(self, counts=False)
        if process_state.observer is None:
            return result
        if self.requires_grad:
            process_state.observer.becomes(result, self)
        else:
            process_state.observer.untracked("detach", None, (self,), (result,))
        return result

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise refused(TypeError, f"Variable data has to be a tensor, but got {type(new).__name__}")
        if self.is_meta is not new.is_meta:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type."
            )
        if self.requires_grad and dtypes.CATEGORY[new._ag_raw.dtype] < dtypes.FLOATING:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self._ag_meta is not None and (new._ag_raw.dtype != self._ag_raw.dtype or new.device != self.device):
            self._ag_meta.accumulator = None
        self._ag_raw = new._ag_raw
        if process_state.observer is not None and self.requires_grad:
            process_state.observer.becomes(self, new)

    def detach_(self) -> Tensor:
        """Leave the graph; a view cannot."""
        if thread_state.levels:
            thread_state.levels[-1].refuse_captured(self, "detach_")
        if self._ag_edge.__class__ is View:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as a solution."
            )
        self._ag_edge = None
        return self

    @property
    def volatile(self) -> bool:
        """Return what switched gradients off before `torch.no_grad`."""
        warn("volatile was removed (Variable.volatile is always False)")
        return False

    @volatile.setter
    def volatile(self, value: bool) -> None:
        warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")

    def is_inference(self) -> bool:
        """Return whether this tensor was made in inference mode."""
        return self._ag_counter is INFERENCE

    @property
    def _base(self) -> Tensor | None:
        edge = self._ag_edge
        return edge.base if edge.__class__ is View else None

    def _is_view(self) -> bool:
        return self._base is not None

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add to the `.grad` of every leaf the gradient of this tensor.

        >>> from autograph_cli import torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        above("autograd", "__dict__")["backward"](self, gradient, retain_graph, create_graph, inputs=inputs)

    # -- hooks

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call `hook(grad)` whenever the gradient of this tensor is computed; what it returns replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if marks_leaf(self._ag_edge):
            meta = self._ag_need_meta()
            meta.hooks = OrderedDict() if meta.hooks is None else meta.hooks
            return add_hook(meta.hooks, hook)
        edge = edge_of(self)
        if edge is None:
            return add_hook(OrderedDict(), hook)
        node, number = edge
        extra = extra_of(node)
        extra.tensor_hooks = {} if extra.tensor_hooks is None else extra.tensor_hooks
        return add_hook(extra.tensor_hooks.setdefault(number, OrderedDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Handle:
        """Call `hook(leaf)` after a gradient was added to this leaf's `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not has_no_history(self):
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        meta = self._ag_need_meta()
        meta.post_hooks = OrderedDict() if meta.post_hooks is None else meta.post_hooks
        return add_hook(meta.post_hooks, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if thread_state.levels:
            thread_state.levels[-1].refuse_call("retain_grad")
        if has_no_history(self) or self.retains_grad:
            return
        self._ag_need_meta().retains = True
        edge = edge_of(self)
        assert edge is not None
        node, number = edge
        extra = extra_of(node)
        extra.retained = {} if extra.retained is None else extra.retained
        extra.retained[number] = weakref.ref(self)

    def __hash__(self) -> int:
        return id(self)


def dispatches(kind: type) -> bool:
    """Return whether a class has a `__torch_dispatch__` of its own, which computes operations on its instances."""
    return next(c for c in kind.__mro__ if "__torch_dispatch__" in vars(c)) is not Tensor


class Wrapped(Tensor):
    """A tensor that a transform follows: one or two tensors of lower levels instead of an array (see
    transforms.py)."""

    __slots__ = ()
    __torch_function__: Any = disabled

    _ag_level: Any
    _ag_inner: Any
    """The tensor of a lower level that it looks like."""

    def _ag_lower(self, change: Callable[[Tensor], Any]) -> Any:
        """The same wrapper over the lower tensors after `change`."""
        raise NotImplementedError

    def _ag_shared(self, counts: bool) -> Tensor:
        """`detach()` of it (`.data` if not `counts`)."""
        raise NotImplementedError


def may_follow(x: Tensor) -> bool:
    """Return whether someone may want derivatives by `x`, backward or forward."""
    return isinstance(x, Wrapped) or (thread_state.grad and x.requires_grad)


_NO_LEAF = "you can only change requires_grad flags of leaf variables."
_DETACH = (
    "If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
    "var.detach()."
)


def blank(cls: type[Any]) -> Any:
    """A tensor with nothing in it yet; one made while transforms run knows the innermost one."""
    result = object.__new__(cls)
    if thread_state.levels:
        result._ag_born = thread_state.levels[-1]
    return result


def make(raw: Array, edge: Any = None) -> Tensor:
    """A tensor over `raw`; `edge` as in `Tensor._ag_edge`."""
    tensor: Tensor
    if raw.__class__ is Dispatched:
        tensor = blank(raw.kind)
        tensor.__dict__ = raw.attributes
    else:
        tensor = blank(Tensor) if process_state.special else object.__new__(Tensor)
    tensor._ag_raw = raw
    tensor._ag_edge = edge
    tensor._ag_counter = None
    tensor._ag_meta = None
    return tensor


def inference_result(tensor: Tensor) -> Tensor:
    """Mark what was made inside `inference_mode`."""
    if thread_state.inference:
        tensor._ag_counter = INFERENCE
    return tensor


def detached(x: Tensor) -> Tensor:
    """`Tensor.detach` of any tensor."""
    if process_state.special and thread_state.watcher is not None:
        result: Tensor | None = thread_state.watcher._ag_detached(x)
        if result is not None:
            return result
    made = share(x, counts=True)
    if process_state.observer is not None:
        process_state.observer.untracked("detach", None, (x,), (made,))
    return made


def _check_grad(tensor: Tensor, grad: Any) -> None:
    if not isinstance(grad, Tensor):
        raise refused(
            TypeError, f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}"
        )
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad._ag_raw.shape != tensor._ag_raw.shape and grad.dtype is tensor.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad._ag_raw.shape)}' to a tensor of size "
            f"'{list(tensor._ag_raw.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if grad.device != tensor.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{grad.device}' to a tensor with device type "
            f"'{tensor.device}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if grad.dtype is not tensor.dtype:
        name = grad._ag_raw.dtype.name
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_C_TYPES.get(name, name)}' to a tensor with grad_dtype "
            f"'{dtypes.cpp_name(tensor._ag_raw.dtype)}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow "
            "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )


_C_TYPES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "int8": "signed char", "uint8": "unsigned char", "int16": "short", "int32": "int", "int64": "long",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def _warn_non_leaf_grad() -> None:

    warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
        "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
        "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
    )


def materialize(tensor: Tensor) -> Any:
    """The tensor's memory as an array that others may share; of a Python number, whose tensor is kept, a copy."""
    if isinstance(tensor._ag_raw, np.generic):
        if hasattr(tensor, "_ag_number"):
            return np.array(tensor._ag_raw)
        tensor._ag_raw = np.array(tensor._ag_raw)
    return tensor._ag_raw


def counter(tensor: Tensor) -> list[int]:
    """The tensor's version counter, made at first need."""
    if tensor._ag_counter is None:
        tensor._ag_counter = [0]
    result: list[int] = tensor._ag_counter
    return result


def share(tensor: Tensor, counts: bool) -> Tensor:
    """The same memory outside the graph (`detach`); `counts` tells whether versions are shared (`.data`: no)."""
    if isinstance(tensor, Wrapped):
        alias = tensor._ag_shared(counts)
    else:
        raw = tensor._ag_raw if tensor._ag_raw.__class__ is np.ndarray else materialize(tensor)
        alias = make(raw if raw.__class__ is not Dispatched else raw.detached(tensor))
        if counts:
            alias._ag_counter = counter(tensor) if tensor._ag_counter is None else tensor._ag_counter
        elif tensor._ag_counter is INFERENCE:
            alias._ag_counter = INFERENCE
    if thread_state.levels:
        alias._ag_born = getattr(tensor, "_ag_born", None)
    return alias
