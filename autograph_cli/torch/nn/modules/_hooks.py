"""Calls around `forward`: hooks of one module and of all, and the node through which gradients pass a module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ..._core.base.state import thread_state
from ..._core.base.user_warnings import warn
from ..._core.tape.node import Handle, add_hook
from ..._core.tape.tensor import Tensor
from ...autograd.function import Function

Hooks = OrderedDict[int, Callable[..., Any]]


class GlobalHooks:
    """Hooks of every module, by what they wait for."""

    def __init__(self) -> None:
        self.parameter: Hooks = OrderedDict()
        self.buffer: Hooks = OrderedDict()
        self.module: Hooks = OrderedDict()
        self.forward_pre: Hooks = OrderedDict()
        self.forward: Hooks = OrderedDict()
        self.forward_kwargs: set[int] = set()
        self.forward_always: set[int] = set()
        self.backward_pre: Hooks = OrderedDict()
        self.backward: Hooks = OrderedDict()
        self.backward_is_full: bool | None = None


everywhere = GlobalHooks()


def register(
    hooks: Hooks, hook: Callable[..., Any], prepend: bool = False, flags: Iterable[tuple[set[int], bool]] = ()
) -> Handle:
    """Add a hook, last or first, and note its id in each of the flag sets that hold for it."""
    handle = add_hook(hooks, hook)
    for ids, holds in flags:
        if holds:
            ids.add(handle.id)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def use_kind(owner: Any, attribute: str, full: bool, where: str) -> None:
    """Regular and full backward hooks do not go together."""
    if getattr(owner, attribute) is (not full):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )
    setattr(owner, attribute, full)


# ---------------------------------------------------------------- the call


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward` between all its hooks; those that always run do so also when it raises."""
    done: set[int] = set()
    try:
        return _call(module, args, kwargs, done)
    except Exception:
        for hooks, with_kwargs, always in _forward_hooks(module):
            for key in [k for k in hooks if k in always and k not in done]:
                try:
                    _run_forward_hook(module, hooks[key], key in with_kwargs, args, kwargs, None)
                except Exception as error:
                    what = "global module" if hooks is everywhere.forward else "module"
                    warn(
                        f"{what} forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}"
                    )
        raise


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
    args, kwargs = _before_forward(module, args, kwargs)
    pre_hooks = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
    full, regular = _backward_hooks(module)
    watch = BackwardHook(module, full, pre_hooks) if full or pre_hooks else None
    if watch is not None:
        args = watch.on_inputs(args)
    result = module.forward(*args, **kwargs)
    for hooks, with_kwargs, _ in _forward_hooks(module):
        for key, hook in list(hooks.items()):
            done.add(key)
            changed = _run_forward_hook(module, hook, key in with_kwargs, args, kwargs, result)
            result = result if changed is None else changed
    if watch is not None:
        result = watch.on_outputs(result)
    if regular:
        _watch_last_node(module, args, result, regular)
    return result


def _before_forward(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    with_kwargs = module._forward_pre_hooks_with_kwargs
    for key, hook in (*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()):
        if key in with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward_hooks(module: Any) -> tuple[tuple[Hooks, set[int], set[int]], ...]:
    return (
        (everywhere.forward, everywhere.forward_kwargs, everywhere.forward_always),
        (module._forward_hooks, module._forward_hooks_with_kwargs, module._forward_hooks_always_called),
    )


def _run_forward_hook(
    module: Any, hook: Callable[..., Any], with_kwargs: bool, args: Any, kwargs: Any, result: Any
) -> Any:
    return hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)


def _backward_hooks(module: Any) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """Full and regular ones."""
    result: tuple[list[Callable[..., Any]], list[Callable[..., Any]]] = ([], [])
    for hooks, is_full in (
        (everywhere.backward, everywhere.backward_is_full),
        (module._backward_hooks, module._is_full_backward_hook),
    ):
        result[0 if is_full else 1].extend(hooks.values())
    return result


def _watch_last_node(module: Any, args: tuple[Any, ...], result: Any, hooks: list[Callable[..., Any]]) -> None:
    """Regular hooks see the node that made the (first) result."""
    found = result
    while not isinstance(found, Tensor):
        found = (
            next((x for x in found.values() if isinstance(x, Tensor)), None) if isinstance(found, dict) else found[0]
        )
    node = found.grad_fn
    if node is None:
        return
    if not isinstance(result, Tensor) and not (
        isinstance(result, tuple) and all(isinstance(x, Tensor) for x in result)
    ):
        warn(
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the grad_output. "
            "Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
        )
    else:
        _warn_of_missing(args, result if isinstance(result, tuple) else (result,), node)
    for hook in hooks:
        node.register_hook(lambda grad_in, grad_out, hook=hook: hook(module, grad_in, grad_out))


_FULL = "Please use register_full_backward_hook to get the documented behavior."


