"""The base of learning-rate schedulers: when they act, what they keep, how they are saved."""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

from ..._core.base.user_warnings import warn
from ..._core.tape.tensor import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ADVICE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Changes the learning rate of each group of an optimizer whenever `step()` is called; a subclass says how.

    A subclass gives `get_lr()`, a list with one rate per group, or `_ag_change(lr, base)`, the next rate of one group
    from its last one. TypeError for what is no optimizer, KeyError when it resumes (`last_epoch` >= 0) without initial
    rates.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer: Any = need_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NO_INITIAL.format(i))
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # -- what a subclass says

    def get_lr(self) -> list[Any]:
        """The rates to set now; called within `step`."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")
        if type(self)._ag_change is LRScheduler._ag_change:
            raise NotImplementedError
        pairs = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        return [copied(self._ag_change(group["lr"], base)) for group, base in pairs]

    def _ag_change(self, lr: Any, base: Any) -> Any:
        """The rate after `lr`, for a group that began with `base`."""
        raise NotImplementedError

    # -- what users call

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch (or, deprecated, of a given one)."""
        if self._step_count == 1:
            self._ag_check_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _ag_check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            text = (
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            text = (
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                "do this will result in PyTorch skipping the first value of the learning rate schedule. "
            )
        else:
            return
        warn(text + _ADVICE)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._ag_set(self._ag_computed() if closed is None else closed())

    def _ag_computed(self) -> list[Any]:
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _ag_set(self, rates: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", lr)
        self._last_lr = values(self.optimizer, "lr")

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one per group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows, except its optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)


class ClosedForm:
    """Schedulers that can also tell the rate of any epoch, by `at(base)`."""

    def _ag_at(self, base: Any) -> Any:
        """The rate at `last_epoch` of a group that began with `base`."""
        raise NotImplementedError

    def _get_closed_form_lr(self: Any) -> list[Any]:
        return [self._ag_at(base) for base in self.base_lrs]


_NO_INITIAL = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\nThis "
    "typically happens when:\n1. You're trying to resume training from a checkpoint but haven't properly loaded the "
    "optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


def need_optimizer(optimizer: Any) -> Any:
    """The optimizer; TypeError for anything else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def _note_steps(optimizer: Any) -> None:
    """Let the optimizer remember that it was stepped."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference, function = weakref.ref(optimizer), optimizer.step.__func__

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    vars(step)["_wrapped_by_lr_sched"] = True
    optimizer.step = step


def copied(value: Any) -> Any:
    """A rate that later changes do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def values(optimizer: Any, key: str) -> list[Any]:
    """An option of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; where it is a tensor, fill it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def each_group(name: str, optimizer: Any, given: Any) -> list[Any]:
    """One value per group, from a list of that length (ValueError otherwise) or from one value for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [copied(given) for _ in range(groups)]
    if len(given) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(given)} values, param_groups "
            f"has {groups}."
        )
    return [copied(x) for x in given]


def saved_function(function: Any) -> Any:
    """Return what a state dict keeps of a user's function: the attributes of an object, nothing of a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
