import torch
from torch import nn

torch.manual_seed(0)


class Loop:
    def __init__(self, net):
        self.net, self.optim = net, torch.optim.SGD(net.parameters(), lr=0.1)

    def backward(self, loss):
        loss.backward()
        self.net.zero_grad()  # wrong: AG806

    def run(self, x, y):
        self.net.zero_grad()  # right
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(x), y)
        self.backward(loss)
        self.optim.step()
        return loss.item()


loop = Loop(nn.Linear(4, 1))
for _ in range(4):
    loop.run(torch.randn(6, 4), torch.randint(0, 2, (6, 1)).float())
