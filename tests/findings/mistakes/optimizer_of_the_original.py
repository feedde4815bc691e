import copy

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.solver = torch.optim.AdamW(model.parameters(), lr=1e-2)  # wrong: AG801
        self.model = copy.deepcopy(model)
        self.solver = torch.optim.AdamW(self.model.parameters(), lr=1e-2)  # right

    def epoch(self, batches):
        for x, y in batches:
            self.solver.zero_grad()
            nn.functional.cross_entropy(self.model(x), y).backward()
            self.solver.step()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 2))
batches = [(torch.randn(6, 5), torch.randint(0, 2, (6,))) for _ in range(3)]
trainer = Trainer(net)
for _ in range(2):
    trainer.epoch(batches)
