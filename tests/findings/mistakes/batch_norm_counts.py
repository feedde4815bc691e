import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.no_grad()
def evaluate(x):
    model.eval()  # right
    y = model(x)  # found: AG601
    model.train()  # right
    return y.argmax(1)


for _ in range(2):
    x, y = torch.randn(6, 1, 4, 4), torch.tensor([0, 1, 0, 1, 0, 1])
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    evaluate(x)
