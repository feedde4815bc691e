import warnings

import torch

torch.manual_seed(0)
a, b = torch.randn(2, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
n = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
w = torch.randn(3, 3, requires_grad=True)
out = torch.nn.functional.silu(n @ w)
loss = out.values().sum()
loss.backward()
print(a.grad, w.grad)

warnings.simplefilter("ignore")
m = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(1, 3)], requires_grad=True)
p = torch.nested.to_padded_tensor(m * 2, 0.0)
p.sum().backward()
print(m.grad.unbind()[0])
