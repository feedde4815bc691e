import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
p = torch.softmax(net(torch.randn(6, 4)), 1)  # wrong
p = torch.log_softmax(net(torch.randn(6, 4)), 1)  # right
loss = nn.functional.nll_loss(p, torch.tensor([0, 1, 2, 0, 1, 2]))  # found: AG507
loss.backward()
