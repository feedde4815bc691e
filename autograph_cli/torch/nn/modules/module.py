"""`Module`: a function with parameters, buffers and modules inside, which it finds by their being its attributes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ... import _namespace as torch
from ..._core.base.state import ModuleCall, next_call_nr, process_state, thread_state
from ..._core.tape.node import Handle, add_hook
from ..._core.tape.tensor import Tensor
from ..parameter import Buffer, Parameter, replaced
from . import _hooks, _loading, _moving, _paths
from ._hooks import (  # noqa: F401  (the hooks of all modules are found here, as in PyTorch)
    everywhere,
    register,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._loading import _IncompatibleKeys  # noqa: F401  (found here, as in PyTorch)
from ._members import announced, check_name

__all__ = ["Module"]

_STORES = ("_parameters", "_buffers", "_modules")
# What `__call__` looks at, under names that are found fast.
_EVERY_FORWARD, _EVERY_FORWARD_PRE = everywhere.forward, everywhere.forward_pre
_EVERY_BACKWARD, _EVERY_BACKWARD_PRE = everywhere.backward, everywhere.backward_pre


class Module:
    """Base of all layers and models: assign parameters and modules in `__init__`, compute in `forward`.

    >>> from autograph_cli import torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(torch.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)
    """

    dump_patches = False
    _version = 1
    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _is_full_backward_hook=None,
            _forward_hooks_with_kwargs=set(),
            _forward_hooks_always_called=set(),
            _forward_pre_hooks_with_kwargs=set(),
            _modules={},
            **{name: OrderedDict() for name in _HOOKS},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what a call computes; every subclass says it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        of = self.__dict__
        try:
            hooked = (
                _EVERY_FORWARD
                or _EVERY_FORWARD_PRE
                or _EVERY_BACKWARD
                or _EVERY_BACKWARD_PRE
                or of["_forward_hooks"]
                or of["_forward_pre_hooks"]
                or of["_backward_hooks"]
                or of["_backward_pre_hooks"]
            )
        except KeyError:
            hooked = self._backward_hooks  # its `__init__` was not run: raises AttributeError
        if process_state.observer is None:
            return _hooks.call_with_hooks(self, args, kwargs) if hooked else self.forward(*args, **kwargs)
        calls = thread_state.calls
        depth = len(calls)
        try:
            calls.append(ModuleCall(next_call_nr(), self, args, kwargs))
            return _hooks.call_with_hooks(self, args, kwargs) if hooked else self.forward(*args, **kwargs)
        finally:
            del calls[depth:]

    # -- attributes

    def __getattr__(self, name: str) -> Any:
        of = self.__dict__
        parameters = of.get("_parameters")
        if parameters is not None and name in parameters:
            return parameters[name]
        if "_modules" in of and name in of["_modules"]:
            return of["_modules"][name]
        if "_buffers" in of and name in of["_buffers"]:
            return of["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        of = self.__dict__
        params = of.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._ag_forget(name, "_parameters")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                    "expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in of:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._ag_forget(name, "_modules")
            of["_modules"][name] = announced(everywhere.module, self, name, value)
        elif name in of.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' (torch.nn.Module or None "
                    "expected)"
                )
            of["_modules"][name] = announced(everywhere.module, self, name, value)
        elif name in of.get("_buffers", ()) or isinstance(value, Buffer):
            self._ag_set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _ag_set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if name in self._buffers:
            self._buffers[name] = announced(everywhere.buffer, self, name, value)
        else:
            self._ag_forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)  # type: ignore[union-attr]

    def _ag_forget(self, name: str, kept: str) -> None:
        """Make room for a new meaning of the name."""
        of = self.__dict__
        of.pop(name, None)
        for store in _STORES:
            if store != kept:
                of[store].pop(name, None)
        of["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for store in _STORES:
            if name in self.__dict__[store]:
                del self.__dict__[store][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *(name for store in _STORES for name in getattr(self, store))}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        fresh = Module()
        self.__dict__.update({**fresh.__dict__, **state})

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter, or None; KeyError, TypeError or ValueError for what is no name or no parameter."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        check_name(self, name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                "required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = announced(everywhere.parameter, self, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter; one that is not `persistent` stays out of `state_dict`."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = announced(everywhere.buffer, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a module under a name that need not be an identifier."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        check_name(self, name, "module", self._modules)
        self._modules[name] = announced(everywhere.module, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """`add_module`."""
        self.add_module(name, module)

    # -- what is inside, by path

    def get_submodule(self, target: str) -> Any:
        """The module at a dotted path; AttributeError where there is none."""
        return _paths.module_at(self, target, Module)

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put a module at a dotted path; `strict` asks that one is there already."""
        _paths.put(self, target, module, strict, Module)

    def get_parameter(self, target: str) -> Any:
        """The parameter at a dotted path; AttributeError where there is none."""
        return _paths.member_at(
            self, target, lambda owner, name: isinstance(getattr(owner, name), Parameter), "an nn.Parameter"
        )

    def get_buffer(self, target: str) -> Any:
        """The buffer at a dotted path; AttributeError where there is none."""
        return _paths.member_at(self, target, lambda owner, name: name in owner._buffers, "a buffer")

    # -- what is inside, one after the other

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[Any]:
        """(path, module) of this module and all in it, each module once."""
        memo = set() if memo is None else memo
        waiting = [iter([(prefix, self)])]  # generators in one another would hand each module up all levels
        while waiting:
            path, module = next(waiting[-1], ("", None))
            if module is None:
                waiting.pop()
            elif module is not self and getattr(module.named_modules, "__func__", None) is not Module.named_modules:
                yield from module.named_modules(memo, path, remove_duplicate)
            elif module not in memo:
                if remove_duplicate:
                    memo.add(module)
                yield path, module
                waiting.append(_inner_modules(path, module._modules))

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[Any]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}{'.' if path else ''}{name}", value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[Any]:
        """(path, parameter) of this module and all in it, each parameter once."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[Any]:
        """(path, buffer) of this module and all in it, each buffer once."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def named_children(self) -> Iterator[Any]:
        """(name, module) of the modules right in this one."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all in it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def children(self) -> Iterator[Any]:
        """The modules right in this one."""
        for _, module in self.named_children():
            yield module

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of this module and all in it."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of this module and all in it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # -- all at once

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Call `fn` on every module inside, innermost first, and on this one; return it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Any:
        """Set training mode here and in all modules inside; ValueError for what is no bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Ask, or stop asking, for the gradients of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or make them zero."""
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    param.grad.detach_().requires_grad_(False).zero_()

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Put `fn` of every parameter and buffer in its place; parameters stay the same objects."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        with torch.no_grad():
            for name, param in self._parameters.items():
                if param is not None:
                    self._parameters[name] = replaced(param, fn(param))
                    if param.grad is not None:
                        self._parameters[name].grad = replaced(param.grad, fn(param.grad))
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move and cast parameters and buffers in place: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(tensor)`.

        Only floating point and complex ones are cast; TypeError for an integer dtype.
        """
        return self._apply(_moving.converter(args, kwargs))

    def type(self, dst_type: Any) -> Any:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Any:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Give all parameters and buffers new memory of no particular value."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse)

    def share_memory(self) -> Any:
        """Let processes share the parameters and buffers."""
        return self._apply(lambda t: t.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """NotImplementedError: nothing is compiled here."""
        raise NotImplementedError("Module.compile is not available in autograph's engine")

    # -- hooks

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call `hook(module, args, result)` after `forward`; what it returns, unless None, replaces the result."""
        flags = ((self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call))
        return register(self._forward_hooks, hook, prepend, flags)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call `hook(module, args)` before `forward`; what it returns, unless None, replaces the arguments."""
        return register(self._forward_pre_hooks, hook, prepend, ((self._forward_pre_hooks_with_kwargs, with_kwargs),))

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known."""
        _hooks.use_kind(self, "_is_full_backward_hook", True, "on a single Module")
        return register(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> Handle:
        """The deprecated form of `register_full_backward_hook`: it sees the last node only."""
        _hooks.use_kind(self, "_is_full_backward_hook", False, "on a single Module")
        return register(self._backward_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` reads the module."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> Handle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` has read the module."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> Handle:
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return add_hook(self._load_state_dict_pre_hooks, lambda *args: hook(self, *args))

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> Handle:
        if with_module:
            return self.register_load_state_dict_pre_hook(hook)
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists of keys."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- state

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters, persistent buffers and extra state of this module and all in it, by path; not copied.

        >>> from autograph_cli import torch
        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        old_style = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        return _loading.state_dict(
            self, **{"destination": destination, "prefix": prefix, "keep_vars": keep_vars, **old_style}
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        _loading.save_module(self, destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy what `state_dict` holds into this module (`assign`: take its tensors as they are).

        Returns (missing_keys, unexpected_keys); RuntimeError lists them where `strict`, and shapes that differ always.
        """
        return _loading.load_state_dict(self, state_dict, strict, assign)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        _loading.load_module(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def get_extra_state(self) -> Any:
        """State beyond tensors, for `state_dict`; subclasses may define it."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    # -- text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of `repr`."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra})"
        lines = [*extra_lines, *child_lines]
        return f"{self._get_name()}({''.join(f'{chr(10)}  {line}' for line in lines)}{chr(10) if lines else ''})"


def _inner_modules(path: str, modules: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The modules of this dict, with paths from the one at `path`."""
    return ((f"{path}{'.' if path else ''}{name}", each) for name, each in modules.items() if each is not None)


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines after the first are moved to the right: scripts with a `__repr__` of their own use it."""
    return s_.replace("\n", "\n" + numSpaces * " ")


_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


for _name in ("float", "double", "half", "bfloat16"):
    setattr(Module, _name, _moving.cast(_name))


def indented(text: str) -> str:
    """The text with all lines but the first one set in by two."""
    return text.replace("\n", "\n  ")
