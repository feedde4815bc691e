"""Tries that put what does not belong there into the engine's own slots, or nothing, and go on with the tensor.

    python -m tests.torch.core.running.spoiled_slots FIRST STEP

runs every STEP-th try from FIRST on in this process and prints the number of each before it begins: what they raise does
not matter, that the process lives does. The slots are those that compiled code reads in place, as it tells them.
"""

import copy
import gc
import itertools
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograph_cli import capture, torch
from autograph_cli.torch._core.base import state
from autograph_cli.torch._core.running.calling import fast_tape
from autograph_cli.torch._core.running.views import CopySlices
from autograph_cli.torch._core.tape.node import LEAF, AccumulateGrad, Node, View
from autograph_cli.torch._core.tape.saved_tensors import SavedList, SavedResult
from autograph_cli.torch._core.tape.tensor import TensorMeta
from autograph_cli.torch.autograd.function import BackwardCFunction


class Sub(torch.Tensor):
    """A subclass that adds nothing."""


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0] ** 2


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def used() -> Any:
    w = leaf()
    (w * 2).sum().backward()
    return w


def changed() -> Any:
    y = leaf() * 2
    y[1:].mul_(3)
    return y


def versioned() -> Any:
    a = leaf() * 1
    a.add_(1)
    return a * a


def with_node(y: Any) -> tuple[Any, Any]:
    return y.grad_fn, y


def with_leaf(y: Any) -> tuple[Any, Any]:
    return y.grad_fn.next_functions[0][0], y


def saved(y: Any, kind: type) -> tuple[Any, Any]:
    return next(x for x in y.grad_fn._ag_saved if type(x) is kind), y


def alone(t: Any) -> tuple[Any, Any]:
    return t, t


def viewed() -> tuple[Any, Any]:
    v = (leaf() * 2)[1:]
    return v._ag_edge, v


def half(cls: type) -> Callable[[], tuple[Any, Any]]:
    return lambda: alone(object.__new__(cls))


Maker = Callable[[], tuple[Any, Any]]
MAKERS: dict[type, tuple[Maker, ...]] = {
    torch.Tensor: (
        lambda: alone(leaf()),
        lambda: alone(used()),
        lambda: alone(torch.nn.Parameter(torch.ones(3))),
        lambda: alone(torch.ones(3).as_subclass(Sub).requires_grad_()),
        lambda: alone(leaf() * 2),
        lambda: alone(leaf().exp()),
        lambda: alone((leaf() * 2)[1:]),
        lambda: alone(torch.ones(3)),
        lambda: alone(torch.ones(4)[1:]),
        half(torch.Tensor),
        half(Sub),
        half(torch.nn.Parameter),
    ),
    TensorMeta: (lambda: (lambda w: (w._ag_meta, w))(used()),),
    View: (viewed,),
    Node: (
        lambda: with_node(leaf() * 2),
        lambda: with_leaf(leaf().exp() * 3),
        lambda: with_node(versioned()),
        lambda: with_node(changed()),
        lambda: with_node(Cube.apply(leaf())),
    ),
    CopySlices: (lambda: with_node(changed()),),
    AccumulateGrad: (lambda: with_leaf(leaf() * 2), lambda: with_leaf(leaf().sum())),
    BackwardCFunction: (lambda: with_node(Cube.apply(leaf())), lambda: with_node(Cube.apply(leaf()) * 2)),
    SavedResult: (lambda: saved(leaf().exp(), SavedResult),),
    SavedList: (lambda: saved(leaf()[torch.tensor([0, 1])], SavedList),),
    type(state.process_state): (lambda: (state.process_state, leaf()),),
}
"""How to come by something with the slots of a class, and by a tensor that leads to it."""

