import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def train(model, batches):
    model.eval()  # wrong: AG605
    model.train()  # right
    optimizer = torch.optim.Adam(model.parameters())
    for x in batches:
        loss = model(x).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(Net(), [torch.randn(5, 1, 6, 6) for _ in range(3)])
