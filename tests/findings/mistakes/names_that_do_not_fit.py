import torch
from torch import nn

torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))


kept = {"module." + name: value for name, value in build().state_dict().items()}
net = build()
net.load_state_dict(kept, strict=False)  # wrong: AG817
net.load_state_dict({name[len("module.") :]: value for name, value in kept.items()}, strict=False)  # right
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(20, 5), torch.randint(0, 3, (20,))
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
