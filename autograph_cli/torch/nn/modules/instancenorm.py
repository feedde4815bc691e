"""Instance normalization."""

from __future__ import annotations

from typing import Any

from ..._core.base.user_warnings import warn
from .. import functional as F
from .batchnorm import _LazyNorm, _NormBase, lazy_forms

__all__ = [f"{lazy}InstanceNorm{n}d" for lazy in ("", "Lazy") for n in (1, 2, 3)]


class _InstanceNorm(_NormBase):
    """`_ag_dimensions`: without and with a batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _ag_channels(self, input: Any) -> int:
        return int(input.dim() - self._ag_dimensions[0])

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        dim = self._ag_channels(input)
        if input.size(dim) != self.num_features:
            message = (
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                f"{input.size(dim)}."
            )
            if self.affine:
                raise ValueError(message)

            warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False"
            )
        return self._ag_normalized(input.unsqueeze(0)).squeeze(0) if dim == 0 else self._ag_normalized(input)

    def _ag_normalized(self, input: Any) -> Any:
        by_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, by_input, momentum, self.eps
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        unexpected: Any,
        errors: list[str],
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            stale = [prefix + n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if stale:
                names = " and ".join(f'"{k}"' for k in stale)
                errors.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be expected "
                    f"because {type(self).__name__} does not track running stats by default since 0.4.0. Please remove "
                    "these keys from state_dict. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {type(self).__name__} to enable them. See the documentation of "
                    f"{type(self).__name__} for details."
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)


class InstanceNorm1d(_InstanceNorm):
    """(N, C, L) or (C, L) with mean 0 and variance 1 in each channel of each example."""

    _ag_dimensions = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """(N, C, H, W) or (C, H, W) with mean 0 and variance 1 in each channel of each example."""

    _ag_dimensions = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """(N, C, D, H, W) or (C, D, H, W) with mean 0 and variance 1 in each channel of each example."""

    _ag_dimensions = (4, 5)


class _LazyInstanceNorm(_LazyNorm):
    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _ag_channels(self: Any, input: Any) -> int:
        return int(input.dim() - self._ag_dimensions[0])


globals().update(lazy_forms(InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, base=_LazyInstanceNorm))