def _warn_of_missing(inputs: tuple[Any, ...], outputs: tuple[Tensor, ...], node: Any) -> None:
    """Say which gradients a regular hook will not see."""
    made = {x.grad_fn for x in outputs if x.grad_fn is not None}
    gone = "is deprecated and will be removed in future versions. This hook will be missing some"
    if not all(isinstance(x, Tensor) for x in inputs):
        text = (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            f"Tensors {gone} of the grad_input. {_FULL}"
        )
    elif len(made) > 1:
        text = (
            f"Using a non-full backward hook when outputs are generated by different autograd Nodes {gone} "
            f"grad_output. {_FULL}"
        )
    elif {x.grad_fn for x in inputs if x.grad_fn is not None} != {n for n, _ in node.next_functions}:
        text = (
            f"Using a non-full backward hook when the forward contains multiple autograd Nodes {gone} grad_input. "
            f"{_FULL}"
        )
    else:
        return
    warn(text, FutureWarning)


# ---------------------------------------------------------------- gradients that pass a module


class BackwardHookFunction(Function):
    """Gives back what it gets: a node to hang hooks on."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[x for x in args if not x.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class BackwardHook:
    """One call of a module whose gradients hooks want to see: those of its outputs, then those of its inputs."""

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None
        self.n_inputs = self.n_outputs = -1
        self.outputs: list[int] = []

    def on_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.n_inputs = len(args)
        result, positions, node = _through(args)
        if node is not None:
            self.inputs = positions
            node.register_hook(self._inputs_ready)
        return result

    def on_outputs(self, result: Any) -> Any:
        is_tuple = isinstance(result, tuple)
        if not is_tuple and not isinstance(result, Tensor):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
        self.n_outputs = len(result) if is_tuple else 1
        found, self.outputs, node = _through(result if is_tuple else (result,))
        if node is not None:
            node.register_hook(self._outputs_passed)
        return found if is_tuple else found[0]

    def _inputs_ready(self, grad_inputs: Any, _: Any) -> Any:
        if self.grad_outputs is None:
            return None
        grads = _spread(self.inputs or [], grad_inputs, self.n_inputs)
        for hook in self.hooks:
            changed = _as_tuple(hook(self.module, grads, self.grad_outputs))
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected "
                    f"{len(grads)}"
                )
            grads = changed
        self.grad_outputs = None
        return tuple(grads[i] for i in self.inputs or [])

    def _outputs_passed(self, _: Any, grad_outputs: Any) -> Any:
        grads = _spread(self.outputs, grad_outputs, self.n_outputs)
        changed_any = False
        for hook in self.pre_hooks:
            changed = _as_tuple(hook(self.module, grads))
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(changed)}, but expected "
                    f"{len(grads)}"
                )
            grads, changed_any = changed, True
        self.grad_outputs = grads
        if self.inputs is None:
            self._without_inputs(grads)
        return tuple(grads[i] for i in self.outputs) if changed_any else None

    def _without_inputs(self, grads: tuple[Any, ...]) -> None:
        warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details."
        )
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.n_inputs, grads)
            if changed is not None and not (isinstance(changed, tuple) and all(g is None for g in changed)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None


def _through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """The values with their tensors passed through one node; where these stand; the node, None where nothing needs
    one."""
    positions = [i for i, x in enumerate(values) if isinstance(x, Tensor)]
    if not thread_state.grad or not any(values[i].requires_grad for i in positions):
        return values, positions, None
    passed = BackwardHookFunction.apply(*(values[i] for i in positions))
    nodes = [x.grad_fn for x in passed if x.grad_fn is not None and x.grad_fn.name() == "BackwardHookFunctionBackward"]
    if not nodes:
        raise RuntimeError(
            "Error while setting up backward hooks. Please open an issue with a code sample to reproduce this."
        )
    found = list(values)
    for i, x in zip(positions, passed, strict=True):
        found[i] = x
    return tuple(found), positions, nodes[0]


def _spread(positions: list[int], grads: Any, count: int) -> tuple[Any, ...]:
    found: list[Any] = [None] * count
    for i, grad in zip(positions, grads, strict=True):
        found[i] = grad
    return tuple(found)


def _as_tuple(changed: Any) -> tuple[Any, ...] | None:
    return changed if changed is None or isinstance(changed, tuple) else (changed,)


# ---------------------------------------------------------------- hooks of all modules


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> Handle:
    """`register_forward_hook` on every module."""
    return register(
        everywhere.forward,
        hook,
        False,
        ((everywhere.forward_kwargs, with_kwargs), (everywhere.forward_always, always_call)),
    )


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> Handle:
    """`register_forward_pre_hook` on every module."""
    return register(everywhere.forward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> Handle:
    """`register_full_backward_hook` on every module."""
    use_kind(everywhere, "backward_is_full", True, "as global hooks")
    return register(everywhere.backward, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> Handle:
    """`register_backward_hook` on every module."""
    use_kind(everywhere, "backward_is_full", False, "as global hooks")
    return register(everywhere.backward, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> Handle:
    """`register_full_backward_pre_hook` on every module."""
    return register(everywhere.backward_pre, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(module, name, parameter)` for each new parameter; what it returns, unless None, replaces it."""
    return register(everywhere.parameter, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(module, name, buffer)` for each new buffer; what it returns, unless None, replaces it."""
    return register(everywhere.buffer, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(module, name, submodule)` for each new module; what it returns, unless None, replaces it."""
    return register(everywhere.module, hook)
