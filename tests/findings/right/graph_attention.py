import torch
from torch import nn
torch.manual_seed(0)
src, dst = torch.randint(10, (2, 30)); W, att = nn.Linear(4, 8), nn.Linear(16, 1)
opt = torch.optim.Adam([*W.parameters(), *att.parameters()], 1e-2); x = torch.randn(10, 4); y = torch.randint(2, (10,)); out_ = nn.Linear(8, 2)
opt.add_param_group({"params": out_.parameters()})
for i in range(5):
    h = W(x); e = torch.nn.functional.leaky_relu(att(torch.cat([h[src], h[dst]], -1))).squeeze(-1)
    e = (e - e.max()).exp(); s = torch.zeros(10).index_add(0, dst, e)
    a = e / (s[dst] + 1e-9); m = torch.zeros(10, 8).index_add(0, dst, a[:, None] * h[src])
    loss = nn.functional.cross_entropy(out_(torch.relu(m)), y)
    opt.zero_grad(); loss.backward(); opt.step()
