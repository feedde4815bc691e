"""Facts of a tensor of PyTorch by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from autograph_cli.engines.pytorch import hooks
from autograph_cli.engines.pytorch.node_types import Like
from autograph_cli.engines.pytorch.private import batch_of, history, is_readable, is_transforming, untouched
from autograph_cli.engines.pytorch.saved import bytes_of, leaf_bytes, shape_of, storages

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_detached = torch._C.TensorBase.detach
"""The method itself: the one that scripts call is heard."""


class Tensors:
    """See `protocol.TensorFacts`."""

    earlier: dict[int, Any]
    tensor = torch.Tensor
    tensors_in = staticmethod(hooks.tensors_in)
    storages = staticmethod(storages)
    leaf_bytes = staticmethod(leaf_bytes)
    bytes_of = staticmethod(bytes_of)

    untouched = staticmethod(untouched)

    def is_leaf(self, tensor: Any) -> bool:
        with untouched():
            try:
                return bool(tensor.requires_grad and tensor.is_leaf)
            except RuntimeError:  # of a view that PyTorch refuses to tell of
                return False

    def is_tracked(self, tensor: Any) -> bool:
        return bool(tensor.requires_grad)

    def inner(self, value: Any) -> Any:
        with untouched():
            return batch_of(value)

    def base(self, tensor: Any) -> Any:
        return tensor._base

    def free_base(self, tensor: Any) -> Any:
        base = tensor._base
        return base if base is not None and not base.requires_grad else None

    def like(self, tensor: Any) -> Like:
        return ((tensor.dtype, shape_of(tensor), tensor.device),)

    def refresh(self, tensor: Any) -> None:
        with untouched():
            history(tensor)  # a view whose base was changed gets its new history only when asked

    def hooks(self, tensor: Any) -> list[tuple[str, Any]]:
        """The hooks that Python knows of."""
        kinds = {
            "register_hook": "_backward_hooks",
            "register_post_accumulate_grad_hook": "_post_accumulate_grad_hooks",
        }
        return [(kind, hook) for kind in kinds for hook in (getattr(tensor, kinds[kind], None) or {}).values()]

    def device(self, tensor: Any) -> str:
        """The name of the device of a tensor or a gradient."""
        with untouched():
            return str(tensor.device)

    def memory(self, x: Any) -> tuple[Any, int] | None:
        """The storage of a tensor."""
        if not is_readable(x) or x.layout is not torch.strided:
            return None
        with untouched():
            storage = x.untyped_storage()
            return (storage, storage.nbytes()) if storage.nbytes() else None

    def array(self, x: Any) -> Any:
        """The numbers of a tensor, as NumPy has them; None where it has none, or rows of several lengths."""
        if not is_readable(x):
            return None
        if id(x) in self.earlier:
            return self.earlier[id(x)]
        with hooks.unheard(), untouched():  # gradients stay on, for what the garbage collector runs in between
            if x.is_nested:
                return None
            bare = _detached(x)
            dense = bare.to_dense() if x.layout is not torch.strided else bare
            dense = dense.dequantize() if dense.is_quantized else dense
            known = dense.float() if dense.dtype is torch.bfloat16 else dense
            return (known.clone() if known is bare else known).numpy(force=True)  # a script may resize its own yet

    def arrays(self, tensors: Iterable[Any]) -> list[Any]:
        with hooks.unheard(), untouched():
            plain = not is_transforming()
            return [self._plain_array(x) if plain and x.__class__ in _PLAIN else self._near(x) for x in tensors]

    def _near(self, x: Any) -> Any:
        return self.array(x) if x.device.type == "cpu" else None

    def _plain_array(self, x: Any) -> Any:
        try:
            return _detached(x).numpy()
        except (RuntimeError, TypeError):  # on a device, a layout or a dtype that NumPy has not, or another's stand-in
            return self._near(x)

    def optimizers(self) -> type | None:
        found: type = torch.optim.Optimizer
        return found
