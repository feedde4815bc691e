"""A namespace laid out like PyTorch's own, computed with NumPy.

>>> from autograph_cli import torch
>>> x = torch.tensor(3.0, requires_grad=True)
>>> torch.autograd.grad(x**2, x)
(tensor(6.),)
"""
# ruff: noqa: E402  (operations bind their kernels when they are defined)

from __future__ import annotations

import builtins
import math
import warnings
from typing import Any

from . import _kernels
from ._core import general

general.kernels_by_device["cpu"] = _kernels.cpu
# PyTorch computes inf and nan in silence. NumPy's warnings are silenced for the engine's own lines only.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"autograph_cli\.torch\.")

from ._core import dtypes, registry
from ._core import layout as _layout
from ._core.device import device
from ._core.dtypes import dtype
from ._core.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    sparse_coo,
    sparse_csr,
    strided,
)
from ._core.size import Size
from ._core.tensor import Tensor
from ._ops import (  # noqa: F401  (each publishes what it defines)
    activations as _activations,
)
from ._ops import (
    arithmetic as _arithmetic,
)
from ._ops import (
    arranging as _arranging,
)
from ._ops import (
    comparison as _comparison,
)
from ._ops import (
    conversion as _conversion,
)
from ._ops import (
    creation as _creation,
)
from ._ops import (
    functions as _functions,
)
from ._ops import (
    indexing as _indexing,
)
from ._ops import (
    joining as _joining,
)
from ._ops import (
    legacy as _legacy,
)
from ._ops import (
    linear as _linear,
)
from ._ops import (
    losses as _losses,
)
from ._ops import (
    operators as _operators,
)
from ._ops import (
    protocols as _protocols,
)
from ._ops import (
    random as _random,
)
from ._ops import (
    ranges as _ranges,
)
from ._ops import (
    reductions as _reductions,
)
from ._ops import (
    views as _views,
)

for _name, _method in registry.methods.items():
    setattr(Tensor, _name, _method)
Tensor._make_subclass = staticmethod(_legacy.make_subclass)  # type: ignore[attr-defined]
for _public in (Tensor, Size, dtype, device, _layout.layout, _layout.memory_format):
    _public.__module__ = "torch"

from . import accelerator, autograd, backends, cuda, nn, random, version
from ._ops.conversion import UntypedStorage
from ._ops.random import Generator, default_generator
from ._settings import (
    are_deterministic_algorithms_enabled,
    get_float32_matmul_precision,
    get_num_threads,
    set_float32_matmul_precision,
    set_num_threads,
    use_deterministic_algorithms,
)
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .version import __version__

layout = _layout.layout
memory_format = _layout.memory_format
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None

globals().update(dtypes.NAMED)
globals().update(dtypes.ALIASES)
globals().update(_legacy.TYPED)
globals().update(registry.functions)


def __getattr__(name: str) -> Any:
    raise builtins.AttributeError(
        f"module 'torch' has no attribute '{name}' (if PyTorch has it: it is not available in autograph's engine yet)"
    )
