"""Optimizers against what PyTorch did (record_optim.py writes it), and what they promise beside numbers."""

import copy
import json
import pickle

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch.optim import _elementwise
from tests.cases import for_each
from tests.torch.optim.record_optim import EXPECTED, OPTIMIZERS, cases, trajectory

RECORDED = json.loads(EXPECTED.read_text())["optimizers"]
RULES = [name for name in OPTIMIZERS if name not in ("LBFGS", "Adafactor")]


def flat(x):
    if isinstance(x, dict):
        return [y for key in sorted(x) for y in flat(x[key])]
    if isinstance(x, (list, tuple)):
        return [y for part in x for y in flat(part)]
    return [x]


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def stepped(name, **options):
    w = leaf(1.0, 2.0)
    w.grad = torch.tensor([0.5, -1.0])
    optimizer = getattr(torch.optim, name)([w], **options)
    optimizer.step()
    return w, optimizer


@for_each("name, index", cases())
def test_parameters_and_state_are_those_of_pytorch(name, index):
    ours, theirs = trajectory(torch, name, index), RECORDED[f"{name} {index}"]
    assert flat(list(ours["state"])) == flat(list(theirs["state"]))
    for position, entries in theirs["state"].items():
        assert list(entries) == list(ours["state"][position])
    np.testing.assert_allclose(flat(ours["steps"]), flat(theirs["steps"]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(flat(ours["state"]), flat(theirs["state"]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", RULES)
def test_a_differentiable_step_computes_the_same(name):
    def run(differentiable):
        w = leaf(0.5, -1.5, 2.0)
        optimizer = getattr(torch.optim, name)([w * 1] if differentiable else [w], differentiable=differentiable)
        [p] = optimizer.param_groups[0]["params"]
        for i in range(3):
            p.grad = torch.tensor([1.0, -2.0, 0.5]) * (i + 1)
            optimizer.step()
        return w, p

    (_, plain), (start, end) = run(False), run(True)
    assert torch.allclose(plain.detach(), end.detach())
    assert torch.autograd.grad(end.sum(), start)[0].shape == start.shape


def test_a_differentiable_step_has_the_gradient_of_its_learning_rate():
    w, lr = leaf(1.0, 2.0), torch.tensor(0.1, requires_grad=True)
    moved = w * 1
    optimizer = torch.optim.SGD([moved], lr=lr, differentiable=True)
    moved.grad = torch.tensor([3.0, 5.0])
    optimizer.step()
    assert torch.autograd.grad(moved.sum(), lr)[0].item() == -8.0


@pytest.mark.parametrize("name", RULES)
def test_large_parameters_are_updated_in_blocks_like_small_ones(name, monkeypatch):
    def run(block):
        monkeypatch.setattr(_elementwise, "BLOCK", block)
        w = torch.linspace(-1, 1, 200).reshape(10, 20).requires_grad_()
        optimizer = getattr(torch.optim, name)([w])
        for i in range(3):
            w.grad = (w.detach() + i).sin()
            optimizer.step()
        return w.detach()

    assert torch.equal(run(16), run(1 << 20))


@pytest.mark.parametrize("name", [*RULES, "Adafactor"])
def test_a_0d_parameter_moves_as_its_1d_twin(name):
    def run(value):
        w = torch.tensor(value, requires_grad=True)
        optimizer = getattr(torch.optim, name)([w])
        for _ in range(3):
            w.grad = torch.full_like(w.detach(), 0.25)
            optimizer.step()
        return w.detach()

    assert run(1.5).shape == ()
    assert run(1.5).item() == run([1.5]).item()


@for_each("dtype", ["float16", "bfloat16", "complex64"])
@for_each("name", RULES)
def test_parameters_keep_their_dtype(name, dtype):
    w = torch.full((3,), 0.01, dtype=getattr(torch, dtype), requires_grad=True)
    w.grad = torch.full((3,), 0.5, dtype=w.dtype)
    before = w.detach().clone()
    getattr(torch.optim, name)([w], lr=0.5).step()
    assert w.dtype is getattr(torch, dtype)
    assert (w.detach() != before).all()


def test_a_step_counts_as_an_in_place_change():
    w = leaf(1.0)
    y = w * w
    w.grad = torch.ones(1)
    torch.optim.SGD([w], lr=0.1).step()
    assert w._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_view_of_the_parameter_moves_with_it():
    w = leaf(1.0, 2.0)
    view = w.detach()
    w.grad = torch.ones(2)
    torch.optim.SGD([w], lr=0.5).step()
    assert view.tolist() == [0.5, 1.5]


def test_parameters_without_gradient_stay():
    w, v = leaf(1.0), leaf(2.0)
    w.grad = torch.ones(1)
    optimizer = torch.optim.Adam([w, v])
    optimizer.step()
    assert v.item() == 2.0
    assert list(optimizer.state_dict()["state"]) == [0]


def test_step_returns_the_loss_of_its_closure_and_records_in_it():
    w = leaf(3.0)
    optimizer = torch.optim.SGD([w], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert w.item() == 0.0


def test_zero_grad_forgets_or_zeroes():
    w = leaf(1.0)
    optimizer = torch.optim.SGD([w])
    w.grad = torch.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert w.grad is None


def test_repr_lists_the_groups():
    assert repr(torch.optim.SGD([leaf(1.0)], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: 0.1\n"
        "    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


# ---------------------------------------------------------------- groups and errors


def test_groups_have_options_of_their_own():
    a, b = leaf(1.0), leaf(1.0)
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    a.grad, b.grad = torch.ones(1), torch.ones(1)
    optimizer.step()
    assert (round(a.item(), 6), b.item()) == (0.9, 0.5)


def test_an_added_group_takes_the_defaults():
    optimizer = torch.optim.SGD([leaf(1.0)], lr=0.1, momentum=0.5)
    optimizer.add_param_group({"params": leaf(2.0), "lr": 1.0})
    assert [(g["lr"], g["momentum"]) for g in optimizer.param_groups] == [(0.1, 0.5), (1.0, 0.5)]


def test_named_parameters_keep_their_names():
    optimizer = torch.optim.SGD([("w", leaf(1.0)), ("b", leaf(2.0))])
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]


W = leaf(1.0)
REFUSED = [
    (
        lambda: torch.optim.SGD(W),
        TypeError,
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
    ),
    (lambda: torch.optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
    (lambda: torch.optim.SGD([1]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (lambda: torch.optim.SGD([W * 2]), ValueError, "can't optimize a non-leaf Tensor"),
    (
        lambda: torch.optim.SGD([{"params": {W}}]),
        TypeError,
        "optimizer parameters need to be organized in ordered collections",
    ),
    (
        lambda: torch.optim.SGD([{"params": [W]}, {"params": [W]}]),
        ValueError,
        "some parameters appear in more than one parameter group",
    ),
    (
        lambda: torch.optim.SGD([("a", W), W]),
        ValueError,
        "all optimizer params should be with/without names. Some param names are missing",
    ),
    (
        lambda: torch.optim.SGD([W]).add_param_group([W]),
        TypeError,
        "param_group must be a dict, but got <class 'list'>",
    ),
    (lambda: torch.optim.SGD([W], lr=-1), ValueError, "Invalid learning rate: -1"),
    (
        lambda: torch.optim.SGD([W], nesterov=True),
        ValueError,
        "Nesterov momentum requires a momentum and zero dampening",
    ),
    (lambda: torch.optim.SGD([W], lr=torch.ones(2)), ValueError, "Tensor lr must be 1-element"),
    (lambda: torch.optim.Adam([W], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (lambda: torch.optim.Adam([W], eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (
        lambda: torch.optim.Adam([W], fused=True, foreach=True),
        RuntimeError,
        "`fused` and `foreach` cannot be `True` together.",
    ),
    (
        lambda: torch.optim.Adam([W], lr=torch.tensor(0.1), foreach=True),
        ValueError,
        "lr as a Tensor is not supported for capturable=False and foreach=True",
    ),
    (lambda: torch.optim.Adadelta([W], rho=2), ValueError, "Invalid rho value: 2"),
    (lambda: torch.optim.Rprop([W], etas=(2, 3)), ValueError, "Invalid eta values: 2, 3"),
    (
        lambda: torch.optim.Muon([W]),
        ValueError,
        r"Muon only supports 2D parameters whereas we found a parameter with size: torch.Size\(\[1\]\)",
    ),
    (
        lambda: torch.optim.LBFGS([{"params": [W]}, {"params": [leaf(2.0)]}]),
        ValueError,
        "LBFGS doesn't support per-parameter options",
    ),
    (
        lambda: stepped("Adam", capturable=True),
        AssertionError,
        "If capturable=True, params and state_steps must be on supported devices",
    ),
    (lambda: stepped("Adam", foreach=True, differentiable=True), AssertionError, "_foreach ops don't support autograd"),
    (lambda: torch.optim.Optimizer([W], {}).step(), NotImplementedError, "^$"),
    (
        lambda: torch.optim.SGD([W]).load_state_dict({"state": {}, "param_groups": []}),
        ValueError,
        "loaded state dict has a different number of parameter groups",
    ),
    (lambda: torch.optim.NoSuch, AttributeError, "torch.optim.NoSuch is not available"),
]


@pytest.mark.parametrize("make, kind, text", REFUSED, ids=[text for _, _, text in REFUSED])
def test_refusals_are_in_the_words_of_pytorch(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_duplicate_parameters_warn():
    w = leaf(1.0)
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
        torch.optim.SGD([w, w])


# ---------------------------------------------------------------- plain data and hooks


@for_each("name", [*RULES, "Adafactor"])
@for_each("way", ["state_dict", "pickle", "deepcopy"])
def test_training_goes_on_from_a_copy(name, way):
    w, optimizer = stepped(name)
    if way == "state_dict":
        v = w.detach().clone().requires_grad_()
        other = getattr(torch.optim, name)([v])
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    else:
        other = pickle.loads(pickle.dumps(optimizer)) if way == "pickle" else copy.deepcopy(optimizer)
        [v] = other.param_groups[0]["params"]
    for p, o in ((w, optimizer), (v, other)):
        p.grad = torch.tensor([0.25, 1.0])
        o.step()
    assert torch.equal(w.detach(), v.detach())


def test_loaded_state_takes_the_dtype_of_its_parameter_but_not_the_step():
    _, optimizer = stepped("Adam")
    other = torch.optim.Adam([torch.zeros(2, dtype=torch.float64, requires_grad=True)])
    other.load_state_dict(optimizer.state_dict())
    [state] = other.state.values()
    assert [t.dtype for t in state.values()] == [torch.float32, torch.float64, torch.float64]


def test_groups_of_old_checkpoints_get_what_they_lack():
    _, optimizer = stepped("Adam")
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["maximize"]
    saved["state"][0]["step"] = 7
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is False
    assert optimizer.state_dict()["state"][0]["step"].item() == 7.0


def test_step_hooks_run_around_the_step():
    w, seen = leaf(1.0), []
    optimizer = torch.optim.SGD([w])
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    everywhere = torch.optim.optimizer.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("any"))
    optimizer.step()
    before.remove()
    everywhere.remove()
    optimizer.step()
    assert seen == ["before", "after", "any", "after"]


def test_a_pre_hook_may_replace_the_arguments():
    w = leaf(1.0)
    optimizer = torch.optim.SGD([w])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 42), {}))
    assert optimizer.step() == 42


def test_state_dict_hooks_may_replace_it():
    _, optimizer = stepped("Adam")
    optimizer.register_state_dict_post_hook(lambda o, saved: {**saved, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, saved: {k: v for k, v in saved.items() if k != "extra"})
    saved = optimizer.state_dict()
    assert saved["extra"] == 1
    optimizer.load_state_dict(saved)


def test_an_optimizer_of_the_users_own_has_hooks_too():
    class Halve(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(0.5)

    w, seen = leaf(4.0), []
    optimizer = Halve([w])
    optimizer.register_step_post_hook(lambda *_: seen.append(w.item()))
    optimizer.step()
    assert seen == [2.0]


def test_muon_moves_along_an_orthogonal_matrix():
    w = torch.zeros(2, 3, requires_grad=True)
    w.grad = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.01, 0.0]])
    torch.optim.Muon([w], lr=1.0).step()
    lengths = w.detach().norm(dim=1)
    assert ((lengths > 0.5) & (lengths < 1.5)).all()
