import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
for x in torch.randn(4, 8, 6):
    z = encoder(x)
    sparsity = torch.tensor(z.abs().mean().item())  # wrong: AG816
    sparsity = z.abs().mean()  # right
    loss = F.mse_loss(decoder(z), x) + 0.1 * sparsity
    opt.zero_grad()
    loss.backward()
    opt.step()
