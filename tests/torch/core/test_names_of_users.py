"""Any name that PyTorch leaves to the user is the user's, on tensors, nodes of custom Functions and modules."""

import copy
import io
import itertools
import pickle
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd.function import BackwardCFunction

PRIVATE = "_ag"
MORE = tuple(
    """
    meta counter edge raw _name _data _hooks _node _tensor _parent _version_ _graph
    """.split()
)


def names_of(cls: type) -> list[str]:
    """Return what a user may call what the engine keeps: its own names without their beginning, and some more."""
    private = {name.removeprefix(PRIVATE) for name in dir(cls) if name.startswith(PRIVATE)}
    return sorted(private | {name.removeprefix("_") for name in private} | set(MORE))


VALUES = ({"name": "w"}, 7, "a", None, torch.ones(2))


class Sub(torch.Tensor):
    """A subclass that adds nothing."""


TENSORS = {
    "leaf": lambda: torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0])),
    "subclass": lambda: torch.tensor([1.0, 2.0, 3.0]).as_subclass(Sub).requires_grad_(),
}


def worked(w: Any) -> list[str]:
    """Return what a program that uses a tensor sees of it."""
    y = w * 2 + w.exp() @ torch.ones(3)
    y[1:].mul_(w[1:])
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    (y.sum() + g.sum()).backward()
    torch.optim.SGD([w], 0.1, momentum=0.9).step()
    file = io.BytesIO()
    torch.save(w.detach(), file)
    file.seek(0)
    kept = [
        copy.copy(w), copy.deepcopy(w), pickle.loads(pickle.dumps(w)), torch.load(file, weights_only=False),
        w.detach(), w.data, w[0],
    ]  # fmt: skip
    return [repr(x) for x in (w, w.grad, y, g, *kept)] + [str(w._version), str(w.is_leaf)]


@pytest.mark.parametrize("kind", TENSORS)
def test_an_attribute_of_a_tensor_is_nothing_but_that(kind: str) -> None:
    expected = worked(TENSORS[kind]())
    names = [name for name in names_of(torch.Tensor) if not hasattr(torch.Tensor, name)]
    assert {"_raw", "_edge", "_counter", "_meta"} <= set(names)
    for name, value in zip(names, itertools.cycle(VALUES)):
        w = TENSORS[kind]()
        setattr(w, name, value)
        assert worked(w) == expected, name
        assert getattr(w, name) is value and vars(w) == {name: value}
        assert name in vars(pickle.loads(pickle.dumps(w)))
        assert (name in vars(copy.deepcopy(w))) is (kind != "parameter")  # as in PyTorch
        delattr(w, name)
        assert not hasattr(w, name)


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_attribute_of_a_ctx_is_nothing_but_that(create_graph: bool) -> None:
    def cubed(name: str) -> list[Any]:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                setattr(ctx, name, 3)
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * getattr(ctx, name) * ctx.saved_tensors[0] ** 2

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = Cube.apply(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=create_graph)
        assert getattr(y.grad_fn, name) == 3
        return [g.tolist(), *(torch.autograd.grad(g.sum(), x) if create_graph else ()), repr(y)[:20]]

    names = [name for name in names_of(BackwardCFunction) if not hasattr(BackwardCFunction, name)]
    assert {"_saved", "_edges", "_operation", "_run"} <= set(names)
    for name in names:
        assert repr(cubed(name)) == repr(cubed("factor")), name


def test_a_node_takes_no_attributes() -> None:
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    for name in ("_edges", "_saved", "foo"):
        with pytest.raises(AttributeError):
            setattr(node, name, "a")


def test_half_made_tensors_are_errors() -> None:
    half: Any = object.__new__(torch.Tensor)
    for use in (lambda: half + 1, half.detach, half.clone, half.backward, lambda: torch.cat([half, half]), half.sum):
        with pytest.raises((AttributeError, RuntimeError, TypeError)):
            use()


@pytest.mark.parametrize(
    "over",
    [
        lambda f, x: torch.vmap(f)(x),
        lambda f, x: torch.func.jvp(f, (x,), (torch.ones(2, 3),))[1],
        lambda f, x: torch.func.grad(lambda x: f(x).sum())(x),
        lambda f, x: torch.vmap(torch.func.grad(lambda x: f(x).sum()))(x),
    ],
)
def test_an_attribute_of_a_tensor_under_a_transform_is_nothing_but_that(over: Any) -> None:
    names = ("_level", "_value", "_bdim", "_inner", "_primal", "_tangent", "_lower", "_shared", "_viewed")

    def named(x: Any) -> Any:
        for name in names:
            setattr(x, name, 3)
        return x * x.exp()

    x = torch.arange(6.0).reshape(2, 3)
    assert repr(over(named, x)) == repr(over(lambda x: x * x.exp(), x))
