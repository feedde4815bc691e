"""How results and gradients are laid out in memory: strides decide whether a later `view` or `reshape` shares it."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.running.record_strides import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())
DIFFERENT = {
    "x.rot90() if x.dim()>1 else x": "of an expanded tensor; PyTorch flips a transposed view",
    "torch.einsum('...ij,...jk->...ki',x,y)": "PyTorch exchanges the operands where the result would be transposed",
}
"""What still differs, and why."""


@pytest.mark.filterwarnings("ignore")
@for_each("code", [code for code in RECORDED if code not in DIFFERENT])
def test_results_and_gradients_lie_as_pytorchs(code):
    for arguments, expected in RECORDED[code]:
        assert json.loads(json.dumps(observe(torch, code, arguments))) == expected, arguments


@for_each("code", DIFFERENT)
def test_a_difference_that_is_gone_is_taken_off_the_list(code):
    with pytest.raises(AssertionError):
        test_results_and_gradients_lie_as_pytorchs(code)


def test_what_pytorch_refuses_to_view_is_refused():
    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2)
    assert (x.t() + y).stride() == (1, 3) and (y + x.t()).stride() == (2, 1)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        (x.t() + y).view(-1)


def test_a_result_written_into_an_empty_tensor_is_laid_out_likewise():
    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2)
    assert torch.add(x.t(), y, out=torch.empty(0)).stride() == (1, 3)
    assert torch.add(x.t(), y, out=torch.empty(3, 2)).stride() == (2, 1)
