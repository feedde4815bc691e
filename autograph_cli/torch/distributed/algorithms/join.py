"""`torch.distributed.algorithms.join`: ranks with different numbers of inputs; who is done shadows the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

from ... import _namespace as torch, distributed as dist
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn

__all__ = ["Join", "JoinHook", "Joinable"]

_SKEW = 1000


class JoinHook:
    """Work of a rank that has no inputs left."""

    def main_hook(self) -> None:
        """Take part in the communication of one iteration of the other ranks."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once when all ranks have joined."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable(ABC):
    """An object that communicates in each iteration and can be shadowed, such as a DistributedDataParallel."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what shadows it."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of what is sent."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group that communicates."""


class Join:
    """A `with` block for a training loop; at its end a rank shadows the others until they have no inputs left either.

    ValueError for no joinables, or some of several groups. RuntimeError in the block, or at its end, on the first rank
    without inputs, with `throw_on_early_termination`.
    """

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise refused(ValueError, "The join context manager requires at least one joinable")
        self._joinables, self._enable, self._throws = joinables, enable, throw_on_early_termination
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        for joinable in joinables:
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, joinable is joinables[0])
        self._process_group, self._device = joinables[0].join_process_group, joinables[0].join_device
        if any(joinable.join_process_group is not self._process_group for joinable in joinables):
            raise refused(ValueError, "Using join context manager with multiple process groups")
        self._rank = dist.get_rank(self._process_group)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._enable or type is not None:
            return
        rounds = 0
        while self._are_there_others():
            if rounds == _SKEW:
                warn(
                    f"Detected uneven input skew of greater than {_SKEW}. This means that rank {self._rank} has at "
                    f"least {_SKEW} fewer inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training."
                )
            if self._throws:
                dist.all_reduce(torch.ones(1, device=self._device), group=self._process_group)
                raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")
            for hook in self._join_hooks:
                hook.main_hook()
            rounds += 1
        for hook in self._join_hooks:
            hook.post_hook(rounds == 0)

    def _are_there_others(self) -> bool:
        """Return whether a rank has inputs left, which says so by `notify_join_context`."""
        count = torch.zeros(1, device=self._device)
        dist.all_reduce(count, group=self._process_group)
        return bool(count.item())

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Say that this rank has inputs; the work and the tensor that counts such ranks, or None outside of a join."""
        config = joinable._join_config
        if not (config.is_first_joinable and config.enable):
            return None
        device, group = joinable.join_device, joinable.join_process_group
        count = torch.ones(1, device=device)
        work = dist.all_reduce(count, group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = torch.zeros(1, device=device)
            dist.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return _Counted(work, count)


class _Counted(NamedTuple):
    """A work that counts ranks, and its tensor."""

    work: Any
    count: Any

    def wait(self) -> Any:
        return self.work.wait()
