import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3)
d_opt = torch.optim.SGD(critic.parameters(), lr=1e-2)
loss_of = nn.BCEWithLogitsLoss()
real_label, fake_label = torch.ones(32, 1), torch.zeros(32, 1)
for _ in range(6):
    real = torch.randn(32, 2) + 2
    fake = generator(torch.randn(32, 2))
    d_opt.zero_grad()
    loss = loss_of(critic(real), real_label) + loss_of(critic(fake.detach()), fake_label)
    loss.backward()
    d_opt.step()
    g_opt.zero_grad()
    loss_of(critic(fake), real_label).backward()
    g_opt.step()
