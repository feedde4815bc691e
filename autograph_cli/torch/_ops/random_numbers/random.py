"""Random tensors, from PyTorch's own stream of numbers."""

from __future__ import annotations

import functools
import keyword
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.cuda import drawing_for, moved
from ..._arrays.meta import Meta
from ..._core.base import dtypes
from ..._core.base.device import CPU
from ..._core.base.errors import refused
from ..._core.base.state import process_state, thread_state
from ..._core.operations.docstrings import documented
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions, methods
from ..._core.running import dispatch
from ..._core.running.inplace import run_inplace
from ..._core.streams import generator as samplers
from ..._core.streams.generator import stream_of
from ..._core.tape.tensor import Tensor, inference_result, make
from ..._core.transforms import randomness
from ..._core.transforms.batching import expanded, value_of
from ..._core.transforms.interpreter_stack import below
from ..._core.transforms.transforms import batched
from ..._kernels.random_numbers.random import in_memory_order, serially
from ..pointwise.arithmetic import no_derivative
from ..tensors.creation import finish, lengths, placed


def drawn(draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...]) -> Any:
    """Random numbers of a shape; of an array without memory the dtype only."""
    return Meta(shape, draw((1,)).dtype) if thread_state.on_meta else draw(shape)


# ---------------------------------------------------------------- by size


def _new(
    name: str,
    shape: tuple[int, ...],
    draw: Callable[..., Any],
    requires_grad: bool = False,
    out: Any = None,
    **by: Any,
) -> Tensor:
    """A tensor of random numbers; under vmap as its randomness says."""
    if thread_state.levels and out is None:
        found = randomness.drawn(shape, draw)
        return found.requires_grad_() if requires_grad else found
    return finish(name, drawn(draw, shape), requires_grad, out, tuple(by.items()))


def _new_like(name: str, input: Tensor, draw: Callable[..., Any], requires_grad: bool, **by: Any) -> Tensor:
    if thread_state.levels:
        return _new(name, input._ag_raw.shape, draw, requires_grad)
    return finish(f"{name}_like", in_memory_order(draw, input._ag_raw), requires_grad, None, tuple(by.items()))


def _random(name: str, sampler: Callable[..., Any], distribution: str) -> None:
    def run(
        *size: Any,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        out: Any = None,
        **more: Any,
    ) -> Tensor:
        given = more.pop("size", None) if more else None
        if more:
            raise refused(TypeError, f"{name}() got an unexpected keyword argument '{next(iter(more))}'")
        shape, wanted = lengths(name, size, given), placed(name, dtype, layout, device, pin_memory, out=out)
        if not thread_state.levels and not process_state.special:
            return finish(name, sampler(stream_of(generator), shape, wanted), requires_grad, out, ())
        return _new(name, shape, lambda size: sampler(stream_of(generator), size, wanted), requires_grad, out)

    def like(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
        generator: Any = None,
    ) -> Tensor:
        wanted = placed(f"{name}_like", dtype, layout, device, pin_memory, input._ag_raw.dtype)
        draw = functools.partial(sampler, **serially(sampler, samplers.is_permuted(input._ag_raw)))
        return _new_like(name, input, lambda shape: draw(stream_of(generator), shape, wanted), requires_grad)

    functions[name] = documented(run, f"A tensor of a shape with numbers from {distribution}.", name)
    doc = f"A tensor of the shape and dtype of `input` with numbers from {distribution}."
    functions[f"{name}_like"] = documented(like, doc, f"{name}_like")


_random("rand", samplers.uniform, "the uniform distribution on [0, 1)")
_random("randn", samplers.normal, "the standard normal distribution")


@composite(method=False)
def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """Integers from `low` (0) up to, not including, `high`: `randint(high, size)`, `randint(low, high, size)`."""
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)) and size is None:
        size = given.pop()
    if size is None:
        if len(args) in (2, 3):
            raise refused(
                TypeError,
                f"randint(): argument 'size' (position {len(args)}) must be tuple of ints, "
                f"not {type(args[-1]).__name__}",
            )
        kinds = ", ".join(type(x).__name__ for x in args)
        raise refused(TypeError, f"randint() received an invalid combination of arguments - got ({kinds})")
    first, last = _range("randint", given, low, high)
    wanted = placed("randint", dtype, layout, device, pin_memory, np.dtype(np.int64), out)
    draw = lambda shape: samplers.integers(stream_of(generator), shape, wanted, first, last)  # noqa: E731
    return _new("randint", lengths("randint", (tuple(size),)), draw, requires_grad, out, low=first, high=last)


def _range(name: str, given: list[Any], low: Any, high: Any) -> tuple[int, int]:
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        low, high = (low, given[0]) if high is None else (given[0], high)
    if high is None:
        raise refused(TypeError, f'{name}() missing 1 required positional arguments: "high"')
    return 0 if low is None else int(low), int(high)


