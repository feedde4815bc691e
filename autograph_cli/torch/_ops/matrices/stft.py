"""Short-time Fourier transforms: frames of a signal, windowed, each transformed, and back."""

from __future__ import annotations

from typing import Any

from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.arguments.arg_check import Handed, hands_on
from ..._core.base import dims, dtypes
from ..._core.base.user_warnings import warn, warn_once
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..._kernels.matrices.fourier import BY_N, BY_ROOT, NONE
from ..layers.padding import constant_pad, pad as pad_function
from ..pointwise import arithmetic
from ..shaping import as_strided, broadcasting, views
from .fft import c2c, c2r, r2c

overlap_add = operation(
    "overlap_add(Tensor grad_in, int[] input_sizes, int step)",
    node="UnfoldBackwardBackward0",
    saved={
        "grad_in_sizes": None,
        "dim": lambda grad_in_sizes: len(grad_in_sizes) - 2,
        "size": lambda grad_in_sizes: grad_in_sizes[-1],
    },
    linear=True,
    batch=batching.leading,
    grad_in=lambda f, grad, grad_in_sizes, step: f.frames_of(grad, grad_in_sizes[-1], step),
)
frames_of = operation(
    "frames_of(Tensor self, int size, int step)",
    view=True,
    node="UnfoldBackward0",
    batch=batching.leading,
    self=lambda f, grad, self_sizes, step: f.overlap_add(grad, self_sizes, step),
)
turned = operation(
    "transpose_.fresh(Tensor self, int dim0, int dim1)",
    "transpose",
    node="TransposeBackward1",
    batch=batching.leading,
    self=lambda f, grad, dim0, dim1: f.transpose(grad, dim0, dim1),
)
"""The transposition in place of its own result that PyTorch records."""


def _window(window: Tensor | None, n_fft: int, win_length: int, input: Tensor) -> Tensor | None:
    """The window in the middle of a frame, with zeros beside it."""
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    like = input if window is None else window
    whole = operations.zeros_of((n_fft,), like)
    middle = views.slice_op(whole, 0, left, left + win_length, 1)
    if window is None:
        middle.fill_(1)
    else:
        middle.copy_(window)
    return whole


def _check_window(name: str, window: Tensor | None, win_length: int) -> None:
    if window is not None and (window.ndim != 1 or window._ag_raw.shape[0] != win_length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window._ag_raw.shape)}"
        )


def _stft_of(
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: Any = True,
    pad_mode: Any = "reflect",
    normalized: Any = False,
    onesided: Any = None,
    return_complex: Any = None,
    align_to_window: Any = None,
) -> Handed | None:
    if center:
        input.dim()
        if not isinstance(input, Tensor):
            return None  # It fails while the signal is padded.
        half = n_fft // 2
        if type(half) is int and not -(1 << 63) <= half < 1 << 63:
            return "nn", "pad", (input, [half, half], pad_mode), {}
    given = (input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)
    return "inner", "stft", given, {}


@composite()
@hands_on(_stft_of)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transform of each frame of a signal: [..., frequency, frame]; RuntimeError for sizes that do not fit.

    >>> from autograph_cli import torch
    >>> torch.stft(torch.ones(8), 4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        shape, pad = input._ag_raw.shape, n_fft // 2
        extended = views.view_op(input, ((1,) * (3 - input.ndim)) + shape)
        padded = _nn_pad(extended, [pad, pad], pad_mode)
        input = views.view_op(padded, padded._ag_raw.shape[-input.ndim :])
    return _stft(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)


@autocasts("fp32")
def _stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    call = _described(
        "stft",
        input,
        (n_fft, hop, length),
        window,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )
    _check_signal(call, input, n_fft, hop, length, window, return_complex)
    complex_input = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    one = (not complex_input) if onesided is None else onesided
    if one and complex_input:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    alone = input.ndim == 1
    signal = views.unsqueeze_op(input, 0) if alone else input
    frames = _framed(signal, n_fft, hop, length if align_to_window else n_fft)
    weights = _window(window, n_fft, length, input)
    if weights is not None:
        frames = arithmetic.mul(frames, weights)
    how = BY_ROOT if normalized else NONE
    if frames.dtype.is_complex:
        out = c2c(frames, (2,), how, True)
    else:
        out = r2c(frames, (2,), how, one)
    out = turned(out, 1, 2)
    if alone:
        out = views.squeeze_in_place(out, 0)
    return out if return_complex or complex_input else operations.view_as_real(out)


def _nn_pad(input: Tensor, pad: list[int], mode: str) -> Tensor:
    padded: Tensor = pad_function(input, pad, mode)
    return padded


def _described(name: str, input: Tensor, lengths: tuple[Any, ...], window: Tensor | None, **options: Any) -> str:
    """A call as PyTorch's errors have it."""
    sizes = zip(("n_fft", "hop_length", "win_length"), lengths, strict=True)
    shown = "None" if window is None else f"{dtypes.type_name(window.dtype)}{{{list(window._ag_raw.shape)}}}"
    rest = (f"{name}={int(x) if isinstance(x, bool) else x}" for name, x in options.items())
    tensor = f"{dtypes.type_name(input.dtype)}{list(input._ag_raw.shape)}"
    return f"{name}({', '.join([tensor, *(f'{n}={x}' for n, x in sizes), f'window={shown}', *rest])}) "


def _check_signal(
    name: str, input: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None, return_complex: bool | None
) -> None:
    if input.dtype.category < 2:
        raise RuntimeError(f"{name}: expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{name}: expected a 1D or 2D tensor")
    if not 0 < n_fft <= input._ag_raw.shape[-1]:
        raise RuntimeError(f"{name}: expected 0 < n_fft < {input._ag_raw.shape[-1]}, but got n_fft={length}")
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    _check_window(name, window, length)
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
            "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral "
            "leakage.To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
            "device=<device>)`.",
        )
    if return_complex is None and not input.dtype.is_complex and not (window is not None and window.dtype.is_complex):
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )


