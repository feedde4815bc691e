"""Discrete Fourier transforms."""

from __future__ import annotations

from typing import Any

from ..._arrays import Array

NONE, BY_ROOT, BY_N = range(3)
_FORWARD = {NONE: "backward", BY_ROOT: "ortho", BY_N: "forward"}
_INVERSE = {NONE: "forward", BY_ROOT: "ortho", BY_N: "backward"}


def _by_strides(a: Array, dims: Any) -> tuple[int, ...]:
    """Dimensions from the slowest in memory to the fastest."""
    return tuple(sorted(dims, key=lambda d: -a.strides[d]))


def _laid_out(out: Array, a: Array, dims: tuple[int, ...]) -> Array:
    """A transform of `a` as PyTorch leaves it: the transformed dimensions come last in memory, in this order."""
    order = (*_by_strides(a, [d for d in range(a.ndim) if d not in dims]), *dims)
    turned = out.transpose(order)
    return out if turned.flags.c_contiguous else turned.copy("C").transpose([order.index(d) for d in range(a.ndim)])


class Fourier:
    """Kernels of Fourier transforms; `normalization` says by what the result is divided."""

    xp: Any

    def _conj_physical(self, a: Array) -> Any:
        return a.conj()

    def _fft_c2c(self, a: Array, dim: Any, normalization: int, forward: bool) -> Any:
        if not dim or not a.size:
            return a.copy()
        norm = _FORWARD[normalization] if forward else _INVERSE[normalization]
        return _laid_out(self._along("fft" if forward else "ifft", a, dim, norm), a, _by_strides(a, dim))

    def _along(self, name: str, a: Array, dim: Any, norm: str) -> Any:
        """A transform along some dimensions; of one, without what NumPy makes ready for several."""
        if len(dim) == 1:
            return getattr(self.xp.fft, name)(a, axis=dim[0], norm=norm)
        return getattr(self.xp.fft, f"{name}n")(a, axes=dim, norm=norm)

    def _fft_r2c(self, a: Array, dim: Any, normalization: int, onesided: bool) -> Any:
        order = (*_by_strides(a, dim[:-1]), dim[-1])
        return _laid_out(self._along("rfft" if onesided else "fft", a, dim, _FORWARD[normalization]), a, order)

    def _fft_c2r(self, a: Array, dim: Any, normalization: int, last_dim_size: int) -> Any:
        if len(dim) > 1:
            a = self._fft_c2c(a, dim[:-1], normalization, False)
        return _laid_out(self.xp.fft.irfft(a, last_dim_size, dim[-1], norm=_INVERSE[normalization]), a, dim[-1:])

    def fft_r2c_backward(self, grad: Array, dim: Any, normalization: int, onesided: bool, last: int) -> Any:
        if onesided and last > grad.shape[dim[-1]]:
            full = self.xp.zeros((*grad.shape[: dim[-1]], last, *grad.shape[dim[-1] + 1 :]), grad.dtype)
            full[(slice(None),) * dim[-1] + (slice(grad.shape[dim[-1]]),)] = grad
            grad = full
        return self._fft_c2c(grad, dim, normalization, False).real

    def fft_c2r_backward(self, grad: Array, dim: Any, normalization: int) -> Any:
        out = self._fft_r2c(grad, dim, normalization, True)
        twice = grad.shape[dim[-1]] - out.shape[dim[-1]]
        out[(slice(None),) * dim[-1] + (slice(1, 1 + twice),)] *= 2
        return out

    def overlap_add(self, frames: Any, sizes: Any, step: int) -> Any:
        """The sum of frames [..., count, size], each `step` behind the one before."""
        out = self.xp.zeros(sizes, frames.dtype)
        count, size = frames.shape[-2:]
        for k in range(count):
            out[..., k * step : k * step + size] += frames[..., k, :]
        return out

    def frames_of(self, a: Array, size: int, step: int) -> Any:
        """The frames [..., count, size] that `overlap_add` puts together."""
        windows = self.xp.lib.stride_tricks.sliding_window_view(a, size, axis=-1)
        return windows[..., ::step, :]

    def frequencies(self, n: int, d: float, half: bool, dtype: Any) -> Any:
        """k / (n d) for every bin k; from the middle on they are negative, unless only half is asked for."""
        bins = self.xp.arange(n // 2 + 1 if half else n)
        if not half:
            bins[(n + 1) // 2 :] -= n
        return bins.astype(dtype) * self.xp.dtype(dtype).type(1.0 / (n * d))
