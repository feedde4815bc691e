"""The few names of PyTorch's compiled module that scripts mention."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ._arrays.cuda import is_available
from ._core.arguments.overrides import ALL, DisableTorchFunction, DisableTorchFunctionSubclass
from ._core.base.device import device
from ._core.base.state import thread_state
from ._core.tape.tensor import Tensor, disabled as _disabled_torch_function_impl
from ._ops.matrices._errors import LinAlgError as _LinAlgError

__all__ = (
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "ScriptMethod", "_LinAlgError",
    "_disabled_torch_function_impl", "_get_tracing_state", "_is_torch_function_enabled",
    "_is_torch_function_mode_enabled", "_log_api_usage_once",
)  # fmt: skip


_TensorMeta = type(Tensor)


class ScriptMethod:
    """A compiled method of TorchScript: there is none here, but libraries ask whether something is one."""


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    from .nn.modules._moving import parse_to  # modules are defined after this file

    return parse_to(*args, **kwargs)


_nn = SimpleNamespace(_parse_to=_parse_to)


def _get_accelerator() -> device:
    """The kind of device that computes beside the CPU; the CPU where there is none."""
    return device("cuda" if is_available() else "cpu")


def _get_tracing_state() -> None:
    """None: nothing is traced (see torch.jit)."""


def _is_torch_function_enabled() -> bool:
    """Return whether classes are asked instead of functions."""
    return not thread_state.overrides_off


def _is_torch_function_mode_enabled() -> bool:
    """Return whether there is a mode that is asked instead of functions."""
    return bool(thread_state.function_modes) and thread_state.overrides_off < ALL


def _log_api_usage_once(name: str) -> None:
    """PyTorch counts here which of its interfaces are used; nothing is counted."""
