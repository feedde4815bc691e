"""GradScaler begins far too high: it passes over the first steps, and halves its scale."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-12)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 6, 0.5)
x, y = torch.randn(32, 8), torch.randn(32, 1)
for i in range(16):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=i % 2 == 0):
        pred = model(x[i % 4 :: 4])
        loss = nn.functional.mse_loss(pred.float(), y[i % 4 :: 4])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
