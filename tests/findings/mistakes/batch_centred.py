import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x):
        h = self.first(x)
        h = h - h.mean(0)  # wrong: AG511
        h = h - h.mean(1, keepdim=True)  # right
        return self.last(torch.relu(h))


model = Model()
opt = torch.optim.Adam(model.parameters())
for x in torch.utils.data.DataLoader(torch.randn(40, 6), batch_size=10):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long()).backward()
    opt.step()
