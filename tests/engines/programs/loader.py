import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class D(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        w = torch.ones(3, requires_grad=True)
        (w * i).sum().backward()
        return torch.randn(3, generator=g) + w.grad, torch.rand(1)


if __name__ == "__main__":
    torch.manual_seed(1)
    net = nn.Linear(3, 1)
    for _epoch in range(2):
        for x, y in DataLoader(D(), batch_size=6, shuffle=True, num_workers=2, persistent_workers=False):
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            print(loss.item().hex())
    print(torch.rand(2), random.random() is None)
