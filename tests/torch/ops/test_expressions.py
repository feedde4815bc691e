"""Values, graphs and gradients of many expressions, against what PyTorch gave (record_expressions.py writes them)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from tests.torch.ops.record_expressions import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}

# What the engine does not have yet. Each raises an error that names it; what works leaves this list.
MISSING = """
torch.lerp(x,x*2,w)
x.hypot(w)
x.logaddexp(w)
x.logaddexp2(w)
x.fmax(w)
x.fmin(w)
x.copysign(w)
x.dist(w.expand(2,3))
x.heaviside(w.detach())
x.clamp(w*0,w)
x.clip(0,1)
x.nan_to_num()
x.deg2rad()
x.rad2deg()
x.aminmax()
x.median()
x.median(1).values
x.nanmedian()
x.mode(1).values
x.quantile(0.4)
x.cummax(0).values
x.cummin(1).values
x.logcumsumexp(1)
x.kthvalue(1).values
x.msort()
x.nansum()
x.nanmean()
x.diff()
x.trace()
torch.var_mean(x,0)[0]
torch.var_mean(x,0)[1]
torch.std_mean(x)[0]
x.count_nonzero()
x.renorm(2,0,1.)
x.corrcoef()
x.cov()
torch.trace(x@x.T)
w.diagflat()
x.fliplr()
x.flipud()
x.rot90()
x.unfold(1,2,1)
w.unfold(0,2,1)
x.tensor_split(3,1)[0]
x.tensor_split([1],1)[1]
x.hsplit(3)[0]
x.vsplit(2)[1]
torch.dstack([x,x])
torch.column_stack([w,w])
torch.meshgrid(w,w,indexing='ij')[0]
torch.cartesian_prod(w,w)
torch.block_diag(x,w)
torch.combinations(w)
torch.atleast_2d(w)
x.repeat_interleave(2,0)
x.take(torch.tensor([0,4]))
x.take_along_dim(j,1)
x.index_copy(0,torch.tensor([1]),w[None])
x.index_fill(0,torch.tensor([0]),1.)
x.scatter_reduce(1,j,x,'sum')
x.slice_scatter(w[None],0,0,1)
x.select_scatter(w,0,1)
x.diagonal_scatter(w[:2])
torch.searchsorted(w,s)
torch.bucketize(w,torch.tensor([1.],dtype=w.dtype))
F.gelu(x)
F.elu(x)
F.silu(x)
F.cross_entropy(x,torch.tensor([0,2]))
F.nll_loss(x,torch.tensor([0,2]))
F.smooth_l1_loss(x,w.expand(2,3))
F.huber_loss(x,w.expand(2,3))
F.l1_loss(x,w.expand(2,3))
F.hardtanh(x)
F.normalize(x)
F.cosine_similarity(x,w[None])
F.pad(x,(1,1))
F.one_hot(j)
F.layer_norm(x,(3,))
F.dropout(x,0.)
y = x*1; y.t_(); y
y = x*1; y.unsqueeze_(0); y
y = x*1; y.squeeze_(); y
y = x*1; y.transpose_(0, 1); y
y = x*1; y.cumsum_(0); y
y = x*1; y.tril_(); y
""".strip().splitlines()


def assert_alike(got, want, what):
    """Equal dtypes and shapes, close numbers."""
    assert (got is None) == (want is None), f"{what}: {got} instead of {want}"
    if want is None:
        return
    assert got[:2] == want[:2], f"{what}: {got[:2]} instead of {want[:2]}"
    tolerance = TOLERANCE.get(want[0], 1e-7)
    numbers, wanted = (np.array(t[2], float) for t in (got, want))
    np.testing.assert_allclose(numbers, wanted, tolerance, tolerance, err_msg=what)


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("code", [c for c in RECORDED if c not in MISSING])
def test_expression_gives_what_pytorch_gives(code):
    assert_same(observe(torch, code), RECORDED[code])


def assert_same(got, want):
    """The same graphs and errors, close values and gradients."""
    for key in ("graph", "graphs", "error"):
        assert got.get(key) == want.get(key), key
    assert_alike(got["value"], want["value"], "value")
    for key in ("first", "second"):
        for name, gradient in want.get(key, {}).items():
            assert_alike(got[key][name], gradient, f"{key} gradient of {name}")
    for name, gradient in got.get("recorded", {}).items():
        assert_alike(gradient, want["first"][name], f"recorded gradient of {name}")


@pytest.mark.parametrize("code", MISSING)
def test_what_is_missing_says_so(code):
    with pytest.raises((AttributeError, NotImplementedError)):
        observe(torch, code)
