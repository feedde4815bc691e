"""`torch.amp`: numbers of fewer bits are chosen for a GPU only; losses may be scaled anywhere."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ._core.device import device as _device
from ._core.dtypes import bfloat16, dtype, float16, float32
from ._core.tensor import Tensor
from ._ops.creation import full

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_WORDS = {
    "cuda": "CUDA is not available or torch_xla is imported. Disabling autocast.",
    "mps": "MPS is not available. Disabling autocast.",
    "xpu": "XPU is not available. Disabling autocast.",
}


class autocast:
    """Within the block, or in a function that it decorates, operations may choose another dtype: never, in this engine.

    For a device that is not there it warns and does nothing, as in PyTorch. RuntimeError where it would have to do
    something: enabled, on the CPU.

    >>> with autocast("cpu", enabled=False):
    ...     is_autocast_enabled()
    False
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _device(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        if enabled and self.device in _WORDS:
            warnings.warn(_WORDS[self.device], stacklevel=2)
        elif enabled and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
        elif enabled:
            raise RuntimeError(
                f"torch.autocast({self.device!r}) is not available in autograph's engine yet: pass enabled=False, or convert "
                "the module with .to(torch.bfloat16)"
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *_: Any) -> None: ...

    def __call__(self, func: Any) -> Any:
        return func


def is_autocast_available(device_type: str) -> bool:
    """False: no operation chooses another dtype."""
    _device(device_type)
    return False


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """False."""
    return False


def is_autocast_cpu_enabled() -> bool:
    """False."""
    return False


def get_autocast_dtype(device_type: str) -> dtype:
    """What PyTorch would choose: bfloat16 on the CPU, float16 elsewhere."""
    return bfloat16 if device_type in ("cpu", "xpu") else float16


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """The `forward` of a custom Function as it is: there is no block to leave."""
    return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """The `backward` of a custom Function as it is."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


class GradScaler:
    """Makes losses larger, so that the gradients of small numbers do not vanish, and the gradients as small again.

    A step whose gradients are not all finite is left out, and the scale becomes smaller; after `growth_interval` steps it
    becomes larger. For a device that is not there it warns and does nothing.

    >>> from autograph_cli import torch
    >>> scaler = GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(0.5))
    tensor(4.)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._scale, self._tracker, self._begun = float(init_scale), 0, False
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._finite: dict[int, bool] = {}
        """Of each optimizer whose gradients were unscaled: whether all were finite."""
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each of several in lists and tuples, times the scale; ValueError for anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._begun = True
            return outputs * full((), self._scale, dtype=float32)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _check(self, name: str) -> None:
        assert self._begun, (
            f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
            "earlier in the iteration."
        )

    def unscale_(self, optimizer: Any) -> None:
        """The gradients of the optimizer's parameters as they would be without the scale; once before each `update`."""
        if not self._enabled:
            return
        self._check("unscale_")
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._finite:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        grads = [p.grad.detach() for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype is float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        if grads:
            self._finite[id(optimizer)] = all(bool(grad.isfinite().all()) for grad in grads)
        for grad in grads:
            grad.mul_(1.0 / self._scale)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` with gradients unscaled, if all of them are finite; what it returns."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check("step")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        assert id(optimizer) in self._finite, "No inf checks were recorded for this optimizer."
        self._stepped.add(id(optimizer))
        return optimizer.step(*args, **kwargs) if self._finite[id(optimizer)] else None

    def update(self, new_scale: Any = None) -> None:
        """The scale for the next step: smaller after numbers that were not finite, larger after many that were."""
        if not self._enabled:
            return
        self._check("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            assert self._finite, "No inf checks were recorded prior to update."
            if not all(self._finite.values()):
                self._scale, self._tracker = self._scale * self._backoff_factor, 0
            elif self._tracker + 1 == self._growth_interval:
                self._scale, self._tracker = self._scale * self._growth_factor, 0
            else:
                self._tracker += 1
        self._finite, self._stepped = {}, set()

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1.0 if it does nothing."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By how much the scale grows."""
        return self._growth_factor

    def get_backoff_factor(self) -> float:
        """By how much the scale shrinks."""
        return self._backoff_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` puts back; empty if it does nothing."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another one was; RuntimeError for an empty dict."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale, self._tracker = float(state_dict["scale"]), state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
