import torch
from torch import nn
torch.manual_seed(0)
body, label, domain = nn.Linear(4, 6), nn.Linear(6, 2), nn.Linear(6, 2)
opt = torch.optim.SGD([*body.parameters(), *label.parameters(), *domain.parameters()], lr=0.05)
for _ in range(4):
    x, y, d = torch.randn(10, 4), torch.randint(0, 2, (10,)), torch.randint(0, 2, (10,))
    f = torch.relu(body(x))
    turned = f * 1.0
    turned.register_hook(lambda g: -0.3 * g)
    loss = nn.functional.cross_entropy(label(f), y) + nn.functional.cross_entropy(domain(turned), d)
    opt.zero_grad()
    loss.backward()
    opt.step()
