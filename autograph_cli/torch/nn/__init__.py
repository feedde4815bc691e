"""`torch.nn`: what scripts build models from."""

from __future__ import annotations

from typing import Any

from .. import _missing
from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import LAYERS
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

globals().update(LAYERS)
utils._fill()
__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "DataParallel",
    "attention",
    "common_types",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *sorted(LAYERS),
]


def __getattr__(name: str) -> Any:
    if name == "attention":
        return _missing.load(f"{__name__}.attention")
    raise _missing.error(__name__, name, globals())
