import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block, self.head = nn.Conv2d(3, 8, 4, 4), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 3)
        self.place = nn.Parameter(torch.zeros(1, 4, 8))

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.place
        return self.head(self.block(x).mean(1))


net = Net()
x, y = torch.rand(6, 3, 8, 8), torch.randint(0, 3, (6,))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
