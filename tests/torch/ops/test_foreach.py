"""`torch._foreach_*`, held against what PyTorch gives (record_foreach.py)."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_foreach import CALLS, CHANGES, EXPECTED, WITH_NODES, differentiated, outcome, with_node

RECORDED = json.loads(EXPECTED.read_text())


@for_each("call", CALLS)
def test_it_is_as_in_pytorch(call):
    found, wanted = outcome(torch, call), RECORDED[call]
    if isinstance(wanted[0], str):
        assert found == wanted
        return
    assert [dtype for dtype, _ in found] == [dtype for dtype, _ in wanted]
    for (_, got), (_, value) in zip(found, wanted, strict=True):
        assert torch.allclose(torch.tensor(got), torch.tensor(value), rtol=1e-6, equal_nan=True)


def flat(x):
    return (
        [number for part in x for number in flat(part)] if isinstance(x, list) else [float("nan") if x is None else x]
    )


@for_each("call", CHANGES)
def test_changes_in_place_have_the_nodes_and_gradients_of_pytorch(call):
    found, wanted = differentiated(torch, call), RECORDED[call]
    if wanted is None:
        assert found is None
        return
    assert found[0] == wanted[0]
    for got, value in zip(found[1:], wanted[1:], strict=True):
        assert torch.allclose(torch.tensor(flat(got)), torch.tensor(flat(value)), rtol=1e-5, equal_nan=True)


@for_each("call", WITH_NODES)
def test_one_node_stands_for_all_tensors_as_in_pytorch(call):
    found, wanted = with_node(torch, call), RECORDED[f"out of place: {call}"]
    assert found[:2] == wanted[:2]
    for got, value in zip(found[2:], wanted[2:], strict=True):
        assert torch.allclose(torch.tensor(flat(got)), torch.tensor(flat(value)), rtol=2e-5, atol=1e-6, equal_nan=True)


def test_what_has_no_right_gradient_in_pytorch_is_refused():
    a, one = [torch.ones(2, requires_grad=True)], torch.tensor(2.0, requires_grad=True)
    for run in (lambda: torch._foreach_mul(a, one), lambda: torch._foreach_powsum(a, 2)):
        with pytest.raises(NotImplementedError, match=r"torch\._foreach_\w+ of tensors that require a gradient"):
            run()
    with torch.no_grad():
        assert torch._foreach_mul_(a, 2) is a and a[0].tolist() == [2.0, 2.0]
