"""Parameters that are functions of others: `register_parametrization` puts a module between a name and its tensor."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from ... import _namespace as torch
from ..._core.tape.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_TENSOR: Any = Tensor
_cache: dict[tuple[int, str], Any] | None = None


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Within the block each parametrized tensor is computed once."""
    global _cache
    outer, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = outer


def _register(module: Any, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The modules that make one tensor, and what they make it of: `original`, or `original0`, `original1`, ..."""

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        inner = _through_inverses(modules, original)
        self.is_tensor = isinstance(inner, _TENSOR)
        self.ntensors = 1 if self.is_tensor else len(inner)
        if self.is_tensor:
            self._keep_one(original, inner)
        else:
            self._keep_several(original, inner)
        if not unsafe:
            made = self()
            what = "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled."
            _check_like(original, made, what, "unparametrized {}", "parametrized {}")

    def _keep_one(self, original: Any, inner: Any) -> None:
        if inner.dtype != original.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: "
                f"{original.dtype}\nright_inverse(original).dtype: {inner.dtype}"
            )
        with torch.no_grad():
            original.data = inner.detach()
        _register(self, "original", original)

    def _keep_several(self, original: Any, inner: Any) -> None:
        for i, part in enumerate(inner):
            if not isinstance(part, _TENSOR):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{i} of the sequence with type {type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            part.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", part)

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the modules make `value` of them; RuntimeError where one has no `right_inverse`."""
        with torch.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set("original", value, "right_inverse")
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(value)}."
                )
            for i, part in enumerate(value):
                self._set(f"original{i}", part, f"Tensor {i} returned by right_inverse")

    def _set(self, name: str, value: Any, who: str) -> None:
        own = getattr(self, name)
        if not isinstance(value, _TENSOR):
            one = name == "original"
            raise ValueError(
                f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                if one
                else f"`right_inverse` must return a sequence of tensors. Got element {name[8:]} of type "
                f"{type(value).__name__}"
            )
        if own.dtype != value.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `{name}` has dtype {own.dtype}"
                if name == "original"
                else f"{who} has dtype {value.dtype} while `{name}` has dtype {own.dtype}"
            )
        own.data = value.detach()

    def forward(self) -> Any:
        """The tensor that the modules make."""
        parts = [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        first, *rest = self
        x = first(*parts)
        for module in rest:
            x = module(x)
        return x


def _through_inverses(modules: Sequence[Any], original: Any) -> Any:
    """Return what the modules would have to start from; what has no inverse is left out."""
    inner = original
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            with contextlib.suppress(NotImplementedError), torch.no_grad():
                inner = module.right_inverse(inner)
    if not isinstance(inner, _TENSOR) and not isinstance(inner, Sequence):
        raise ValueError(
            "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
            f"{type(inner).__name__}"
        )
    return inner


def _check_like(wanted: Any, made: Any, what: str, wanted_name: str, made_name: str) -> None:
    """ValueError unless a parametrization made a tensor of the same dtype and shape."""
    if not isinstance(made, _TENSOR):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    for kind in ("dtype", "shape"):
        old, new = getattr(wanted, kind), getattr(made, kind)
        if old != new:
            raise ValueError(f"{what.format(kind)}\n{wanted_name.format(kind)}: {old}\n{made_name.format(kind)}: {new}")


# ---------------------------------------------------------------- the module's class


def _no_pickle(self: Any) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    result = memo.get(id(self))
    if result is None:
        result = memo[id(self)] = object.__new__(type(self))
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _give_own_class(module: Any) -> None:
    """A subclass for this one module, to hang properties on."""
    cls = type(module)
    members = {"__getstate__": _no_pickle, "__deepcopy__": _copied, "__module__": cls.__module__}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _give_property(module: Any, name: str) -> None:
    def get(self: Any) -> Any:
        made_of = self.parametrizations[name]
        if _cache is None:
            return made_of()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = made_of()
        return _cache[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


# ---------------------------------------------------------------- what users call


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let `module.<tensor_name>` be what `parametrization` makes of it; ValueError where it changes shape or dtype.

    `unsafe` skips these checks.

    >>> from autograph_cli import torch
    >>> class Squared(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x * x
    >>> m = register_parametrization(torch.nn.Linear(2, 1), "weight", Squared())
    >>> bool((m.weight >= 0).all()), sorted(m.state_dict())
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    made_of = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_own_class(module)
        module.parametrizations = ModuleDict()
    _give_property(module, tensor_name)
    module.parametrizations[tensor_name] = made_of
    return module


def _check_next(module: Any, name: str, parametrization: Any) -> None:
    """Check that a parametrization on top of others takes and gives the same kind of tensor."""
    before = getattr(module, name)
    made = parametrization(before)
    what = "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled."
    _check_like(before, made, what, f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}")
    if not hasattr(parametrization, "right_inverse"):
        return
    with contextlib.suppress(NotImplementedError):
        back = parametrization.right_inverse(made)
        if not isinstance(back, _TENSOR):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
        for kind in ("dtype", "shape"):
            if getattr(back, kind) != getattr(before, kind):
                raise ValueError(
                    f"The tensor returned by parametrization.right_inverse must have the same {kind} as module.{name}, "
                    f"unless the `unsafe` flag is enabled.\nmodule.{name}.{kind}: {getattr(before, kind)}\n"
                    f"returned {kind}: {getattr(back, kind)}"
                )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Return whether a module, or one tensor of it, has parametrizations."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a tensor an ordinary one again: as it was made (`leave_parametrized`), or the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    made_of = module.parametrizations[tensor_name]
    if not made_of.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    kept = made_of.original if made_of.is_tensor else made_of.original0
    if leave_parametrized:
        with torch.no_grad():
            made = getattr(module, tensor_name)
        is_parameter = isinstance(kept, Parameter)
        if made_of.is_tensor:
            kept.data = made
        else:
            kept = Parameter(made) if is_parameter else made
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, kept)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had before it was parametrized."""
    result: type = type(module).__bases__[0] if is_parametrized(module) else type(module)
    return result


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Register the parametrizations of one module on another, with the same originals."""
    if not is_parametrized(from_module, tensor_name):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        theirs = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in theirs:
            register_parametrization(to_module, name, parametrization)
        own = to_module.parametrizations[name]
        for part in ("original",) if theirs.is_tensor else [f"original{i}" for i in range(theirs.ntensors)]:
            setattr(own, part, getattr(theirs, part))
    return to_module
