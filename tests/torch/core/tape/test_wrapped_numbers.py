"""A Python number beside a tensor is known for one as long as it lives: by nodes, by dispatch modes, in recorded graphs."""

import numpy as np
import pytest

from autograph_cli import capture, torch
from autograph_cli.torch._core.tape.wrapped_numbers import is_wrapped_number, number_of, wrap_number
from autograph_cli.torch.utils._python_dispatch import TorchDispatchMode
from tests.cases import for_each

NUMBERS = [0.1, 0.5, 2, True, 0, 0.0, 1e-30, 1 + 2j, 0.1 + 0.3j]


@for_each("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.complex64])
@for_each("number", NUMBERS)
def test_a_number_is_told_from_its_tensor(number, dtype):
    beside = torch.ones(2, dtype=dtype)
    found = number_of(wrap_number(number, beside))
    assert (found, type(found)) == (number, type(number))
    assert number_of(torch.tensor(number)) is None and not is_wrapped_number(beside)


def test_a_node_knows_its_number_after_many_others():
    x = torch.ones(2, requires_grad=True)
    y = x * 2.5
    for i in range(600):
        x * (i + 0.25)
    assert y.grad_fn._saved_other.dtype is torch.float64  # as of a number; a tensor would have that of x


@pytest.mark.parametrize("number", [0.1, 0.5])
def test_a_dispatch_mode_is_given_the_number(number):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(args[1])
            return func(*args, **(kwargs or {}))

    x, seen = torch.ones(2), []
    with Mode():
        x * number
    assert seen == [number]


@pytest.mark.parametrize("number", [0.1, 0.5])
def test_a_recorded_graph_has_no_tensor_for_the_number(number):
    x = torch.ones(2, requires_grad=True)
    text = capture(lambda: (x * number).sum()).to_text()
    assert "leaf x" in text and "input" not in text


def test_what_shares_memory_with_a_number_does_not_change_it():
    beside = torch.ones(2)
    for taken in (lambda x: x.detach(), lambda x: x.reshape(1), lambda x: x.data):
        taken(wrap_number(2, beside)).add_(1)
    kept = wrap_number(2, beside)
    assert isinstance(kept._ag_raw, np.generic) and (beside * 2).tolist() == [2.0, 2.0]
    assert kept._version == 0


def test_a_number_that_was_written_into_does_not_stop_a_later_backward_pass():
    x = torch.ones(2, requires_grad=True)
    wrap_number(2, x).detach().add_(1)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        y = x * 2
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
