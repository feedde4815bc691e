"""Tensors that a module owns: parameters, buffers, and those whose shape is not known yet."""

from __future__ import annotations

from typing import Any

from .. import _namespace as torch
from .._core.base.class_names import Named, type_name
from .._core.base.dtype_checks import check_differentiable
from .._core.base.errors import refused
from .._core.base.size import Size
from .._core.base.state import process_state
from .._core.tape.tensor import Tensor, Wrapped, disabled, share
from .._ops.tensors.legacy import instance
from .._ops.tensors.printing import text


class _FlagMeta(Named):
    """A tensor subclass may count as an instance by a flag of its own."""

    _ag_flag: str

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or (isinstance(x, Tensor) and getattr(x, cls._ag_flag, False))


def _leaf(cls: Any, data: Any, requires_grad: bool) -> Any:
    source = torch.empty(0) if data is None else share(data, counts=True)
    result = instance(cls, source._ag_raw)
    result._ag_counter = source._ag_counter
    if requires_grad:
        check_differentiable(result)
    result.requires_grad = requires_grad
    if process_state.observer is not None:
        process_state.observer.becomes(result, source if data is None else data)
    return result


class Parameter(Tensor, metaclass=_FlagMeta):
    """A tensor that a module lists among its parameters as soon as it becomes an attribute of it.

    >>> from autograph_cli import torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    _ag_flag = "_is_param"
    __torch_function__: Any = disabled

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if not isinstance(requires_grad, bool):
            given = type_name(requires_grad)
            raise refused(
                TypeError, f"_make_subclass(): argument 'require_grad' (position 3) must be bool, not {given}"
            )
        if isinstance(data, Wrapped):
            data = data.detach()
            if isinstance(data, Wrapped):
                raise NotImplementedError("a Parameter of a batched tensor is not available in autograph's engine")
        if type(data) in (type(None), Tensor, Parameter):
            return _leaf(cls, data, requires_grad)
        result = data.detach().requires_grad_(requires_grad)
        if type(result) is not type(data):
            result = instance(type(data), result._ag_raw)
            result.requires_grad = requires_grad
        result._is_param = True
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return f"Parameter containing:\n{text(self, 'tensor(')}"


class Buffer(Tensor, metaclass=_FlagMeta):
    """A tensor that a module lists among its buffers; `persistent` ones go into its state dict."""

    __slots__ = ()
    _ag_flag = "_is_buffer"
    __torch_function__: Any = disabled

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        data = torch.empty(0) if data is None else data
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent, result._is_buffer = persistent, True
        return result


_UNKNOWN = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)


_UNCOUNTED = (
    "Attempted to use an uninitialized parameter in <method 'numel' of 'torch._C.TensorBase' objects>. This error "
    "happens when you are using a `LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` "
    "objects. When using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
    "torch functions"
)


class UninitializedTensorMixin:
    """A tensor without a shape, until `materialize` gives it one."""

    __slots__ = ()
    cls_to_become: type[Any]

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of the given shape, with elements of no particular value."""
        self.data = torch.empty(shape, device=device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Size:
        """RuntimeError: the shape is not known before the first input."""
        raise RuntimeError(_UNKNOWN)

    def numel(self) -> int:
        """ValueError: the number of elements is not known before the first input."""
        raise ValueError(_UNCOUNTED)

    nelement = numel

    def share_memory_(self) -> Any:
        """RuntimeError: there is no memory before the first input."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def is_lazy(param: Any) -> bool:
    """Return whether a tensor has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first call of its module will tell."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _leaf(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first call of its module will tell."""

    __slots__ = ()
    __torch_function__: Any = disabled
    cls_to_become = Tensor
    persistent = True

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        return _leaf(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)


def replaced(have: Any, made: Any) -> Any:
    """`have` with the values of `made`; where those are on another device, a new one in its place."""
    if have.is_meta is made.is_meta:
        have.data = made
        return have
    made = made.detach()
    return (
        Parameter(made, have.requires_grad) if isinstance(have, Parameter) else made.requires_grad_(have.requires_grad)
    )
