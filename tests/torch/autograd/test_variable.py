"""Variable, the old name, and the profiler's label."""

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd import Variable


def test_every_tensor_is_a_variable():
    assert isinstance(torch.ones(1), Variable) and not isinstance(3, Variable)


def test_a_variable_is_a_tensor_over_the_same_memory():
    data = torch.ones(2)
    x = Variable(data, requires_grad=True)
    assert type(x) is torch.Tensor and x.requires_grad and not data.requires_grad
    data[0] = 5
    assert x.tolist() == [5.0, 1.0]


def test_a_variable_needs_a_tensor():
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        Variable(3)


def test_record_function_is_a_label_without_effect():
    with torch.autograd.profiler.record_function("step"):
        y = torch.ones(1) + 1
    assert torch.autograd.profiler.record_function("step")(lambda: y)() is y