def _framed(signal: Tensor, n_fft: int, hop: int, reach: int) -> Tensor:
    """The frames of every signal, as a strided window on its memory."""
    batch, n = signal._ag_raw.shape
    count = 1 + (n - reach) // hop
    steps = tuple(s // signal._ag_raw.itemsize for s in signal._ag_raw.strides)
    return as_strided.as_strided_op(signal, (batch, count, n_fft), (steps[0], hop * steps[1], steps[1]))


def _istft_of(
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: Any = True,
    normalized: Any = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: Any = False,
) -> Handed:
    given = (input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)
    return "torch", "istft", given, {}


@composite()
@hands_on(_istft_of)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` is given, by least squares: frames are added and divided by the squares of the
    windows."""
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    one = (input._ag_raw.shape[-2] != n_fft) if onesided is None else onesided
    name = _described(
        "istft",
        input,
        (n_fft, hop, size),
        window,
        center=center,
        normalized=normalized,
        onesided=onesided,
        length=length,
        return_complex=return_complex,
    )
    _check_spectrum(name, input, n_fft, hop, size, one)
    _check_window(name, window, size)
    if return_complex and one:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    weights = _padded_window(window, n_fft, size, input)
    frames = _frames(input, n_fft, one, BY_ROOT if normalized else BY_N, return_complex)
    batch, count = frames._ag_raw.shape[:2]
    total = n_fft + hop * (count - 1)
    signal = overlap_add(arithmetic.mul(frames, views.view_op(weights, (1, 1, n_fft))), (batch, total), hop)
    squares = broadcasting.expand_op(operations.pow_Tensor_Scalar(weights, 2), (1, count, n_fft))
    envelope = overlap_add(squares, (1, total), hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total
    part = views.window(start, end if length is not None or not center else -(n_fft // 2), 1, total)
    signal, envelope = (views.slice_op(x, 1, *part) for x in (signal, envelope))
    _check_envelope(name, envelope)
    signal = arithmetic.true_divide(signal, envelope)
    if end > total:
        warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings."
        )
        signal = constant_pad(signal, (0, end - total), 0)
    return views.squeeze_dim(signal, 0) if input.ndim == 2 else signal


def _frames(input: Tensor, n_fft: int, one: bool, how: int, return_complex: bool) -> Tensor:
    """The signals of the frames of a spectrum, (batch, frames, n_fft)."""
    pairs = operations.view_as_real(operations.resolve_conj(input))
    pairs = views.unsqueeze_op(pairs, 0) if input.ndim == 2 else pairs
    spectrum = operations.view_as_complex(views.transpose_op(pairs, 1, 2))
    if return_complex:
        return c2c(spectrum, (2,), how, False)
    spectrum = spectrum if one else views.slice_op(spectrum, dims.wrap(-1, 3), 0, n_fft // 2 + 1, 1)
    return c2r(spectrum, (2,), how, n_fft)


def _check_envelope(name: str, envelope: Tensor) -> None:
    """RuntimeError where no window covers a part of the signal."""
    squares = whole(envelope._ag_raw)
    smallest = abs(squares).min() if readable(squares) else float("inf")
    if smallest < 1e-11:
        raise RuntimeError(f"{name}window overlap add min: {int(smallest > 1e-11)}")


def _padded_window(window: Tensor | None, n_fft: int, size: int, input: Tensor) -> Tensor:
    """The window of a frame's length; ones where none is given."""
    if window is None:
        real = input.dtype.to_real()
        window = functions["ones"]((size,), dtype=real, device=input.device)
    if size == n_fft:
        return window
    left = (n_fft - size) // 2
    return constant_pad(window, (left, n_fft - size - left), 0)


def _check_spectrum(name: str, input: Tensor, n_fft: int, hop: int, size: int, one: bool) -> None:
    if input._ag_raw.size == 0:
        raise RuntimeError(f"{name}: input tensor cannot be empty")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{name}: expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    bins = input._ag_raw.shape[-2]
    if one and n_fft // 2 + 1 != bins:
        raise RuntimeError(
            f"{name}: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True, but got {bins}"
        )
    if not one and n_fft != bins:
        raise RuntimeError(
            f"{name}: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {bins}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(f"{name}: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft")
