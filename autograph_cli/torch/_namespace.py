"""What stands in `torch` itself: tensors, dtypes and all functions. Packages such as `nn` are written against it, and
`torch` is made of both."""
# ruff: noqa: E402  (operations bind their kernels when they are defined)

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from . import _kernels
from ._arrays import backends
from ._core import fp_warnings

backends.NUMPY.kernels = _kernels.cpu
fp_warnings.install()
# Where the settings of this context do not reach (a task that was begun before), a filter does.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(autograph_cli\.)?torch\.")

from ._core import arg_check, calling, dtypes, overrides, registry
from ._core.device import device as device
from ._core.dtypes import dtype as dtype
from ._core.layout import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    preserve_format as preserve_format,
    sparse_coo as sparse_coo,
    sparse_csr as sparse_csr,
    strided as strided,
)
from ._core.size import Size as Size
from ._core.tensor import Tensor as Tensor
from ._ops import legacy

_OPERATIONS = (
    "arithmetic",
    "unary",
    "clamping",
    "binary",
    "activations",
    "creation",
    "ranges",
    "conversion",
    "comparison",
    "views",
    "broadcasting",
    "as_strided",
    "joining",
    "rearrange",
    "indexing",
    "where",
    "getitem",
    "gather_scatter",
    "split_join",
    "reductions",
    "extremes",
    "cumulative",
    "sorting",
    "histograms",
    "statistics",
    "linear",
    "nonlinear",
    "glu",
    "losses",
    "likelihood_losses",
    "convolution",
    "pooling",
    "average_pooling",
    "unpooling",
    "normalization",
    "group_norm",
    "padding",
    "distances",
    "solvers",
    "determinants",
    "decompositions",
    "lu",
    "norms",
    "householder",
    "stft",
    "ldl",
    "classification",
    "chunked",
    "interpolate",
    "pixel_shuffle",
    "embedding",
    "dropout",
    "attention",
    "aten_layers",
    "complexes",
    "view_copy",
    "segments",
    "finite_difference",
    "storage",
    "misc",
    "random",
    "generators",
    "recurrent",
    "packing",
    "weight_norm",
    "sparse",
    "printing",
    "protocols",
    "other_libraries",
    "operators",
    "special",
    "fft",
    "products",
    "einsum",
    "cdist",
    "default_device",
    "random_variates",
    "foreach",
)
"""The families of operations; each publishes what it defines."""
for _name in _OPERATIONS:
    importlib.import_module(f"._ops.{_name}", __package__)
_LOOKED_AT = ("detach_", "is_inference", "requires_grad_", "retain_grad")
_METHODS = registry.methods | {name: vars(Tensor)[name] for name in _LOOKED_AT}
_OWN = {name: run for name, run in vars(Tensor).items() if not name.startswith(("__", "_ag_"))}
_TAKE_NOTHING = {
    name: calling.public_function(run.op, arg_check.Check("Tensor", name, run))
    for name, run in _METHODS.items()
    if arg_check.stands_alone(name, run) and len(run.op.names) == 1
}
_SHOWN = calling.overridable(_OWN | _METHODS, arg_check.guard("Tensor", _METHODS) | _TAKE_NOTHING)
for _name, _method in (_METHODS | _SHOWN | {"detach": overrides.detach}).items():
    setattr(Tensor, _name, _method)
Tensor._make_subclass = staticmethod(legacy.make_subclass)
Tensor._make_wrapper_subclass = staticmethod(legacy.make_wrapper_subclass)
Size.__module__ = "torch"

from . import fft as fft, linalg as linalg, signal as signal, special as special
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled, no_grad as no_grad

NAMES: dict[str, Any] = dtypes.NAMED | dtypes.ALIASES | legacy.TYPED | registry.functions
NAMES |= calling.overridable(registry.functions, arg_check.guard("torch", registry.functions))
"""What the public namespace has beside its packages."""
globals().update(NAMES)
for _part in (fft, linalg, special):
    _members = {name: run for name, run in vars(_part).items() if not name.startswith("_")}
    vars(_part).update(calling.overridable(_members, arg_check.guard(_part.__name__.rpartition(".")[2], _members)))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
