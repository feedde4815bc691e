"""Derivatives of functions against finite differences, order by order, in float64."""

from __future__ import annotations

import contextlib
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from autograph_cli.graph.errors import message
from autograph_cli.graph.walk import reached

STEPS = (1e-5, 1e-6, 1e-3, 1e-2)
"""The steps by which a number is varied. Where the first step disagrees, a smaller one tells curvature and a kink close
by from an error, and larger ones tell the rounding of a function that computes in float32 on the way."""
TOLERANCES = (1e-4, 1e-4, 1e-3, 1e-3)
"""The most that a derivative may differ from the difference quotient of each step, relative to the larger."""
ELEMENTS = 24
"""The most numbers of the inputs that are varied, spread over all of them."""
_SIDES = 1e-3
"""The least difference between the derivatives from the left and from the right at a kink."""
_ROUNDING = 1e-15
_SMALL = 1e-2
"""Below this a step may be large beside a number."""


class Checked(Struct, frozen=True):
    """The result of checking the derivatives of one order."""

    name: str
    order: int
    error: float
    """The worst relative error, of the numbers that were varied."""
    worst: str = ""
    """The number that it belongs to, and both values; empty if all are right."""
    kinks: int = 0
    """Numbers where the derivative from the left is not that from the right; they are not compared."""
    kink: str = ""
    """The first of these, with both derivatives."""
    compared: int = 0
    wanted: int = 0
    """The numbers to compare; `compared` is less if the time was over."""
    unchecked: str = ""
    """The reason why this order was not compared, if a lower one was."""

    @property
    def good(self) -> bool:
        """Return whether the derivative was not found to be wrong."""
        return not self.worst


class CannotCheck(Exception):
    """The reason why a function cannot be checked, as a sentence."""


class OutOfTime(CannotCheck):
    """The time that may be taken is over."""


class Given(Struct, frozen=True):
    """The arguments of a call that can be made again."""

    args: tuple[Any, ...] = ()
    words: dict[str, Any] = field(default_factory=dict)
    held: tuple[tuple[str, Any, Any], ...] = ()
    """Tensors that the function may reach in other ways, as parameters: how each is called, it itself, its numbers."""

    @classmethod
    def of(
        cls, torch: Any, args: Sequence[Any], words: Mapping[str, Any] | None = None, *, leaves: bool = True
    ) -> Given:
        """The arguments of a call that is about to be made: `leaves` and what is in modules stay the tensors they
        are."""
        words = dict(words or {})
        held: dict[int, tuple[str, Any, Any]] = {}
        for module in (x for x in (*args, *words.values()) if isinstance(x, torch.nn.Module)):
            for name, x in (*module.named_parameters(), *module.named_buffers()):
                held.setdefault(id(x), (name, x, x.detach().clone()))

        def copied(x: Any) -> Any:
            if leaves and x.is_leaf and x.requires_grad and not x.is_sparse:
                held.setdefault(id(x), ("", x, x.detach().clone()))
                return x
            return x.detach().clone().requires_grad_(x.requires_grad)

        taken, named = mapped(torch, (tuple(args), words), copied)
        return cls(taken, named, tuple(held.values()))


