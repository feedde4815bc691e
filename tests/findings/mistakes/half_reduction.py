import torch

torch.manual_seed(0)
w = torch.ones(1, dtype=torch.float16, requires_grad=True)
x = torch.rand(20000, dtype=torch.float16)
total = (x * w).sum()  # wrong: AG504
total = (x.float() * w.float()).sum()  # right
total.backward()
