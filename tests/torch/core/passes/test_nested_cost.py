"""Derivatives within derivatives: a gradient by something on the way does not look through what that was made of."""

import random
import sys
from collections.abc import Iterator

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base.state import process_state
from autograph_cli.torch._core.passes import backward_pass


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many nodes each backward pass looked at."""
    monkeypatch.setattr(process_state, "disordered", -1)  # a test may have given a node any number
    base = torch.ones(2, requires_grad=True) * 2
    view = base[0]
    base.mul_(3)
    (base * view).sum().backward()  # a view's history was made anew, once
    counts: list[int] = []
    collect = backward_pass.collect

    def counted(stack: object, pending: object, leaves: object, oldest: int) -> object:
        order = collect(stack, pending, leaves, oldest)
        counts.append(len(order))
        return order

    monkeypatch.setattr(backward_pass, "collect", counted)
    yield counts


def fall(steps: int, weight: torch.Tensor) -> torch.Tensor:
    """Where something falls by forces that are gradients of a potential."""
    x, v = weight * 1.0, torch.zeros(2)
    for _ in range(steps):
        (force,) = torch.autograd.grad((x * x * x).sum() + (x * weight).sum(), x, create_graph=True)
        v = v - 0.1 * force
        x = x + 0.1 * v
    return (x * x).sum()


def test_each_step_costs_the_same(looked_at: list[int]) -> None:
    weight = torch.tensor([0.5, 1.0], requires_grad=True)
    end = fall(12, weight)
    assert len(set(looked_at)) == 1
    (slope,) = torch.autograd.grad(end, weight)
    (again,) = torch.autograd.grad(fall(12, weight.detach().requires_grad_()), weight, allow_unused=True)
    assert again is None
    step = 1e-3
    for i in range(2):
        moved = [fall(12, (weight + step * sign * torch.eye(2)[i]).detach().requires_grad_()) for sign in (1, -1)]
        torch.testing.assert_close(slope[i], (moved[0] - moved[1]) / (2 * step), rtol=1e-2, atol=1e-2)


def test_a_custom_function_may_give_gradients_to_older_nodes() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, parts):  # type: ignore[no-untyped-def]
            return x + parts

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return grad, 2 * grad

    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    old, _ = (w * 2).split([1, 2])  # a node of several outputs, older than what is asked for
    x = old * 3
    (found,) = torch.autograd.grad(Both.apply(x, old).sum(), x, retain_graph=True)
    assert found.tolist() == [1.0]
    Both.apply(x, old).sum().backward()
    assert w.grad.tolist() == [10.0, 0.0, 0.0]


def test_an_input_whose_history_was_made_anew() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    base = w * 2
    view = base[0]
    base.mul_(3)
    (found,) = torch.autograd.grad((base * view).sum(), view, retain_graph=True)
    assert found.item() == pytest.approx(18.0)
    (all_of_it,) = torch.autograd.grad((base * view).sum(), w)
    assert all_of_it.tolist() == pytest.approx([144.0, 36.0])


def cubes(tensors: list[torch.Tensor]) -> torch.Tensor:
    """A number of copies, which may be differentiated whatever changes these tensors."""
    return sum((x.clone() * 0.3).pow(3).sum() for x in tensors)


def drawn_gradients(seed: int) -> list[list[float] | None]:
    """The gradients by everything on the way, of a random program with views and changes in place."""
    rng = random.Random(seed)
    leaf = torch.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    made, found = [leaf * 1.0], []
    for _ in range(12):
        x = rng.choice(made)
        kind = rng.randrange(6)
        if kind == 0:
            x[rng.randrange(3) :].mul_(1.5)
        elif kind == 1:
            x.add_(rng.choice(made)[:1].clone())
        elif kind == 2 and x.shape[0] > 1:
            made.append(x[rng.randrange(2) :])
        elif kind == 3:
            (by,) = torch.autograd.grad(cubes(made), x, create_graph=True, allow_unused=True)
            made += [] if by is None else [by * 1.0]
        else:
            made.append(x * 0.7 + rng.choice(made)[:1])
    total = cubes(made)
    for x in [*made, leaf]:
        (by,) = torch.autograd.grad(total, x, retain_graph=True, allow_unused=True)
        found.append(None if by is None else by.tolist())
    return found


@pytest.mark.parametrize("seed", range(60))
def test_what_is_not_looked_through_changes_no_gradient(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = drawn_gradients(seed)
    monkeypatch.setattr(process_state, "disordered", sys.maxsize)  # every pass looks through all there is
    assert drawn_gradients(seed) == found
