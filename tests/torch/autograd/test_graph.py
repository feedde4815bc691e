"""torch.autograd.graph: hooks on saved tensors, gradient edges, hooks on several gradients."""

from collections import OrderedDict

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd import graph


@pytest.fixture
def x():
    return torch.tensor([1.0, 4.0], requires_grad=True)


def test_what_the_pack_hook_gives_is_kept_and_unpacked_in_backward(x):
    events = []

    def pack(tensor):
        events.append("pack")
        return tensor.detach().tolist()

    def unpack(kept):
        events.append("unpack")
        return torch.tensor(kept)

    with graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * x.sqrt()
    assert events == ["pack"] * 4
    y.sum().backward()
    assert events == ["pack"] * 4 + ["unpack"] * 4
    expected = x.detach().exp() * (x.detach().sqrt() + 0.5 / x.detach().sqrt())
    assert torch.allclose(x.grad, expected)


def test_hooks_can_be_disabled(x):
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


@pytest.mark.parametrize("pinned", [False, True])
def test_save_on_cpu_changes_no_gradient(x, pinned):
    with graph.save_on_cpu(pin_memory=pinned):
        y = x * x
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 8.0]


def test_a_gradient_edge_stands_for_its_tensor(x):
    y = x * 2
    edge = graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0
    assert graph.get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]
    assert torch.autograd.grad((y * y).sum(), edge)[0].tolist() == [4.0, 16.0]


def leaves(count):
    return [torch.ones(2, requires_grad=True) for _ in range(count)]


def test_a_multi_grad_hook_knows_two_modes():
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got some"):
        graph.register_multi_grad_hook(leaves(1), print, mode="some")


def test_a_labelled_block_runs_as_it_would_without():
    @torch.profiler.record_function("step")
    def step():
        return 3

    with torch.autograd.profiler.record_function("block"):
        assert step() == 3


def test_a_handle_takes_what_it_stands_for_out_of_all_its_dicts():
    hooks, notes = OrderedDict(), OrderedDict()  # plain dicts have no weak references, in PyTorch too
    handle = torch.utils.hooks.RemovableHandle(hooks, extra_dict=notes)
    hooks[handle.id], notes[handle.id] = print, "printed"
    with handle:
        assert list(hooks) == list(notes) == [handle.id]
    assert not hooks and not notes
    handle.remove()
    several = torch.utils.hooks.RemovableHandle(hooks, extra_dict=[notes, OrderedDict()])
    assert several.id == handle.id + 1 == torch.utils.hooks.RemovableHandle.next_id - 1
