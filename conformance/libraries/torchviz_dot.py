# torchviz: the graph of a small network as DOT, read from grad_fn and next_functions
import re

import torch
from torch import nn
from torchviz import make_dot

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
y = model(torch.randn(1, 8))
dot = make_dot(y.mean(), params=dict(model.named_parameters())).source
print(re.sub(r"\d{9,}", "id", dot))
