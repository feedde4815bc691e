"""Hooks on tensors and nodes: when they run, what they may replace, and how they are taken away."""

import pytest

from autograph_cli import torch


def scalar(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def test_a_tensor_hook_sees_and_replaces_the_gradient():
    x, seen = scalar(2.0), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.item()))
    y.backward()
    assert seen == [1.0, 10.0] and x.grad.item() == 30.0


def test_a_leaf_hook_runs_once_for_the_sum():
    x, seen = scalar(2.0), []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * x + x).backward()
    assert seen == [5.0]


def test_a_handle_removes_its_hook():
    x, seen = scalar(2.0), []
    handle = x.register_hook(lambda g: seen.append("a"))
    x.register_hook(lambda g: seen.append("b"))
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert seen == ["b"]


def test_hooks_stay_with_the_value_they_were_set_on():
    x, seen = scalar(2.0), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.item()))
    y.mul_(5)
    y.backward()
    assert seen == [5.0]


def test_retain_grad_keeps_what_hooks_made_of_it():
    x = scalar(2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert (y.grad.item(), x.grad.item(), y.retains_grad) == (10.0, 30.0, True)


def test_the_gradient_of_a_non_leaf_is_not_kept_and_says_so():
    y = scalar(2.0) * 3
    y.backward()
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_hooks_run_for_grad_calls_too():
    x, seen = scalar(2.0), []
    y = x * 3
    y.register_hook(lambda g: seen.append("y"))
    x.register_hook(lambda g: g * 7)
    assert torch.autograd.grad(y * y, x)[0].item() == 7 * 36.0
    assert seen == ["y"]


def test_a_hook_that_computes_is_recorded_under_create_graph():
    x = scalar(2.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].item() == 8.0


def test_post_accumulate_hooks_see_the_leaf():
    x, seen = scalar(2.0), []
    handle = x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.item())))
    (x * 3).backward()
    handle.remove()
    (x * 3).backward()
    assert seen == [(True, 3.0)]


def test_a_node_hook_sees_inputs_and_outputs():
    x, seen = scalar(2.0), []
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.backward()
    [(inputs, outputs)] = seen
    assert (inputs[0].item(), inputs[1], outputs[0].item()) == (3.0, None, 1.0)


def test_a_node_hook_replaces_gradients():
    x, y = scalar(2.0), scalar(5.0)
    z = x * y
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100, inputs[1]))
    z.backward()
    assert (x.grad.item(), y.grad.item()) == (500.0, 2.0)


def test_a_node_prehook_replaces_what_comes_in():
    x = scalar(2.0)
    z = x * 3
    z.grad_fn.register_prehook(lambda outputs: (outputs[0] * 4,))
    z.backward()
    assert x.grad.item() == 12.0


def test_a_hook_on_the_accumulator_of_a_leaf():
    x, seen = scalar(2.0), []
    y = x * 3
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda inputs, outputs: seen.append(outputs[0].item()))
    y.backward()
    assert seen == [3.0] and accumulator.variable is x


def test_tensor_hooks_of_each_output_come_before_the_node():
    order = []
    a, b = (torch.ones(2, 3, dtype=torch.float64, requires_grad=True) * 1).unbind(0)
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    a.grad_fn.register_prehook(lambda g: order.append("pre"))
    a.grad_fn.register_hook(lambda i, o: order.append("post"))
    (a * b).sum().backward()
    assert order == ["a", "b", "pre", "post"]


def test_the_order_of_everything():
    order = []
    x = scalar(2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: order.append("tensor"))
    y.grad_fn.register_prehook(lambda g: order.append("pre"))
    y.grad_fn.register_hook(lambda i, o: order.append("node"))
    x.register_hook(lambda g: order.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    y.backward()
    assert order == ["tensor", "pre", "node", "leaf", "accumulated"]


REFUSED = {
    "cannot register a hook on a tensor that doesn't require gradient": lambda: torch.ones(2).register_hook(print),
    "can't retain_grad on Tensor that has requires_grad=False": lambda: torch.ones(2).retain_grad(),
    "post accumulate grad hooks cannot be registered on non-leaf tensors": lambda: (
        scalar(1.0) * 2
    ).register_post_accumulate_grad_hook(print),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(RuntimeError, match=message):
        REFUSED[message]()


@pytest.mark.parametrize("bad, error", [(lambda g: torch.ones(5), RuntimeError), (lambda g: "g", TypeError)])
def test_a_hook_that_returns_nonsense(bad, error):
    y = scalar(2.0) * 3
    y.register_hook(bad)
    with pytest.raises(error):
        y.backward()


def test_node_metadata_is_a_dict_of_ones_own():
    node = (scalar(1.0) * 2).grad_fn
    node.metadata["note"] = "kept"
    assert node.metadata == {"note": "kept"} and isinstance(node, torch.autograd.graph.Node)


def test_anomaly_mode_names_the_node_that_made_nan():
    y = scalar(-1.0).sqrt()
    with (
        pytest.warns(UserWarning, match="Error detected in|Anomaly Detection"),
        torch.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"),
    ):
        y.backward()
