"""Fourier transforms, composed of the three that PyTorch records: complex to complex, real to complex and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.base.state import process_state
from ..._core.operations.docstrings import documented
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import with_out
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.running.dispatch import put
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching
from ..._kernels.matrices.fourier import BY_N, BY_ROOT, NONE
from ..layers.padding import constant_pad
from ..pointwise import arithmetic, unary as unary
from ..pointwise.binary import conj_physically
from ..shaping import views
from ..shaping.rearrange import roll_op

c2c = operation(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward)",
    node="FftC2CBackward0",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, dim, normalization, forward: f._fft_c2c(grad, dim, normalization, not forward),
)
r2c = operation(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided)",
    node="FftR2CBackward0",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, dim, normalization, onesided, self: f.fft_r2c_backward(
        grad, dim, normalization, onesided, self.shape[dim[-1]]
    ),
)
c2r = operation(
    "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size)",
    node="FftC2RBackward0",
    linear=True,
    batch=batching.leading,
    self=lambda f, grad, dim, normalization: f.fft_c2r_backward(grad, dim, normalization),
)


def r2c_backward(grad: Tensor, dim: Any, normalization: int, onesided: bool, last: int) -> Tensor:
    """The real part of the transform back, of all frequencies (those left out are 0)."""
    have = grad._ag_raw.shape[dim[-1]]
    if onesided and last > have:
        size = (*grad._ag_raw.shape[: dim[-1]], last, *grad._ag_raw.shape[dim[-1] + 1 :])
        full = operations.zeros_of(size, grad)
        views.slice_op(full, dim[-1], 0, have, 1).copy_(grad)
        grad = full
    return operations.real(c2c(grad, dim, normalization, False))


def c2r_backward(grad: Tensor, dim: Any, normalization: int) -> Tensor:
    """The transform of the gradient, twice where a frequency stands for two."""
    out = r2c(grad, dim, normalization, True)
    twice = grad._ag_raw.shape[dim[-1]] - out._ag_raw.shape[dim[-1]]
    if twice > 0:
        run_inplace(arithmetic.mul_scalar.op, (views.slice_op(out, dim[-1], 1, 1 + twice, 1), 2))
    return out


operations.fft_r2c_backward, operations.fft_c2r_backward = r2c_backward, c2r_backward


# ---------------------------------------------------------------- arguments


def _normalization(norm: str | None, forward: bool) -> int:
    if norm in (None, "backward"):
        return NONE if forward else BY_N
    if norm == "forward":
        return BY_N if forward else NONE
    if norm == "ortho":
        return BY_ROOT
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _promoted(x: Tensor, complex_wanted: bool = False) -> Tensor:
    """`x` in floating point, or complex."""
    kind = x.dtype if x.dtype.category >= dtypes.FLOATING else dtypes.FROM_NUMPY[process_state.default_dtype]
    if kind in (dtypes.float16, dtypes.bfloat16):
        raise RuntimeError(f"Unsupported dtype {dtypes.cpp_name(kind.numpy)}")
    if complex_wanted:
        kind = kind.to_complex()
    return x if x.dtype is kind else operations._to_copy(x, kind.numpy)


def _real_only(name: str, x: Tensor) -> None:
    if x.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {dtypes.cpp_name(x._ag_raw.dtype)}")


def _one(x: Tensor, dim: int) -> int:
    if x.ndim == 0:
        raise refused(IndexError, f"Dimension specified as {dim} but tensor has no dimensions")
    return int(dims.wrap(dim, x.ndim))


def _positive(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _many(x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes (-1: as they are) and dimensions of a transform over several dimensions."""
    s = None if s is None else ((s,) if isinstance(s, int) else tuple(s))
    dim = None if dim is None else ((dim,) if isinstance(dim, int) else tuple(dim))
    if dim is not None:
        axes = tuple(_one(x, d) for d in dim)
        if len(set(axes)) != len(axes):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > x.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        axes = tuple(range(x.ndim - len(s), x.ndim))
    else:
        axes = tuple(range(x.ndim))
    sizes = (-1,) * len(axes) if s is None else tuple(s)
    for n, d in zip(sizes, axes, strict=True):
        _positive(x._ag_raw.shape[d] if n == -1 else n)
    return sizes, axes


def _resized(x: Tensor, sizes: Any, axes: Any) -> Tensor:
    """`x` cut or filled with zeros at the end of each axis."""
    pad, must_pad = [0] * (2 * x.ndim), False
    for n, d in zip(sizes, axes, strict=True):
        have = x._ag_raw.shape[d]
        if n == -1 or n == have:
            continue
        if n > have:
            pad[2 * (x.ndim - 1 - d) + 1] = n - have
            must_pad = True
        else:
            x = views.slice_op(x, d, 0, n, 1)
    return constant_pad(x, tuple(pad), 0) if must_pad else x


