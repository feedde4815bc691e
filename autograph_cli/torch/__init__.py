"""A namespace laid out like PyTorch's own, computed with NumPy.

>>> from autograph_cli import torch
>>> x = torch.tensor(3.0, requires_grad=True)
>>> torch.autograd.grad(x**2, x)
(tensor(6.),)
"""
# ruff: noqa: F401, E402  (names are here to be found; the collector pauses before the rest is imported)

from __future__ import annotations

import builtins
import gc as _gc
import importlib
import math
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING, Any

# What an import makes stays: the collector would walk all of it again and again.
_collects = _gc.isenabled()
_gc.disable()

from . import (
    _C,
    __config__,
    _missing,
    _namespace,
    amp as amp,
    autograd as autograd,
    fft as fft,
    linalg as linalg,
    ops as ops,
    overrides as overrides,
    random as random,
    special as special,
    version as version,
)
from ._core.base import layout as _layout
from ._core.transforms import interpret as _interpret
from ._namespace import (
    Size as Size,
    Tensor as Tensor,
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    device as device,
    dtype as dtype,
    preserve_format as preserve_format,
    sparse_coo as sparse_coo,
    sparse_csr as sparse_csr,
    strided as strided,
)
from ._ops.random_numbers.generators import Generator as Generator, default_generator as default_generator
from ._ops.tensors.untyped_storage import UntypedStorage as UntypedStorage
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
from .torch_version import TorchVersion as _TorchVersion
from .version import __version__ as _version

__version__ = _TorchVersion(_version)
layout = _layout.layout
memory_format = _layout.memory_format
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
legacy_contiguous_format = contiguous_format

globals().update(_namespace.NAMES)
globals().update(_FORMER)


_AT_NEED = tuple(
    """
    accelerator backends compiler cpu cuda distributed distributions func functional futures fx hub jit library masked
    mps multiprocessing nn onnx optim profiler return_types serialization signal sparse storage testing torch_version
    types utils xpu
    """.split()
)
"""Parts of the namespace that are imported when a script asks for them."""
_DEFINED_IN = {
    "OutOfMemoryError": "cuda", "PyTorchFileReader": "_saving.archive", "ScriptFunction": "jit",
    "ScriptModule": "jit", "compile": "compiler", "load": "serialization", "save": "serialization",
    "vmap": "_functorch.vmap",
}  # fmt: skip
"""Names that stand in such a part too."""

if TYPE_CHECKING:
    from . import (
        accelerator as accelerator,
        backends as backends,
        cuda as cuda,
        masked as masked,
        nn as nn,
        optim as optim,
        profiler as profiler,
        serialization as serialization,
        signal as signal,
        utils as utils,
    )
    from ._functorch.vmap import vmap as vmap
    from ._saving.archive import PyTorchFileReader as PyTorchFileReader
    from .cuda import OutOfMemoryError as OutOfMemoryError
    from .serialization import load as load, save as save


def get_device_module(device: Any = None) -> Any:
    """`torch.cuda` for a GPU, `torch.cpu` for the CPU: the module of a device, or of the one that computes here."""
    if not (device is None or isinstance(device, (str, _namespace.device))):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    where = (_C._get_accelerator() if device is None else _namespace.device(device)).type
    if where == "meta":
        raise RuntimeError(f"Device '{where}' does not have a corresponding module registered as 'torch.{where}'.")
    return _missing.load(f"{__name__}.{where}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_AT_NEED, *_DEFINED_IN})


def __getattr__(name: str) -> Any:
    if name in _AT_NEED:
        return _missing.load(f"{__name__}.{name}")
    if name in _DEFINED_IN:
        result = globals()[name] = getattr(importlib.import_module(f".{_DEFINED_IN[name]}", __name__), name)
        return result
    if f"torch.{name}" in _missing.NOT_REBUILT:
        raise _missing.error(__name__, name, globals())
    other = _missing.sentence(f"torch.{name}", globals())
    raise builtins.AttributeError(
        f"module 'torch' has no attribute '{name}' (if PyTorch has it: it is not available in autograph's engine "
        f"yet){other}"
    )


__all__ = [
    *sorted(name for name, x in globals().items() if name[0] != "_" and not isinstance(x, _ModuleType)),
    *_DEFINED_IN,
]
_missing.speak_for_parts(__name__)
_missing.speak_for(_C)
if _collects:
    if not _gc.get_freeze_count():
        # What was made grows old at once, without a walk: it goes where frozen objects do, and back.
        _gc.freeze()
        _gc.unfreeze()
    _gc.enable()
