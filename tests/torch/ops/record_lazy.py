"""Records with real PyTorch what is computed of tensors that are conjugated or negated when they are read, into lazy.json.

`python -m tests.torch.ops.record_lazy` from the repository's root. EXPRESSIONS are recorded as record_expressions.py does, of
tensors with one bit or both; of each of the SCRIPTS what it leaves in `seen`, and its gradients.
"""

import copy
import functools
import io
import warnings
from pathlib import Path

import numpy as np

from tests.torch.ops.record_expressions import evaluate, graph, observe, plain
from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("lazy.json")

READ = {
    "conjugated": "v = z.conj(); q = (z[:, None]*z + x[:, :2]).mH",
    "negated": "v = z.conj().imag; q = (z[:, None]*z + x[:, :2]).conj().imag",
    "both": "v = torch._neg_view(z*1).conj(); q = torch._neg_view(z[:, None]*z + x[:, :2]).mH",
}
"""Statements that make a vector `v` and a matrix `q`."""

EXPRESSIONS = """
v*1; v+v; v*2; 2-v; v/w[:2]; w[:2]/v; v**2; v**3; 2**v; v*v; v-q; q/v; q@q; q@v; v@q; q.mm(q.mH); q.mT@q; torch.dot(v,v); torch.vdot(v,v); torch.outer(v,v)
v.exp(); v.exp2(); v.expm1(); v.sin(); v.cos(); v.tan(); v.sinh(); v.cosh(); v.tanh(); v.asinh(); v.atan(); v.reciprocal(); v.square(); v.sigmoid(); v.sinc()
(v*v).sqrt(); v.abs(); v.sgn(); v.angle(); -v; +v; v.positive(); v.conj(); v.conj_physical(); v.resolve_conj(); v.resolve_neg(); v.real; v.clone(); v.contiguous(); q.t().contiguous()
v.sum(); q.sum(0); q.mean(); q.prod(); q.cumsum(0); q.cumprod(1); v.norm(); q.norm(dim=1); v.var(); q.std(0); q.trace(); q.diagonal(); q.tril(); q.triu(); v.diag(); v.diag_embed()
q.t(); q.mH; q.mT; q.adjoint(); q.view(4); q.reshape(-1); q.t().reshape(-1); q.flatten(); q.permute(1,0); v.expand(3,2); v[None]; v[1]; q[0]; q[:,1]; q[[1,0]]; q[q.abs()>.5]; q[::2]; v.unfold(0,2,1)
q.chunk(2)[0]; q.split(1)[1]; q.unbind(1)[0]; q.squeeze(); v.unsqueeze(0); q.as_strided((2,),(2,),1); q.flip(0); q.roll(1); q.rot90(); v.repeat(2); q.repeat_interleave(2,0); v.repeat_interleave(torch.tensor([1,2]))
torch.cat([v,v]); torch.stack([v,v*2]); torch.cat([v,w[:2]]); torch.hstack([q,q]); torch.where(q.abs()>.5,q,v); torch.where(q.abs()>.5,q,0.); torch.kron(v,v); torch.block_diag(q,q); torch.tensordot(q,q,1); torch.einsum('ij,jk->ik',q,q)
q.gather(1,j[:,:2]); q.index_select(0,torch.tensor([0,0])); q.index_add(0,torch.tensor([1]),v[None]); q.index_put((torch.tensor([0]),),v); q.index_fill(0,torch.tensor([0]),1.); q.scatter(1,j[:,:2],q); q.scatter_add(1,j[:,:2],q)
q.masked_fill(m[:,:2],0.5); q.masked_select(m[:,:2]); q.masked_scatter(m[:,:2],q); q.take(torch.tensor([0,3])); q.select_scatter(v,0,1); q.slice_scatter(v[None],0,0,1); q.diagonal_scatter(v)
v.addcmul(v,v); v.addcdiv(v,v); v.lerp(v*2,0.3); torch.addmm(q,q,q); torch.addmv(v,q,v); torch.addr(q,v,v); torch.baddbmm(q[None],q[None],q[None]); q[None].bmm(q[None]); torch.linalg.multi_dot([q,q,v])
torch.linalg.det(q); torch.linalg.inv(q); torch.linalg.solve(q,v); torch.linalg.norm(q); torch.linalg.matrix_power(q,3); torch.linalg.matrix_exp(q); torch.linalg.vecdot(v,v); torch.linalg.cholesky(q@q.mH+3*torch.eye(2))
torch.fft.fft(v); torch.fft.ifft(v); torch.fft.fft2(q); torch.fft.hfft(v,n=2); v.cov(); F.pad(v,(1,1)); F.linear(q,q); F.linear(q,q,v); F.l1_loss(v,v*2); F.mse_loss(q.real,q.abs()); v.to(torch.complex128); v==v; v.isfinite()
(v+3).log1p(); (v+3).log(); (v+3).log2(); (v+3).log10(); (v+3).rsqrt(); v.logcumsumexp(0); q.nonzero()
"""

