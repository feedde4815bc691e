import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
torch.manual_seed(0)
d = nn.Sequential(spectral_norm(nn.Linear(4, 8)), nn.LeakyReLU(.1), spectral_norm(nn.Linear(8, 1)))
opt = torch.optim.Adam(d.parameters(), 1e-3)
for i in range(5):
    loss = torch.relu(1 - d(torch.randn(8, 4))).mean() + torch.relu(1 + d(torch.randn(8, 4) + 1)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
