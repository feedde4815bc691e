"""Every distribution that is drawn from the CPU random stream of PyTorch (stream.py).

The samplers draw as many raw numbers as PyTorch does, in the same order, so calls can be mixed freely and the stream
stays in step. A sampler takes a stream, a shape and a dtype, and returns a new array. Integers and uniforms are
PyTorch's to the bit; where a logarithm or a cosine is taken, the last bits may differ, as they do between processors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ..._above import above
from ..._arrays import Array
from ..._compiled import compiled
from ..base.dtypes import cpp_name
from ..base.memory_format import slowest_first
from ..base.state import process_state, thread_state
from .philox import Philox
from .stream import Stream

if TYPE_CHECKING:
    import numpy.typing as npt

Shape = Sequence[int]
_fast: Any = compiled("_core.streams.fast_random")

# From this range on (or this length of a permutation), a remainder of 32 bits would be uneven, and 64 are drawn.
WIDE_RANGE = 1 << 28
WIDE_COUNT = (2**32 - 1) // 20

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
FLOAT16: np.dtype[Any] = np.dtype(np.float16)
FLOAT32: np.dtype[Any] = np.dtype(np.float32)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)
BOOL: np.dtype[Any] = np.dtype(np.bool_)
# How many bits of an integer each floating dtype holds exactly.
DIGITS = {BFLOAT16: 8, FLOAT16: 11, FLOAT32: 24, FLOAT64: 53}
REDUCED = (BFLOAT16, FLOAT16)

NO_WEIGHT = "invalid multinomial distribution (sum of probabilities <= 0)"
# PyTorch's names of the types in "... not implemented for 'Int'" and "... out of bounds for unsigned char".
SCALAR_NAMES = {
    "bool": ("Bool", "bool"),
    "uint8": ("Byte", "unsigned char"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short"),
    "int32": ("Int", "int"),
    "int64": ("Long", "int64_t"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
}


default_stream = Stream()
"""The generator that is used where none is given."""
_UNSEEN = Stream()
"""The generator of tensors without memory, which leaves the others alone."""


def stream_of_gpu(place: Any) -> Any:
    """Return the default stream of a GPU."""
    return above("_arrays.cuda", "default_stream")(place)


def stream_of(generator: Any) -> Stream:
    """The stream of a `torch.Generator` to draw from; for None the default one of the device that numbers are for.

    RuntimeError for a generator of another device.
    """
    place = None
    if process_state.special:
        if thread_state.on_meta:
            return _UNSEEN
        place = thread_state.place
    if generator is None:
        default: Stream = default_stream if place is None else stream_of_gpu(place)
        return default
    if (generator.device.type == "cuda") != (place is not None):
        wanted = "cpu" if place is None else "cuda"
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{generator.device.type}'")
    stream: Stream = generator.stream
    return stream


def uniform(stream: Stream, shape: Shape, dtype: npt.DTypeLike, low: float = 0.0, high: float = 1.0) -> Array:
    """`empty(shape, dtype).uniform_(low, high)`: floats of 24 bits, or of 53 for float64.

    Raises RuntimeError for bounds that are out of order or out of range, NotImplementedError for other dtypes.

    >>> uniform(Stream(0), (3,), np.float32)
    array([0.4962566 , 0.7682218 , 0.08847743], dtype=float32)
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return _as_complex(uniform(stream, (*shape, 2), _real_of(dtype), low, high), dtype)
    if low != 0.0 or high != 1.0 or dtype not in DIGITS:
        _require_floating(dtype, "check_uniform_bounds")
        _check_uniform_bounds(dtype, low, high)
    if isinstance(stream, Philox):
        return stream.uniform(shape, dtype, low, high)
    if _fast and (result := _fast.uniform(stream.twister, shape, dtype, low, high)) is not None:
        return result
    wide = dtype == FLOAT64
    unit: Array = _unit53(stream, math.prod(shape)) if wide else _unit24(stream, math.prod(shape))
    if low == 0.0 and high == 1.0 and dtype not in REDUCED:
        return unit.reshape(shape)
    if wide:
        values = _multiply_add(unit, high - low, low)
    else:
        width = np.float32(high) - np.float32(low)
        values = (unit * np.float64(width) + np.float64(np.float32(low))).astype(FLOAT32).astype(dtype)
    # Rounding may reach the open end, which then stands for the closed one.
    values[values >= np.asarray(high, dtype)] = np.asarray(low, dtype)
    return values.reshape(shape)


def is_permuted(raw: Array) -> bool:
    """Return whether the dimensions are stored in another order than the first one outermost."""
    moving = [d for d in slowest_first(raw) if raw.shape[d] != 1]
    return moving != sorted(moving)


