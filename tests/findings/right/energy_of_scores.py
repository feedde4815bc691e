import torch, torch.nn as nn
torch.manual_seed(0)
clf = nn.Sequential(nn.Linear(5, 24), nn.ELU(), nn.Linear(24, 3)); opt = torch.optim.Adam(clf.parameters(), 1e-3)
for _ in range(5):
    x, y = torch.randn(16, 5), torch.randint(0, 3, (16,))
    logits = clf(x)
    xent = (torch.logsumexp(logits, 1) - logits.gather(1, y[:, None]).squeeze(1)).mean()
    energy = -torch.logsumexp(clf(torch.randn(16, 5) * 3), 1)
    loss = xent + .1 * torch.relu(energy + 5).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
