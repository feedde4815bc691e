"""Losses are made larger before backward, and the gradients as small again before the step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .._arrays.cuda import is_available
from .._core.base.dtypes import float16, float32, int32
from .._core.base.user_warnings import warn
from .._core.tape.tensor import Tensor
from .._ops.tensors.creation import full

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """The progress of an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Makes losses larger, so that the gradients of small numbers do not vanish, and the gradients as small again.

    A step whose gradients are not all finite is left out, and the scale becomes smaller; after `growth_interval` steps
    it becomes larger. For a GPU, which is not there, it warns and does nothing.

    >>> from autograph_cli import torch
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(0.5))
    tensor(4.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not is_available():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Any = None
        self._growth_tracker: Any = None
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_fresh)

    # -- before backward

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each of several in lists and tuples, times the scale; ValueError for anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = full((), self._init_scale, dtype=float32).to(outputs.device)
                self._growth_tracker = full((), self._init_growth_tracker, dtype=int32)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    # -- before and at the step

    def _check(self, name: str) -> None:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )

    def _look_through(self, optimizer: Any, factor: Any, allow_fp16: bool) -> dict[str, Tensor]:
        """Multiply the gradients; by device, 1 if one of them was not finite, which a GPU is not asked for yet."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not allow_fp16 and any(grad.dtype is float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        finite: dict[str, Any] = {}
        for grad in (grad.detach() for grad in grads):
            values = grad._values() if grad.is_sparse else grad
            where, holds = str(values.device), values.isfinite().all()
            finite[where] = (holds if values.is_cuda else bool(holds)) & finite.get(where, True)
            if isinstance(factor, Tensor):
                values.mul_(factor.to(values.device))
            elif factor != 1.0:
                values.mul_(factor)
        return {
            where: (~holds).float() if isinstance(holds, Tensor) else full((), float(not holds), dtype=float32)
            for where, holds in finite.items()
        }

    def unscale_(self, optimizer: Any) -> None:
        """The gradients of the optimizer's parameters as they would be without the scale; once before each `update`."""
        if not self._enabled:
            return
        self._check("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = self._scale.double().reciprocal().float()
        factor = inverse if inverse.is_cuda else inverse.item()
        state["found_inf_per_device"] = self._look_through(optimizer, factor, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` with gradients unscaled, if all of them are finite; what it returns."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if self._found_any([state]) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    @staticmethod
    def _found_any(states: Iterable[dict[str, Any]]) -> bool:
        found = [state["found_inf_per_device"] for state in states]
        for each in found:  # a GPU is asked once
            each.update({where: x.cpu() for where, x in each.items()})
        return any(x.item() for each in found for x in each.values())

    # -- after the step

    def update(self, new_scale: Any = None) -> None:
        """The scale for the next step: smaller after numbers that were not finite, larger after many that were.

        AssertionError where no gradients were looked at, or where `new_scale` is neither a float nor a tensor of one
        element.
        """
        if not self._enabled:
            return
        self._check("update")
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
        elif new_scale is not None:
            self._check_new(new_scale)
            self._scale.copy_(new_scale)
        else:
            states = self._per_optimizer_states.values()
            if not any(state["found_inf_per_device"] for state in states):
                raise AssertionError("No inf checks were recorded prior to update.")
            self._follow(self._found_any(states))
        self._per_optimizer_states = defaultdict(_fresh)

    def _check_new(self, scale: Any) -> None:
        if scale.device.type != self._device or scale.numel() != 1 or scale.requires_grad:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )

    def _follow(self, overflowed: bool) -> None:
        if overflowed:
            self._scale.mul_(self._backoff_factor)
            self._growth_tracker.fill_(0)
        elif self._growth_tracker.item() + 1 == self._growth_interval:
            grown = self._scale * self._growth_factor
            if math.isfinite(grown.item()):
                self._scale.copy_(grown)
            self._growth_tracker.fill_(0)
        else:
            self._growth_tracker.add_(1)

    # -- what is set

    def is_enabled(self) -> bool:
        """Return whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1.0 if it does nothing."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """After how many steps the scale is to grow."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` puts back; empty if it does nothing."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another one was; RuntimeError for an empty dict."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
            state |= {"_scale": None, "_growth_tracker": None}
        return state
