import torch, torch.nn as nn
torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(6, 12), nn.ReLU()), nn.Linear(12, 2)
for p in body.parameters():
    p.require_grad = False  # wrong: AG803
    p.requires_grad = False  # right
opt = torch.optim.Adam([p for p in [*body.parameters(), *head.parameters()] if p.requires_grad], lr=1e-3)
for _ in range(3):
    loss = nn.functional.cross_entropy(head(body(torch.randn(8, 6))), torch.randint(0, 2, (8,)))
    opt.zero_grad(); loss.backward(); opt.step()
