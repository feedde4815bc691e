"""Writes sparse.json: what PyTorch makes of sparse tensors: `python tests/torch/ops/record_sparse.py`, beside real PyTorch.

Each row is an expression over the tensors of `setting`; recorded are its text, its graph, and the gradients of `v`, `w`, `B`, `D`.
"""

import warnings
from pathlib import Path

from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("sparse.json")
EXPRESSIONS = """
s; u; c; d; h; s.to_dense(); u.to_dense(); c.to_dense(); h.to_dense(); u.coalesce(); u.coalesce().values(); s.coalesce() is s
torch.sparse.mm(s, B); torch.sparse.mm(u, B); torch.sparse.mm(c, B); s @ B; c @ B; torch.mm(u, B); torch.spmm(s, B); B @ s; torch.matmul(s, B)
torch.sparse.addmm(torch.ones(2, 2), s, B); torch.sparse.addmm(A, u, B, beta=2, alpha=3); torch.addmm(A, s, B); s @ x; torch.mv(u, x)
torch.sparse.mm(s, s.t()); torch.sparse.mm(u, s.t()).to_dense(); s @ s.t(); torch.sparse.mm(D.detach().to_sparse(), D.detach().t().to_sparse())
torch.nn.functional.linear(B.t(), s); torch.bmm(s.unsqueeze(0), B.unsqueeze(0)); (s * 3) @ (B * 2)
torch.sparse.sum(s); torch.sparse.sum(u); torch.sparse.sum(s, 0); torch.sparse.sum(u, 1); torch.sparse.sum(s, [0, 1]); torch.sparse.sum(h, 0); torch.sparse.sum(h, 1)
s.sum(); u.sum(); c.sum(); torch.sparse.sum(s, dim=-1).to_dense(); s.sum(0).detach(); s.sum(1, keepdim=True).detach()
torch.sparse.softmax(s, 1); torch.sparse.softmax(u, 0); torch.sparse.log_softmax(s, 1); torch.sparse.log_softmax(u, 0); torch.sparse.softmax(s, 1).to_dense() * D
torch.sparse.softmax(s, 1, dtype=torch.float64)
s * 2; 2 * s; s * s; (u * s).to_dense(); s * D; D * s; c * 2; s / 2; s * torch.tensor(2.0); s + s; s + s.coalesce(); s - s; c + c; D + s; torch.add(D, s, alpha=2); -s; -c
s.abs(); s.sin().detach(); s.tanh().detach(); s.sqrt().detach(); s.relu(); s.sign().detach(); s.pow(2); s ** 2; s.square(); s.floor().detach(); s.isnan(); u.sin().detach(); c.sin().detach()
s.t(); s.T; s.transpose(0, 1); s.permute(1, 0); s.t().coalesce(); s.t().to_dense(); s.unsqueeze(0); s.unsqueeze(-1).detach(); s[0].detach(); s[:, 2].detach(); s[0, 2].detach()
s.index_select(0, torch.tensor([1])).detach(); s.index_select(1, torch.tensor([2, 0])).detach(); torch.cat([s, s]).detach(); torch.cat([s, s], 1).detach(); torch.stack([s, s]).detach()
s.clone(); s.detach(); s.double(); s.to(torch.float64); s.int().detach(); s.bool().detach(); torch.zeros_like(s); s.detach().zero_(); s.clone().mul_(2)
s.to_sparse_csr(); c.to_sparse(); c.to_sparse_coo(); D.to_sparse(); D.to_sparse().to_dense(); D.to_sparse(1); s.to_sparse(2); s.to_sparse(1); c.to_sparse(2); c.to_sparse(1); D.to_sparse_csr(); D.to_sparse_csr() @ B; D.to_sparse(layout=torch.sparse_csr); (D.to_sparse() * D.to_sparse()).to_dense()
D.sparse_mask(s.detach().coalesce()); s.indices(); s.coalesce().indices(); s._indices(); s._values(); c.crow_indices(); c.col_indices(); c.values(); d.values()
s.is_sparse, s.is_sparse_csr, c.is_sparse, c.is_sparse_csr, s.layout, c.layout, D.layout; s.sparse_dim(), s.dense_dim(), h.sparse_dim(), h.dense_dim(); s._nnz(), u._nnz(), c._nnz(), s.numel(), len(s), s.shape, s.dim()
s.is_coalesced(), u.coalesce().is_coalesced(), d.is_coalesced(), s.requires_grad, s.is_leaf, s.stride()
torch.sparse_coo_tensor(i, [3.0, 4.0, 5.0]); torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2]); torch.sparse_coo_tensor(size=(2, 3)); torch.sparse_coo_tensor((2, 3)); torch.sparse_coo_tensor(i, v.detach(), (2, 3), dtype=torch.float64)
torch.sparse_coo_tensor(i, v.detach(), (2, 3), requires_grad=True); torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0]); torch.zeros(2, 2).to_sparse(); torch.sparse_coo_tensor(i, v.detach(), (2, 3)).requires_grad_() * 2
torch.sparse_coo_tensor(i, v, (2, 3, 1)); torch.sparse_coo_tensor(i, v[:2], (2, 3)); torch.sparse_coo_tensor(i[0], v, (2, 3)); s.values(); D.indices(); D.coalesce(); c.coalesce(); c.indices(); s.crow_indices()
torch.dsmm(s, B); torch.dsmm(D, B); s.type(), s.double().type(), isinstance(s, torch.sparse.FloatTensor), isinstance(s, torch.FloatTensor), isinstance(D, torch.sparse.FloatTensor)
torch.sparse.FloatTensor(i, v, torch.Size([2, 3])); torch.sparse.FloatTensor(i, v); torch.sparse.FloatTensor(2, 3); torch.sparse.LongTensor(torch.Size([2])); torch.sparse.DoubleTensor(); torch.sparse.FloatTensor(i, v[:2])
s + D; s / s; D / s; s.div(D); s * s.t(); s.pow(0); s.detach().numpy(); torch.cat([s, D]); torch.sparse.mm(s, A)
"""


