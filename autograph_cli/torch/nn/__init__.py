"""`torch.nn`: what scripts build models from."""
# ruff: noqa: F403  (names for type checkers)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _missing
from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import LAYERS
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from .modules.activation import *
    from .modules.adaptive import *
    from .modules.batchnorm import (
        BatchNorm1d as BatchNorm1d,
        BatchNorm2d as BatchNorm2d,
        BatchNorm3d as BatchNorm3d,
        SyncBatchNorm as SyncBatchNorm,
    )
    from .modules.channelshuffle import *
    from .modules.container import *
    from .modules.conv import (
        Conv1d as Conv1d,
        Conv2d as Conv2d,
        Conv3d as Conv3d,
        ConvTranspose1d as ConvTranspose1d,
        ConvTranspose2d as ConvTranspose2d,
        ConvTranspose3d as ConvTranspose3d,
    )
    from .modules.distance import *
    from .modules.dropout import *
    from .modules.flatten import *
    from .modules.fold import *
    from .modules.instancenorm import (
        InstanceNorm1d as InstanceNorm1d,
        InstanceNorm2d as InstanceNorm2d,
        InstanceNorm3d as InstanceNorm3d,
    )
    from .modules.linear import *
    from .modules.loss import *
    from .modules.module import *
    from .modules.normalization import *
    from .modules.pixelshuffle import *
    from .modules.rnn import *
    from .modules.sparse import *
    from .modules.transformer import *
    from .modules.upsampling import *

globals().update(LAYERS)
utils._fill()
__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "DataParallel", "attention",
    "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils", *sorted(LAYERS),
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "attention":
        return _missing.load(f"{__name__}.attention")
    raise _missing.error(__name__, name, globals())


_missing.speak_for_parts(__name__)
