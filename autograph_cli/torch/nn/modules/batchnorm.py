"""Batch and instance normalization, and the running statistics that they share."""

from __future__ import annotations

from typing import Any

from ... import _namespace as torch
from .. import functional as F, init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [*(f"{lazy}BatchNorm{n}d" for lazy in ("", "Lazy") for n in (1, 2, 3)), "SyncBatchNorm"]


class _NormBase(Module):
    """Scale and shift of each channel (`affine`), and running mean and variance (`track_running_stats`)."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _ag_dimensions: tuple[int, ...] = ()
    """The number of dimensions that an input may have."""
    weight: Any
    running_mean: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, self._ag_parameter(device, dtype) if wanted else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, self._ag_buffer(device, dtype) if track_running_stats else None)
        counter = torch.tensor(0, device=device, dtype=torch.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", counter)
        self.reset_parameters()

    def _ag_parameter(self, device: Any, dtype: Any) -> Any:
        return Parameter(torch.empty(self.num_features, device=device, dtype=dtype))

    def _ag_buffer(self, device: Any, dtype: Any) -> Any:
        return torch.zeros(self.num_features, device=device, dtype=dtype)

    def reset_running_stats(self) -> None:
        """Start over with mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Start over: scale 1, shift 0, no statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() not in self._ag_dimensions:
            expected = " or ".join(f"{n}D" for n in self._ag_dimensions)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        has_bias = self.affine and self.bias is not None
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={has_bias}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        version = local_metadata.get("version", None)
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        keeps = not self.training or self.track_running_stats
        return self._ag_normalized(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.training or (self.running_mean is None and self.running_var is None),
            factor,
        )

    def _ag_normalized(self, input: Any, mean: Any, var: Any, of_batch: bool, factor: float) -> Any:
        return F.batch_norm(input, mean, var, self.weight, self.bias, of_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """(N, C) or (N, C, L) with mean 0 and variance 1 in each channel of the batch."""

    _ag_dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """(N, C, H, W) with mean 0 and variance 1 in each channel of the batch."""

    _ag_dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """(N, C, D, H, W) with mean 0 and variance 1 in each channel of the batch."""

    _ag_dimensions = (5,)


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm` of any number of dimensions, by the mean and variance of the batches of all ranks.

    Its backward communicates too, and cannot be differentiated again.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _ag_normalized(self, input: Any, mean: Any, var: Any, of_batch: bool, factor: float) -> Any:
        if of_batch and self.training:
            from . import _functions  # with torch.distributed, loaded when it is used

            group, size = _functions.group_and_size(self.process_group)
            if size > 1:
                own = (self.weight, self.bias, mean, var)
                return _functions.SyncBatchNorm.apply(input.contiguous(), *own, self.eps, factor, group, size)
        return super()._ag_normalized(input, mean, var, of_batch, factor)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with a SyncBatchNorm, of the same parameters and buffers, for each BatchNorm in it."""
        result = module
        if isinstance(module, _BatchNorm):
            result = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            if module.affine:
                result.weight, result.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNorm(LazyModuleMixin):
    """A normalization that takes `num_features` from its first input."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)

    def _ag_parameter(self: Any, device: Any, dtype: Any) -> Any:
        return UninitializedParameter(device=device, dtype=dtype)

    def _ag_buffer(self: Any, device: Any, dtype: Any) -> Any:
        return UninitializedBuffer(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """Initialize parameters and buffers; nothing happens before their shape is known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[self._ag_channels(input)]
        for own in (self.weight, self.bias, self.running_mean, self.running_var):
            if own is not None:
                own.materialize((self.num_features,))
        self.reset_parameters()

    def _ag_channels(self: Any, input: Any) -> int:
        return 1


def lazy_forms(*eager: Any, base: Any = _LazyNorm) -> dict[str, Any]:
    """The lazy form of each class, by name."""
    return {
        f"Lazy{cls.__name__}": type(
            f"Lazy{cls.__name__}",
            (base, cls),
            {
                "cls_to_become": cls,
                "__module__": cls.__module__,
                "__doc__": f"`{cls.__name__}` that takes `num_features` from its first input.",
            },
        )
        for cls in eager
    }


globals().update(lazy_forms(BatchNorm1d, BatchNorm2d, BatchNorm3d))