SCRIPTS = """
y = z*1; c = y.conj(); c.mul_(2); seen = [y, c, y._version, c._version]
y = z*1; c = y.conj(); y.mul_(2); seen = [c, c.conj()]
y = z*1; c = y.conj()[1:]; y.mul_(2); seen = [c]
y = z*1; c = y[1:].conj(); y.mul_(2); seen = [c, c[0]]
y = z*1; c = y.conj().imag; y.mul_(2); seen = [c]
y = z*1; c = y.imag[1:]; y.mul_(2); seen = [c]
y = z*1; c = y[1:].imag[:1]; y.mul_(2); seen = [c]
y = z*1; c = y.conj().conj(); y.mul_(2); seen = [c, c.is_conj()]
y = z*1; c = torch.view_as_complex(torch.view_as_real(y)[1:]); y.mul_(2); seen = [c]
y = z*1; c = torch._neg_view(y); y.mul_(2); c.add_(1); seen = [y, c]
y = x*1; c = torch._neg_view(y); c.mul_(w); y.mul_(2); seen = [y, c, c._version]
y = z*1; y.conj().imag.mul_(3); seen = [y, (y*y.conj()).real.sum()]
y = z*1; v = y.conj().imag; v.mul_(v*2); seen = [y, v]
y = z*1; v = y.conj(); v.mul_(3j); seen = [y*v]
y = z[:, None]*z; v = y.mH; v[0] = 1j; seen = [y, v]
y = z[:, None]*z; v = y.mH; v.zero_(); seen = [v.is_conj(), y.abs()]
y = z[:, None]*z; y.mH.copy_(y.detach()*2); seen = [y]
y = z[:, None]*z; y.mH[:, 0] += w[:2]; seen = [y]
y = z*1; v = y.conj(); v.real.mul_(2); v.imag.mul_(w[:2]); seen = [y, v]
y = z*1; v = y.conj(); v[0] = v[1]*2; seen = [y, v]
y = z*1; v = y.conj(); v.copy_(y.exp()); seen = [y, v]
y = z*1; v = y.conj(); v.copy_(z.conj()); seen = [y, v]
y = z*1; v = y.conj(); v.conj_physical_(); seen = [y, v, v.is_conj()]
y = z*1; v = y.conj(); v.index_add_(0, torch.tensor([0]), z[1:]); seen = [y]
y = z*1; v = y.conj(); v.masked_fill_(m[0, :2], 1j); seen = [y]
y = z*1; v = y.conj(); v.exp_(); seen = [y, v]
y = z*1; v = y.conj(); v += 1; v *= w[:2]; seen = [y]
y = z*1; v = y.conj().detach(); v.mul_(2); seen = [y.detach(), v, v.is_conj(), y._version]
c = z.detach().conj(); a = c.clone(); torch.mul(z.detach(), 2, out=c); seen = [c, a, c.is_conj(), c._version]
c = z.detach().conj().requires_grad_(); (c*c).sum().backward(torch.tensor(1j, dtype=c.dtype)); seen = [c.detach(), c.is_leaf, c.grad]
c = z.detach(); y = c.conj(); seen = [y.is_conj(), y._is_view(), y._base is c, y.data_ptr() == c.data_ptr(), y._version, y.stride(), c[None].mH.stride(), y.is_set_to(c)]
c = z.detach().conj(); seen = [t.is_conj() for t in (c, c.clone(), c.contiguous(), c[None].t(), c.detach(), c.data, copy.deepcopy(c), copy.copy(c), torch.empty_like(c), c.resolve_conj(), c.conj(), c.conj_physical())]
c = z.detach().conj(); seen = [t.is_conj() for t in (c*1, c+c, torch.outer(c, c), c[[0]], c[0], c[:1], c.view(2, 1), c.expand(2, 2), c.flatten(), c.to(torch.complex64), c.to(c.dtype), torch.as_tensor(c), c.new_zeros(2), c.real, c.imag)]
c = z.detach().conj(); seen = [t.is_conj() for t in (*c.chunk(2), *c.unbind(), *c.split(1), c[None].T, c[None].H, c[None].mH, c[None].diagonal(), c.as_strided((2,), (1,)), torch.nn.Parameter(c))]
c = torch._neg_view(z.detach()); seen = [t.is_neg() for t in (c, c.conj(), c.real, c.imag, c.conj().real, c.conj().imag, c.resolve_neg(), torch.view_as_real(c), z.conj().imag, z.conj().real, c.clone(), c[0])]
c = z.detach().conj(); seen = [c.resolve_conj() is c, z.resolve_conj() is z, z.resolve_neg() is z, c.tolist() == z.conj_physical().tolist(), c[0].item(), complex(c[1]), str(c), str(c.imag), repr(torch.nn.Parameter(c))]
c = z.detach().conj(); seen = [c.numpy(force=True).tolist(), c.resolve_conj().numpy().tolist(), c.imag.resolve_neg().numpy().tolist(), torch.equal(c, c.resolve_conj()), bool(c[0]), (c == c.clone()).all().item()]
c = z.detach().conj(); seen = [refusal(c.numpy), refusal(c.imag.numpy), refusal(lambda: np.asarray(c)), refusal(lambda: c.view(torch.float64)), refusal(lambda: c.imag.view(torch.int64)), refusal(lambda: torch.view_as_real(c)), refusal(c.__dlpack__)]
seen = [refusal(lambda: z.conj().mul_(2)), refusal(lambda: z.conj().imag.zero_())]
y = (z*1).conj(); s = y*y; y.mul_(2); seen = [refusal(lambda: s.sum().abs().backward())]
b = io.BytesIO(); torch.save([z.detach().conj(), z.detach()], b); b.seek(0); c, o = torch.load(b); c.mul_(2); seen = [c, o, c.is_conj(), c.data_ptr() == o.data_ptr()]
b = io.BytesIO(); torch.save(z.detach().conj().imag, b); b.seek(0); n = torch.load(b); seen = [n, n.is_neg()]
c = torch.zeros(2, 3, dtype=torch.complex64, device='meta').mH; seen = [c.is_conj(), c.imag.is_neg(), c.stride(), (c*1).is_conj(), c.clone().is_conj(), c.conj().is_conj(), refusal(lambda: torch.view_as_real(c))]
seen = [*torch.func.jvp(lambda t: t.conj()*t, (z.detach(),), (z.detach()*1j,)), *torch.func.jvp(lambda t: t.conj().imag*2, (z.detach(),), (z.detach(),))]
seen = [torch.func.grad(lambda t: (t.conj().imag**2).sum())(z.detach()), torch.func.vmap(lambda t: t.conj()*2)(z.detach()), torch.func.vmap(torch.func.grad(lambda t: (t*t.conj()).real))(z.detach())]
c = torch.zeros(2, 3, dtype=torch.complex64).mH; c.set_(torch.ones(2, dtype=torch.complex64)*1j); seen = [c, c.is_conj()]
c = z.detach()[:, None].expand(2, 3).mT.conj(); seen = [(c*2).stride(), c.exp().stride(), c.clone().stride(), c.resolve_conj().stride(), c.t().sqrt().stride()]
n = (z.conj()*z).grad_fn; seen = [n._saved_self, n._saved_self.is_conj(), n._saved_other.is_conj()]
hs = []; y = z*1; c = y.conj(); c.register_hook(lambda g: hs.append(g.clone())); y.register_hook(lambda g: hs.append(g.clone())); (c*c*y).sum().abs().backward(); seen = hs
seen = bits(z, lambda z: z.conj()) + bits(z, lambda z: z.conj().clone()) + bits(z, lambda z: z.conj()[0]) + bits(z, lambda z: z.conj().conj())
seen = bits(z, lambda z: z.conj().reshape(1, 2)) + bits(z, lambda z: z.conj()[:, None].mT) + bits(z, lambda z: z.conj().sum())
seen = bits(z, lambda z: z.conj()*1) + bits(z, lambda z: -z.conj()) + bits(z, lambda z: z.conj().exp()) + bits(z, lambda z: z.conj() + z)
seen = bits(z, lambda z: (z + 1).conj()) + bits(z, lambda z: (z*2).conj()) + bits(z, lambda z: z.clone().conj()) + bits(z, lambda z: z[:2].conj())
seen = bits(z, lambda z: z.imag) + bits(z, lambda z: z.conj().imag) + bits(z, lambda z: z.conj().real) + bits(z, lambda z: z.abs())
seen = bits(z, lambda z: torch.vdot(z, z)) + bits(z, lambda z: z.conj_physical()) + bits(z, lambda z: torch.cat([z.conj(), z.conj()]))
seen = bits(z, lambda z: z.expand(3, 2).mH) + bits(z, lambda z: z[:, None].mH @ z) + bits(z, lambda z: torch.stack([z, z]).mH[0]) + bits(z, lambda z: z.conj().unbind()[1])
""".strip().splitlines()


