"""`torch.distributed.optim`: an optimizer whose state is shared out among the ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _namespace as torch, distributed as dist, optim
from .._core.base.errors import refused
from ._buckets import flat_groups
from .algorithms.join import Join, Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]


class _ZeROJoinHook(JoinHook):
    def __init__(self, zero: Any) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Update this rank's part, and take those of the others."""
        self.zero.step()


class ZeroRedundancyOptimizer(optim.Optimizer, Joinable):
    """Each rank updates a part of the parameters by `optimizer_class`, keeps the state of that part only, and sends it
    to the others (Rajbhandari et al., 2020, stage 1).

    `defaults` go to `optimizer_class`; with `parameters_as_bucket_view` the parameters of a part share one buffer.
    ValueError for parameters of several dtypes; NotImplementedError with `overlap_with_ddp`.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: Any,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(overlap_with_ddp=True) is not available in autograph's engine: call step()"
            )
        self.process_group: Any = dist.group.WORLD if process_group is None else process_group
        self.world_size, self.rank = dist.get_world_size(self.process_group), dist.get_rank(self.process_group)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self.initialized = False
        self._collected: list[dict[str, Any]] = []
        optim.Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        every = [p for group in self.param_groups for p in group["params"]]
        if len({p.dtype for p in every}) > 1:
            kinds = sorted({p.type() for p in every})
            raise refused(
                ValueError, f"ZeroRedundancyOptimizer requires model parameters to all be of one type, got {kinds}"
            )
        self._partition()
        self.optim = optimizer_class(self._parts[self.rank], **defaults)
        self._copy_options(self.optim.param_groups, self.param_groups)
        self.initialized = True

    def _partition(self) -> None:
        """Give each parameter, the largest of a group first, to the rank that has the fewest elements."""
        sizes = [0] * self.world_size
        self._parts: list[list[dict[str, Any]]] = [[] for _ in sizes]
        for group in self.param_groups:
            for part in self._parts:
                part.append({**group, "params": []})
            for p in sorted(group["params"], key=lambda p: -p.numel()):
                rank = sizes.index(min(sizes))
                self._parts[rank][-1]["params"].append(p)
                sizes[rank] += p.numel()
        self._sent = [self._shared_buffers(part) for part in self._parts]

    def _shared_buffers(self, part: list[dict[str, Any]]) -> list[Any]:
        """Return what is sent of a part: its parameters, or the buffers that they share."""
        params = [p for group in part for p in group["params"]]
        if not self.parameters_as_bucket_view:
            return params
        buffers = []
        for together in flat_groups([p for p in params if p.requires_grad], 2**62):
            flat = torch.cat([p.data.reshape(-1) for p in together])
            start = 0
            for p in together:
                p.data = flat[start : start + p.numel()].view(p.shape)
                start += p.numel()
            buffers.append(flat)
        return buffers

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize these parameters too; to be called on all ranks."""
        super().add_param_group(param_group)
        if self.initialized:
            self._partition()
            self.optim.add_param_group(self._parts[self.rank][-1])

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's part, and give all ranks the parts of all."""
        Join.notify_join_context(self)
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._copy_options(self.optim.param_groups, self.param_groups)
        sources = [dist.get_global_rank(self.process_group, rank) for rank in range(self.world_size)]
        works: list[Any] = [
            dist.broadcast(tensor.data, source, group=self.process_group, async_op=True)
            for source, tensors in zip(sources, self._sent, strict=True)
            for tensor in tensors
        ]
        for work in works:
            work.wait()
        return loss

    @staticmethod
    def _copy_options(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        for given, taken in zip(source, target, strict=True):
            taken.update((name, value) for name, value in given.items() if name != "params")

    # -- checkpoints

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the state of all parts to one rank, which `state_dict` gives there; to be called on all ranks."""
        self._copy_options(self.param_groups, self.optim.param_groups)
        found = [None] * self.world_size if self.rank == to else None
        target = dist.get_global_rank(self.process_group, to)
        dist.gather_object(self.optim.state_dict(), found, dst=target, group=self.process_group)
        self._collected = found or []  # type: ignore[assignment]

    def _positions(self) -> dict[Any, int]:
        every = [p for group in self.param_groups for p in group["params"]]
        return {p: position for position, p in enumerate(every)}

    def state_dict(self) -> dict[str, Any]:
        """The state of all parts, as of the last `consolidate_state_dict`, as of one optimizer of all parameters.

        RuntimeError on a rank to which it has not been brought.
        """
        if not self._collected:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        state, positions = super().state_dict(), self._positions()
        for part, local in zip(self._parts, self._collected, strict=True):
            own = [p for group in part for p in group["params"]]
            numbers = [number for group in local["param_groups"] for number in group["params"]]
            for p, number in zip(own, numbers, strict=True):
                if number in local["state"]:
                    state["state"][positions[p]] = local["state"][number]
        state["state"] = dict(sorted(state["state"].items()))
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over this rank's part of what `state_dict` gave."""
        positions = self._positions()
        own = [p for group in self._parts[self.rank] for p in group["params"]]
        saved, local = state_dict["state"], self.optim.state_dict()
        state = {number: saved[positions[p]] for number, p in enumerate(own) if positions[p] in saved}
        self.optim.load_state_dict({"state": state, "param_groups": local["param_groups"]})
        super().load_state_dict({"state": {}, "param_groups": state_dict["param_groups"]})
        self._copy_options(self.param_groups, self.optim.param_groups)

    # -- uneven inputs

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what shadows it on a rank without inputs."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of its parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """Its group."""
        return self.process_group
