"""`torch.optim.swa_utils`: averages of a model over its training, and the learning rate that goes with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .._core.base.dtypes import int64
from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler.base import LRScheduler, each_group

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip

Average = Callable[[Any, Any, Any], Any]


def get_swa_avg_fn() -> Average:
    """The mean of all models so far, for one tensor."""

    @no_grad()
    def average(averaged: Any, current: Any, num_averaged: Any) -> Any:
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average, for one tensor. ValueError for a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def average(averaged: Any, current: Any, num_averaged: Any) -> Any:
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_multi_avg_fn() -> Average:
    """The mean of all models so far, put into a list of tensors."""

    @no_grad()
    def average(averaged: Any, current: Any, num_averaged: Any) -> None:
        for mean, now in zip(averaged, current, strict=True):
            _blend(mean, now, 1 / (num_averaged + 1))

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average, put into a list of tensors. ValueError for a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def average(averaged: Any, current: Any, num_averaged: Any) -> None:
        for mean, now in zip(averaged, current, strict=True):
            _blend(mean, now, 1 - decay)

    return average


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _blend(mean: Any, now: Any, share: Any) -> None:
    share = share.item() if isinstance(share, Tensor) else share
    if mean.is_floating_point() or mean.is_complex():
        mean.lerp_(now, share)
    else:
        mean.copy_(mean * (1 - share) + now * share)


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of those given to `update_parameters`.

    `avg_fn(averaged, current, n)` gives the new average of one tensor, `multi_avg_fn` puts that of many in place; by
    default it is the mean. AssertionError for both.

    >>> from autograph_cli import torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     torch.nn.init.constant_(model.weight, value) is None
    ...     averaged.update_parameters(model)
    False
    False
    >>> averaged.module.weight.item()
    2.0
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", functions["tensor"](0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` (and its buffers, if they are averaged too) into the average."""
        averaged, current = self._averaged(self.module), self._averaged(model)
        count = self.n_averaged
        if count == 0:
            for mean, now in zip(averaged, current, strict=True):
                mean.copy_(now)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(averaged, current, count)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mean, now in zip(averaged, current, strict=True):
                mean.copy_(average(mean, now, count))
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return [tensor.detach() for tensor in itertools.chain(model.parameters(), buffers)]


@no_grad()
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the running statistics of all batch normalizations of `model` anew, over the batches of `loader`."""
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        input = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(input if device is None else input.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


_ANNEAL: dict[str, Callable[[float], float]] = {
    "cos": lambda part: (1 - math.cos(math.pi * part)) / 2,
    "linear": lambda part: part,
}


class SWALR(LRScheduler):
    """To the rate `swa_lr` in `anneal_epochs` epochs, along a cosine or a line. ValueError for other arguments."""

    def __init__(
        self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        for rate, group in zip(each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in _ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self._share(at) for at in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        return float(_ANNEAL[self._anneal_strategy](max(0, min(1, step / max(1, self.anneal_epochs)))))
