"""Facts of the tensors of the built-in engine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from autograph_cli.engines.builtin.nodes import Nodes
from autograph_cli.engines.builtin.saved import bytes_of, leaf_bytes, storages
from autograph_cli.engines.protocol import Output
from autograph_cli.torch._arrays.backends import ELSEWHERE, WITHOUT_MEMORY, device_of
from autograph_cli.torch._arrays.cuda import on_host
from autograph_cli.torch._arrays.sparse import Sparse
from autograph_cli.torch._arrays.stand_in import StandIn
from autograph_cli.torch._core.arguments.overrides import DisableTorchFunction
from autograph_cli.torch._core.base.state import thread_state
from autograph_cli.torch._core.tape.node import LEAF, View, marks_leaf, output_meta
from autograph_cli.torch._core.tape.saved_tensors import SavedResult
from autograph_cli.torch._core.tape.tensor import Tensor, Wrapped


def readable_array(raw: Any) -> Any:
    """An array whose elements can be read, all of them; None for one sample of a batch, which has none of its own."""
    if isinstance(raw, Sparse):
        raw = raw.dense()
    return None if isinstance(raw, StandIn) else on_host(raw)


class Tensors(Nodes):
    """See `protocol.TensorFacts`."""

    tensor = Tensor
    storages = staticmethod(storages)
    leaf_bytes = staticmethod(leaf_bytes)
    bytes_of = staticmethod(bytes_of)

    def output(self, tensor: Tensor) -> Output | None:
        edge = tensor._ag_edge
        if edge.__class__ is View:
            fresh = edge.edge is not None and tensor._ag_counter is not None and tensor._ag_counter[0] == edge.version
            edge = edge.edge if fresh else None
        if edge.__class__ is not tuple:
            held = self.listener.tensors.of(tensor)
            if edge is LEAF and (held is None or held.number < 0):
                meta = tensor._ag_meta
                accumulator = None if meta is None or meta.accumulator is None else meta.accumulator()
                if accumulator is not None:
                    return self.number(accumulator)
            return self._result_of_running(tensor) if held is None else self.listener.known_as(tensor, held)
        key = edge[0]._ag_seq
        if key not in self.known:
            key = self.number(edge[0])
        return (key, edge[1]) if edge[1] else key

    def _result_of_running(self, tensor: Tensor) -> Output | None:
        """The result without a gradient (indices, a mask) that the running node has saved, where `tensor` is that."""
        node = thread_state.current
        saved = None if node is None else node._ag_saved
        if node is None or saved.__class__ is not tuple or node._ag_seq not in self.known:
            return None
        for item, nr in zip(saved, node._ag_item_results, strict=False):
            if item.__class__ is SavedResult and item._ag_raw is tensor._ag_raw:
                return (node._ag_seq, nr) if nr else node._ag_seq
        return None

    def told(self, tensor: Tensor) -> Output | None:
        edge = tensor._ag_edge
        return None if edge.__class__ is tuple and edge[0]._ag_seq not in self.known else self.output(tensor)

    def root(self, root: Any) -> Output | None:
        if isinstance(root, Tensor):
            return self.output(root)
        key = self.number(root.node)
        return (key, root.output_nr) if root.output_nr else key

    untouched = DisableTorchFunction

    def is_leaf(self, tensor: Tensor) -> bool:
        return marks_leaf(tensor._ag_edge)

    def is_tracked(self, tensor: Tensor) -> bool:
        return tensor.requires_grad

    def inner(self, value: Any) -> Any:
        while issubclass(type(value), Wrapped):  # `isinstance` would ask the value, by code of the script's own
            value = value._ag_inner
        return value

    def base(self, tensor: Tensor) -> Tensor | None:
        return tensor._base

    def free_base(self, tensor: Tensor) -> Tensor | None:
        """Return what a tensor is a view of, if that has no gradient."""
        base = tensor._base
        return base if base is not None and base._ag_edge is None else None

    def like(self, tensor: Tensor) -> Any:
        return output_meta(tensor._ag_raw)

    def refresh(self, tensor: Tensor) -> None:
        with contextlib.suppress(RuntimeError):
            tensor.grad_fn  # noqa: B018  a view whose base was changed gets its new history only when asked

    def hooks(self, tensor: Tensor) -> list[tuple[str, Any]]:
        """The hooks of a tensor; of a result its node has them."""
        meta, node = tensor._ag_meta, tensor.grad_fn
        extra = None if node is None else node._ag_extra
        own = None if meta is None else meta.hooks
        own = (extra.tensor_hooks or {}).get(tensor.output_nr) if extra is not None else own
        post = None if meta is None else meta.post_hooks
        return [
            *(("register_hook", hook) for hook in (own or {}).values()),
            *(("register_post_accumulate_grad_hook", hook) for hook in (post or {}).values()),
        ]

    def device(self, tensor: Any) -> str:
        """The name of the device of a tensor or a gradient."""
        return str(device_of(getattr(tensor, "_ag_raw", tensor)))

    def memory(self, x: Any) -> tuple[Any, int] | None:
        """The array that owns the memory of a tensor; of a single number there is none."""
        raw = getattr(x, "_ag_raw", x)
        while isinstance(raw, np.ndarray) and isinstance(raw.base, np.ndarray):
            raw = raw.base
        elsewhere = ELSEWHERE.get(raw.__class__)
        if elsewhere is not None and elsewhere is not WITHOUT_MEMORY:
            raw = elsewhere.owner(raw)
        elif not isinstance(raw, np.ndarray):
            return None
        return raw, raw.nbytes

    def array(self, x: Any) -> Any:
        return readable_array(getattr(x, "_ag_raw", x))

    def arrays(self, tensors: Iterable[Any]) -> list[Any]:
        return [self.array(x) if self.device(x) == "cpu" else None for x in tensors]

    def tensors_in(self, values: Iterable[Any]) -> Iterator[Tensor]:
        """The tensors among arguments or results."""
        for x in values:
            if isinstance(x, Tensor):
                yield x
            elif isinstance(x, (tuple, list)):
                yield from self.tensors_in(x)

    def optimizers(self) -> type | None:
        module = sys.modules.get("autograph_cli.torch.optim.optimizer")
        return None if module is None else module.Optimizer
