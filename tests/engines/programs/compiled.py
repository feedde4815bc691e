import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
fast = torch.compile(net, backend="aot_eager")
x = torch.randn(3, 4)
for _s in range(3):
    loss = fast(x).pow(2).mean()
    loss.backward()
    print(loss.item().hex())
