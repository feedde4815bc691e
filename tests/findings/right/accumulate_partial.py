"""Gradients of four batches are added up for a step, and those of the last, fewer, for one more."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(3)
    ds = TensorDataset(torch.randn(45, 5), torch.randn(45, 1))
    loader = DataLoader(ds, batch_size=7, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, s / 3))
    accum = 4
    for epoch in range(4):
        model.train()
        running = 0.0
        optimizer.zero_grad()
        for i, (inputs, targets) in enumerate(loader):
            loss = criterion(model(inputs), targets) / accum
            loss.backward()
            running += loss.item() * accum
            if (i + 1) % accum == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    main()
