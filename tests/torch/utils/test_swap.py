"""`swap_tensors` exchanges all that two tensors are."""

from autograph_cli import torch


def test_class_memory_and_gradient_change_places():
    one, other = torch.nn.Parameter(torch.ones(2)), torch.zeros(2)
    one.grad, other.mark = torch.full((2,), 5.0), 3
    torch.utils.swap_tensors(one, other)
    assert isinstance(other, torch.nn.Parameter) and type(one) is torch.Tensor
    assert (one.tolist(), other.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert (one.grad, other.grad.tolist(), one.mark) == (None, [5.0, 5.0], 3)
    assert other.requires_grad and not one.requires_grad