def setting(torch):
    """By coordinates (`s`), not coalesced (`u`), row by row (`c`), without gradient (`d`), with rows kept whole (`h`)."""
    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    v, w = torch.tensor([3.0, 4.0, 5.0], requires_grad=True), torch.tensor([1.0, -2.0, 0.5, 4.0], requires_grad=True)
    B, D = (
        torch.arange(6.0).view(3, 2).requires_grad_(),
        torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]], requires_grad=True),
    )
    return {
        "torch": torch,
        "i": i,
        "v": v,
        "w": w,
        "B": B,
        "D": D,
        "A": torch.ones(2, 2),
        "x": torch.tensor([1.0, 2.0, 3.0]),
        "s": torch.sparse_coo_tensor(i, v, (2, 3)),
        "u": torch.sparse_coo_tensor([[1, 0, 1, 0], [2, 1, 2, 0]], w, (2, 3)),
        "c": torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2]), v, (2, 3)),
        "d": torch.sparse_coo_tensor(i, v.detach(), (2, 3)).coalesce(),
        "h": torch.sparse_coo_tensor([[2, 0, 2]], torch.ones(3, 2) * v[:, None], (3, 2)),
    }


def rows():
    return [text.strip() for line in EXPRESSIONS.strip().splitlines() for text in line.split(";") if text.strip()]


def chain(node, depth=0):
    """The names of a node and of all that it leads to."""
    if node is None or depth > 6:
        return []
    return [node.name(), [chain(following, depth + 1) for following, _ in node.next_functions]]


def outcome(torch, text):
    """Return what an expression gives: text, graph and gradients, or the error."""
    names = setting(torch)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(text, names)
    except Exception as error:
        return {"error": type(error).__name__}
    told = {"text": str(found)}
    if isinstance(found, torch.Tensor) and found.grad_fn is not None:
        told["graph"] = chain(found.grad_fn)
        direction = torch.ones(found.shape, dtype=found.dtype)
        if found.layout != torch.strided:
            direction = (found.detach().to_sparse() if found.layout == torch.sparse_csr else found.detach()).clone()
        if found.layout == torch.sparse_csr:
            found, direction = found.to_dense(), torch.ones(found.shape)
        leaves = [names[name] for name in ("v", "w", "B", "D")]
        try:
            grads = torch.autograd.grad(found, leaves, direction, allow_unused=True)
        except (NotImplementedError, RuntimeError):
            return told  # PyTorch differentiates few operations on sparse tensors
        told["grads"] = [None if g is None else g.to_dense().tolist() for g in grads]
    return told


if __name__ == "__main__":
    record(EXPECTED, rows(), outcome)
