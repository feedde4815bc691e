"""Fourier transforms of short windows that slide over a signal, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.registry import composite
from .._core.tensor import Tensor, make
from .._kernels.fourier import BY_N, BY_ROOT, NONE
from . import complexes, copies, fft, views
from .padding import constant_pad, pad


def _lengths(n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    return n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length


def _check(name: str, n_fft: int, hop: int, win: int, window: Tensor | None) -> None:
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and window._raw.shape != (win,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win}, but got window with size {list(window._raw.shape)}"
        )


@composite()
def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
         center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None, align_to_window: bool | None = None) -> Tensor:  # fmt: skip
    """The spectrum of each window of `n_fft` samples, every `hop_length`: (..., frequencies, windows).

    RuntimeError for a signal shorter than a window, and where it is not said whether the result is complex.
    """
    complexes_in = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not complexes_in:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")  # fmt: skip
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError("stft: expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError("stft: expected a 1D or 2D tensor")
    hop, win = _lengths(n_fft, hop_length, win_length)
    x: Any = input
    if center:
        x = views.view(x, (*(1,) * (3 - x.ndim), *x._raw.shape))
        x = pad(x, (n_fft // 2, n_fft // 2), pad_mode)
        x = views.view(x, x._raw.shape[-input.ndim :])
    if input.ndim == 1:
        x = views.unsqueeze_op(x, 0)
    length = x._raw.shape[1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    _check("stft", n_fft, hop, win, window)
    strides = [s // x._raw.itemsize for s in x._raw.strides]
    shape = (x._raw.shape[0], 1 + (length - n_fft) // hop, n_fft)
    x = views.as_strided(x, shape, (strides[0], hop * strides[1], strides[1]))
    frame = _framed(window, n_fft, win)
    x = x if frame is None else x * frame
    norm = BY_ROOT if normalized else NONE
    half = not x.dtype.is_complex if onesided is None else onesided
    out = fft.c2c(x, (2,), norm, True) if x.dtype.is_complex else fft.r2c(x, (2,), norm, half)
    out = copies.transpose_(out, 1, 2)
    out = copies.squeeze_(out, 0) if input.ndim == 1 else out
    made: Tensor = out if return_complex or (return_complex is None and complexes_in) else complexes.view_as_real_op(out)
    return made


def _framed(window: Tensor | None, n_fft: int, win: int) -> Tensor | None:
    """The window with zeros on both sides."""
    if win == n_fft:
        return window
    left = (n_fft - win) // 2
    dtype = np.dtype("float32") if window is None else window._raw.dtype
    frame = make(np.zeros(n_fft, dtype))
    part = views.narrow(frame, 0, left, win)
    part.fill_(1) if window is None else part.copy_(window)  # type: ignore[attr-defined]
    return frame


@composite()
def istft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
          center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
          return_complex: bool = False) -> Tensor:  # fmt: skip
    """The signal whose `stft` is `input`: overlapping windows added, divided by the sum of their squares."""
    if not input.dtype.is_complex:
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    hop, win = _lengths(n_fft, hop_length, win_length)
    x: Any = complexes.view_as_real_op(input)
    single, frames = x.ndim == 3, x._raw.shape[-2]
    if not x._raw.size:
        raise RuntimeError("istft: input tensor cannot be empty.")
    if x.ndim not in (3, 4):
        raise RuntimeError(f"istft: expected a tensor with 3 or 4 dimensions, but got {x.ndim}")
    half = x._raw.shape[-3] != n_fft if onesided is None else onesided
    _check("istft", n_fft, hop, win, window)
    frame: Any = make(np.ones(win, x._raw.dtype)) if window is None else window
    if win != n_fft:
        left = (n_fft - win) // 2
        frame = constant_pad(frame, (left, n_fft - win - left), 0)
    x = views.unsqueeze_op(x, 0) if single else x
    x = complexes.view_as_complex_op(views.transpose(x, 1, 2))
    x = _back(x, n_fft, BY_ROOT if normalized else BY_N, half, return_complex)
    y = _overlapped(x * views.view(frame, (1, 1, n_fft)), n_fft, hop)
    squares = views.expand(frame.pow(2), (1, frames, n_fft))
    envelope = _overlapped(squares, n_fft, hop)
    return _trimmed(y, envelope, n_fft, center, length, single)


def _back(x: Any, n_fft: int, norm: int, half: bool, complex_out: bool) -> Any:
    if complex_out:
        return fft.c2c(x, (x.ndim - 1,), norm, False)
    if not half:
        x = views.slice_op(x, x.ndim - 1, 0, n_fft // 2 + 1, 1)
    return fft.c2r(x, (x.ndim - 1,), norm, n_fft)


def _overlapped(x: Any, n_fft: int, hop: int) -> Any:
    """Windows added up where they overlap."""
    return copies.unfold_backward(x, (x._raw.shape[0], n_fft + hop * (x._raw.shape[1] - 1)), 1, n_fft, hop)


def _trimmed(y: Any, envelope: Any, n_fft: int, center: bool, length: int | None, single: bool) -> Tensor:
    whole = y._raw.shape[1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    y, envelope = (views.slice_op(t, 1, start, max(start, min(end, whole)), 1) for t in (y, envelope))
    lowest = np.abs(envelope._raw).min() if envelope._raw.size else 1.0
    if lowest < 1e-11:
        raise RuntimeError(f"window overlap add min: {lowest:g}")
    y = y / envelope
    y = views.squeeze_dim(y, 0) if single else y
    made: Tensor = constant_pad(y, (0, end - whole), 0) if end > whole else y
    return made
