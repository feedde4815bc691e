"""How results and gradients are laid out in memory: strides decide whether a later `view` or `reshape` shares it."""

import json

import pytest

from autograph_cli import torch
from tests.torch.core.running.record_strides import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())
DIFFERENT = {
    "x.rot90() if x.dim()>1 else x": "of an expanded tensor; PyTorch flips a transposed view",
    "torch.einsum('...ij,...jk->...ki',x,y)": "PyTorch exchanges the operands where the result would be transposed",
}
"""What still differs, and why."""


def _case(code):
    return (
        pytest.param(code, marks=pytest.mark.xfail(reason=DIFFERENT[code], strict=True)) if code in DIFFERENT else code
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", [_case(code) for code in RECORDED])
def test_results_and_gradients_lie_as_pytorchs(code):
    for arguments, expected in RECORDED[code]:
        assert json.loads(json.dumps(observe(torch, code, arguments))) == expected, arguments


def test_what_pytorch_refuses_to_view_is_refused():
    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2)
    assert (x.t() + y).stride() == (1, 3) and (y + x.t()).stride() == (2, 1)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        (x.t() + y).view(-1)


def test_a_result_written_into_an_empty_tensor_is_laid_out_likewise():
    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2)
    assert torch.add(x.t(), y, out=torch.empty(0)).stride() == (1, 3)
    assert torch.add(x.t(), y, out=torch.empty(3, 2)).stride() == (2, 1)
