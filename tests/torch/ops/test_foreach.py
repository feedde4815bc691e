"""`torch._foreach_*`, held against what PyTorch gives (record_foreach.py)."""

import json

import pytest

from autograph_cli import torch
from tests.torch.ops.record_foreach import CALLS, CHANGES, EXPECTED, differentiated, outcome

RECORDED = json.loads(EXPECTED.read_text())


@pytest.mark.parametrize("call", CALLS)
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


@pytest.mark.parametrize("call", CHANGES)
def test_changes_in_place_have_the_nodes_and_gradients_of_pytorch(call):
    found, wanted = differentiated(torch, call), RECORDED[call]
    if wanted is None:
        assert found is None
        return
    assert found[0] == wanted[0]
    for got, value in zip(found[1:], wanted[1:], strict=True):
        assert torch.allclose(torch.tensor(flat(got)), torch.tensor(flat(value)), rtol=1e-5, equal_nan=True)


def test_gradients_are_refused_by_name():
    a = [torch.ones(2, requires_grad=True)]
    with pytest.raises(NotImplementedError, match=r"torch\._foreach_mul of tensors that require a gradient"):
        torch._foreach_mul(a, 2)
    with torch.no_grad():
        assert torch._foreach_mul_(a, 2) is a and a[0].tolist() == [2.0, 2.0]
