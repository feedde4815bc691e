"""Hears training: functions of `torch.optim`, `torch.nn` and their like, which both engines have in Python."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from autograph_cli.record.log.ledger_hooks import ON_TENSORS
from autograph_cli.record.run import public_names

Told = Callable[[Any], None] | None
"""A function that is told the result of a call; None if nothing is."""
Tell = Callable[[str, Any, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], Told]]
"""Takes the kind of a call, its function and its arguments; gives the arguments that it is called with, and who is told
of its result."""


class _Place(NamedTuple):
    kind: str
    module: str
    """Within `torch`."""
    owner: str
    """The class, or empty for a function of the module, which the package around it shows as well."""
    name: str


_HOOKS = (
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
    "register_forward_hook",
    "register_forward_pre_hook",
)
_PLACES = (
    _Place("optimizer", "optim.optimizer", "Optimizer", "__init__"),
    _Place("zero_grad", "optim.optimizer", "Optimizer", "zero_grad"),
    _Place("zero_grad", "nn.modules.module", "Module", "zero_grad"),
    _Place("module", "nn.modules.module", "Module", "__init__"),
    _Place("copy", "nn.modules.module", "Module", "__setstate__"),
    _Place("state", "nn.modules.module", "Module", "state_dict"),
    _Place("load", "nn.modules.module", "Module", "load_state_dict"),
    _Place("mode", "nn.modules.module", "Module", "train"),
    _Place("clip", "nn.utils.clip_grad", "", "clip_grad_norm_"),
    _Place("clip", "nn.utils.clip_grad", "", "clip_grad_value_"),
    _Place("unscale", "amp.grad_scaler", "GradScaler", "unscale_"),
    _Place("schedule", "optim.lr_scheduler", "LRScheduler", "__init__"),
    _Place("schedule", "optim.lr_scheduler", "LRScheduler", "step"),
    _Place("schedule", "optim.lr_scheduler", "ReduceLROnPlateau", "step"),
    # Of the kinds of checkpoints, the reentrant one looks at its inputs; compilers know `checkpoint` by identity.
    _Place("checkpoint", "utils.checkpoint", "", "check_backward_validity"),
    *[_Place("hook", "nn.modules.module", "Module", name) for name in _HOOKS],
)
_WATCHED = {"pytorch": "utils.hooks", "autograph": "nn.modules._hooks"}
"""The module with the class that calls the backward hooks of a module, in each engine."""


class Hearing:
    """Puts functions that tell in the places of those that are to be heard, and takes them back."""

    def __init__(self, engine: Any, tell: Tell) -> None:
        self._engine, self._tell = engine, tell
        self._root = f"{engine.namespace.__name__ if engine.name == 'pytorch' else 'autograph_cli.torch'}."
        self._places = (*_PLACES, _Place("hooked", _WATCHED[engine.name], "BackwardHook", "__init__"))
        self._before: list[tuple[Any, str, Any]] = []
        """The attribute that stood in each place; None where it was inherited."""
        self._around: list[tuple[str, str, Any, Any]] = []
        """Functions that a package may have taken from its module: its name, theirs, what tells, what that tells of."""
        self._handles: list[Any] = []
        self._on = False
        self.steps: tuple[Any, Any] | None = None
        """The functions that are called before and after each step of an optimizer."""

    def start(self) -> None:
        """Hear what there is, and what is imported from now on."""
        self._on = True
        for name in {place.module for place in self._places}:
            if not public_names.serving:  # nobody tells of imports
                importlib.import_module(self._root + name)
            module = sys.modules.get(self._root + name)
            if module is not None:
                self._open(module, name)
        for name in ON_TENSORS:
            self._put(self._engine.tensor, name, "hook")
        public_names.loaded.append(self._loaded)

    def stop(self) -> None:
        """Hear nothing more."""
        self._on = False
        if self._loaded in public_names.loaded:
            public_names.loaded.remove(self._loaded)
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        for package, name, made, before in self._around:
            around = sys.modules.get(self._root + package)
            if around is not None and vars(around).get(name) is made:
                setattr(around, name, before)
        self._around.clear()
        for owner, name, before in reversed(self._before):
            if isinstance(owner, dict):
                owner[name] = before
            elif before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._before.clear()

    def _loaded(self, module: ModuleType) -> None:
        own = module.__spec__.name if module.__spec__ is not None else module.__name__
        if own.startswith(self._root):
            self._open(module, own.removeprefix(self._root))

    def _open(self, module: ModuleType, name: str) -> None:
        for place in (each for each in self._places if each.module == name):
            owner = getattr(module, place.owner, None) if place.owner else module
            if owner is None:
                continue
            before = getattr(owner, place.name)
            self._put(owner, place.name, place.kind)
            if not place.owner:  # the package around it shows the function already, or will
                package, made = name.rpartition(".")[0], getattr(owner, place.name)
                self._around.append((package, place.name, made, before))
                around = sys.modules.get(self._root + package)
                if around is not None and vars(around).get(place.name) is before:
                    setattr(around, place.name, made)
        if name == "optim.optimizer" and self.steps is not None:
            before, after = self.steps
            self._handles.append(module.register_optimizer_step_pre_hook(before))
            self._handles.append(module.register_optimizer_step_post_hook(after))

    def _put(self, owner: Any, name: str, kind: str) -> None:
        kept = self._engine.replaced
        if isinstance(owner, type) and issubclass(owner, self._engine.tensor) and name in kept:
            self._before.append((kept, name, kept[name]))
            function = kept[name] = self._telling(kept[name], kind)
            return  # the engine puts it there as soon as it listens
        before = vars(owner).get(name)
        function = getattr(owner, name) if before is None else before
        if isinstance(function, FunctionType):
            self._before.append((owner, name, before))
            setattr(owner, name, self._telling(function, kind))

    def _telling(self, function: Any, kind: str) -> Any:
        tell = self._tell

        def heard(*args: Any, **kwargs: Any) -> Any:
            if not self._on:
                return function(*args, **kwargs)
            args, told = tell(kind, function, args, kwargs)
            try:
                result = function(*args, **kwargs)
            except BaseException:
                if told is not None:
                    told(None)
                raise
            if told is not None:
                told(result)
            return result

        return functools.wraps(function)(self._engine.between(heard))
