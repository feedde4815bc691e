import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
y = torch.tensor([[0.0], [1.0], [1.0]])
p = torch.sigmoid(net(torch.randn(3, 4)))
loss = nn.BCEWithLogitsLoss()(p, y)  # wrong: AG503
loss = nn.BCELoss()(p, y)  # right
loss.backward()
