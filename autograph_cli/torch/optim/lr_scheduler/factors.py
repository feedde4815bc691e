"""Schedulers that multiply the rate by a factor of the epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .base import ClosedForm, LRScheduler, saved_function

Factor = Callable[[int], float]


class _ByFunctions(LRScheduler):
    """Schedulers that ask functions of the user's, one for each group."""

    def __init__(self, optimizer: Any, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        factors = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(factors) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(factors)}")
        self.lr_lambdas: list[Factor] = factors
        self._ag_check()
        super().__init__(optimizer, last_epoch)

    def _ag_check(self) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer; of the functions, the attributes of those that are objects."""
        return {**super().state_dict(), "lr_lambdas": [saved_function(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_ByFunctions):
    """The initial rate times `lr_lambda(epoch)`.

    >>> from autograph_cli import torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=8.0)
    >>> torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** (epoch + 1)).get_last_lr()
    [4.0]
    """

    def get_lr(self) -> list[Any]:
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """The last rate times `lr_lambda(epoch)`."""

    def _ag_check(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Any]:
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        return [
            group["lr"] * function(self.last_epoch) for function, group in zip(self.lr_lambdas, groups, strict=True)
        ]


class StepLR(ClosedForm, LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        return lr if self.last_epoch == 0 or self.last_epoch % self.step_size else lr * self.gamma

    def _ag_at(self, base: Any) -> Any:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(ClosedForm, LRScheduler):
    """Times `gamma` at each of the `milestones`."""

    def __init__(self, optimizer: Any, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        times = self.milestones[self.last_epoch]
        return lr * self.gamma**times if times else lr

    def _ag_at(self, base: Any) -> Any:
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(ClosedForm, LRScheduler):
    """A constant part of the rate until epoch `total_iters`. ValueError for a factor outside [0, 1]."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return lr * self.factor
        return lr * (1.0 / self.factor) if self.last_epoch == self.total_iters else lr

    def _ag_at(self, base: Any) -> Any:
        return base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor))


class LinearLR(ClosedForm, LRScheduler):
    """From `start_factor` to `end_factor` of the rate in `total_iters` epochs. ValueError for factors outside (0,
    1]."""

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return lr * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return lr
        rise = self.end_factor - self.start_factor
        return lr * (1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _ag_at(self, base: Any) -> Any:
        done = min(self.total_iters, self.last_epoch)
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done / self.total_iters)


class ExponentialLR(ClosedForm, LRScheduler):
    """Times `gamma` each epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        return lr if self._is_initial else lr * self.gamma

    def _ag_at(self, base: Any) -> Any:
        return base * self.gamma**self.last_epoch


class PolynomialLR(ClosedForm, LRScheduler):
    """Down to 0 in `total_iters` epochs, along a polynomial of the given power."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        if self._is_initial or self.last_epoch > self.total_iters:
            return lr
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return lr * (left / before) ** self.power

    def _ag_at(self, base: Any) -> Any:
        return base * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(ClosedForm, LRScheduler):
    """Down to `eta_min` along half a cosine of `T_max` epochs (and up again after it).

    >>> from autograph_cli import torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _ag_change(self, lr: Any, base: Any) -> Any:
        if self._is_initial:
            return lr
        if self._step_count == 1 and self.last_epoch > 0:
            return self.eta_min + (base - self.eta_min) * (1 + math.cos(self.last_epoch * math.pi / self.T_max)) / 2
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return lr + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return now / before * (lr - self.eta_min) + self.eta_min

    def _ag_at(self, base: Any) -> Any:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
