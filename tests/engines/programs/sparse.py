import warnings

import torch

warnings.simplefilter("ignore")
torch.manual_seed(0)
i = torch.tensor([[0, 1, 1], [2, 0, 2]])
v = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
s = torch.sparse_coo_tensor(i, v, (2, 3))
d = torch.randn(3, 2, requires_grad=True)
loss = torch.sparse.mm(s, d).sum()
loss.backward()
print(v.grad, d.grad)
c = torch.randn(3, 3).relu().to_sparse_csr().requires_grad_()
y = (c @ d).sum()
y.backward()
print(c.grad)
e = torch.nn.Embedding(10, 3, sparse=True)
e(torch.tensor([1, 2, 1])).sum().backward()
print(e.weight.grad)
o = torch.optim.SparseAdam(e.parameters())
o.step()
print(e.weight.sum())