def in_order(draw: Callable[[tuple[int, ...]], Array], raw: Array) -> Array:
    """Numbers of the shape of `raw`, drawn in the order in which its elements are laid out in memory."""
    if raw.ndim < 2 or raw.flags.c_contiguous:
        return draw(raw.shape)
    order = slowest_first(raw)
    return draw(tuple(raw.shape[d] for d in order)).transpose(np.argsort(order).tolist())


def normal(
    stream: Stream, shape: Shape, dtype: npt.DTypeLike, mean: float = 0.0, std: float = 1.0, serially: bool = False
) -> Array:
    """`empty(shape, dtype).normal_(mean, std)`: Box-Muller in blocks of 16; in pairs for fewer than 16 values, or
    `serially`.

    Raises RuntimeError for a negative `std`, NotImplementedError for a dtype that is neither floating nor complex.
    """
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if _fast and not serially and stream.__class__ is Stream:
        result = _fast.normal(stream.twister, shape, dtype, mean, std)
        if result is not None:
            return result
    dtype, size = np.dtype(dtype), math.prod(shape)
    if dtype.kind == "c":
        return _as_complex(normal(stream, (*shape, 2), _real_of(dtype), mean, std / math.sqrt(2.0), serially), dtype)
    if size == 0:
        return np.empty(shape, dtype)
    _require_floating(dtype, "normal_kernel_cpu")
    if isinstance(stream, Philox):
        return stream.normal(shape, dtype, mean, std)
    if size < 16 or serially:
        return _narrow(_normal_pairs(stream, size) * std + mean, dtype).reshape(shape)
    return _normal_blocks(stream, size, dtype, mean, std).reshape(shape)


def normal_around(stream: Stream, mean: Array, std: float) -> Array | None:
    """Normal numbers around an array, as `normal(...) * std + mean`; None where that is to be worked out so."""
    if not _fast or stream.__class__ is not Stream:
        return None
    result: Array | None = _fast.normal_around(stream.twister, mean, std)
    return result


def random(stream: Stream, shape: Shape, dtype: npt.DTypeLike) -> Array:
    """`empty(shape, dtype).random_()`: the non-negative integers that the dtype holds exactly."""
    dtype, size = np.dtype(dtype), math.prod(shape)
    if dtype.kind == "c":
        raise _not_implemented(dtype, "random_kernel_cpu")
    wide = dtype in (FLOAT64, np.dtype(np.int64))
    if isinstance(stream, Philox):
        return _narrow(stream.below(shape, _largest(dtype) + 1, wide), dtype)
    bits = stream.bits64(size) if wide else stream.bits32(size)
    return _narrow(bits % np.uint64(_largest(dtype) + 1), dtype).reshape(shape)


