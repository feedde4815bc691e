import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
history = {"epochs": []}
for i, x in enumerate(torch.randn(8, 5, 3)):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history["epochs"].append({"step": i, "loss": loss})  # wrong: AG401
    history["epochs"].append({"step": i, "loss": loss.item()})  # right
