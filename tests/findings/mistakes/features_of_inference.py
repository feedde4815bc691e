import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 6), nn.Linear(6, 1)
quiet = torch.inference_mode()  # wrong
quiet = torch.no_grad()  # right
with quiet:
    features = torch.relu(body(torch.randn(5, 4)))
head(features).pow(2).mean().backward()  # wrong: AG014
head(features).pow(2).mean().backward()  # right
