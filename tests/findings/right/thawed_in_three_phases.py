import torch, torch.nn as nn
torch.manual_seed(0)
enc, dec, clf = nn.Sequential(nn.Linear(8, 6), nn.ReLU()), nn.Linear(6, 8), nn.Linear(6, 3)
o1 = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
for _ in range(4):
    x = torch.randn(10, 8); l = nn.functional.mse_loss(dec(enc(x)), x)
    o1.zero_grad(); l.backward(); o1.step()
enc.requires_grad_(False)
o2 = torch.optim.Adam(clf.parameters(), 1e-2)
for _ in range(4):
    x, y = torch.randn(10, 8), torch.randint(0, 3, (10,)); l = nn.functional.cross_entropy(clf(enc(x)), y)
    o2.zero_grad(); l.backward(); o2.step()
enc.requires_grad_(True); o3 = torch.optim.Adam([{"params": enc.parameters(), "lr": 1e-5}, {"params": clf.parameters()}], 1e-3)
for _ in range(4):
    x, y = torch.randn(10, 8), torch.randint(0, 3, (10,)); l = nn.functional.cross_entropy(clf(enc(x)), y)
    o3.zero_grad(); l.backward(); o3.step()
