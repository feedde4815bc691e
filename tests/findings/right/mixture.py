import torch
from torch import nn
torch.manual_seed(0)
gate = nn.Linear(6, 4); experts = nn.ModuleList([nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)) for _ in range(4)])
opt = torch.optim.Adam([*gate.parameters(), *experts.parameters()], 1e-2)
for i in range(5):
    x, y = torch.randn(32, 6), torch.randn(32, 2)
    p = gate(x).softmax(-1); top, idx = p.topk(2, -1); top = top / top.sum(-1, keepdim=True)
    out = torch.zeros(32, 2)
    for e, expert in enumerate(experts):
        rows, slot = (idx == e).nonzero(as_tuple=True)
        if len(rows):
            out = out.index_add(0, rows, expert(x[rows]) * top[rows, slot, None])
    loss = (out - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
