"""Tensors of more than 32 dimensions, for which NumPy's older iterators refuse or end the process, beside the same with the
dimensions of size 1 left out: in a process of its own, which must not end."""

import subprocess
import sys

import pytest

CODE = """
import sys
from autograph_cli import torch
from tests.torch.ops.test_many_dims import CASES
ndim = int(sys.argv[1])

def outcome(code, lead):
    x = (torch.arange(6.0).reshape(2, 3) / 8).reshape(2, *lead, 3).requires_grad_()
    y = torch.tensor([[0.5, 0.25, 1.0], [2.0, 0.75, 0.5]]).reshape(2, *lead, 3).requires_grad_()
    i, m = (x.detach() * 8).long() % 2, x.detach() > 0.3
    k, last = torch.tensor([1, 0, 1]), x.ndim - 1
    made = eval(code, {"torch": torch, "F": torch.nn.functional, "x": x, "y": y, "i": i, "m": m, "k": k, "last": last, "lead": lead})
    made = made if isinstance(made, torch.Tensor) else made[0]
    found = [made]
    if made.requires_grad:
        found += torch.autograd.grad(made.sum(), (x, y), allow_unused=True)
    return [g if g is None else g.reshape(-1).tolist() for g in found]

for name in CASES:
    print(name, flush=True)
    found, wanted = outcome(CASES[name], (1,) * (ndim - 2)), outcome(CASES[name], ())
    assert str(found) == str(wanted), (name, found, wanted)
print("all")
"""
CASES = {
    code: code
    for code in (
        "x[k % 2]", "x[k % 2] * y[k % 2]", "x[..., k]", "x[m]", "x[k % 2, ..., k]", "x[:, ..., 1:]",
        "x.index_select(0, k)", "x.index_select(last, k)", "x.transpose(0, last).index_select(0, k)",
        "x.index_add(0, k, y[k])", "x.index_add(last, k, y[..., k], alpha=2)", "i.index_add(0, k, i[k])",
        "x.index_copy(0, k[:2], y)", "x.index_fill(last, k[:2], 3.0)", "x.index_reduce(0, k, y[k], 'amax')",
        "x.index_put((k % 2,), y[k], True)", "x.index_put((k % 2,), y[0], True)", "x.index_put((m,), y[m])",
        "x.t().index_put((k,), y.t()[k], True) if x.ndim == 2 else x.transpose(0, last).index_put((k,), y.transpose(0, last)[k], True)",
        "x.gather(0, i)", "x.gather(last, i)", "x.transpose(0, last).gather(0, i.transpose(0, last))",
        "x.scatter(0, i, y)", "x.scatter_add(0, i, y)", "x.scatter_add(last, i, y)", "i.scatter_add(0, i, i)",
        "x.scatter_reduce(0, i, y, 'prod')", "x.scatter_reduce(last, i, y, 'mean', include_self=False)",
        "x.take(k)", "x.put(k, y.take(k), True)", "torch.take_along_dim(x, i, 0)", "x.masked_select(m)",
        "x.masked_fill(m, 2.0)", "x.masked_scatter(m, y)", "torch.where(m, x, y)", "x.nonzero().sum()", "m.nonzero().sum()",
        "x.sort(0)", "x.sort(last, descending=True)", "i.sort(last)", "x.half().sort(0)", "x.argsort(0)", "x.topk(2, last)",
        "x.topk(1, 0)", "x.kthvalue(2, last)", "x.median(last)", "x.nanmedian(0)", "x.mode(0)", "x.quantile(0.5, last)",
        "x.detach().unique()", "x.cumsum(0)", "x.cumprod(last)", "x.cummax(0)", "x.logcumsumexp(last)", "x.flip(0)", "x.roll(1, 0)",
        "x.roll((1, 2), (0, last))", "torch.igamma(y.detach(), x.detach() + 1)", "torch.igammac(y.detach(), x.detach() + 1)", "torch.polygamma(2, y)",
        "torch.special.zeta(y.detach() + 2, y.detach())", "torch.special.chebyshev_polynomial_t(x, i)", "x.lerp(y, 0.25)", "x.logsumexp(0)",
        "x.softmax(last)", "x.var(last)", "x.norm()", "x.amax((0, last))", "x.prod(0)", "F.gelu(x)", "F.layer_norm(x, (3,))",
        "F.pad(x, (1, 1))", "torch.cat([x, y])", "torch.stack([x, y], -1)", "x.repeat_interleave(2, 0)", "x.diff(dim=0)",
        "x.unfold(0, 2, 1)", "x.diagonal(0, 0, last)", "x.unbind()",
        "torch.matmul(x.transpose(0, -2), y.transpose(0, -2).mT)", "F.linear(x, x.reshape(2, 3))",
        "F.embedding(i, x.reshape(2, 3))", "F.one_hot(i, 3)", "F.mse_loss(x, y)", "x.as_strided((2, 2), (1, 1))",
        "x.clone().index_add_(0, k % 2, y[k % 2])", "x.expand_as(x).sum(0)", "torch.einsum('a...b->b...a', x)",
    )
}  # fmt: skip


@pytest.mark.parametrize("ndim", [33, 40, 63])
def test_more_dimensions_of_size_1_change_no_number(ndim):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE, str(ndim)], capture_output=True, text=True)
    assert done.stdout.endswith("all\n"), (done.returncode, done.stdout.splitlines()[-1:], done.stderr[-800:])
