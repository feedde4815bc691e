# own: DistributedDataParallel on one process with gloo
import tempfile

import torch
from torch import distributed, nn

with tempfile.NamedTemporaryFile() as file:
    distributed.init_process_group("gloo", init_method=f"file://{file.name}", rank=0, world_size=1)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.ones(3, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
    distributed.destroy_process_group()