def expressions():
    """Every expression, with the statements that make its tensors."""
    codes = [c.strip() for line in EXPRESSIONS.strip().splitlines() for c in line.split(";")]
    skipped = ("cholesky", "matrix_exp")  # of a matrix that is no product of its own, gradients are not defined
    for how, before in READ.items():
        yield from (f"{before}; {c}" for c in codes if how != "negated" or not any(s in c for s in skipped))


def bits(torch, z, make):
    """Return which gradients of `z` are conjugated or negated when they are read: of a plain gradient of the result and
    of a conjugated one, of one that is differentiated again, and what two passes leave in `.grad`."""
    seen = []
    for conjugated in (False, True):
        y = make(z)
        grad = torch.ones_like(y) * 2
        grad = (grad * (1 + 2j)).conj() if conjugated and y.is_complex() else grad
        seen.append(torch.autograd.grad(y, z, grad)[0])
    y = make(z)
    seen.append(torch.autograd.grad(y, z, torch.ones_like(y).requires_grad_(), create_graph=True)[0])
    leaf = z.detach().clone().requires_grad_()
    for _ in range(2):
        y = make(leaf)
        y.backward(torch.ones_like(y) * ((1 + 2j) if y.is_complex() else 1))
        seen.append(leaf.grad.clone())
        seen.append(leaf.grad.is_conj())
    return [x for t in seen for x in ((t.detach(), t.is_conj(), t.is_neg()) if isinstance(t, torch.Tensor) else (t,))]


