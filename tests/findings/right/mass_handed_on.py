import torch, torch.nn as nn
torch.manual_seed(0)
# mass moves between sites; columns sum to one, so nothing is lost
key, query, decay = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 1)
opt = torch.optim.Adam([*key.parameters(), *query.parameters(), *decay.parameters()], lr=0.01)
for step in range(4):
    site = torch.randn(3, 6, 4)
    mass = torch.rand(3, 6, 1)
    goal = mass.roll(1, 1)
    for hop in range(2):
        transition = torch.softmax(query(site) @ key(site).transpose(1, 2), dim=1)
        mass = torch.bmm(transition, mass)
    mass = mass * torch.sigmoid(decay(site))
    loss = (mass - goal).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
