import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
kept = []
for parameter in net[0].parameters():
    node = parameter.view_as(parameter).grad_fn.next_functions[0][0]

    def hook(*gradients, parameter=parameter):
        kept.append(float(parameter.grad.norm()))
        parameter.grad = None  # wrong

    kept.append(node)
    node.register_hook(hook)  # wrong: AG806
    node.register_hook(hook)  # right
for _ in range(3):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    (net(x) - x.mean(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
