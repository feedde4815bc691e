# opt-einsum: a contraction on tensors, differentiated
import opt_einsum
import torch

torch.manual_seed(0)
a, b, c = (torch.randn(4, 4, requires_grad=True) for _ in range(3))
y = opt_einsum.contract("ij,jk,kl->il", a, b, c)
y.sum().backward()
print(y, a.grad)
