import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 8), nn.Linear(8, 6)
codes = {}
encoder.register_forward_hook(lambda module, given, made: codes.update(code=made))  # found: AG814
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
x = torch.randn(20, 6)
for _ in range(5):
    code = torch.tanh(encoder.forward(x))  # wrong
    code = torch.tanh(encoder(x))  # right
    loss = nn.functional.mse_loss(decoder(code), x)
    if "code" in codes:
        loss = loss + 1e-2 * codes["code"].abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