def refusal(call):
    """The kind and the first words of the error that a call ends with."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:150]
    return "nothing raised"


def run_script(torch, code):
    """Return what a script leaves in `seen`, tensors with their graphs, and the gradients of the sum of their
    squares."""
    scope = {"np": np, "copy": copy, "io": io, "refusal": refusal, "bits": functools.partial(bits, torch)}
    leaves, seen = evaluate(torch, f"{code}; seen", scope)
    found = {"seen": [_shown(torch, t, leaves) for t in seen]}
    made = [t for t in seen if isinstance(t, torch.Tensor) and t.grad_fn is not None]
    if made:
        total = sum(t.abs().square().sum() for t in made)
        first = torch.autograd.grad(total, list(leaves.values()), create_graph=True, allow_unused=True)
        found["first"] = [None if g is None else plain(g) for g in first]
        again = sum(g.abs().square().sum() for g in first if g is not None)
        second = torch.autograd.grad(again, list(leaves.values()), allow_unused=True)
        found["second"] = [None if g is None else plain(g) for g in second]
    return found


def _shown(torch, value, leaves):
    if not isinstance(value, torch.Tensor):
        return repr(value)
    return {"tensor": plain(value), "graph": graph(value.grad_fn, leaves) if value.grad_fn is not None else "leaf"}


def main():
    import torch

    warnings.simplefilter("ignore")
    found, failed = {}, []
    for code, ask in [*((c, observe) for c in expressions()), *((c, run_script) for c in SCRIPTS)]:
        try:
            found[code] = ask(torch, code)
        except Exception as error:
            failed.append(f"{code}: {type(error).__name__}: {error}")
    written(EXPECTED, found)
    print("PyTorch refuses:", *failed, sep="\n")


if __name__ == "__main__":
    main()
