"""Derivatives of functions: `jacobian`, `hessian`, and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.backward import grad
from .._core.base.size import Size
from .._core.operations.operation import operations
from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor, make
from .._core.transforms.forward import joined, paired
from .._core.transforms.interpreter_stack import DualLevel, refuse_call, running
from .._core.transforms.reverse import fresh, split, standard_basis
from .._core.transforms.transforms import dual
from .._functorch.vmap import vmap
from .grad_mode import enable_grad, is_grad_enabled, set_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]


# ---------------------------------------------------------------- products with a vector


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func` and the product of `v` with its Jacobian.

    >>> from autograph_cli import torch
    >>> torch.autograd.functional.vjp(lambda t: t**2, torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        call = _Call(func, inputs, "vjp", create_graph, strict).run()
        seeds = _vector(call, v, call.outputs, call.tuple_out, ONE_OUTPUT)
    with _recording(create_graph):
        found = _grad(call.outputs, call.inputs, seeds, create_graph)
        found = _fill(found, call.inputs, strict, create_graph, "back")
    return call.result(), _loose(found, create_graph, call.tuple_in)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func` and the product of its Jacobian with `v`, by two backward passes.

    >>> from autograph_cli import torch
    >>> torch.autograd.functional.jvp(lambda t: t**2, torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        call = _Call(func, inputs, "jvp", create_graph, strict)
        seeds = _vector(call, v, call.inputs, call.tuple_in, ONE_INPUT)
        call.run()
        slots = tuple(_zeros(o, requires_grad=True) for o in call.outputs)
        back = _grad(call.outputs, call.inputs, slots, True)
        _require_grad(back, "grad_inputs", strict)
    with _recording(create_graph):
        found = _grad(back, slots, seeds, create_graph)
        found = _fill(found, call.outputs, strict, create_graph, "back_trick")
    return call.result(), _loose(found, create_graph, call.tuple_out)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a scalar `func` and the product of `v` with its Hessian.

    >>> from autograph_cli import torch
    >>> torch.autograd.functional.vhp(lambda t: (t**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([ 6., 12.])
    """
    with enable_grad():
        call, seeds, first = _first_derivative(func, inputs, v, "vhp", create_graph, strict)
    with _recording(create_graph):
        found = _grad(first, call.inputs, seeds, create_graph)
        found = _fill(found, call.inputs, strict, create_graph, "double_back")
    return call.result(), _loose(found, create_graph, call.tuple_in)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a scalar `func` and the product of its Hessian with `v`.

    >>> from autograph_cli import torch
    >>> torch.autograd.functional.hvp(lambda t: (t**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([ 6., 12.])
    """
    with enable_grad():
        call, seeds, first = _first_derivative(func, inputs, v, "hvp", create_graph, strict)
        slots = tuple(_zeros(x, requires_grad=True) for x in call.inputs)
        back = _grad(first, call.inputs, slots, True)
        _require_grad(back, "grad_inputs", strict)
    with _recording(create_graph):
        found = _grad(back, slots, seeds, create_graph)
        found = _fill(found, call.inputs, strict, create_graph, "double_back_trick")
    return call.result(), _loose(found, create_graph, call.tuple_in)


def _first_derivative(func: Function, inputs: Any, v: Any, name: str, create_graph: bool, strict: bool) -> Any:
    call = _Call(func, inputs, name, create_graph, strict)
    seeds = _vector(call, v, call.inputs, call.tuple_in, ONE_INPUT)
    call.run()
    _require_scalar(call.tuple_out, call.outputs, name)
    first = _grad(call.outputs, call.inputs, None, True)
    _require_grad(first, "jacobian", strict)
    return call, seeds, first


# ---------------------------------------------------------------- whole matrices


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`: output shape, then input shape; nested tuples where either is a tuple.

    >>> from autograph_cli import torch
    >>> torch.autograd.functional.jacobian(lambda t: t**2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy("jacobian", strategy, vectorize, create_graph, strict)
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs)
    with enable_grad():
        call = _Call(func, inputs, "jacobian", create_graph, strict).run()
        rows = (
            _vectorized(call, create_graph)
            if vectorize
            else tuple(_rows(call, i, create_graph, strict) for i in range(len(call.outputs)))
        )
    if not create_graph:
        rows = tuple(tuple(block.detach() for block in row) for row in rows)
    blocks = rows if call.tuple_in else tuple(row[0] for row in rows)
    return blocks if call.tuple_out else blocks[0]


def _vectorized(call: _Call, create_graph: bool) -> tuple[Tensors, ...]:
    """All blocks from one backward pass over a batch of cotangents."""

    def pull(*basis: Tensor) -> Tensors:
        found = _grad(call.outputs, call.inputs, basis, create_graph, retain_graph=True)
        return tuple(_zeros(x) if g is None else g for g, x in zip(found, call.inputs, strict=True))

    sizes = [o._ag_raw.size for o in call.outputs]
    stacks = [stacked.split(sizes) for stacked in vmap(pull)(*standard_basis(list(call.outputs)))]
    return tuple(
        tuple(stack[i].view((*o._ag_raw.shape, *x._ag_raw.shape)) for stack, x in zip(stacks, call.inputs, strict=True))
        for i, o in enumerate(call.outputs)
    )


def _forward_jacobian(func: Function, inputs: Any) -> Any:
    """The blocks from one run of the function over a batch of tangents."""
    tuple_in, given = _tensors(inputs, "inputs", "jacobian")
    tuple_out = False

    def push(*basis: Tensor) -> Tensors:
        nonlocal tuple_out
        with running(DualLevel(by_hand=True)) as level:
            duals = [dual(level, *paired(x, t)) for x, t in zip(given, basis, strict=True)]
            tuple_out, outputs = _tensors(func(*duals), "outputs of the user-provided function", "jacobian")
            tangents = [split(level, y)[1] for y in joined(level, outputs)]
        return tuple(_zeros(y) if t is None else t for t, y in zip(tangents, outputs, strict=True))

    stacks = vmap(push)(*standard_basis(list(given)))
    sizes = [x._ag_raw.size for x in given]
    rows = [
        [
            part.permute(*range(1, part.ndim), 0).reshape((*part._ag_raw.shape[1:], *x._ag_raw.shape))
            for part, x in zip(stacked.split(sizes, 0), given, strict=True)
        ]
        for stacked in stacks
    ]
    blocks: Any = rows if tuple_in else [row[0] for row in rows]
    return blocks if tuple_out else blocks[0]


def _rows(call: _Call, i: int, create_graph: bool, strict: bool) -> Tensors:
    """The blocks of output `i`: one for each input, stacked from one backward pass an element."""
    output = call.outputs[i]
    stacks: list[list[Any]] = [[] for _ in call.inputs]
    for k in range(output._ag_raw.size):
        found = _grad((output.reshape(-1)[k],), call.inputs, None, create_graph, retain_graph=True)
        for j, (stack, g, x) in enumerate(zip(stacks, found, call.inputs, strict=True)):
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of "
                    f"input {i}. This is not allowed in strict mode when create_graph=True."
                )
            if g is None and strict:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in "
                    "strict mode."
                )
            stack.append(_zeros(x) if g is None else g)
    shapes = [(*output._ag_raw.shape, *x._ag_raw.shape) for x in call.inputs]
    return tuple(
        operations.stack(stack, 0).view(shape) if stack else make(np.zeros(shape, x._ag_raw.dtype))
        for stack, shape, x in zip(stacks, shapes, call.inputs, strict=True)
    )


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar `func`: input shape twice; nested tuples where the input is a tuple.

    >>> from autograph_cli import torch
    >>> torch.autograd.functional.hessian(lambda t: (t**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    tuple_in, given = _tensors(inputs, "inputs", "hessian")

    def value(*xs: Tensor) -> Any:
        tuple_out, outputs = _tensors(func(*xs), "outputs of the user-provided function", "hessian")
        _require_grad(outputs, "outputs", strict)
        _require_scalar(tuple_out, outputs, "hessian")
        return outputs[0].squeeze()

    def first(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple(map(fresh, xs))
        result = jacobian(value, xs, create_graph=True)
        _require_grad(result, "jacobian", strict)
        return result

    blocks = jacobian(
        first, given, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    return blocks if tuple_in else blocks[0][0]


def _check_strategy(name: str, strategy: str, vectorize: bool, create_graph: bool, strict: bool) -> None:
    full = f"torch.autograd.functional.{name}"
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    forward = strategy == "forward-mode"
    if forward and create_graph:
        raise NotImplementedError(
            f'{full}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please '
            'either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if forward and strict:
        raise RuntimeError(
            f'{full}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
            '`strict=False` or `strategy="reverse-mode"`.'
        )
    if forward and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    if vectorize and strict:
        raise RuntimeError(
            f"{full}: `strict=True` and `vectorized=True` are not supported together. Please either set `strict=False` "
            "or `vectorize=False`."
        )


# ---------------------------------------------------------------- one call of the user's function


class _Call:
    """Inputs that the user's own tensors do not reach, and what the function makes of them."""

    tuple_out: bool
    outputs: Tensors

    def __init__(self, func: Function, inputs: Any, name: str, create_graph: bool, strict: bool) -> None:
        self.func, self.name, self.create_graph, self.strict = func, name, create_graph, strict
        self.tuple_in, given = _tensors(inputs, "inputs", name)
        self.inputs = tuple(_fresh(x, create_graph) for x in given)

    def run(self) -> _Call:
        found = self.func(*self.inputs)
        self.tuple_out, self.outputs = _tensors(found, "outputs of the user-provided function", self.name)
        _require_grad(self.outputs, "outputs", self.strict)
        return self

    def result(self) -> Any:
        return _loose(self.outputs, self.create_graph, self.tuple_out)


def _tensors(given: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Return whether `given` is a tuple, and it as a tuple."""
    many = isinstance(given, tuple)
    for i, x in enumerate(given if many else (given,)):
        if not isinstance(x, Tensor):
            which = f"value at index {i}" if many else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(x)}."
            )
    return many, given if many else (given,)


def _kept(x: Tensor, create_graph: bool) -> Tensor:
    """A tensor of the user's, as another one: in the graph if that is wanted."""
    return x.view_as(x) if create_graph and x.requires_grad else x.detach()


def _fresh(x: Tensor, create_graph: bool) -> Tensor:
    if not (create_graph and x.requires_grad):
        refuse_call("requires_grad_")
    made = _kept(x, create_graph)
    return made if made.requires_grad else made.requires_grad_()


def _zeros(x: Tensor, requires_grad: bool = False) -> Tensor:
    made: Tensor = functions["zeros_like"](x)
    return made.requires_grad_() if requires_grad else made


def _recording(create_graph: bool) -> Any:
    return set_grad_enabled(create_graph or is_grad_enabled())


def _loose(tensors: Tensors, create_graph: bool, as_tuple: bool) -> Any:
    """The results, out of the graph unless it is wanted, packed as the argument was."""
    kept = tensors if create_graph else tuple(t.detach() for t in tensors)
    return kept if as_tuple else kept[0]


def _grad(
    outputs: Sequence[Any], inputs: Tensors, seeds: Any, create_graph: bool, retain_graph: bool | None = None
) -> Any:
    """`grad` of the outputs that have a graph; None for inputs that they do not depend on."""
    seeds = (None,) * len(outputs) if seeds is None else seeds
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, gradients = zip(*pairs, strict=True)
    return grad(roots, inputs, gradients, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True)


# ---------------------------------------------------------------- checks

ONE_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)
ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


def _vector(call: _Call, v: Any, like: Tensors, as_tuple: bool, missing: str) -> Tensors | None:
    """`v` as tensors shaped like those of `like`; None stands for 1 where there is one element."""
    if v is None:
        if len(like) != 1 or like[0]._ag_raw.size != 1:
            raise RuntimeError(missing)
        return (make(np.ones(like[0]._ag_raw.shape, like[0]._ag_raw.dtype)[()]),)
    _, given = _tensors(v, "v", call.name)
    given = tuple(_kept(x, call.create_graph) for x in given)
    if len(given) != len(like):
        if as_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(given, like, strict=True)):
        if a._ag_raw.shape != b._ag_raw.shape:
            prefix = f"Entry {i} in " if as_tuple else ""
            raise RuntimeError(
                f"{prefix}v has invalid size: should be {Size(b._ag_raw.shape)} but got {Size(a._ag_raw.shape)}."
            )
    return given


def _require_scalar(tuple_out: bool, outputs: Tensors, name: str) -> None:
    if tuple_out:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0]._ag_raw.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


_CONSTANT = {
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided "
    "function. This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {i} is independent of the input. This is not allowed in strict mode. You should ensure that your function "
    "is twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
    "for example).",
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
}


def _require_grad(tensors: Sequence[Any], what: str, strict: bool) -> None:
    """In strict mode, raise where something does not depend on the inputs."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode."
            )
        if not t.requires_grad:
            raise RuntimeError(_CONSTANT[what].format(i=i))


_MISSING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using "
    "the double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
    "strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. "
    "This is not allowed in strict mode as it prevents from using the double backward trick to replace forward mode "
    "AD.",
}


def _fill(found: Sequence[Any], like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """Zeros for missing gradients; in strict mode, an error."""
    filled = []
    for i, (g, x) in enumerate(zip(found, like, strict=True)):
        if g is None and strict:
            raise RuntimeError(_MISSING[stage].format(i=i))
        if g is not None and strict and create_graph and not g.requires_grad and "double" in stage:
            raise RuntimeError(
                f"The hessian of the user-provided function is independent of input {i}. This is not allowed in "
                "strict mode when create_graph=True."
            )
        if g is not None and strict and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
                "strict mode when create_graph=True."
            )
        filled.append(_zeros(x) if g is None else g)
    return tuple(filled)
