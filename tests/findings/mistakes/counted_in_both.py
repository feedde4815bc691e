import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for x in torch.randn(4, 7, 4):
    opt.zero_grad()
    data_loss = nn.functional.cross_entropy(net(x), torch.randint(0, 3, (7,)))
    data_loss.backward(retain_graph=True)  # wrong
    penalty = 1e-3 * sum(p.pow(2).sum() for p in net.parameters())
    (data_loss + penalty).backward()  # wrong: AG812
    (data_loss + penalty).backward()  # right
    opt.step()
