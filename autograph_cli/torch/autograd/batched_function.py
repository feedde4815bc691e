"""Custom Functions under `vmap`: by their own `vmap`, or by one that is made of their forward and backward."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._core.tape.tensor import Tensor
from .._core.transforms.batching import value_of
from .._core.transforms.interpreter_stack import BatchLevel, running
from .._core.transforms.transforms import batched
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .function import NOTES, Function, FunctionCtx, without_rule


class VmapInfo(NamedTuple):
    """The facts of a batch that a Function's `vmap` gets."""

    batch_size: int
    randomness: str


def apply(level: BatchLevel, cls: type[Function], args: tuple[Any, ...]) -> Any:
    """Return what `cls.apply(*args)` gives for each sample; RuntimeError for a Function that cannot be batched."""
    name, own = cls.__name__, cls.vmap is not Function.vmap
    if not cls._ag_is_apart():
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {NOTES}"
        )
    if cls.generate_vmap_rule and own:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {NOTES}"
        )
    if not own and not cls.generate_vmap_rule:
        raise without_rule(cls)
    values, marks = zip(*(value_of(level, x) for x in args), strict=True)
    return (_by_rule if own else _by_generated)(level, cls, values, marks)


# ---------------------------------------------------------------- the user's rule


def _by_rule(level: BatchLevel, cls: type[Function], values: tuple[Any, ...], marks: tuple[bool, ...]) -> Any:
    info = VmapInfo(level.size, level.randomness)
    return wrapped_outputs(level, cls.vmap(info, tuple(0 if mark else None for mark in marks), *values))


def wrapped_outputs(level: BatchLevel, given: Any) -> Any:
    """The outputs that a user's rule gave as (outputs, their batch dimensions), as batched tensors."""
    if not (isinstance(given, tuple) and len(given) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(given)} instead"
        )
    output, out_dims = given
    leaves, spec = tree_flatten(output)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {spec}. {NOTES}"
        )
    return tree_unflatten(
        [x if d is None else batched(level, x, d % x.ndim) for x, d in zip(leaves, dims, strict=True)], spec
    )


# ---------------------------------------------------------------- a rule of forward and backward


