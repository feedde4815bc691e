"""The reducer of DistributedDataParallel: averages gradients over the ranks while backward still computes others."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import _namespace as torch, distributed as dist
from .._core.passes.backward_pass import queue_callback
from .._core.tape.node import accumulator
from .._core.transforms.reverse import leaves_behind
from ._buckets import Bucket, GradBucket, assign

_NOT_FINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
)
_UNUSED = (
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
    "\nmaking sure all `forward` function outputs participate in calculating loss. "
)
_UNUSED_THOUGH_FOUND = (
    "your module has parameters that were not used in producing loss. Since `find_unused_parameters=True` is enabled, "
    "this likely  means that not all `forward` outputs participate in computing loss. You can fix this by \nmaking "
    "sure all `forward` function outputs participate in calculating loss. "
)
_LOCATE = (
    "\nIf you already have done the above, then the distributed data parallel module wasn't able to locate the output "
    "tensors in the return value of your module's `forward` function. Please include the loss function and the "
    "structure of the return value of `forward` of your module when reporting this issue (e.g. list, dict, iterable)."
)
_CHANGED = (
    "your training graph has changed in this iteration, e.g., one parameter is {} in first iteration, but then got "
    "{} in the second iteration. this is not compatible with static_graph set to True."
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
    "module parameter outside the `forward` function. Please make sure model parameters are not shared across multiple "
    "concurrent forward-backward passes. or try to use _set_static_graph() as a workaround if this module graph does "
    "not change during training loop.2) Reused parameters in multiple reentrant backward passes. For example, if you "
    "use multiple `checkpoint` functions to wrap the same part of your model, it would result in the same set of "
    "parameters been used by different reentrant backward passes multiple times, and hence marking a variable ready "
    "multiple times. DDP does not support such use cases in default. You can try to use _set_static_graph() as a "
    "workaround if your module graph does not change over iterations.\nParameter at index {index} with name {name} "
    "has been marked as ready twice. This means that multiple autograd engine  hooks have fired for this particular "
    "parameter during this iteration."
)
_SECOND_ORDER = (
    "DistributedDataParallel does not average gradients that have a graph of their own, which "
    "backward(create_graph=True) makes: compute those with torch.autograd.grad"
)


def _fires(reducer: weakref.ref[Reducer], index: int) -> Callable[..., None]:
    """The hook of a parameter, which does not keep the reducer alive."""

    def hook(*_: Any) -> None:
        living = reducer()
        if living is not None:
            living._came(index)

    return hook


class Reducer:
    """Averages the gradients of `parameters` over a group, bucket by bucket, as each gets its last gradient.

    Buckets are reduced in one order on all ranks. The first backward pass finds the order in which gradients come, and
    buckets are made anew by it once.
    """

    def __init__(
        self,
        parameters: list[Any],
        names: list[str],
        group: Any,
        limits: tuple[Sequence[float], Sequence[float]],
        find_unused: bool,
        as_views: bool,
    ) -> None:
        self.parameters, self.names, self.group = parameters, names, group
        self._limits, self._find_unused, self._as_views = limits, find_unused, as_views
        self.hook: tuple[Any, Callable[..., Any]] | None = None
        self.divides_by: tuple[Any, Any] | None = None
        """In a join: the work that counts the ranks which have inputs, and its tensor."""
        self._static = self._static_first = False
        self._fired = [0] * len(parameters)
        self._used = torch.zeros(len(parameters), dtype=torch.int32)
        self._used_work: Any = None
        self._unused: list[int] = []
        self._expecting = self._unfinished = self._rebuilt = False
        self._arrived: list[int] = []
        self._leaves = [accumulator(p) for p in parameters]
        for index, leaf in enumerate(self._leaves):
            leaf.register_hook(_fires(weakref.ref(self), index))
        self._make_buckets([*reversed(assign(parameters, limits[0], range(len(parameters))))])

    def _make_buckets(self, indices: list[list[int]]) -> None:
        self.buckets = [Bucket(each, [self.parameters[i] for i in each]) for each in indices]
        self._places = {i: (bucket, at) for bucket in self.buckets for at, i in enumerate(bucket.indices)}
        self._begin()

    def _begin(self) -> None:
        for bucket in self.buckets:
            bucket.waits = len(bucket.indices)
        self._next, self._divisor = 0, 0.0
        self._marked: set[int] = set()
        self._begun = False
        self._left = list(self._fired)

    def set_static_graph(self) -> None:
        """Learn in the first pass how often each parameter gets a gradient, and count on it in those that follow."""
        self._static = self._static_first = True

    @property
    def _finds(self) -> bool:
        return self._find_unused and not self._static

    # -- before backward

    def rebuild_buckets(self) -> bool:
        """Once, after the first backward pass: buckets in the order in which its gradients came on rank 0."""
        if self._finds or self._rebuilt or not self._arrived:
            return False
        self._check_finished()
        arrived, self._arrived, self._rebuilt = self._arrived, [], True
        order = [assign([self.parameters[i] for i in arrived], self._limits[1], arrived)]
        dist.broadcast_object_list(order, dist.get_global_rank(self.group, 0), group=self.group)
        self._make_buckets(order[0])
        return True

    def prepare_for_backward(self, outputs: list[Any]) -> None:
        """Expect gradients; `outputs` tell which parameters are used, where that is to be found."""
        self._check_finished()
        self._expecting = True
        self._begin()
        if not self._static:
            self._unused = self._not_behind(outputs) if self._finds else []

    def _not_behind(self, outputs: list[Any]) -> list[int]:
        nodes = [t.grad_fn for t in outputs if t.grad_fn is not None]
        reached = {leaf for node in nodes for leaf in leaves_behind(node)}
        return [i for i, leaf in enumerate(self._leaves) if leaf not in reached]

    def _check_finished(self) -> None:
        if not self._unfinished:
            return
        missing = [i for i in range(len(self.parameters)) if i not in self._marked]
        if self._static:
            text = _CHANGED.format("used", "unused")
        else:
            text = (_UNUSED_THOUGH_FOUND if self._find_unused else _UNUSED) + _LOCATE
        rank = dist.get_rank()
        names, numbers = ", ".join(self.names[i] for i in missing), " ".join(map(str, missing))
        raise RuntimeError(
            f"{_NOT_FINISHED}{text}\nParameters which did not receive grad for rank {rank}: {names}\nParameter indices "
            f"which did not receive grad for rank {rank}: {numbers}"
        )

    # -- while backward runs

    def _came(self, index: int) -> None:
        """A parameter has its gradient."""
        if not self._expecting:
            return
        if (self._finds or self._static_first) and self.parameters[index].grad is not None:
            self._used[index] = 1
        if self._static_first:
            self._fired[index] += 1
            return
        if not self._begun:
            self._begun = True
            for unused in self._unused:
                self._mark(unused)
        if self._static:
            if not self._left[index]:
                raise RuntimeError(_CHANGED.format("unused", "used").replace("your", "Your", 1))
            self._left[index] -= 1
            if self._left[index]:
                return
        self._mark(index)

    def _mark(self, index: int) -> None:
        """Mark a parameter's gradient as ready: reduce the buckets that are complete, in their order."""
        if index in self._marked:
            raise RuntimeError(_TWICE.format(index=index, name=self.names[index]))
        self._marked.add(index)
        self._unfinished = True
        if not (self._finds or self._rebuilt):
            self._arrived.append(index)
        bucket, at = self._places[index]
        self._put(bucket, at)
        bucket.waits -= 1
        for each in self.buckets[: self._next]:
            each.future.done()  # bytes move on in such calls
        while self._next < len(self.buckets) and not self.buckets[self._next].waits:
            self._reduce(self._next, self.buckets[self._next])
            self._next += 1
            if self._next == len(self.buckets):
                if self._finds:
                    self._reduce_used()
                queue_callback(self._finish)

    def _put(self, bucket: Bucket, at: int) -> None:
        """Bring a gradient into its bucket, divided by the number of ranks unless a hook does that."""
        parameter, view = bucket.parameters[at], bucket.views[at]
        grad = parameter.grad
        if grad is not None and grad.requires_grad:
            raise RuntimeError(_SECOND_ORDER)
        with torch.no_grad():
            if grad is None:
                view.zero_()
                return
            if grad.is_sparse:
                raise RuntimeError(
                    f"DistributedDataParallel reduces dense gradients, and that of {self.names[bucket.indices[at]]} is "
                    "sparse: make its layer with sparse=False"
                )
            if self.hook is None:
                torch.mul(grad, 1 / self._number_of_ranks(), out=view)
            elif grad is not view:
                view.copy_(grad)
            if self._as_views and grad is not view:
                parameter.grad = view

    def _number_of_ranks(self) -> float:
        if not self._divisor:
            if self.divides_by is None:
                self._divisor = dist.get_world_size(self.group)
            else:
                work, count = self.divides_by
                work.wait()
                self._divisor = count.item()
        return self._divisor

    def _reduce(self, number: int, bucket: Bucket) -> None:
        bucket.future = self.run_hook(number, bucket)

    def run_hook(self, number: int, bucket: Bucket) -> Any:
        """Begin to reduce a bucket; a future of its gradients."""
        with torch.no_grad():
            if self.hook is not None:
                state, function = self.hook
                return function(state, GradBucket(number, len(self.buckets), bucket))
            work: Any = dist.all_reduce(bucket.buffer, group=self.group, async_op=True)
            return work.get_future()

    def _reduce_used(self) -> None:
        self._all_used = self._used.clone()
        self._used_work = dist.all_reduce(self._all_used, group=self.group, async_op=True)

    # -- after backward

    def delayed(self) -> None:
        """The whole reduction of the first pass of a static graph, at its end."""
        self._reduce_used()
        self._unused = [i for i, count in enumerate(self._fired) if not count]
        self._unfinished = True
        for index in range(len(self.parameters)):
            self._put(*self._places[index])
        for number, bucket in enumerate(self.buckets):
            self._reduce(number, bucket)
        self._finish()
        self._static_first = False

    def _finish(self) -> None:
        self._expecting = self._unfinished = False
        with torch.no_grad():
            for bucket in self.buckets:
                reduced = bucket.future.wait()
                bucket.future = None
                bucket.take(reduced[0] if isinstance(reduced, (list, tuple)) else reduced)
                for index, parameter, view in zip(bucket.indices, bucket.parameters, bucket.views, strict=True):
                    if not self._unused_everywhere(index):
                        self._give(parameter, view)
        if self._used_work is not None:
            self._used_work.wait()
            self._used_work = None
        if self._finds:
            self._used.zero_()
        self.divides_by = None

    def _unused_everywhere(self, index: int) -> bool:
        """Return whether no rank has used a parameter: its gradient stays what it was."""
        if not (self._finds or self._static) or self._used[index]:
            return False
        if self._used_work is not None:
            self._used_work.wait()
        return not self._all_used[index]

    def _give(self, parameter: Any, view: Any) -> None:
        if self._as_views:
            parameter.grad = view if parameter.grad is None else parameter.grad
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            parameter.grad.copy_(view)

    # -- for a rank that has no inputs left

    def shadow_backward(self) -> None:
        """Take part in the reductions of a backward pass, with zeros."""
        works = [self.run_hook(number, bucket.like_zeros()) for number, bucket in enumerate(self.buckets)]
        for work in works:
            work.wait()
        if self._finds:
            dist.all_reduce(torch.zeros_like(self._used), group=self.group)

    def shadow_order(self) -> None:
        """Expect the new buckets of the other ranks after a first pass."""
        if not (self._finds or self._rebuilt):
            self._arrived = list(range(len(self.parameters)))
