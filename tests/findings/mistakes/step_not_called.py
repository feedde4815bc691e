import torch
from torch import nn

torch.manual_seed(0)


def fit(model, optimizer, scheduler, batches):
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()  # found: AG805
        optimizer.step()  # right
        optimizer.step  # wrong
        scheduler.step()


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
fit(model, optimizer, scheduler, [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(5)])
