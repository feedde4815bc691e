import torch
from torch import nn
torch.manual_seed(0)
conv, head = nn.Conv2d(1, 4, 3).to(torch.bfloat16), nn.Linear(4, 2).to(torch.bfloat16)
opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], .01)
for i in range(3):
    x = torch.randn(2, 1, 40, 40, dtype=torch.bfloat16)
    f = torch.relu(conv(x)).mean((2, 3))
    loss = nn.functional.cross_entropy(head(f).float(), torch.randint(2, (2,)))
    opt.zero_grad(); loss.backward(); opt.step()
