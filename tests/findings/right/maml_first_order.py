import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)
def forward(x, w):
    h = F.relu(F.linear(x, w[0], w[1]))
    return F.linear(h, w[2], w[3])
for it in range(4):
    meta.zero_grad()
    total = 0.
    for task in range(3):
        phase = torch.rand(1) * 3.14
        xs, xq = torch.randn(10, 1), torch.randn(10, 1)
        ys, yq = torch.sin(xs + phase), torch.sin(xq + phase)
        fast = list(net.parameters())
        for k in range(2):
            g = torch.autograd.grad(F.mse_loss(forward(xs, fast), ys), fast)
            fast = [w - 0.01 * gi for w, gi in zip(fast, g)]
        q = F.mse_loss(forward(xq, fast), yq)
        q.backward()
        total += q.item()
    meta.step()