@composite(method=False)
def randint_like(
    input: Tensor,
    *args: Any,
    low: Any = None,
    high: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`randint` with the shape and the dtype of `input`."""
    first, last = _range("randint_like", list(args), low, high)
    wanted = placed("randint_like", dtype, layout, device, pin_memory, input._ag_raw.dtype)
    draw = lambda shape: samplers.integers(stream_of(None), shape, wanted, first, last)  # noqa: E731
    return _new_like("randint", input, draw, requires_grad)


@composite(method=False)
def randperm(
    n: int,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """The integers below `n` in random order."""
    wanted = placed("randperm", dtype, layout, device, pin_memory, np.dtype(np.int64), out)
    draw: Callable[[], Any] = lambda: samplers.permutation(stream_of(generator), int(n), wanted)  # noqa: E731
    if thread_state.levels and out is None:
        return randomness.drawn_each(draw)
    return finish("randperm", draw(), requires_grad, out, ())


@composite()
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Tensor | None = None
) -> Tensor:
    """`num_samples` indices for each row of `input`, drawn by weight; RuntimeError for weights that are none."""
    if input.ndim and input._ag_raw.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if input.is_meta:
        return make(Meta((*input._ag_raw.shape[:-1], num_samples), np.int64))
    if out is not None:
        if out._ag_raw.dtype != np.int64:
            raise RuntimeError(f"multinomial expects Long tensor out, got: {dtypes.cpp_name(out._ag_raw.dtype)}")
        dispatch.put(out, make(_drawn_rows(input, num_samples, replacement, generator)))
        return out
    drawn = _multinomial(input, num_samples, replacement, generator)
    if process_state.observer is not None and not thread_state.levels:
        process_state.observer.untracked("multinomial", None, (input,), (drawn,))
    return drawn


def _drawn_rows(input: Tensor, count: int, replacement: bool, generator: Any) -> Any:
    """Numbers of categories, drawn on the CPU, on the device of their weights."""
    with drawing_for(input.device):
        drawn = samplers.multinomial(stream_of(generator), moved(input._ag_raw, CPU), count, replacement)
    return moved(drawn, input.device)


def _multinomial(input: Tensor, count: int, replacement: bool, generator: Any) -> Tensor:
    """The rows of each sample drawn after those of the one before."""
    level = randomness.innermost() if thread_state.levels else None
    if level is None:
        return inference_result(make(_drawn_rows(input, count, replacement, generator)))
    with below(level):
        value, batched_here = value_of(level, input)
        if level.randomness == "same":
            if batched_here:
                raise RuntimeError(randomness.NOT_THE_SAME)
            return _multinomial(value, count, replacement, generator)
        value = expanded(value, batched_here, level.size)
        *lead, classes = value._ag_raw.shape
        rows = operations.reshape(value, (math.prod(lead), classes))
        return batched(level, operations.reshape(_multinomial(rows, count, replacement, generator), (*lead, count)), 0)


# ---------------------------------------------------------------- in place


def _zeros(f: Any, grad: Any) -> Any:
    return f.zeros_like(grad)


def _fills(schema: str, node: str, defaults: dict[str, Any], doc: str = "", **traits: Any) -> Callable[..., Tensor]:
    """A method that draws new elements for its tensor."""
    made: Any = operation(schema, node=node, random=True, **traits, self=_zeros)
    name = made.op.name

    def run(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        return run_inplace(made.op, (self, *_bound(name, defaults, args, named), generator))

    return documented(run, doc, name)


def _bound(name: str, defaults: dict[str, Any], args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    if len(args) > len(defaults):
        raise refused(TypeError, f"{name}() takes {len(defaults)} positional arguments but {len(args)} were given")
    given = dict(zip(defaults, args, strict=False)) | named
    for key in given:
        if key not in defaults:
            raise refused(TypeError, f"{name}() got an unexpected keyword argument '{key}'")
    missing = [key for key, value in defaults.items() if value is _REQUIRED and key not in given]
    if missing:
        raise refused(TypeError, f'{name}() missing 1 required positional arguments: "{missing[0]}"')
    return list((defaults | given).values())


_REQUIRED: Any = object()
_TABLE: dict[str, tuple[dict[str, Any], str]] = {
    "normal": ({"mean": 0.0, "std": 1.0}, "the normal distribution; RuntimeError for a negative `std`"),
    "uniform": (
        {"from": 0.0, "to": 1.0},
        "the uniform distribution on [`from`, `to`); RuntimeError if they are the wrong way round",
    ),
    "exponential": (
        {"lambd": 1.0},
        "the exponential distribution of rate `lambd`; RuntimeError unless that is positive",
    ),
    "geometric": (
        {"p": _REQUIRED},
        "the geometric distribution, the trials up to the first success; RuntimeError unless 0 < p < 1",
    ),
    "cauchy": ({"median": 0.0, "sigma": 1.0}, "the Cauchy distribution; RuntimeError unless `sigma` is positive"),
    "log_normal": (
        {"mean": 1.0, "std": 2.0},
        "the exponential of a normal variable; RuntimeError unless `std` is positive",
    ),
}
for _name, (_defaults, _distribution) in _TABLE.items():
    _arguments = ", ".join(f"float {key}_" if keyword.iskeyword(key) else f"float {key}" for key in _defaults)
    methods[f"{_name}_"] = _fills(
        f"{_name}_(Tensor self, {_arguments}, Generator? generator=None)",
        f"{''.join(part.title() for part in _name.split('_'))}Backward0",
        _defaults,
        f"Overwrite each element with a number from {_distribution}.",
    )

_random_any = _fills("random_(Tensor self, Generator? generator=None)", "RandomBackward2", {})
_random_to = _fills(
    "random_.to(Tensor self, int low, int? high, Generator? generator=None)",
    "RandomBackward1",
    {"low": 0, "high": None},
)
_random_between = _fills(
    "random_.from(Tensor self, int low, int? high, Generator? generator=None)",
    "RandomBackward0",
    {"low": 0, "high": None},
)


@composite(function=False, name="random_")
def random_(self: Tensor, *args: Any, generator: Any = None, **bounds: Any) -> Tensor:
    """Fill with random integers: `random_()`, `random_(to)`, `random_(from, to)`; `to` itself is not drawn."""
    given = dict(zip(("to",) if len(args) == 1 else ("from", "to"), args, strict=False)) | bounds
    if not given:
        return _random_any(self, generator=generator)
    if "from" in given:
        return _random_between(self, given["from"], given.get("to"), generator=generator)
    return _random_to(self, 0, given["to"], generator=generator)


_bernoulli_one = _fills(
    "bernoulli_.float(Tensor self, float p, Generator? generator=None)",
    "BernoulliBackward2",
    {"p": 0.5},
    vmap_inplace="inplace bernoulli",
)


_bernoulli_each = operation(
    "bernoulli_.Tensor(Tensor self, Tensor p, Generator? generator=None)",
    node="BernoulliBackward1",
    random=True,
    vmap_inplace="inplace bernoulli",
    self=_zeros,
    p=_zeros,
)
_bernoulli = operation(
    "bernoulli(Tensor self, Generator? generator=None)",
    random=True,
    self=_zeros,
)
_bernoulli_p = operation(
    "bernoulli.p(Tensor self, float p, Generator? generator=None)",
    has_derivative=False,
    random=True,
    memory_format="contiguous",
    self=no_derivative("bernoulli"),
)


@composite(function=False, name="bernoulli_")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 0 and 1; `p`, a number or a tensor, is the probability of 1."""
    if isinstance(p, Tensor):
        return run_inplace(_bernoulli_each.op, (self, p, generator))
    return _bernoulli_one(self, p, generator=generator)


@composite(out=True)
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None) -> Tensor:
    """0 or 1 for each element of `input`, which is the probability of 1; or for each with one probability `p`."""
    if p is None:
        return _bernoulli(input, generator)
    return _bernoulli_p(input, p, generator)


