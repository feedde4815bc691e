"""Selective checkpoints keep what a policy chooses; checkpoints with `debug` tell what ran."""

import functools

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base.state import process_state
from autograph_cli.torch.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
)

MM = torch.ops.aten.mm.default


def product(x, y):
    return torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y


def leaves():
    torch.manual_seed(0)
    return [torch.rand(3, 3, requires_grad=True) for _ in range(2)]


def by_list():
    return create_selective_checkpoint_contexts([MM])


def test_a_policy_sees_every_operation_of_the_first_run_and_none_of_the_second():
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append((ctx.is_recompute, str(op)))
        return CheckpointPolicy.MUST_SAVE if op == MM else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    checkpoint(product, *leaves(), use_reentrant=False, context_fn=contexts).sum().backward()
    assert seen == [(False, f"aten.{name}") for name in ("mm.default", "mm.default", "sigmoid.default", "mul.Tensor")]


def test_gradients_are_those_of_the_plain_function():
    plain, selective = leaves(), leaves()
    product(*plain).sum().backward()
    checkpoint(product, *selective, use_reentrant=False, context_fn=by_list).sum().backward()
    assert all((a.grad == b.grad).all() for a, b in zip(plain, selective, strict=True))


def test_what_is_kept_is_not_computed_again(monkeypatch):
    monkeypatch.setattr(process_state, "special", 0)  # whatever modes other tests have left
    calls = []
    from autograph_cli.torch._core.operations.operation import table

    op = table["mm"]
    kernel = op.kernel_function
    op.kernel_function = lambda *args: calls.append(1) or kernel(*args)
    try:
        checkpoint(product, *leaves(), use_reentrant=False, context_fn=by_list).sum()
        assert len(calls) == 2
        before = checkpoint(product, *leaves(), use_reentrant=False, context_fn=by_list).sum()
        calls.clear()
        before.backward()
    finally:
        op.kernel_function = kernel
    assert not calls


def test_a_kept_tensor_must_not_be_changed():
    def changes(x):
        a = x.exp()
        b = a.sin()
        a.add_(1)
        return b

    contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.exp.default])
    out = checkpoint(changes, leaves()[0], use_reentrant=False, context_fn=contexts)
    with pytest.raises(RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"):
        out.sum().backward()


def test_a_region_runs_backward_once():
    out = checkpoint(product, *leaves(), use_reentrant=False, context_fn=by_list).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.backward()


@pytest.mark.parametrize(("given", "error"), [([torch.matmul], ValueError), (3, TypeError)])
def test_a_policy_is_a_function_or_a_list_of_operations(given, error):
    with pytest.raises(error):
        create_selective_checkpoint_contexts(given)


@pytest.mark.parametrize("way", ["argument", "block"])
def test_with_debug_an_error_tells_what_ran(way):
    runs = []

    def other_each_time(x):
        runs.append(1)
        return x.exp().sin() if len(runs) == 1 else x.exp()

    with set_checkpoint_debug_enabled(True if way == "block" else None):
        out = checkpoint(other_each_time, leaves()[0], use_reentrant=False, debug=way == "argument")
    with pytest.raises(CheckpointError, match="dumping logs of latest computation") as caught:
        out.sum().backward()
    text = str(caught.value)
    assert "$2: f32[3, 3] = torch._ops.aten.sin.default($1)" in text and "(2 of 2 in original)" in text
    assert "(1 of 1 in recompute)" in text and "other_each_time" in text


def test_debug_and_a_policy_exclude_each_other():
    with pytest.raises(ValueError, match="debug=True is incompatible"):
        checkpoint(product, *leaves(), use_reentrant=False, context_fn=by_list, debug=True)


def test_an_input_that_was_changed_since_is_an_error() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = torch.utils.checkpoint.checkpoint(torch.sin, y, use_reentrant=False)
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_hooks_around_a_checkpoint_take_over_its_inputs() -> None:
    told = []

    def pack(x):
        told.append("packed")
        return x.clone()

    def unpack(x):
        told.append("unpacked")
        return x

    x = torch.arange(3.0, requires_grad=True)
    c, plain = x * 1, torch.ones(3)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = checkpoint(lambda a, b, n: a * a * b * n, c, plain, 2, use_reentrant=False)
    with torch.no_grad():
        c.zero_()
        plain.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 4, 8]
    assert told == ["packed"] * 2 + ["unpacked"] * 2


@pytest.mark.parametrize("momentum", [0.1, 0.5])
def test_running_statistics_move_in_both_runs(momentum) -> None:
    layer, same = (torch.nn.BatchNorm1d(2, momentum=momentum) for _ in range(2))
    x = torch.arange(6.0).view(3, 2).requires_grad_()
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    same(x), same(x)
    assert layer.running_mean.tolist() == same.running_mean.tolist()
    assert layer.running_var.tolist() == same.running_var.tolist()


def test_an_error_names_the_operation_that_made_a_changed_input() -> None:
    c = torch.ones(3, requires_grad=True) * 1
    y = checkpoint(lambda a: a * a, c, use_reentrant=False)
    with torch.no_grad():
        c.mul_(3)
    with pytest.raises(RuntimeError, match="which is output 0 of Mul, is at version 1; expected version 0"):
        y.sum().backward()
