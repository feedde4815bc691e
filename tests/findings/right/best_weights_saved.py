import io
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
x = torch.randn(40, 3)
y = x.sum(1, keepdim=True)
best, buf = 1e9, None
for _ in range(8):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if loss.item() < best:
        best, buf = loss.item(), io.BytesIO()
        torch.save(net.state_dict(), buf)
buf.seek(0)
net.load_state_dict(torch.load(buf))
