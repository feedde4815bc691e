"""Random numbers as operations draw them: for the elements of an array, from the stream of a generator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from ..._arrays.cuda import on_host
from ..._arrays.meta import Meta, enlarged, miniature, on_meta, shape_of, without_memory
from ..._core.base import dims
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.base.memory_format import slowest_first
from ..._core.base.state import thread_state
from ..._core.streams import generator as samplers
from ..._core.streams.generator import stream_of
from . import random_variates

Draw = Callable[..., Any]


def in_memory_order(draw: Draw, raw: Array) -> Any:
    """Numbers of the shape of `raw`, drawn in the order in which its elements are laid out in memory."""
    if raw.__class__ is Meta or thread_state.on_meta:
        small = miniature(without_memory(raw))
        with on_meta():
            return enlarged(raw.shape, samplers.in_order(draw, small))
    return samplers.in_order(draw, raw)


def serially(sampler: Draw, written: bool) -> dict[str, bool]:
    """Return what tells the sampler of normal numbers that they are written one by one: other numbers do not depend on
    it."""
    return {"serially": written} if sampler is samplers.normal else {}


def _each_element(draw: Draw, *given: Any) -> Any:
    """Random numbers for each element of raw arrays and numbers."""
    if Meta not in map(type, given):
        return draw(*given)
    with on_meta():
        return enlarged(many_dims.broadcast_shapes(*map(shape_of, given)), draw(*map(miniature, given)))


def _one_by_one(variate: str, generator: Any, *arrays: Any, **settings: bool) -> Any:
    return random_variates.drawn(variate, stream_of(generator), *map(on_host, arrays), **settings)


def _filling(sampler: Draw) -> Draw:
    """A kernel that draws an element for each that there is."""

    def run(self: Any, a: Array, *rest: Any) -> Any:
        *settings, generator = rest
        draw = functools.partial(sampler, **serially(sampler, not a.flags.c_contiguous))
        return in_memory_order(lambda shape: draw(stream_of(generator), shape, a.dtype, *settings), a)[()]

    return run


def _normal_around(mean: Any, std: Any, generator: Any) -> Any:
    if std < 0 if std.__class__ is float else bool((np.asarray(on_host(std)) < 0).any()):
        raise RuntimeError(
            "normal expects all elements of std >= 0.0"
            if np.ndim(std)
            else f"normal expects std >= 0.0, but found std {std:g}"
        )
    if std.__class__ is float and (result := samplers.normal_around(stream_of(generator), mean, std)) is not None:
        return result
    like = mean if hasattr(mean, "dtype") else std
    shape = mean.shape if std.__class__ is float else dims.broadcast(shape_of(mean), shape_of(std))
    drawn = samplers.normal(stream_of(generator), shape, like.dtype)
    if std.__class__ is not float or std != 1.0:
        drawn = drawn * std
    return (drawn + mean).astype(like.dtype, copy=False)[()]


class Random:
    """Kernels that draw."""

    xp: Any

    normal_ = _filling(samplers.normal)
    uniform_ = _filling(samplers.uniform)
    exponential_ = _filling(samplers.exponential)
    geometric_ = _filling(samplers.geometric)
    cauchy_ = _filling(samplers.cauchy)
    log_normal_ = _filling(samplers.log_normal)
    random_ = _filling(samplers.random)
    random__to = random__from = _filling(samplers.integers)
    bernoulli__float = bernoulli_p = _filling(samplers.bernoulli)

    def bernoulli(self, p: Array, generator: Any) -> Any:
        if p.__class__ is not Meta:
            return samplers.bernoulli_each(stream_of(generator), p, p.dtype)[()]
        return _each_element(lambda x: samplers.bernoulli_each(stream_of(generator), x, x.dtype)[()], p)

    def bernoulli__Tensor(self, a: Array, p: Array, generator: Any) -> Any:
        chances = self.xp.broadcast_to(p, a.shape)
        draw = lambda x: samplers.bernoulli_each(stream_of(generator), x, a.dtype)[()]  # noqa: E731
        if not a.ndim:
            return _each_element(draw, chances)
        order = slowest_first(a)
        return _each_element(draw, chances.transpose(order)).transpose(np.argsort(order).tolist())

    def normal(self, mean: Any, std: Any, generator: Any) -> Any:
        if mean.__class__ is not Meta and std.__class__ is not Meta:
            return _normal_around(mean, std, generator)
        return _each_element(lambda m, s: _normal_around(m, s, generator), mean, std)

    def _standard_gamma(self, a: Array, generator: Any) -> Any:
        drawn = _one_by_one("gamma", generator, a, narrow=a.dtype.itemsize < 8).astype(a.dtype)
        return np.maximum(drawn, np.finfo(a.dtype).tiny)[()]

    def _sample_dirichlet(self, a: Array, generator: Any) -> Any:
        drawn = _one_by_one("gamma", generator, a, narrow=False)
        info = np.finfo(a.dtype)
        return np.clip((drawn / drawn.sum(-1, keepdims=True)).astype(a.dtype), info.tiny, 1 - info.epsneg)

    def poisson(self, rate: Array, generator: Any) -> Any:
        if rate.dtype.kind in "biu":
            raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{cpp_name(rate.dtype)}'")
        return _one_by_one("poisson", generator, rate).astype(rate.dtype)[()]

    def binomial(self, count: Array, prob: Array, generator: Any) -> Any:
        for name, a in (("count", count), ("prob", prob)):
            if a.dtype.kind in "biu":
                raise refused(
                    ValueError, f"binomial only supports floating-point dtypes for {name}, got: {cpp_name(a.dtype)}"
                )
        given, narrow = many_dims.broadcast_arrays(np, on_host(count), on_host(prob)), count.dtype.itemsize < 8
        return _one_by_one("binomial", generator, *given, narrow=narrow).astype(count.dtype)[()]