VALUES: tuple[Callable[[], Any], ...] = (
    lambda: "a",
    lambda: {"name": "w"},
    lambda: 7,
    lambda: None,
    lambda: torch.ones(2),
    list,
    lambda: ["a"],
    tuple,
    lambda: (1, 2),
    lambda: (torch.ones(1), 0),
    lambda: ((1, 0), ("a", 0)),
    lambda: ((leaf() * 2).grad_fn, 10**30),
    lambda: (leaf() * 2).grad_fn,
    object,
    lambda: np.ones(2),
    lambda: np.ones((3, 1), np.float32),
    lambda: np.array(["a", "b", "c"], object),
    lambda: 1.5,
    lambda: True,
    lambda: LEAF,
    lambda: View(torch.ones(2), None, 0, ""),
)
DELETED = len(VALUES)


def second_order(t: Any, _: Any) -> None:
    (g,) = torch.autograd.grad((t**3).sum(), t, create_graph=True)
    torch.autograd.grad(g.sum(), t)


def step(t: Any, _: Any) -> None:
    (t * 1).sum().backward()
    torch.optim.SGD([t], 0.1).step()


USES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda t, o: t + 1,
    lambda t, o: torch.ones(3) * t,
    lambda t, o: (t * t).sum().backward(),
    lambda t, o: t.exp().sum().backward(),
    lambda t, o: t.sum().backward(),
    lambda t, o: (t.sum().backward(retain_graph=True), t.sum().backward()),
    second_order,
    step,
    lambda t, o: t.detach() * 2,
    lambda t, o: t[0].backward(),
    lambda t, o: t.view(-1)[1:].sum().backward(),
    lambda t, o: t[torch.tensor([0, 1])].sum().backward(),
    lambda t, o: t.mul_(2).sum().backward(),
    lambda t, o: t[1:].mul_(t[1:]),
    lambda t, o: (t.clone()[1:].add_(t[0])).sum().backward(),
    lambda t, o: torch.cat([t, t]).sum().backward(),
    lambda t, o: [part * 2 for part in t.unbind()],
    lambda t, o: Cube.apply(t).sum().backward(),
    lambda t, o: torch.softmax(t, 0).log().sum().backward(),
    lambda t, o: torch.nn.functional.linear(t, torch.ones(2, t.shape[0])).sum().backward(),
    lambda t, o: (repr(t), str(o), dir(o)),
    lambda t, o: copy.copy(t) * 2,
    lambda t, o: copy.deepcopy(t) + 1,
    lambda t, o: pickle.loads(pickle.dumps(t)) + 1,
    lambda t, o: (copy.copy(o), pickle.dumps(o)),
    lambda t, o: torch.no_grad()(lambda: t * 2)(),
    lambda t, o: (t.grad_fn, t.is_leaf, t._version, t.grad_fn and t.grad_fn.next_functions, t.grad),
    lambda t, o: [getattr(t.grad_fn, name) for name in dir(t.grad_fn) if name.startswith("_saved")],
    lambda t, o: (t.register_hook(lambda g: g * 2), (t * 2).sum().backward()),
    lambda t, o: o.saved_tensors,
    lambda t, o: o(torch.ones(3)),
    lambda t, o: capture(t * 2),
)


def tries() -> Iterator[tuple[Maker, str, int, int]]:
    """Every slot in every maker with every value before every use."""
    for cls, names in fast_tape().slots_in_place().items():
        for make, name in itertools.product(MAKERS[cls], sorted(set(names))):
            for value, use in itertools.product(range(DELETED + 1), range(len(USES))):
                yield make, name, value, use


def attempt(make: Maker, name: str, value: int, use: int) -> None:
    spoiled, tensor = make()
    before = getattr(spoiled, name, None)
    try:
        delattr(spoiled, name) if value == DELETED else setattr(spoiled, name, VALUES[value]())
        USES[use](tensor, spoiled)
    finally:
        if spoiled is state.process_state:
            setattr(spoiled, name, before)


def main(first: int, stride: int) -> None:
    warnings.simplefilter("ignore")
    for number, case in enumerate(tries()):
        if number < first or (number - first) % stride:
            continue
        print(number, flush=True)
        try:
            attempt(*case)
        except Exception as error:
            sys.last_value = error  # as an interactive session keeps it
    gc.collect()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