# ---------------------------------------------------------------- the public functions

_SUMS = {
    "fft": "The discrete Fourier transform: element j is the sum of `input[k] * exp(-2 pi i j k / n)` over k.",
    "ifft": "The inverse of `{fft}`: element j is the sum of `input[k] * exp(2 pi i j k / n)` over k, divided by n.",
    "rfft": "`{fft}` of a real tensor without the redundant half: n // 2 + 1 elements along the last dimension.",
    "irfft": "The inverse of `{rfft}`: a real tensor from half of its spectrum. Say its length where that is odd.",
    "hfft": "`{fft}` of a Hermitian signal, given by half of it: a real tensor. Say its length where that is odd.",
    "ihfft": "The inverse of `{hfft}`: half of the Hermitian signal that has this real spectrum.",
    "fftshift": "The elements moved so that frequency 0 is in the middle of `dim`, or of every dimension without it.",
    "ifftshift": "The inverse of `fftshift`: frequency 0 moves from the middle to the front.",
}
_OVER = {
    "": "It runs along `dim`, which is first cut or filled with zeros to `n`.",
    "2": "It runs over the two dimensions `dim` (the last two), first cut or filled with zeros to the sizes `s`.",
    "n": "It runs over the dimensions `dim` (all), first cut or filled with zeros to the sizes `s`.",
}
_SCALED = (
    '`norm` says which direction divides by n: "backward" (the inverse only; the default), "forward" or "ortho" (each '
    "by the square root).\nRuntimeError for a size below 1{}."
)


def _doc(name: str) -> str:
    """Return what a transform computes, over which dimensions, and when it fails."""
    root, many = (name[:-1], name[-1]) if name[-1] in "2n" else (name, "")
    first = _SUMS[root].format(**{known: known + many for known in _SUMS})
    if root.endswith("shift"):
        return first
    return f"{first}\n\n{_OVER[many]} {_SCALED.format(', or a complex input' * (root in ('rfft', 'ihfft')))}"


