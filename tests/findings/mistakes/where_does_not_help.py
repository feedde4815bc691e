import torch

x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
safe = torch.where(x > 0, x, torch.ones_like(x))  # right
y = torch.where(x > 0, x**0.5 * torch.log(x), x)  # wrong: AG301
y = torch.where(x > 0, safe**0.5 * torch.log(safe), x)  # right
y.sum().backward()
