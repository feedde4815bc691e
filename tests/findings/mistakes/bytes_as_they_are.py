import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randint(0, 256, (40, 3, 8, 8), dtype=torch.uint8), torch.randint(0, 3, (40,)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv2d(3, 4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.relu(self.conv(x)).mean((2, 3)))


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for images, labels in DataLoader(data, 10):  # wrong: AG312
    images = images.float()  # wrong
for images, labels in DataLoader(data, 10):  # right
    images = images.float() / 255  # right
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(images), labels).backward()
    optimizer.step()
