import torch
from torch import nn

torch.manual_seed(0)
n = 10
a = (torch.rand(n, n) > 0.5).float()
a = ((a + a.T) > 0).float() + torch.eye(n)
d = a.sum(1)
norm = a / d.sqrt() / d.sqrt()[:, None]
w1, w2 = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.Adam([*w1.parameters(), *w2.parameters()], lr=1e-2)
x, y = torch.randn(n, 4), torch.randint(0, 2, (n,))
for _ in range(5):
    loss = nn.functional.cross_entropy(w2(norm @ torch.relu(w1(norm @ x))), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
