"""The operation suites on a GPU: values, graphs and gradients are those that PyTorch gave, as on the CPU."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from autograph_cli import torch
from tests.torch.nn import record_functional, record_layers
from tests.torch.nn.test_layers import test_layer_is_and_gives_what_it_does_in_pytorch as check_layer
from tests.torch.ops import record_expressions, record_mathematics, record_more_expressions
from tests.torch.ops.record_expressions import observe
from tests.torch.ops.test_expressions import assert_same
from tests.torch.optim.test_optimizers import cases, test_parameters_and_state_are_those_of_pytorch as check_optimizer

pytestmark = [
    pytest.mark.usefixtures("on_gpu"),
    pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]

SUITES: dict[str, Any] = {}
for suite in (record_expressions, record_more_expressions, record_mathematics):
    SUITES |= json.loads(suite.EXPECTED.read_text())
recorded = json.loads(record_functional.EXPECTED.read_text())
SUITES |= {code: recorded[code] for code in record_functional.CASES}

# Several values go to one position: on a GPU any of them may stay.
for undefined in ("x.scatter(1,j,x*2)", "x.put(j,x*3)"):
    del SUITES[undefined]

BFLOAT16 = re.compile(r"\bk\b|bfloat16")
REFUSED = set(
    """
torch.linalg.det(x[:,:2])
torch.linalg.inv(x[:,:2])
torch.linalg.solve(x[:,:2],x[:,2])
torch.histogram(x.detach(),3)
x.scatter_reduce(1,j,x,'prod')
torch.segment_reduce(x,'prod',lengths=torch.tensor([1,1]))
torch.segment_reduce(x,'max',lengths=torch.tensor([2,0]),initial=-9.)
torch.linalg.norm(x,'nuc')
torch.linalg.norm(x,2,keepdim=True)
torch.linalg.matrix_norm(b,-2,dim=(0,2))
torch.norm(x,'nuc')
torch.linalg.cond(x@x.T)
torch.linalg.cond(x@x.T,'nuc')
torch.linalg.matrix_rank(x)
torch.linalg.det(x@x.T)
torch.linalg.det(w[:,None]@w[None])
torch.linalg.slogdet(x@x.T)[1]
torch.logdet(b@b.mT+torch.eye(3,dtype=b.dtype))
torch.inverse(x@x.T)
torch.linalg.inv(b.mT@b)
torch.linalg.pinv(x)
torch.linalg.pinv(b)
torch.linalg.pinv(x@x.T,hermitian=True)
torch.linalg.solve(x@x.T,x)
torch.linalg.solve(b.mT@b,x[:,:2])
torch.linalg.solve(x@x.T,b[0],left=False)
torch.linalg.solve(x@x.T,w[:2])
torch.linalg.lstsq(x.T,w[:,None]).solution
torch.linalg.cholesky(x@x.T)
torch.linalg.cholesky(x@x.T,upper=True)
torch.linalg.qr(x.T)[0].abs()
torch.linalg.qr(x)[1].abs()
torch.linalg.svd(x,full_matrices=False)[0].abs()
torch.linalg.svd(x)[1]
torch.linalg.svdvals(b)
torch.svd(x.T)[2].abs()
torch.linalg.eigh(x@x.T)[1].abs()
torch.linalg.eigvalsh(b.mT@b)
torch.linalg.eig(x[:,:2])[0].abs()
torch.linalg.eigvals(x[:,:2]).real
torch.linalg.matrix_exp(x@x.T/9)
torch.linalg.matrix_power(x@x.T,-2)
torch.linalg.tensorinv(b.reshape(3,4)[:,:3].reshape(3,3,1),ind=1)
torch.linalg.tensorsolve(x@x.T,w[:2])
torch.geqrf(x)[0].detach().abs()
F.ctc_loss(b.log_softmax(1).permute(2, 0, 1), torch.tensor([[1], [2]]), (2, 2), (1, 1))
F.embedding_bag(torch.tensor([0, 1, 1]), x, torch.tensor([0, 1]), mode='max')
""".strip().split("\n")
)
"""What is not available on a GPU yet."""


def refused(code: str) -> bool:
    return code in REFUSED or bool(BFLOAT16.search(code))


@pytest.mark.parametrize("code", [code for code in SUITES if not refused(code)])
def test_expression_gives_on_a_gpu_what_pytorch_gives(code: str) -> None:
    assert_same(observe(torch, code), SUITES[code])


@pytest.mark.parametrize("code", [code for code in SUITES if refused(code)])
def test_what_a_gpu_does_not_have_yet_is_refused(code: str) -> None:
    with pytest.raises(NotImplementedError):
        assert_same(observe(torch, code), SUITES[code])


@pytest.mark.parametrize("row", json.loads(record_layers.EXPECTED.read_text()))
def test_layer_gives_on_a_gpu_what_pytorch_gives(row: str) -> None:
    check_layer(row)


@pytest.mark.parametrize("name, index", cases())
def test_optimizer_steps_on_a_gpu_as_in_pytorch(name: str, index: int) -> None:
    check_optimizer(name, index)
