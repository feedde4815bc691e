"""`state_dict` and `load_state_dict` of modules."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Iterator, Mapping
from typing import Any

from ... import _namespace as torch
from ..._core.base.user_warnings import warn
from ..._core.tape.tensor import Tensor
from ..parameter import Parameter, is_lazy

EXTRA = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of `load_state_dict`: keys that are missing, and unexpected ones."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


def _has_extra(module: Any, method: str) -> bool:
    from .module import Module  # which is made of what stands here

    return getattr(type(module), method) is not getattr(Module, method)


def _persistent(module: Any) -> Iterator[tuple[str, Any]]:
    yield from module._parameters.items()
    for name, buffer in module._buffers.items():
        if name not in module._non_persistent_buffers_set:
            yield name, buffer


# ---------------------------------------------------------------- out


def state_dict(module: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """The state of `module` and all in it, in `destination`."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        changed = hook(module, destination, prefix, metadata)
        if changed is not None:
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
    return destination


def save_module(module: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    """The module's own part of its state."""
    for name, tensor in _persistent(module):
        if tensor is not None:
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
    if _has_extra(module, "get_extra_state"):
        destination[prefix + EXTRA] = module.get_extra_state()


# ---------------------------------------------------------------- in


_IncompatibleKeys.__module__ = f"{__name__.rpartition('.')[0]}.module"


def load_state_dict(module: Any, given: Mapping[str, Any], strict: bool, assign: bool) -> _IncompatibleKeys:
    """Load into `module` and all in it; RuntimeError names everything that does not fit."""
    if not isinstance(given, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(given)}.")
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    metadata = getattr(given, "_metadata", None)
    state: Any = OrderedDict(given)
    if metadata is not None:
        state._metadata = metadata

    def load(at: Any, state: Any, prefix: str) -> None:
        local = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local["assign_to_params_buffers"] = assign
        at._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, child in at._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                load(child, {k: v for k, v in state.items() if k.startswith(below)}, below)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in at._load_state_dict_post_hooks.values():
            if hook(at, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    load(module, state, "")
    if strict:
        errors = _complaints("Unexpected", unexpected) + errors
        errors = _complaints("Missing", missing) + errors
    if errors:
        lines = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{lines}")
    return _IncompatibleKeys(missing, unexpected)


def _complaints(what: str, keys: list[str]) -> list[str]:
    return [f"{what} key(s) in state_dict: {', '.join(f'{chr(34)}{k}{chr(34)}' for k in keys)}. "] if keys else []


def load_module(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Any,
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """The module's own part of `state`; the lists collect what does not fit."""
    for hook in module._load_state_dict_pre_hooks.values():
        hook(state, prefix, metadata, strict, missing, unexpected, errors)
    assign = metadata.get("assign_to_params_buffers", False)
    own = {name: tensor for name, tensor in _persistent(module) if tensor is not None}
    for name, target in own.items():
        key = prefix + name
        if key in state:
            error = _load_tensor(module, name, target, key, state[key], assign)
            if error:
                errors.append(error)
        elif strict:
            missing.append(key)
    if _has_extra(module, "set_extra_state"):
        if prefix + EXTRA in state:
            module.set_extra_state(state[prefix + EXTRA])
        elif strict:
            missing.append(prefix + EXTRA)
    elif strict and prefix + EXTRA in state:
        unexpected.append(prefix + EXTRA)
    if strict:
        for key in state:
            if key.startswith(prefix) and key != prefix + EXTRA:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (module._modules if dot else own):
                    unexpected.append(key)


def _warn_no_op(key: str) -> None:
    warn(
        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
        "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
        "corresponding key in the module instead of copying them in place?)"
    )


def _load_tensor(module: Any, name: str, target: Any, key: str, given: Any, assign: bool) -> str | None:
    """Copy or assign one tensor; what went wrong, in words."""
    tensor: Any = Tensor
    if not isinstance(given, tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            "but "
            f"received {type(given)}"
        )
    lazy = is_lazy(target)
    if not lazy and target.ndim == 0 and given.ndim == 1:
        given = given[0]
    if not lazy and given.shape != target.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {target.shape}."
        )
    try:
        with torch.no_grad():
            if assign:
                if isinstance(target, Parameter):
                    is_param = isinstance(given, Parameter)
                    wants = target.requires_grad
                    given = given.requires_grad_(wants) if is_param else Parameter(given, requires_grad=wants)
                setattr(module, name, given)
            else:
                if target.is_meta and not given.is_meta:
                    _warn_no_op(key)
                target.copy_(given)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are {target.size()} and whose '
            f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        )
    return None
