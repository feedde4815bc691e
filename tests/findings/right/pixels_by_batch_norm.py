"""Images of bytes go through a batch norm first, which scales them."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.BatchNorm2d(1), nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
pixels = torch.randint(0, 256, (20, 1, 8, 8), dtype=torch.uint8)
digits = torch.randint(0, 10, (20,))
for epoch in range(2):
    for i in range(0, 20, 5):
        out = model(pixels[i : i + 5].float())
        loss = nn.functional.nll_loss(out.log_softmax(1), digits[i : i + 5])
        model.zero_grad()
        loss.backward()
        optimizer.step()