class Call:
    """A function and its arguments, in float64, of which some numbers are varied."""

    def __init__(
        self, torch: Any, function: Callable[..., Any], given: Given, until: float, symmetric: bool = False
    ) -> None:
        self.torch, self.function, self.until, self.symmetric = torch, function, until, symmetric
        tensors, held = list(tensors_in(torch, (given.args, given.words))), {id(x) for _, x, _ in given.held}
        others = [x for _, x, _ in given.held]
        everything = not any(x.requires_grad for x in (*tensors, *others))
        wide = {id(x): x if id(x) in held else _doubled(torch, x, everything) for x in tensors}
        self.args, self.words = mapped(torch, (given.args, given.words), lambda x: wide[id(x)])
        self.held = held
        """The ids of the tensors that are given as they are."""
        names = {id(x): name for name, x, _ in given.held if name}
        varied = {id(x): x for x in (*wide.values(), *others) if x.requires_grad}
        self.inputs = {names.get(key, f"input {position}"): x for position, (key, x) in enumerate(varied.items())}
        """The tensors that are varied, and how they are called."""
        self.weights: dict[int, Any] = {}
        """The factors of the outputs, which are the gradients that come in when they are differentiated."""
        self.singular = False
        """True if an infinite number or NaN was met, which is left out."""
        if not self.inputs:
            raise CannotCheck("no input of it is a tensor of floating numbers")

    def varied(self, order: int) -> dict[str, Any]:
        """Return what the derivatives of this order are by: above the first, the gradients that come in too."""
        weights = {f"the gradient of output {number}": x for number, x in self.weights.items()} if order > 1 else {}
        return self.inputs | weights

    def scalar(self, order: int) -> Any:
        """A number that depends on all derivatives of this order; random numbers are the same in each call."""
        if time.monotonic() > self.until:
            raise OutOfTime("it takes longer than --limit")
        with _same_random_numbers(self.torch):
            return self._derived(order)

    def _derived(self, order: int) -> Any:
        torch = self.torch
        if order:
            found, weights = self.gradients(self._derived(order - 1), order, create_graph=True), {}
        else:
            args, words = mapped(torch, (self.args, self.words), self.fresh)
            found, weights = list(tensors_in(torch, self.function(*args, **words))), self.weights
        total = torch.zeros((), dtype=torch.float64)
        for position, x in enumerate(found):
            if x.dtype.is_complex or x.dtype.is_floating_point:
                weight = weights.get(position)
                if weight is None:
                    weight = weights[position] = _weight(torch, x, position).requires_grad_(order == 0)
                flat = (x.to_dense() if x.is_sparse else x).reshape(-1).to(weight.dtype)
                product = flat * weight.conj()
                real = product.real if product.dtype.is_complex else product
                finite = torch.isfinite(real)
                self.singular |= not bool(finite.all())
                total = total + torch.where(finite, real, torch.zeros_like(real)).sum()
        return total

    def fresh(self, x: Any) -> Any:
        """Return what a call is given for a tensor: no leaf, for it may be changed in place."""
        return x if id(x) in self.held or x.is_sparse else x.clone()

    def gradients(self, scalar: Any, order: int, *, create_graph: bool) -> list[Any]:
        """The derivatives of a number by what is varied."""
        torch, inputs = self.torch, list(self.varied(order).values())
        if not scalar.requires_grad:
            return [torch.zeros_like(x) for x in inputs]
        found = torch.autograd.grad(scalar, inputs, create_graph=create_graph, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def check(
    torch: Any,
    name: str,
    function: Callable[..., Any],
    given: Given,
    orders: int,
    until: float = math.inf,
    symmetric: bool = False,
) -> list[Checked]:
    """Compare the derivatives of each order with differences of those one order lower.

    All is taken in float64. Tensors that require grad are varied; where none does, all of floating numbers are. Above
    the first order, so are the gradients that come in. The first wrong order is the last that is compared, for what is
    derived from it tells nothing; so is one that cannot be computed. Nothing is computed after `until`, a time of
    `time.monotonic`. A derivative that is right among `symmetric` matrices will do, as that of an operation which takes
    no others. Raises `CannotCheck`.
    """
    found: list[Checked] = []
    with warnings.catch_warnings(), torch.enable_grad(), in_float64(torch, given.held):
        warnings.simplefilter("ignore")
        call = Call(torch, function, given, until, symmetric)
        while len(found) < orders and (not found or (found[-1].good and not found[-1].unchecked)):
            try:
                found.append(_order(call, name, len(found) + 1))
            except CannotCheck as why:
                if not found:
                    raise
                found.append(Checked(name, len(found) + 1, math.nan, unchecked=str(why)))
    return found


def run_once(torch: Any, function: Callable[..., Any], given: Given, order: int) -> None:
    """Compute the derivatives of this order once, as they are when they are checked."""
    with warnings.catch_warnings(), torch.enable_grad(), in_float64(torch, given.held):
        warnings.simplefilter("ignore")
        Call(torch, function, given, math.inf).scalar(order)


def _order(call: Call, name: str, order: int) -> Checked:
    """The derivatives of one order, compared."""
    try:
        first, second = call.scalar(order - 1), call.scalar(order - 1)
        if not call.weights:
            raise CannotCheck("it returns no tensor of floating numbers, and has no derivative")
        same, nan = float(first.detach()) == float(second.detach()), math.isnan(float(first.detach()))
        if not same and not nan:
            raise CannotCheck("it gives other numbers each time that it is called")
        if _is_once_differentiable(second):
            raise CannotCheck("a backward in it is marked as once differentiable")
        return _compared(call, name, order, call.gradients(second, order, create_graph=False))
    except (CannotCheck, KeyboardInterrupt):
        raise
    except Exception as error:
        text = message(error).partition("\n")[0]
        what = "it" if order == 1 else f"its derivative of order {order - 1}"
        raise CannotCheck(f"in float64, {what} raises {type(error).__name__}: {text}") from error


def _is_once_differentiable(scalar: Any) -> bool:
    """Return whether the graph has the node that a backward leaves which is not to be differentiated."""
    nodes = reached([scalar.grad_fn], lambda node: () if node is None else (other for other, _ in node.next_functions))
    return any(node is not None and node.name() == "torch::autograd::Error" for node in nodes)


def _compared(call: Call, name: str, order: int, gradients: Sequence[Any]) -> Checked:
    error, worst, kinks, kink, compared = 0.0, "", 0, "", 0
    middle = float(call.scalar(order - 1).detach())
    varied = call.varied(order)
    numbers = [_real_numbers(call.torch, gradient.detach()) for gradient in gradients]
    chosen = [
        (position, index)
        for position, several in enumerate(numbers)
        for index in range(0, len(several), max(1, math.ceil(len(several) * len(numbers) / ELEMENTS)))
    ]
    # All inputs in turn, if there is no time for all numbers.
    for position, index in sorted(chosen, key=lambda at: (at[1] / len(numbers[at[0]]), at[0])):
        largest = max((abs(number) for number in numbers[position] if math.isfinite(number)), default=0.0)
        called, x = list(varied.items())[position]
        try:
            one = _compare(call, order - 1, middle, x, {index: 1}, numbers[position][index], largest)
            if not one.good and not one.is_kink and call.symmetric and (moved := _mirrored(x, index)):
                both = sum(sign * numbers[position][other] for other, sign in moved.items())
                mirrored = _compare(call, order - 1, middle, x, moved, both, largest)
                one = mirrored if mirrored.good else one
        except OutOfTime:
            if not compared:
                raise
            break
        compared += 1
        where = f"{called}, {_where(x, index)}"
        if one.is_kink:
            kinks += 1
            kink = kink or f"{where}: {one.left:.6g} from the left, {one.right:.6g} from the right"
        elif not one.error <= error:
            error = one.error
            if not one.good:
                mine = numbers[position][index]
                worst = f"{where}: backward gives {mine:.6g}, finite differences give {one.middle:.6g}"
    return Checked(name, order, error, worst, kinks, kink, compared, len(chosen))


class _Compared(Struct, frozen=True):
    """One number of a derivative beside the difference quotients from the left, from the right, and of both."""

    error: float
    good: bool = False
    is_kink: bool = False
    left: float = math.nan
    right: float = math.nan

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def _compare(
    call: Call, order: int, middle: float, x: Any, moved: dict[int, int], mine: float, largest: float
) -> _Compared:
    """A derivative beside difference quotients, along the numbers in these positions, by these signs."""
    found, sides = math.nan, []
    if call.singular and not math.isfinite(mine):
        return _Compared(math.nan, is_kink=True)
    for step, tolerance in _steps(x):
        before, after = (_moved(call, order, x, moved, by) for by in (-step, step))
        left, right = (middle - before) / step, (after - middle) / step
        sides.append((left, right))
        numeric = (left + right) / 2
        size, floor = max(abs(mine), abs(numeric)), _floor(middle, largest, step, tolerance)
        if step < STEPS[1] and floor > size:
            break  # in so small a step there is nothing but rounding
        error = abs(mine - numeric) / max(size, floor)
        found = error if len(sides) == 1 else found
        sure = len(sides) > 1 or abs(right - left) <= _SIDES * max(abs(left), abs(right))
        if error <= tolerance and sure:
            kink = step == STEPS[1] and _apart(mine, _floor(middle, largest, step, _SIDES), *sides)
            return _Compared(error, True, kink, left, right)
    if _apart(mine, _floor(middle, largest, STEPS[1], _SIDES), *sides[:2]):
        return _Compared(found, is_kink=True, left=sides[1][0], right=sides[1][1])
    return _Compared(found, left=sides[0][0], right=sides[0][1])


def _steps(x: Any) -> Iterator[tuple[float, float]]:
    """Steps and tolerances; of an input whose numbers are all next to nothing, one that is small beside them, too."""
    yield from zip(STEPS, TOLERANCES, strict=True)
    scale = float(x.detach().abs().max())
    if 0 < scale < _SMALL:
        yield STEPS[0] * scale, TOLERANCES[0]


def _floor(middle: float, largest: float, step: float, tolerance: float) -> float:
    """Return what derivatives are measured by that are next to nothing beside the others, or beside rounding."""
    return max(1e-3 * largest, _ROUNDING * abs(middle) / step / tolerance, 1e-12)


def _apart(mine: float, floor: float, far: tuple[float, float], near: tuple[float, float]) -> bool:
    """Return whether both sides stay apart when the step becomes smaller, and the derivative is one between them.

    Where a function jumps, or is not defined on one side, there is no derivative to compare with.
    """
    if not all(map(math.isfinite, near)):
        return True
    if max(map(abs, near)) > max(3 * max(map(abs, far)), floor):
        return True
    apart, scale = abs(near[1] - near[0]), max(floor, *map(abs, (*near, mine)))
    between = min(near) - _SIDES * scale <= mine <= max(near) + _SIDES * scale
    return between and apart > _SIDES * scale and apart > abs(far[1] - far[0]) / 2


def _where(x: Any, index: int) -> str:
    flat = x.detach().reshape(-1)
    if not x.dtype.is_complex:
        return f"number {index} ({float(flat[index]):.4g})"
    value, part = complex(flat[index // 2]), ("real", "imaginary")[index % 2]
    return f"{part} part of number {index // 2} ({value:.4g})"


def _mirrored(x: Any, index: int) -> dict[int, int]:
    """The positions of a number of a matrix and of the one across the diagonal; none where there is none."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return {}
    parts, n = (2 if x.dtype.is_complex else 1), x.shape[-1]
    number, part = divmod(index, parts)
    matrix, row, column = number // (n * n), number // n % n, number % n
    across = (matrix * n * n + column * n + row) * parts + part
    return {index: 1, across: -1 if part else 1} if row != column else {index: 1}


def _moved(call: Call, order: int, x: Any, moved: dict[int, int], step: float) -> float:
    """The number that the function gives with some numbers of an input changed."""
    torch, kept = call.torch, x.detach().clone()
    with torch.no_grad():
        flat = torch.view_as_real(x).view(-1) if x.dtype.is_complex else x.view(-1)
        for index, sign in moved.items():
            flat[index] += sign * step
    try:
        return float(call.scalar(order).detach())
    finally:
        with torch.no_grad():
            x.copy_(kept)


def _real_numbers(torch: Any, x: Any) -> list[float]:
    """All numbers of a tensor, real and imaginary parts in turn."""
    dense = x.to_dense() if x.is_sparse else x
    flat = torch.view_as_real(dense.resolve_conj()) if dense.dtype.is_complex else dense
    # PyTorch's zeros may be without memory, until they are copied.
    numbers: list[float] = torch.empty(flat.shape, dtype=torch.float64).copy_(flat).reshape(-1).tolist()
    return numbers


def _doubled(torch: Any, x: Any, everything: bool) -> Any:
    """A tensor in float64, contiguous, so that one number of it can be changed."""
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        return x
    wide = torch.complex128 if x.dtype.is_complex else torch.float64
    with torch.no_grad():
        dense = x.to_dense() if x.is_sparse else x
        made = dense.detach().resolve_conj().to(wide).clone(memory_format=torch.contiguous_format)
    return made.requires_grad_(x.requires_grad or everything)


def tensors_in(torch: Any, value: Any) -> Iterator[Any]:
    """The tensors in a value, in its lists, tuples and dictionaries, each once."""
    met: dict[int, Any] = {}
    mapped(torch, value, lambda x: met.setdefault(id(x), x))
    return iter(met.values())


def mapped(torch: Any, value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with its tensors changed, and those in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return type(value)((key, mapped(torch, part, change)) for key, part in value.items())
    if isinstance(value, (tuple, list)):
        parts = [mapped(torch, part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _weight(torch: Any, x: Any, position: int) -> Any:
    """Numbers to multiply a tensor by, each another."""
    angles = torch.arange(x.numel(), dtype=torch.float64, device=x.device) + position
    return torch.complex(torch.cos(angles), torch.sin(angles + 1)) if x.dtype.is_complex else torch.cos(angles)


@contextlib.contextmanager
def in_float64(torch: Any, held: Sequence[tuple[str, Any, Any]]) -> Iterator[None]:
    """Within the block, these tensors have the numbers that they had at the call, in float64."""
    before = [(x, x.data) for _, x, _ in held]
    try:
        for _, x, numbers in held:
            floating = x.dtype.is_floating_point or x.dtype.is_complex
            x.data = _doubled(torch, numbers, False).detach() if floating else numbers.clone()
        yield
    finally:
        for x, data in before:
            x.data = data


@contextlib.contextmanager
def _same_random_numbers(torch: Any) -> Iterator[None]:
    """Within the block, all generators begin anew; after it they are where they were."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    on_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])
        torch.cuda.set_rng_state_all(on_gpus)