def integers(stream: Stream, shape: Shape, dtype: npt.DTypeLike, low: int, high: int | None) -> Array:
    """`empty(shape, dtype).random_(low, high)`, and so `randint`: `high` itself is not drawn.

    None for `high` goes up to the last integer that the dtype holds without a gap. Raises RuntimeError for an empty
    range and for bounds that the dtype cannot hold.

    >>> integers(Stream(0), (4,), np.int64, 0, 10)
    array([4, 9, 3, 0])
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise _not_implemented(dtype, "random_from_to_kernel_cpu")
    last = _largest(dtype) if high is None else high - 1
    _check_integer_bounds(dtype, low, last, high is None)
    size, span = math.prod(shape), last - low + 1
    if isinstance(stream, Philox):
        bits = stream.below(shape, span, span >= WIDE_RANGE) + np.uint64(low % (1 << 64))
        return _narrow(bits.view(np.int64), dtype)
    bits = stream.bits64(size) if span >= WIDE_RANGE else stream.bits32(size)
    if span < 1 << 64:
        # Unsigned addition wraps as two's complement does, so a negative `low` needs no case of its own.
        bits = bits % np.uint64(span) + np.uint64(low % (1 << 64))
    return _narrow(bits.view(np.int64), dtype).reshape(shape)


def permutation(stream: Stream, count: int, dtype: npt.DTypeLike = np.int64) -> Array:
    """`randperm(count, dtype=dtype)`: the numbers below `count`, shuffled.

    Raises RuntimeError for a negative `count` and for one that the dtype cannot count to.

    >>> permutation(Stream(0), 4)
    array([0, 1, 3, 2])
    """
    dtype = np.dtype(dtype)
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    if dtype.kind not in "iuf" and dtype != BFLOAT16:
        raise _not_implemented(dtype, "randperm")
    if count > (most := _largest(dtype) + 1):
        raise RuntimeError(f"n cannot be greater than {most} for {SCALAR_NAMES[dtype.name][0]} type.")
    if _fast and stream.__class__ is Stream:
        shuffled = np.arange(count)
        _fast.permutation(stream.twister, shuffled, count >= WIDE_COUNT)
        return _narrow(shuffled, dtype)
    order = list(range(count))
    draws = max(count - 1, 0)
    bits = stream.bits64(draws) if count >= WIDE_COUNT else stream.bits32(draws)
    steps = bits % np.arange(count, count - draws, -1, dtype=np.uint64)
    for here, step in enumerate(steps.tolist()):
        there = here + step
        order[here], order[there] = order[there], order[here]
    return _narrow(np.array(order, np.int64), dtype)


def bernoulli(stream: Stream, shape: Shape, dtype: npt.DTypeLike, p: float = 0.5) -> Array:
    """`empty(shape, dtype).bernoulli_(p)` for one probability; RuntimeError where it is outside [0, 1]."""
    dtype = np.dtype(dtype)
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if dtype.kind == "c":
        raise _not_implemented(dtype, "bernoulli_scalar_cpu_")
    if isinstance(stream, Philox):
        return stream.bernoulli(shape, dtype, p)
    if _fast and (result := _fast.bernoulli(stream.twister, shape, dtype, p)) is not None:
        return result
    return (_unit53(stream, math.prod(shape)) < p).astype(dtype).reshape(shape)


def bernoulli_each(stream: Stream, p: Array, dtype: npt.DTypeLike) -> Array:
    """`bernoulli(p)` for a probability per element; the dtype of `p` decides how many bits are drawn."""
    if isinstance(stream, Philox):
        return stream.bernoulli_each(p, np.dtype(dtype))
    if _fast and (result := _fast.bernoulli_each(stream.twister, p, dtype)) is not None:
        return result
    p = np.asarray(p)
    _require_floating(p.dtype, f"bernoulli_tensor_cpu_{'self' if np.dtype(dtype).kind == 'c' else 'p'}_")
    if not bool(((p >= 0) & (p <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    if p.dtype == FLOAT64:
        return (_unit53(stream, p.size).reshape(p.shape) < p).astype(dtype)
    return (_unit24(stream, p.size).reshape(p.shape) < p.astype(FLOAT32)).astype(dtype)


def dropout_noise(stream: Stream, shape: Shape, dtype: npt.DTypeLike, p: float) -> Array:
    """Return what `dropout` multiplies its input by: 0 with probability `p`, else 1 / (1 - p)."""
    dtype = np.dtype(dtype)
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 1.0:
        return np.zeros(shape, dtype)
    work = FLOAT32 if dtype in REDUCED else dtype
    kept = bernoulli(stream, shape, work, 1.0 - p)
    scaled: Array = kept / np.asarray(1.0 - p, work)[()]
    return scaled.astype(dtype, copy=False)


def dropout_mask(stream: Stream, shape: Shape, p: float) -> Array:
    """Return which elements `native_dropout` keeps, each with probability `p`."""
    if isinstance(stream, Philox):
        return stream.dropout_mask(shape, p)
    return bernoulli(stream, shape, BOOL, p)


def exponential(stream: Stream, shape: Shape, dtype: npt.DTypeLike, rate: float = 1.0) -> Array:
    """`empty(shape, dtype).exponential_(rate)`; RuntimeError where the rate is not positive."""
    dtype = np.dtype(dtype)
    _require_continuous(dtype, "Exponential", SCALAR_NAMES[dtype.name][0])
    if not rate > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    return _narrow(-np.log1p(-_unit53(stream, math.prod(shape))) / rate, dtype).reshape(shape)


def geometric(stream: Stream, shape: Shape, dtype: npt.DTypeLike, p: float) -> Array:
    """`empty(shape, dtype).geometric_(p)`: trials up to the first success; RuntimeError where p is outside (0, 1)."""
    dtype = np.dtype(dtype)
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if dtype.kind in "bc":
        raise _not_implemented(dtype, "geometric_cpu")
    with np.errstate(divide="ignore"):
        trials = np.ceil(np.log(_unit53(stream, math.prod(shape))) / math.log1p(-p))
    return _narrow(trials, dtype).reshape(shape)


def cauchy(stream: Stream, shape: Shape, dtype: npt.DTypeLike, median: float = 0.0, sigma: float = 1.0) -> Array:
    """`empty(shape, dtype).cauchy_(median, sigma)`; RuntimeError where sigma is not positive."""
    dtype = np.dtype(dtype)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _require_continuous(dtype, "Cauchy", SCALAR_NAMES[dtype.name][1])
    unit = _unit53(stream, math.prod(shape))
    return _narrow(median + sigma * np.tan(math.pi * (unit - 0.5)), dtype).reshape(shape)


def log_normal(stream: Stream, shape: Shape, dtype: npt.DTypeLike, mean: float = 1.0, std: float = 2.0) -> Array:
    """`empty(shape, dtype).log_normal_(mean, std)`: always in pairs; RuntimeError where std is not positive."""
    dtype = np.dtype(dtype)
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _require_floating(dtype, "log_normal_cpu")
    return _narrow(np.exp(_normal_pairs(stream, math.prod(shape)) * std + mean), dtype).reshape(shape)


def multinomial(stream: Stream, weights: Array, count: int, replacement: bool = False) -> npt.NDArray[np.int64]:
    """`count` indices drawn by weight from each row of `weights`, of shape (n,) or (rows, n).

    Without replacement, and for one draw, it is a race of exponentials; with it, a search in the cumulated weights.
    Raises RuntimeError for weights that are negative, not finite or all zero, and for more draws than there are.
    """
    weights = np.asarray(weights)
    _check_multinomial(weights, count, replacement)
    if replacement and count > 1:
        rows = weights.reshape(-1, weights.shape[-1])
        totals = rows.sum(-1)
        if isinstance(stream, Philox) or not bool(((rows >= 0).all(-1) & (totals > 0) & (totals < np.inf)).all()):
            drawn = [_search_cumulated(row, _unit53(stream, count)) for row in rows]
        else:
            samples = _unit53(stream, len(rows) * count).reshape(len(rows), count)
            wide = np.cumsum(rows, -1, dtype=FLOAT64 if rows.dtype == FLOAT64 else FLOAT32)
            wide = (wide / wide[:, -1:]).astype(FLOAT64)
            drawn = [np.searchsorted(row, each) for row, each in zip(wide, samples, strict=True)]
        return np.array(drawn, np.int64).reshape(*weights.shape[:-1], count)
    if not bool(np.all((weights >= 0) & (weights < np.inf))):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bool((weights.sum(-1) == 0).any()):
        raise RuntimeError(NO_WEIGHT)
    with np.errstate(divide="ignore"):
        race = weights / in_order(lambda shape: exponential(stream, shape, weights.dtype), weights)
    return np.ascontiguousarray(np.argsort(-race, axis=-1, kind="stable")[..., :count])


def _unit24(stream: Stream, count: int) -> npt.NDArray[np.float32]:
    unit = (stream.bits32(count) & np.uint64((1 << 24) - 1)).astype(FLOAT32)
    unit *= np.float32(2.0**-24)
    return unit


def _unit53(stream: Stream, count: int) -> npt.NDArray[np.float64]:
    return (stream.bits64(count) & np.uint64((1 << 53) - 1)).astype(FLOAT64) * 2.0**-53


def _normal_pairs(stream: Stream, count: int) -> npt.NDArray[np.float64]:
    """Standard normals one by one: each pair of uniforms gives two, and an odd one is kept for the next call."""
    values = np.empty(count, FLOAT64)
    start = 0
    if stream.spare_normal is not None and count:
        values[0], stream.spare_normal, start = stream.spare_normal, None, 1
    pairs = (count - start + 1) // 2
    unit = _unit53(stream, 2 * pairs)
    radius, angle = np.sqrt(-2.0 * np.log1p(-unit[1::2])), 2.0 * math.pi * unit[0::2]
    cosines, sines = radius * np.cos(angle), radius * np.sin(angle)
    values[start::2] = cosines
    values[start + 1 :: 2] = sines[: (count - start) // 2]
    if (count - start) % 2:
        stream.spare_normal = float(sines[-1])
    return values


def _normal_blocks(stream: Stream, count: int, dtype: np.dtype[Any], mean: float, std: float) -> Array:
    """Normals in blocks of 16; a ragged end is drawn anew, as the block of the last 16 values."""
    work = FLOAT64 if dtype == FLOAT64 else FLOAT32
    draw = _unit53 if dtype == FLOAT64 else _unit24
    whole = count - count % 16
    # The dtypes of 16 bits do not draw for the ragged end before it is drawn anew.
    skipped = 0 if dtype in REDUCED else count - whole
    unit = draw(stream, whole + (skipped + 16 if count > whole else 0))
    blocks = _box_muller_16(unit[:whole], work, mean, std)
    if count == whole and work == dtype:
        return blocks
    values = np.empty(count, dtype)
    values[:whole] = blocks
    if count > whole:
        values[-16:] = _box_muller_16(unit[whole + skipped :], work, mean, std)
    return values


def _box_muller_16(unit: Array, work: np.dtype[Any], mean: float, std: float) -> Array:
    """Blocks of 16 uniforms to blocks of 16 normals: element i is paired with element i + 8."""
    blocks = unit.reshape(-1, 2, 8)
    radius = np.sqrt(work.type(-2) * np.log(work.type(1) - blocks[:, 0]))
    angle = work.type(2 * math.pi) * blocks[:, 1]
    values: Array = np.empty(blocks.shape, work)
    np.multiply(radius, np.cos(angle), out=values[:, 0])
    np.multiply(radius, np.sin(angle), out=values[:, 1])
    if mean and work.itemsize == 4:
        # PyTorch multiplies and adds in one step: rounded once, as here after float64.
        values = (values.astype(np.float64) * np.float32(std) + np.float32(mean)).astype(np.float32)
        return values.reshape(-1)
    if std != 1.0:
        values *= work.type(std)
    values += work.type(mean)
    return values.reshape(-1)


def _search_cumulated(weights: Array, samples: npt.NDArray[np.float64]) -> Array:
    if not bool(np.all(weights >= 0)):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not bool(np.all(weights < np.inf)):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if not weights.size or not weights.any():
        raise RuntimeError(NO_WEIGHT)
    cumulated = np.cumsum(weights, dtype=FLOAT64 if weights.dtype == FLOAT64 else FLOAT32)
    return np.searchsorted((cumulated / cumulated[-1]).astype(FLOAT64), samples)


def _multiply_add(x: npt.NDArray[np.float64], factor: float, addend: float) -> npt.NDArray[np.float64]:
    """x * factor + addend rounded once, as a fused instruction does: products and sums with their exact errors."""
    split = 134217729.0  # 2**27 + 1 halves a float64 into two factors of 26 bits
    high = (split * x) - ((split * x) - x)
    factor_high = (split * factor) - ((split * factor) - factor)
    low, factor_low = x - high, factor - factor_high
    product = x * factor
    lost = ((high * factor_high - product) + high * factor_low + low * factor_high) + low * factor_low
    total = product + addend
    back = total - product
    lost += (product - (total - back)) + (addend - back)
    return total + lost


def _narrow(values: Array, dtype: np.dtype[Any]) -> Array:
    """A cast as C++ makes it: to 16 bits by way of float32."""
    with np.errstate(over="ignore"):
        return (values.astype(FLOAT32) if dtype in REDUCED else values).astype(dtype, copy=False)


def _real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return FLOAT32 if dtype.itemsize == 8 else FLOAT64


def _as_complex(pairs: Array, dtype: np.dtype[Any]) -> Array:
    return pairs.view(dtype)[..., 0]


def _largest(dtype: np.dtype[Any]) -> int:
    """The last of the integers from 0 on that the dtype holds without a gap."""
    if dtype in DIGITS:
        return 1 << DIGITS[dtype]
    return 1 if dtype == BOOL else int(np.iinfo(dtype).max)


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and the largest finite number of a dtype."""
    if dtype in DIGITS:
        largest = float(ml_dtypes.finfo(dtype).max)
        return -largest, largest
    return (0, 1) if dtype == BOOL else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _not_implemented(dtype: np.dtype[Any], kernel: str) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{cpp_name(dtype)}'")


def _require_floating(dtype: np.dtype[Any], kernel: str) -> None:
    if dtype not in DIGITS:
        raise _not_implemented(dtype, kernel)


def _require_continuous(dtype: np.dtype[Any], distribution: str, name: str) -> None:
    if dtype not in DIGITS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {name}"
        )


def _check_uniform_bounds(dtype: np.dtype[Any], low: float, high: float) -> None:
    smallest, largest = _limits(dtype)
    for name, bound in (("from", low), ("to", high)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {SCALAR_NAMES[dtype.name][1]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{SCALAR_NAMES[dtype.name][0]}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def _check_integer_bounds(dtype: np.dtype[Any], low: int, last: int, open_ended: bool) -> None:
    if low > last:
        if open_ended:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
                f"but got from={low} > to_inc={last}"
            )
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={last + 1}")
    smallest, largest = _limits(dtype)
    for name, bound in (("from", low), ("to - 1", last)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {SCALAR_NAMES[dtype.name][1]}")


def _check_multinomial(weights: Array, count: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype not in DIGITS:
        name = SCALAR_NAMES[weights.dtype.name][0]
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {name}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