class _Context(FunctionCtx):
    """The `ctx` of one sample: what the user's functions save and set."""

    def __init__(self) -> None:
        self.to_save: Any = ()
        self.saved_for_forward: Any = ()
        self.dirty_tensors: Any = None
        self.non_differentiable: Any = ()
        self.materialize_grads = True
        self.saved_tensors: tuple[Any, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()


def _by_generated(level: BatchLevel, cls: type[Function], values: tuple[Any, ...], marks: tuple[bool, ...]) -> Any:
    """The Function on whole batches, whose forward and backward run the user's under a vmap of their own."""
    rule = _Rule(cls, level.size, level.randomness, marks)
    result = _generated(rule).apply(*values)
    several = isinstance(result, tuple)
    outputs = [
        batched(level, x, 0) if m else x for x, m in zip(result if several else (result,), rule.out_marks, strict=True)
    ]
    return tuple(outputs) if several else outputs[0]


def _generated(rule: _Rule) -> Any:
    members = {"forward": rule.forward, "setup_context": rule.setup_context, "backward": rule.backward, "jvp": rule.jvp}
    result: Any = type(f"Vmapped{rule.cls.__name__}", (Function,), {k: staticmethod(v) for k, v in members.items()})
    result.generate_vmap_rule = True
    return result


class _Rule:
    """The functions of a Function on whole batches, each of which runs one of the user's under a vmap of its own."""

    def __init__(self, cls: type[Function], size: int, randomness: str, marks: tuple[bool, ...]) -> None:
        self.cls, self.size, self.randomness, self.marks = cls, size, randomness, marks
        self.out_marks: tuple[bool, ...] = ()
        """The marks of batched outputs, once `forward` has run."""

    def level(self) -> Any:
        return running(BatchLevel(self.size, self.randomness))

    def forward(self, *values: Any) -> Any:
        with self.level() as level:
            result = self.cls.forward(*_wrapped(level, values, self.marks))
            several = isinstance(result, tuple)
            plain, self.out_marks = _opened(level, result if several else (result,))
            return plain if several else plain[0]

    def setup_context(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.shapes = [tuple(x.shape) if isinstance(x, Tensor) else None for x in inputs]
        several = isinstance(output, tuple)
        plain = output if several else (output,)
        with self.level() as level:
            outputs = _wrapped(level, plain, self.out_marks)
            inner = ctx.inner = _Context()
            inner.needs_input_grad = ctx.needs_input_grad
            self.cls.setup_context(inner, _wrapped(level, inputs, self.marks), outputs if several else outputs[0])
            if inner.dirty_tensors:
                raise RuntimeError(
                    f"{self.cls.__name__}: mark_dirty is not available under vmap with generate_vmap_rule=True"
                )
            ctx.mark_non_differentiable(
                *(x for x, o in zip(plain, outputs, strict=True) if _among(o, inner.non_differentiable))
            )
            ctx.set_materialize_grads(inner.materialize_grads)
            saved, ctx.saved_marks = _same(level, inner.to_save or (), outputs, plain)
            ctx.save_for_backward(*saved)
            kept, ctx.kept_marks = _same(level, inner.saved_for_forward or (), outputs, plain)
            ctx.save_for_forward(*kept)

    def backward(self, ctx: Any, *grads: Any) -> Any:
        saved = ctx.saved_tensors
        with self.level() as level:
            ctx.inner.saved_tensors = _wrapped(level, saved, ctx.saved_marks)
            found = self.cls._ag_user_backward()(ctx.inner, *_wrapped(level, grads, self.out_marks))
            found = found if isinstance(found, tuple) else (found,)
            shapes = [None if s is None else s[1:] if m else s for s, m in zip(ctx.shapes, self.marks, strict=True)]
            return tuple(_fitting(level, g, s, m) for g, s, m in zip(found, shapes, self.marks, strict=True))

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        saved = ctx.saved_tensors
        with self.level() as level:
            ctx.inner.saved_tensors = _wrapped(level, saved, ctx.kept_marks)
            found = self.cls.jvp(ctx.inner, *_wrapped(level, tangents, self.marks))
            several = isinstance(found, tuple)
            pairs = zip(found if several else (found,), self.out_marks, strict=True)
            plain = tuple(_fitting(level, t, None, m) for t, m in pairs)
            return plain if several else plain[0]


def _wrapped(level: BatchLevel, values: Iterable[Any], marks: Iterable[bool]) -> tuple[Any, ...]:
    pairs = zip(values, marks, strict=True)
    return tuple(batched(level, x, 0) if mark and x is not None else x for x, mark in pairs)


def _opened(level: BatchLevel, tensors: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    pairs = [value_of(level, x) for x in tensors]
    return tuple(x for x, _ in pairs), tuple(m for _, m in pairs)


def _same(level: BatchLevel, tensors: Any, wrappers: Any, plain: Any) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    """The values of saved tensors; an output's is the very tensor that `forward` returned."""
    values, marks = _opened(level, tensors)
    found = [
        next((p for w, p in zip(wrappers, plain, strict=True) if w is t), v)
        for t, v in zip(tensors, values, strict=True)
    ]
    return tuple(found), marks


def _among(x: Any, tensors: Any) -> bool:
    return any(x is t for t in tensors or ())


def _fitting(level: BatchLevel, g: Any, shape: Any, mark: bool) -> Any:
    """A gradient for each sample, or the sum over all for what they share, in the shape of a sample."""
    if g is None:
        return None
    if shape is not None and tuple(g.shape) != shape:
        g = g.sum_to_size(shape)
    value, has = value_of(level, g)
    if mark:
        return value if has else value.unsqueeze(0).expand(level.size, *value.shape)
    return value.sum(0) if has else value
