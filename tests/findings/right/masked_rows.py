# masked attention whose empty rows are handled before the softmax
import torch
from torch import nn
torch.manual_seed(0)
q, k, v = [nn.Linear(8, 8) for _ in range(3)]
opt = torch.optim.SGD([p for m in (q, k, v) for p in m.parameters()], lr=.1)
x = torch.randn(2, 4, 8)
mask = torch.ones(2, 4, 4, dtype=torch.bool).tril(-1)          # row 0 sees nothing
empty = ~mask.any(-1, keepdim=True)
for i in range(5):
    s = q(x) @ k(x).transpose(1, 2) / 8 ** .5
    s = s.masked_fill(~mask & ~empty, float("-inf"))
    a = torch.softmax(s, -1).masked_fill(empty, 0.)
    loss = (a @ v(x)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
