"""The base of all optimizers: parameter groups, state, hooks, and their copy as plain data."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .._core.base import dtypes
from .._core.base.state import thread_state
from .._core.base.user_warnings import warn
from .._core.operations.registry import functions
from .._core.tape.node import Handle, add_hook
from .._core.tape.tensor import Tensor
from .._ops.tensors.sparse import no_rows

Hooks = OrderedDict[int, Callable[..., Any]]
_before_every_step: Hooks = OrderedDict()
_after_every_step: Hooks = OrderedDict()

required: Any = type("_RequiredParameter", (), {"__repr__": lambda self: "<required parameter>"})()
"""The default of an option that every group must give."""


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(optimizer, args, kwargs)` before each step of each optimizer."""
    return add_hook(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(optimizer, args, kwargs)` after each step of each optimizer."""
    return add_hook(_after_every_step, hook)


_HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


class Optimizer:
    """Changes parameters by their gradients; a subclass says how, in `step`.

    `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts with "params" and options of their own;
    `defaults` are the options of groups that do not say otherwise.

    >>> from autograph_cli import torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> torch.optim.SGD([w], lr=0.25).step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._ag_make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + functions["typename"](params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _ag_make_hooks(self) -> None:
        for kind in _HOOKS:
            self.__dict__.setdefault(f"_optimizer_{kind}_hooks", OrderedDict())
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        step = type(self).step
        if not getattr(step, "hooked", False):
            hooked: Any = self.profile_hook_step(step)
            hooked.hooked = True
            type(self).step = hooked  # type: ignore[method-assign]

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """`func`, a `step`, with the hooks of all optimizers and of this one around it."""

        @functools.wraps(func)
        def step(*args: Any, **kwargs: Any) -> Any:
            self: Any = args[0]
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
            if not (before or after or _before_every_step or _after_every_step):
                return func(*args, **kwargs)
            for hook in (*_before_every_step.values(), *before.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
            out = func(*args, **kwargs)
            for hook in (*after.values(), *_after_every_step.values()):
                hook(self, args, kwargs)
            return out

        return step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` computes the loss and its gradients anew."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                meta = p._ag_meta
                if meta is None or meta.grad is None:
                    continue
                if set_to_none:
                    meta.grad = None
                    continue
                if meta.grad.grad_fn is not None:
                    meta.grad.detach_()
                else:
                    meta.grad.requires_grad_(False)
                if meta.grad.is_sparse:
                    meta.grad._ag_raw = no_rows(p.dtype.numpy, tuple(p.shape))
                else:
                    meta.grad.zero_()

    def __repr__(self) -> str:
        groups = []
        for i, group in enumerate(self.param_groups):
            options = (f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            groups.append(f"\nParameter Group {i}\n" + "".join(options))
        return f"{type(self).__name__} ({''.join(groups)})"

    # -- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize the tensors of `param_group["params"]` too, by the options in it and the defaults.

        TypeError for what is no dict or no tensor, ValueError for tensors that cannot be optimized or already are.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for param in param_group["params"]:
            self._ag_check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._ag_check_against_others(param_group)
        self.param_groups.append(param_group)

    def _ag_check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is " + functions["typename"](param)
            )
        if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _ag_check_against_others(self, new: dict[str, Any]) -> None:
        params = set(new["params"])
        if len(params) != len(new["params"]):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        named = "param_names" in new
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
        if not params.isdisjoint(p for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # -- plain data

    def state_dict(self) -> dict[str, Any]:
        """The state by the position of each parameter, and the groups' options: `{"state": ..., "param_groups":
        ...}`."""
        for before in self._optimizer_state_dict_pre_hooks.values():
            before(self)
        positions: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                positions.setdefault(id(p), len(positions))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [positions[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {positions[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        packed_all = {"state": state, "param_groups": groups}
        for after in self._optimizer_state_dict_post_hooks.values():
            changed = after(self, packed_all)
            packed_all = packed_all if changed is None else changed
        return packed_all

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave; ValueError where its groups are of other sizes.

        State takes the dtype and the device of its parameter, except `step`.
        """
        state_dict = state_dict.copy()
        for before in self._optimizer_load_state_dict_pre_hooks.values():
            changed = before(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        owner = {
            key: (param, old)
            for group, old in zip(groups, saved, strict=True)
            for key, param in zip(old["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owner:
                param, group = owner[key]
                state[param] = _fitted(param, group, value)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in self._optimizer_load_state_dict_post_hooks.values():
            after(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ag_make_hooks()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in _ADDED_LATER.items():
                if name in self.defaults:
                    group.setdefault(name, value)

    # -- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before each step; what it returns replaces both."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` before `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; what it returns replaces it."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(optimizer, state_dict)` before `load_state_dict`; what it returns replaces it."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


_ADDED_LATER = {
    "nesterov": False, "amsgrad": False, "centered": False, "momentum": 0, "maximize": False, "capturable": False,
    "differentiable": False, "decoupled_weight_decay": False, "foreach": None, "fused": None,
}  # fmt: skip
"""Defaults of options that groups of old checkpoints lack."""


def _register(hooks: Any, hook: Callable[..., Any], prepend: bool) -> Handle:
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _list_params(group: dict[str, Any]) -> None:
    """Make `group["params"]` a list of tensors, and note their names if they have some."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    found = [params] if isinstance(params, Tensor) else list(params)
    names = [p[0] for p in found if isinstance(p, tuple)]
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in found]
    if names:
        if len(names) != len(found):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        group["param_names"] = names


def _fitted(param: Tensor, group: dict[str, Any], value: Any, key: Any = None) -> Any:
    """A copy of saved state with its tensors in the dtype, and on the device, of the parameter they belong to."""
    if isinstance(value, Tensor):
        if key == "step":
            on_device = group.get("capturable") or group.get("fused")
            return value.to(param.device, dtypes.float32) if on_device else value
        return value.to(param.device, param.dtype if param.dtype.is_floating_point else None)
    if isinstance(value, dict):
        return {k: _fitted(param, group, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fitted(param, group, v) for v in value)  # type: ignore[call-arg]
    return value


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """The loss that a closure gives, computed with recording on; None without one."""
    if closure is None:
        return None
    before, thread_state.grad = thread_state.grad, not thread_state.inference
    try:
        return closure()
    finally:
        thread_state.grad = before


def without_grad(step: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` that leaves no graph."""

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        before, thread_state.grad = thread_state.grad, False
        try:
            return step(*args, **kwargs)
        finally:
            thread_state.grad = before

    return run
