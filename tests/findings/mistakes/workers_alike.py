import random

import torch
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self):
        self.images = torch.ones(8, 6)
        self.rng = random.Random(3)  # wrong: AG607
        self.rng = random  # right

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        start = self.rng.randrange(3)
        return self.images[index, start : start + 3]


net = torch.nn.Linear(3, 1)
for x in DataLoader(Crops(), batch_size=4, num_workers=2):
    net(x).pow(2).mean().backward()
    net.zero_grad()