# ---------------------------------------------------------------- normal numbers around tensors


_normal_mean = operation(
    "normal.Tensor_float(Tensor mean, float std=1, Generator? generator=None)",
    "normal",
    node="NormalBackward1",
    saved={"mean_sym_sizes": "mean_sizes"},
    random=True,
    mean=_zeros,
)
_normal_std = operation(
    "normal.float_Tensor(float mean, Tensor std, Generator? generator=None)",
    "normal",
    node="NormalBackward2",
    random=True,
    std=_zeros,
)
_normal_both = operation(
    "normal.Tensor_Tensor(Tensor mean, Tensor std, Generator? generator=None)",
    "normal",
    node="NormalBackward3",
    saved={"mean_sym_sizes": "mean_sizes", "std_sym_sizes": "std_sizes"},
    random=True,
    mean=_zeros,
    std=_zeros,
)
_AROUND = {(True, False): _normal_mean, (False, True): _normal_std, (True, True): _normal_both}
"""By whether the mean and the standard deviation are tensors."""


@composite(method=False)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """Normal numbers around `mean`, `std` apart: one or both are tensors, or else a `size` is given."""
    if size is not None:
        wanted = placed("normal", dtype, layout, device, pin_memory, out=out)
        draw = lambda shape: samplers.normal(stream_of(generator), shape, wanted, float(mean), float(std))  # noqa: E731
        return _new("normal", lengths("normal", (tuple(size),)), draw, requires_grad, out, mean=mean, std=std)
    run = _AROUND.get((isinstance(mean, Tensor), isinstance(std, Tensor)))
    if run is None:
        raise refused(
            TypeError,
            "normal() received an invalid combination of arguments - "
            f"got ({type(mean).__name__}, {type(std).__name__})",
        )
    if isinstance(std, Tensor) and std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if not isinstance(mean, Tensor):
        dtypes.check_held(mean, std._ag_raw.dtype)
    result: Tensor = run(mean, std, generator)
    if out is None:
        return result
    dispatch.put(out, result)
    written: Tensor = out
    return written
