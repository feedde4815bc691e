"""`torch.nn.parallel.distributed`: a model whose gradients are averaged over the ranks."""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ... import _namespace as torch, distributed as dist
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ...autograd.function import Function
from ...autograd.variable import Variable
from ...distributed._buckets import FIRST_BYTES, fill, flat_groups
from ...distributed._reducer import Reducer
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...utils._pytree import tree_flatten, tree_unflatten
from ..modules.module import Module
from ..parameter import UninitializedParameter

__all__ = ["DistributedDataParallel"]

_MEBIBYTE = 2**20
_AT_ONCE = 250 * _MEBIBYTE
"""The bytes of parameters and buffers that are broadcast together."""


def _tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors_in(each)
    elif isinstance(value, Mapping):
        yield from _tensors_in(list(value.values()))
    elif is_dataclass(value):
        yield from _tensors_in([getattr(value, field.name) for field in fields(value)])


class _DDPSink(Function):
    """Stands behind the outputs of a model: in the first pass of a static graph its backward asks for the reduction."""

    @staticmethod
    def forward(ctx: Any, ddp: Any, *inputs: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.ddp = ddp
        return tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ddp = ctx.ddp()
        if ddp.static_graph and not ddp._first_reduction_is_over:
            Variable._execution_engine.queue_callback(ddp._first_reduction)
        return (None, *grads)


class _DDPJoinHook(JoinHook):
    def __init__(self, ddp: Any, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        """The communication of a forward and a backward pass of the others."""
        ddp = self.ddp
        ddp.reducer.rebuild_buckets()
        if ddp.will_sync_module_buffers():
            ddp._broadcast(ddp._buffers_of_module(), ddp._common_rank(False))
        ddp.require_forward_param_sync = ddp._some_rank_reduces(False)
        if ddp.require_forward_param_sync:
            ddp.reducer.shadow_backward()
            ddp.reducer.shadow_order()

    def post_hook(self, is_last_joiner: bool) -> None:
        """The model of the last rank to join becomes that of all."""
        ddp = self.ddp
        ddp._broadcast(ddp._states(ddp.broadcast_buffers), ddp._common_rank(is_last_joiner))


class DistributedDataParallel(Module, Joinable):
    """Calls `module`, which all ranks have; backward averages the gradients of all ranks.

    Parameters and buffers are those of rank 0, buffers before each forward too (`broadcast_buffers`). Gradients are
    averaged in buckets of `bucket_cap_mb` (25, the first 1) while backward goes on.

    RuntimeError for a module without parameters that require a gradient, or other parameters than those of rank 0.
    ValueError before `torch.distributed.init_process_group`.

    >>> from autograph_cli import torch
    >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> torch.distributed.destroy_process_group()
    """

    _ignored = "_ddp_params_and_buffers_to_ignore"

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        self.process_group: Any = dist.group.WORLD if process_group is None else process_group
        if self.process_group is None:
            dist.get_rank()  # says that there is no group
        self.module, self.dim = module, dim
        self.parameters_to_ignore = set(getattr(module, self._ignored, ()))
        own = list(self._named_parameters().values())
        self._check(own, device_ids, output_device)
        self.device_ids, self.output_device, self.device = None, None, own[0].device
        found = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.broadcast_buffers = self.forward_sync_buffers = True if found is None else found
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.require_forward_param_sync = self.require_backward_grad_sync = True
        self.static_graph = self._first_reduction_is_over = False
        self._divide_by_initial_world_size = True
        if init_sync:
            self._check_shapes([p for p in own if p.requires_grad])
            self._broadcast(self._states(forward_sync_buffers is not None or self.broadcast_buffers), 0)
        cap = (25 if bucket_cap_mb is None else bucket_cap_mb) * _MEBIBYTE
        self._limits = [FIRST_BYTES, cap] if bucket_cap_mb is None else [cap]
        self._make_reducer(static_graph)
        if static_graph:
            self._set_static_graph()

    def _make_reducer(self, static_graph: bool) -> None:
        trained = {name: p for name, p in self._named_parameters().items() if p.requires_grad}
        # One bucket until the order of the gradients is known; where it never is, buckets in reversed order.
        first = self._limits if self.find_unused_parameters and not static_graph else [sys.maxsize]
        self.reducer = Reducer(
            list(trained.values()),
            list(trained),
            self.process_group,
            (first, self._limits),
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
        )

    def _named_parameters(self) -> dict[str, Any]:
        return {name: p for name, p in self.module.named_parameters() if name not in self.parameters_to_ignore}

    @staticmethod
    def _check(parameters: list[Any], device_ids: Any, output_device: Any) -> None:
        if not any(p.requires_grad for p in parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        if any(isinstance(p, UninitializedParameter) for p in parameters):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy "
                "forward pass to correctly initialize the modules"
            )
        if device_ids is not None and len(device_ids) > 1:
            raise refused(ValueError, "device_ids can only be None or contain a single element.")
        places = {p.device for p in parameters}
        if device_ids and {place.type for place in places} == {"cpu"}:
            raise refused(
                ValueError,
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/"
                f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, output_device "
                f"{output_device}, and module parameters {places}.",
            )

    def _check_shapes(self, parameters: list[Any]) -> None:
        mine = [list(p.shape) for p in parameters]
        of_all: list[Any] = [None] * dist.get_world_size(self.process_group)
        dist.all_gather_object(of_all, mine, group=self.process_group)
        for rank, shapes in enumerate(of_all):
            if len(shapes) != len(of_all[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(of_all[0])} params, while rank "
                    f"{rank} has inconsistent {len(shapes)} params."
                )
            for at, (shape, first) in enumerate(zip(shapes, of_all[0], strict=True)):
                if shape != first:
                    raise RuntimeError(
                        f"[{rank}]: params[{at}] in this process with sizes {shape} appears not to match sizes of the "
                        "same param in process 0."
                    )

    # -- what all ranks share

    def _states(self, buffers: bool) -> list[Any]:
        found = list(self._named_parameters().values())
        return [*found, *self._buffers_of_module()] if buffers else found

    def _buffers_of_module(self) -> list[Any]:
        """The buffers that all ranks share."""
        return [b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore]

    modules_buffers = property(_buffers_of_module)

    def _broadcast(self, tensors: list[Any], source: int) -> None:
        """Give tensors the values that they have on one rank of the group."""
        if dist.get_world_size(self.process_group) == 1:
            return
        source = dist.get_global_rank(self.process_group, source)
        with torch.no_grad():
            for group in flat_groups(tensors, _AT_ONCE):
                flat = torch.cat([t.detach().reshape(-1) for t in group])
                dist.broadcast(flat, source, group=self.process_group)
                fill(group, flat)

    def will_sync_module_buffers(self) -> bool:
        """Return whether the next forward begins with the buffers of rank 0."""
        wanted = self.require_forward_param_sync and self.forward_sync_buffers
        return bool(wanted and self._buffers_of_module())

    def _common_rank(self, candidate: bool) -> int:
        """The highest rank of the group that is a candidate."""
        rank = torch.tensor([dist.get_rank(self.process_group) if candidate else -1])
        dist.all_reduce(rank, op=dist.ReduceOp.MAX, group=self.process_group)
        return int(rank.item())

    # -- forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module gives."""
        syncs = torch.is_grad_enabled() and self.require_backward_grad_sync
        self._before_forward()
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncs
        finds = self.find_unused_parameters and not self.static_graph
        if syncs:
            self.reducer.prepare_for_backward(list(_tensors_in(output)) if finds else [])
        if finds or (self.static_graph and not self._first_reduction_is_over):
            output = self._through_sink(output)
        return output

    def _before_forward(self) -> None:
        counted = Join.notify_join_context(self)
        if counted is not None and not self._divide_by_initial_world_size:
            self.reducer.divides_by = counted
        if torch.is_grad_enabled():
            self.reducer.rebuild_buckets()
        joins = self._join_config.enable
        if self.will_sync_module_buffers():
            self._broadcast(self._buffers_of_module(), self._common_rank(True) if joins else 0)
        if joins:
            self._some_rank_reduces(self.require_backward_grad_sync)

    def _some_rank_reduces(self, mine: bool) -> bool:
        """Return whether the backward pass that follows is reduced on some rank."""
        wanted = torch.full((1,), float(mine))
        dist.all_reduce(wanted, group=self.process_group)
        return bool(wanted.item())

    def _through_sink(self, output: Any) -> Any:
        flat, spec = tree_flatten(output)
        passed = _DDPSink.apply(weakref.ref(self), *flat)
        keeps = [isinstance(x, torch.Tensor) and x.grad_fn is None for x in flat]
        return tree_unflatten([x if kept else y for x, y, kept in zip(flat, passed, keeps, strict=True)], spec)

    def _first_reduction(self) -> None:
        if not self._first_reduction_is_over:
            self._first_reduction_is_over = True
            self.reducer.delayed()

    # -- what scripts set

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A `with` block in which gradients are added up on each rank; the first backward after it averages them."""
        old, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

    def register_comm_hook(self, state: object, hook: Callable[[Any, Any], Any]) -> None:
        """Reduce each bucket by `hook(state, bucket)`, a future of its gradients.

        TypeError or ValueError for a hook that cannot be called so; RuntimeError for a second one.
        """
        if not callable(hook):
            raise refused(TypeError, "Communication hook must be callable.")
        given = inspect.signature(hook, eval_str=False).parameters["bucket"].annotation
        if given is not inspect.Parameter.empty and given not in (dist.GradBucket, "dist.GradBucket", Any, "Any"):
            raise refused(ValueError, "Communication hook: bucket annotation should be dist.GradBucket.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook = (state, hook)

    def _set_static_graph(self) -> None:
        if self.static_graph:
            warn("You've set static_graph to be True, no need to set it again.")
            return
        self.static_graph = True
        self.reducer.set_static_graph()
        if self.find_unused_parameters:
            warn(
                "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will detect "
                "unused parameters automatically, so you do not need to set find_unused_parameters=true, just be sure "
                "these unused parameters will not change during training loop while calling `_set_static_graph`."
            )

    @classmethod
    def _set_params_and_buffers_to_ignore_for_model(cls, module: Any, params_and_buffers_to_ignore: Any) -> None:
        setattr(module, cls._ignored, params_and_buffers_to_ignore)

    # -- uneven inputs

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A `with` block for a training loop whose ranks have different numbers of inputs."""
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what shadows it on a rank without inputs."""
        return _DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of its parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """Its group."""
        return self.process_group

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not dist.group.WORLD:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, "
                "when you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        return {name: value for name, value in self.__dict__.items() if name not in ("process_group", "reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = dist.group.WORLD
        if self.process_group is None:
            dist.get_rank()
        self._make_reducer(self.static_graph)
        if self.static_graph:
            self.reducer.set_static_graph()
