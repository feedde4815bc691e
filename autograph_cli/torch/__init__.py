"""A namespace laid out like PyTorch's own, computed with NumPy.

>>> from autograph_cli import torch
>>> x = torch.tensor(3.0, requires_grad=True)
>>> torch.autograd.grad(x**2, x)
(tensor(6.),)
"""
# ruff: noqa: E402, F401  (operations bind their kernels when they are defined; names are here to be found)

from __future__ import annotations

import builtins
import importlib
import math
import warnings
from typing import Any

from . import _kernels, _missing
from ._core import device_dispatch, fp_warnings
from ._kernels.meta_kernels import meta
from ._kernels.sparse import computed

device_dispatch.kernels_by_device["cpu"] = _kernels.cpu
device_dispatch.kernels_by_device["meta"] = meta
device_dispatch.sparse_computed = computed
fp_warnings.install()
# Where the settings of this context do not reach (a task that was begun before), a filter does.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(autograph_cli\.)?torch\.")

from ._core import arg_check, dtypes, interpret, layout as _layout, overrides as _overrides, registry
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
from ._ops import legacy as _legacy

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
    "as_strided",
    "joining",
    "rearrange",
    "indexing",
    "where",
    "getitem",
    "gather_scatter",
    "split_join",
    "reductions",
    "sorting",
    "histograms",
    "statistics",
    "linear",
    "nonlinear",
    "losses",
    "convolution",
    "pooling",
    "average_pooling",
    "unpooling",
    "normalization",
    "padding",
    "distances",
    "solvers",
    "decompositions",
    "lu",
    "norms",
    "householder",
    "stft",
    "ldl",
    "classification",
    "chunked",
    "interpolate",
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
    "recurrent",
    "weight_norm",
    "sparse",
    "printing",
    "protocols",
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
    importlib.import_module(f"._ops.{_name}", __name__)
_METHODS = registry.methods | {"requires_grad_": Tensor.requires_grad_}
for _name, _method in (_METHODS | _overrides.overridable(_METHODS) | arg_check.guard("Tensor", _METHODS)).items():
    setattr(Tensor, _name, _method)
Tensor._make_subclass = staticmethod(_legacy.make_subclass)
Tensor._make_wrapper_subclass = staticmethod(_legacy.make_wrapper_subclass)
Size.__module__ = "torch"

from . import (
    _C,
    __config__,
    _reductions,
    accelerator as accelerator,
    amp as amp,
    autograd as autograd,
    backends as backends,
    cuda as cuda,
    fft as fft,
    linalg as linalg,
    masked as masked,
    nn as nn,
    ops as ops,
    optim as optim,
    overrides as overrides,
    profiler as profiler,
    random as random,
    serialization as serialization,
    signal as signal,
    special as special,
    utils as utils,
    version as version,
)
from ._functorch.vmap import vmap as vmap
from ._ops.generators import Generator as Generator, default_generator as default_generator
from ._ops.storage import UntypedStorage as UntypedStorage
from ._saving.archive import PyTorchFileReader as PyTorchFileReader
from ._settings import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    compiled_with_cxx11_abi as compiled_with_cxx11_abi,
    get_deterministic_debug_mode as get_deterministic_debug_mode,
    get_float32_matmul_precision as get_float32_matmul_precision,
    get_num_interop_threads as get_num_interop_threads,
    get_num_threads as get_num_threads,
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled as is_warn_always_enabled,
    set_deterministic_debug_mode as set_deterministic_debug_mode,
    set_float32_matmul_precision as set_float32_matmul_precision,
    set_flush_denormal as set_flush_denormal,
    set_num_interop_threads as set_num_interop_threads,
    set_num_threads as set_num_threads,
    set_warn_always as set_warn_always,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from .amp import GradScaler as GradScaler
from .amp.autocast_mode import (
    FORMER as _FORMER,
    autocast as autocast,
    autocast_decrement_nesting as autocast_decrement_nesting,
    autocast_increment_nesting as autocast_increment_nesting,
    clear_autocast_cache as clear_autocast_cache,
    get_autocast_dtype as get_autocast_dtype,
    is_autocast_cache_enabled as is_autocast_cache_enabled,
    is_autocast_enabled as is_autocast_enabled,
    set_autocast_cache_enabled as set_autocast_cache_enabled,
    set_autocast_dtype as set_autocast_dtype,
    set_autocast_enabled as set_autocast_enabled,
)
from .autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)
from .autograd.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .cuda import OutOfMemoryError as OutOfMemoryError
from .serialization import load as load, save as save
from .torch_version import TorchVersion as _TorchVersion
from .utils import _python_dispatch
from .version import __version__ as _version

__version__ = _TorchVersion(_version)
layout = _layout.layout
memory_format = _layout.memory_format
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
legacy_contiguous_format = contiguous_format

globals().update(dtypes.NAMED)
globals().update(dtypes.ALIASES)
globals().update(_legacy.TYPED)
globals().update(
    registry.functions | _overrides.overridable(registry.functions) | arg_check.guard("torch", registry.functions)
)
for _part in (fft, linalg, special):
    vars(_part).update(
        _overrides.overridable(vars(_part)) | arg_check.guard(_part.__name__.rpartition(".")[2], vars(_part))
    )
globals().update(_FORMER)


_AT_NEED = (
    "compiler",
    "cpu",
    "distributed",
    "distributions",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "mps",
    "multiprocessing",
    "onnx",
    "profiler",
    "return_types",
    "sparse",
    "storage",
    "testing",
    "torch_version",
    "types",
    "utils",
    "xpu",
)
"""Parts of the namespace that are imported when a script asks for them."""


def _attribute(name: str) -> Any:
    if name in _AT_NEED:
        return _missing.load(f"{__name__}.{name}")
    if name == "compile":
        return importlib.import_module(".compiler", __name__).compile
    if name in ("ScriptFunction", "ScriptModule"):
        return getattr(importlib.import_module(".jit", __name__), name)
    if f"torch.{name}" in _missing.NOT_REBUILT:
        raise _missing.error(__name__, name, globals())
    other = _missing.sentence(f"torch.{name}", globals())
    raise builtins.AttributeError(
        f"module 'torch' has no attribute '{name}' (if PyTorch has it: it is not available in autograph's engine "
        f"yet){other}"
    )


__getattr__ = _attribute  # assigned: what a def returns, mypy does not know yet in the circle of imports
_missing.speak_for_parts(__name__)
_missing.speak_for(_C)
