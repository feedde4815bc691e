import copy, torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
online = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8)); pred = nn.Linear(8, 8)
target = copy.deepcopy(online)
for p in target.parameters(): p.requires_grad = False
opt = torch.optim.Adam([*online.parameters(), *pred.parameters()], 1e-3)
for i in range(5):
    x = torch.randn(16, 6); a, b = x + .1 * torch.randn_like(x), x + .1 * torch.randn_like(x)
    with torch.no_grad(): ta, tb = target(a), target(b)
    loss = -(F.cosine_similarity(pred(online(a)), tb).mean() + F.cosine_similarity(pred(online(b)), ta).mean())
    opt.zero_grad(); loss.backward(); opt.step()
    for q, k in zip(online.parameters(), target.parameters()): k.data.mul_(.99).add_(q.data, alpha=.01)
