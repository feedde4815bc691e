# features of a frozen backbone with batch statistics (momentum None, track_running_stats=False)
import torch, torch.nn as nn
torch.manual_seed(0)
feat = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.ReLU()).requires_grad_(False)
head = nn.Linear(8, 1)
opt = torch.optim.Adam(head.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(32, 4)
    with torch.no_grad():
        h = feat(x)
    loss = (head(h) - x[:, :1]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
