"""`gradcheck` and `gradgradcheck`: what backward says beside what finite differences say."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._arrays.cuda import moved as on_device, on_host
from .._core.backward import grad
from .._core.base import dtypes
from .._core.base.size import Size
from .._core.base.state import next_sequence_nr, thread_state
from .._core.base.user_warnings import warn
from .._core.tape.node import Node, edge_of, output_meta
from .._core.tape.tensor import Tensor, make
from .small_steps import (
    BATCHED,
    Directions,
    GradcheckError,
    as_tuple,
    holds_complex,
    mismatch,
    moved,
    put_back,
    unit_steps,
)

Function = Callable[..., Any]


@contextmanager
def _unobserved() -> Iterator[None]:
    """Within the block: an observer passes over what is computed, which is the check's and not the script's."""
    before, thread_state.unobserved = thread_state.unobserved, True
    try:
        yield
    finally:
        thread_state.unobserved = before


@_unobserved()
def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with finite differences; GradcheckError, or False, where they differ.

    >>> from autograph_cli import torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda t: t**3, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = _Check(func, as_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        check.run(check_backward_ad, check_undefined_grad, check_batched_grad)
        if check_forward_ad:
            forward = importlib.import_module(".forward_check", __package__)  # with vmap, which few scripts need
            forward.run(check, check_batched_forward_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


@_unobserved()
def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of `func` with finite differences of the first ones, as `gradcheck` does.

    >>> from autograph_cli import torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda t: t**3, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    _refuse(gen_non_contig_grad_outputs=gen_non_contig_grad_outputs)
    given = as_tuple(inputs)
    if grad_outputs is None:
        seeds = tuple(_random_gradient(o) for o in _differentiable(func(*given)))
    else:
        seeds = tuple(g if g.requires_grad else g.detach().requires_grad_() for g in as_tuple(grad_outputs))

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        args, grads = args[: len(given)], args[len(given) :]
        wanted = [x for x in args if isinstance(x, Tensor) and x.requires_grad]
        found = grad(_differentiable(func(*args)), wanted, grads, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        (*given, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _refuse(**asked: bool) -> None:
    for name, value in asked.items():
        if value:
            raise NotImplementedError(f"{name}=True is not available in autograph's engine yet")


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in as_tuple(outputs) if o.requires_grad)


def _random_gradient(output: Tensor) -> Tensor:
    """Values in [-1, 1) from the default generator, as PyTorch draws them."""
    kind = output._ag_raw.dtype if dtypes.CATEGORY[output._ag_raw.dtype] >= dtypes.FLOATING else np.dtype(np.float64)
    if dtypes.CATEGORY[kind] == dtypes.COMPLEX:
        parts = _beside(np.empty((*output._ag_raw.shape, 2), np.empty(0, kind).real.dtype), output)
        parts.uniform_(-1, 1)
        drawn = make(parts._ag_raw.view(kind)[..., 0])
    else:
        drawn = _beside(np.empty(output._ag_raw.shape, kind), output)
        drawn.uniform_(-1, 1)
    drawn.requires_grad = True
    return drawn


# ---------------------------------------------------------------- one check


class _Check:
    """One `gradcheck`. Jacobians are arrays of (elements of the input, elements of the output)."""

    def __init__(
        self,
        func: Function,
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        same_dtypes: bool,
        fast: bool,
    ) -> None:
        self.func = func
        self.inputs = inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.same_dtypes = same_dtypes
        self.fast = fast
        self.wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]

    def run(self, backward: bool, check_undefined: bool, batched: bool) -> None:
        self._check_inputs()
        if not backward:
            return
        outputs = _differentiable(self.func(*self.inputs))
        if not outputs:
            self._check_constant()
            return
        is_complex = [holds_complex(o) for o in outputs]
        if any(is_complex):
            self._compare("imaginary", is_complex)
        self._compare("real", is_complex)
        if batched:
            self._ag_check_batched(outputs)
        self._check_scales_with_gradient(outputs)
        if check_undefined:
            self._check_undefined()

    def _check_inputs(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for i, x in enumerate(self.inputs):
            if not isinstance(x, Tensor) or not x.requires_grad:
                continue
            if x._ag_raw.dtype not in (np.float64, np.complex128):
                warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                    "check will likely fail if all the inputs are not of double precision floating point or complex. "
                )
            if any(n > 1 and stride == 0 for n, stride in zip(x._ag_raw.shape, x._ag_raw.strides, strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )

    def _check_constant(self) -> None:
        """No output needs a gradient, so finite differences must be 0."""
        outputs = as_tuple(self.func(*self.inputs))
        evaluate = self._evaluator("real", lambda o: as_tuple(o))
        for x in self.wanted:
            for jacobian in self._numerical(x, evaluate, len(outputs)):
                if np.any(np.abs(jacobian) > self.eps):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def _evaluator(self, part: str, select: Callable[[Any], tuple[Tensor, ...]]) -> Callable[[], list[Any]]:
        """A function that runs `func` and gives copies of the raw parts of its outputs."""

        def evaluate() -> list[Any]:
            found = [on_host(o._ag_raw) for o in select(self.func(*self.inputs))]
            return [np.array(raw.imag if part == "imaginary" else raw.real) for raw in found]

        return evaluate

    # -- both Jacobians

    def _compare(self, part: str, is_complex: list[bool]) -> None:
        chosen = [i for i, c in enumerate(is_complex) if c or part == "real"]
        everything = self._evaluator(part, _differentiable)
        evaluate = lambda: [value for i, value in enumerate(everything()) if i in chosen]  # noqa: E731
        directions = Directions() if self.fast else None
        numerical = [self._numerical(x, evaluate, len(chosen), directions) for x in self.wanted]
        outputs = _differentiable(self.func(*self.inputs))
        for position, i in enumerate(chosen):
            analytical = self._analytical(outputs[i], 1j if part == "imaginary" else 1)
            for j, x in enumerate(self.wanted):
                a, n, atol = analytical[j], numerical[j][position], self.atol
                if directions is not None:
                    a, n, scale = directions.project(x, a, n)
                    atol *= scale
                if not np.allclose(a, n, rtol=self.rtol, atol=atol):
                    prefix = f"While considering the {part} part of complex outputs only, " if is_complex[i] else ""
                    raise GradcheckError(f"{prefix}{mismatch(i, j, a, n, self.fast)}")

    def _analytical(self, output: Tensor, unit: complex) -> list[Any]:
        first, second = self._rows(output, unit), self._rows(output, unit)
        for a, b in zip(first, second, strict=True):
            if np.any(np.abs(a - b) > self.nondet_tol):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                    f"nondeterminism was {self.nondet_tol}.\n"
                )
        return first

    def _rows(self, output: Tensor, unit: complex) -> list[Any]:
        """The Jacobians of one output (its imaginary part: `unit` 1j) by every input, from one backward pass an "
        "element."""
        shape, size = output._ag_raw.shape, output._ag_raw.size
        columns = [np.zeros((x._ag_raw.size, size), x._ag_raw.dtype) for x in self.wanted]
        for k in range(size):
            seed = np.zeros(size, output._ag_raw.dtype)
            seed[k] = unit
            found = grad(
                output, self.wanted, _beside(seed.reshape(shape)[()], output), retain_graph=True, allow_unused=True
            )
            for x, g, column in zip(self.wanted, found, columns, strict=True):
                if g is None:
                    continue
                if self.same_dtypes and g._ag_raw.dtype != x._ag_raw.dtype:
                    raise GradcheckError("Gradient has dtype mismatch")
                if g._ag_raw.shape != x._ag_raw.shape:
                    raise GradcheckError("Analytical gradient has incorrect size")
                column[:, k] = on_host(g._ag_raw).reshape(-1)
        return columns

    def _numerical(
        self, x: Tensor, evaluate: Callable[[], list[Any]], outputs: int, directions: Any = None
    ) -> list[Any]:
        """The Jacobians of all outputs by `x`; in fast mode, their products with one direction."""
        steps = unit_steps(x) if directions is None else directions.steps(x)
        rows: list[list[Any]] = [[] for _ in range(outputs)]
        for index, moves in steps:
            parts = [self._difference(x, index, move, evaluate) for move in moves]
            for row, *pair in zip(rows, *parts, strict=True):
                row.append(pair[0] if len(pair) == 1 else pair[0] + 1j * pair[1])
        return [np.array(row) if row else np.zeros((0, 0)) for row in rows]

    def _difference(self, x: Tensor, index: Any, move: Any, evaluate: Callable[[], list[Any]]) -> list[Any]:
        kept = x._ag_raw
        if not isinstance(kept, np.generic):
            kept = kept.copy()
        results = []
        try:
            for step in (-self.eps, self.eps):
                moved(x, kept, index, step * move)
                results.append(evaluate())
        finally:
            put_back(x, kept)
        low, high = results
        for a, b in zip(low, high, strict=True):
            _same(a, b, index, self.eps)
        return [((b - a) / (2 * self.eps)).reshape(-1) for a, b in zip(low, high, strict=True)]

    # -- what else a backward must do

    def _ag_check_batched(self, outputs: tuple[Tensor, ...]) -> None:
        """A batch of gradients gives what they give one by one."""
        for i, output in enumerate(outputs):
            seeds = [_random_gradient(output).detach() for _ in range(10)]
            single = [grad(output, self.wanted, seed, retain_graph=True, allow_unused=True) for seed in seeds]
            stacked = _beside(np.stack([on_host(seed._ag_raw) for seed in seeds]), output)
            together = grad(output, self.wanted, stacked, retain_graph=True, allow_unused=True, is_grads_batched=True)
            for j, g in enumerate(together):
                if g is not None and not np.allclose(
                    on_host(g._ag_raw), np.stack([on_host(row[j]._ag_raw) for row in single]), self.rtol, self.atol
                ):
                    raise GradcheckError(f"For output {i} and input {j}: {BATCHED}")

    def _check_scales_with_gradient(self, outputs: tuple[Tensor, ...]) -> None:
        zeros = [_beside(np.zeros(o._ag_raw.shape, o._ag_raw.dtype)[()], o) for o in outputs]
        for x, g in zip(self.wanted, grad(outputs, self.wanted, zeros, allow_unused=True), strict=True):
            if g is None:
                continue
            if np.any(on_host(g._ag_raw) != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if g._ag_raw.dtype != x._ag_raw.dtype:
                raise GradcheckError("grad is incorrect type")
            if g._ag_raw.shape != x._ag_raw.shape:
                raise GradcheckError("grad is incorrect size")

    def _check_undefined(self) -> None:
        """Run backward with outputs that no gradient reaches: all of them, then each alone."""
        count = len(_differentiable(self.func(*self.inputs)))
        for cut in [set(range(count)), *({i} for i in range(count) if count > 1)]:
            outputs = [_cut(o) if i in cut else o for i, o in enumerate(_differentiable(self.func(*self.inputs)))]
            zeros = [_beside(np.zeros(o._ag_raw.shape, o._ag_raw.dtype)[()], o) for o in outputs]
            try:
                found = grad(outputs, self.wanted, zeros, allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError(
                    'Expected backward function to handle undefined output grads. Please look at "Notes about '
                    'undefined output gradients" in "tools/autograd/derivatives.yaml"'
                ) from error
            if any(g is not None and np.any(on_host(g._ag_raw) != 0) for g in found):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                    "Please look "
                    'at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
                )


# ---------------------------------------------------------------- pieces


def _beside(array: Any, x: Tensor) -> Tensor:
    """A tensor of an array's elements, on the device of `x`."""
    return make(on_device(array, x.device))


class UndefinedGradBackward(Node):
    """Passes no gradient on."""

    __slots__ = ()

    def _ag_run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        return (None,)

    _ag_run_recorded = _ag_run_raw


def _cut(output: Tensor) -> Tensor:
    """The same values behind a node that passes no gradient on."""
    node: UndefinedGradBackward = object.__new__(UndefinedGradBackward)
    node._ag_edges, node._ag_saved, node._ag_extra = (edge_of(output),), (), None
    node._ag_output_meta, node._ag_seq = output_meta(output._ag_raw), next_sequence_nr()
    return make(output._ag_raw, (node, 0))


def _same(low: Any, high: Any, index: Any, eps: float) -> None:
    where = "" if index is ... else f"on index {index} "
    start = "Expected `func` to return outputs with the same"
    if low.shape != high.shape:
        raise AssertionError(
            f"{start} shape when inputs are perturbed {where}by {eps}, but got: shapes {Size(low.shape)} and "
            f"{Size(high.shape)}."
        )
    if low.dtype != high.dtype:
        kinds = f"{dtypes.FROM_NUMPY[low.dtype]} and {dtypes.FROM_NUMPY[high.dtype]}"
        raise AssertionError(f"{start} dtype when inputs are perturbed {where}by {eps}, but got: dtypes {kinds}.")
