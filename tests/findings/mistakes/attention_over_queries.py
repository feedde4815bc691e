import torch, torch.nn as nn
torch.manual_seed(0)
q, k, v, out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
opt = torch.optim.SGD([p for m in (q, k, v, out) for p in m.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(4, 6, 8)
    scores = q(x) @ k(x).transpose(1, 2) / 8 ** 0.5
    weights = scores.softmax(1)  # wrong: AG506
    weights = scores.softmax(-1)  # right
    loss = (out(weights @ v(x)) - x.sum((1, 2), keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
