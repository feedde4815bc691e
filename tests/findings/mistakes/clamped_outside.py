import torch

torch.manual_seed(0)
share = torch.tensor([3.0], requires_grad=True)  # wrong
share = torch.tensor([0.3], requires_grad=True)  # right
optimizer = torch.optim.Adam([share], lr=0.01)
for _ in range(8):
    kept = share.clamp(0, 1)  # found: AG309
    loss = (kept * 2.0 - 1.0).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