def _forward_or_back(name: str, forward: bool) -> Callable[..., Tensor]:
    def run(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        d = _one(input, dim)
        x = _promoted(input)
        if n is not None:
            x = _resized(x, (_positive(n),), (d,))
        _positive(x._ag_raw.shape[d])
        how = _normalization(norm, forward)
        if x.dtype.is_complex:
            return c2c(x, (d,), how, forward)
        whole = r2c(x, (d,), how, False)
        return whole if forward else unary.conj(whole)

    return _named(run, name)


def _forward_or_back_n(name: str, forward: bool, default: Any) -> Callable[..., Tensor]:
    def run(input: Tensor, s: Any = None, dim: Any = default, norm: str | None = None) -> Tensor:
        sizes, axes = _many(input, s, dim)
        x = _resized(_promoted(input, complex_wanted=True), sizes, axes)
        return c2c(x, axes, _normalization(norm, forward), forward)

    return _named(run, name)


def _to_half(name: str, forward: bool) -> Callable[..., Tensor]:
    """rfft, and ihfft: the same, conjugated and normalized the other way round."""

    def run(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        _real_only(name, input)
        d = _one(input, dim)
        x = _promoted(input)
        if n is not None:
            x = _resized(x, (_positive(n),), (d,))
        _positive(x._ag_raw.shape[d])
        half = r2c(x, (d,), _normalization(norm, forward), True)
        return half if forward else unary.conj(half)

    return _named(run, name)


def _from_half(name: str, forward: bool) -> Callable[..., Tensor]:
    """irfft, and hfft: the same of the conjugate, normalized the other way round."""

    def run(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        d = _one(input, dim)
        x = _promoted(input, complex_wanted=True)
        last = _positive(2 * (x._ag_raw.shape[d] - 1) if n is None else n)
        if n is not None:
            x = _resized(x, (last // 2 + 1,), (d,))
        return c2r(unary.conj(x) if forward else x, (d,), _normalization(norm, forward), last)

    return _named(run, name)


def _rfftn(name: str, default: Any) -> Callable[..., Tensor]:
    def run(input: Tensor, s: Any = None, dim: Any = default, norm: str | None = None) -> Tensor:
        _real_only(name, input)
        sizes, axes = _many(input, s, dim)
        if not axes:
            raise RuntimeError(f"{name} must transform at least one axis")
        return r2c(_resized(_promoted(input), sizes, axes), axes, _normalization(norm, True), True)

    return _named(run, name)


def _half_sizes(name: str, x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes of the half spectrum, axes, and the length of the last one when it is whole."""
    sizes, axes = _many(x, s, dim)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = 2 * (x._ag_raw.shape[axes[-1]] - 1) if sizes[-1] == -1 else sizes[-1]
    return (*sizes[:-1], _positive(last) // 2 + 1), axes, last


def _irfftn(name: str, default: Any) -> Callable[..., Tensor]:
    def run(input: Tensor, s: Any = None, dim: Any = default, norm: str | None = None) -> Tensor:
        sizes, axes, last = _half_sizes(name, input, s, dim)
        x = _resized(_promoted(input, complex_wanted=True), sizes, axes)
        return c2r(x, axes, _normalization(norm, False), last)

    return _named(run, name)


def _hfftn(name: str, default: Any) -> Callable[..., Tensor]:
    def run(input: Tensor, s: Any = None, dim: Any = default, norm: str | None = None) -> Tensor:
        sizes, axes, last = _half_sizes(name, input, s, dim)
        x = _resized(_promoted(input, complex_wanted=True), sizes, axes)
        how = _normalization(norm, True)
        if axes[:-1]:
            x = c2c(x, axes[:-1], how, True)
        return c2r(unary.conj(x), axes[-1:], how, last)

    return _named(run, name, autocast="")


def _ihfftn(name: str, default: Any) -> Callable[..., Tensor]:
    def run(input: Tensor, s: Any = None, dim: Any = default, norm: str | None = None) -> Tensor:
        _real_only(name, input)
        sizes, axes = _many(input, s, dim)
        if not axes:
            raise RuntimeError(f"{name} must transform at least one axis")
        how = _normalization(norm, False)
        half = r2c(_resized(_promoted(input), sizes, axes), axes[-1:], how, True)
        return c2c(conj_physically(half), axes[:-1], how, False) if axes[:-1] else unary.conj(half)

    return _named(run, name, autocast="")


def _named(run: Callable[..., Tensor], name: str, autocast: str = "fp32") -> Callable[..., Tensor]:
    documented(run, _doc(name), name)
    return with_out(autocasts(autocast)(run) if autocast else run)


def _shift(name: str, extra: int) -> Callable[..., Tensor]:
    def run(input: Tensor, dim: Any = None) -> Tensor:
        axes = tuple(range(input.ndim)) if dim is None else tuple(map(int, dims.wrap_all(dim, input.ndim)))
        return roll_op(input, tuple((input._ag_raw.shape[d] + extra) // 2 for d in axes), axes)

    return _named(run, name, autocast="")


public: dict[str, Callable[..., Any]] = {
    "fft": _forward_or_back("fft", True),
    "ifft": _forward_or_back("ifft", False),
    "rfft": _to_half("rfft", True),
    "ihfft": _to_half("ihfft", False),
    "irfft": _from_half("irfft", False),
    "hfft": _from_half("hfft", True),
    "fftshift": _shift("fftshift", 0),
    "ifftshift": _shift("ifftshift", 1),
}
for _suffix, _default in (("2", (-2, -1)), ("n", None)):
    public |= {
        f"fft{_suffix}": _forward_or_back_n(f"fft{_suffix}", True, _default),
        f"ifft{_suffix}": _forward_or_back_n(f"ifft{_suffix}", False, _default),
        f"rfft{_suffix}": _rfftn(f"rfft{_suffix}", _default),
        f"irfft{_suffix}": _irfftn(f"irfft{_suffix}", _default),
        f"hfft{_suffix}": _hfftn(f"hfft{_suffix}", _default),
        f"ihfft{_suffix}": _ihfftn(f"ihfft{_suffix}", _default),
    }


def frequencies(half: bool) -> Callable[..., Tensor]:
    """The frequencies of a transform's bins: all, or those of a real signal's half."""

    def run(
        n: int,
        d: float = 1.0,
        *,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        kind = dtypes.numpy_dtype(dtype) if dtype is not None else process_state.default_dtype
        made = make(kernels().frequencies(n, d, half, kind))
        if out is not None:
            put(out, made)
            written: Tensor = out
            return written
        return made.requires_grad_() if requires_grad else made

    which = (
        "0 and the positive ones that `rfft` gives, n // 2 + 1 of them"
        if half
        else "those of `fft`, n of them: 0, the positive, then the negative ones"
    )
    doc = f"The frequencies of a transform of length `n`, {which}.\n\n`d` is the distance between two measurements."
    return documented(run, doc, "rfftfreq" if half else "fftfreq")


public["fftfreq"], public["rfftfreq"] = frequencies(False), frequencies(True)
