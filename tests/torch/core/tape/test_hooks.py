"""Hooks on tensors and nodes: when they run, what they may replace, and how they are taken away."""

import pytest

from autograph_cli import torch


def scalar(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def test_a_handle_removes_its_hook():
    x, seen = scalar(2.0), []
    handle = x.register_hook(lambda g: seen.append("a"))
    x.register_hook(lambda g: seen.append("b"))
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert seen == ["b"]


def test_the_gradient_of_a_non_leaf_is_not_kept_and_says_so():
    y = scalar(2.0) * 3
    y.backward()
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_post_accumulate_hooks_see_the_leaf():
    x, seen = scalar(2.0), []
    handle = x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.item())))
    (x * 3).backward()
    handle.remove()
    (x * 3).backward()
    assert seen == [(True, 3.0)]


def test_tensor_hooks_of_each_output_come_before_the_node():
    order = []
    a, b = (torch.ones(2, 3, dtype=torch.float64, requires_grad=True) * 1).unbind(0)
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    a.grad_fn.register_prehook(lambda g: order.append("pre"))
    a.grad_fn.register_hook(lambda i, o: order.append("post"))
    (a * b).sum().backward()
    assert order == ["a", "b", "pre", "post"]


def test_node_metadata_is_a_dict_of_ones_own():
    node = (scalar(1.0) * 2).grad_fn
    node.metadata["note"] = "kept"
    assert node.metadata == {"note": "kept"} and isinstance(node, torch.autograd.graph.Node)
