import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
t = torch.linspace(0, 1, 6).view(-1, 1)
t.requires_grad_()  # right
u = net(t)
(du,) = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)  # wrong: AG009
(du,) = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)  # right
(du + u).pow(2).mean().backward()
