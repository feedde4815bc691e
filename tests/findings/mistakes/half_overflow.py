import torch

x = torch.full((4, 4), 300.0, dtype=torch.float16, requires_grad=True)
norm = (x * x).mean()  # wrong: AG301
norm = (x.float() * x.float()).mean()  # right
norm.backward()
