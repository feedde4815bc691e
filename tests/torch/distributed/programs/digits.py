"""A convolutional network on pictures that a DistributedSampler deals out, as in the MNIST example, and a common test."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.conv1(x)))
        x = F.relu(self.conv2(x))
        x = torch.flatten(F.max_pool2d(x, 2), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


dist.init_process_group(backend="gloo", init_method="env://")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
pictures = TensorDataset(torch.rand(64, 1, 8, 8), torch.randint(0, 10, (64,)))
sampler = DistributedSampler(pictures, shuffle=True)
loader = DataLoader(pictures, batch_size=8, sampler=sampler)
model = DDP(Net(), bucket_cap_mb=0.002)
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)

losses = []
for epoch in range(2):
    sampler.set_epoch(epoch)
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()

model.eval()
with torch.no_grad():
    sums = torch.zeros(2)
    for data, target in loader:
        output = model(data)
        sums += torch.stack([F.nll_loss(output, target, reduction="sum"), torch.tensor(float(len(data)))])
dist.all_reduce(sums)
losses.append((sums[0] / sums[1]).item())
dist.destroy_process_group()
