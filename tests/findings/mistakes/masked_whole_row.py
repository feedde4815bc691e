import torch
from torch import nn

torch.manual_seed(0)
query, key, value = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
x = torch.randn(3, 4)
sees = torch.ones(3, 3, dtype=torch.bool).tril(-1)
scores = query(x) @ key(x).T
sees = sees | ~sees.any(-1, keepdim=True)  # right
weights = torch.softmax(scores.masked_fill(~sees, float("-inf")), -1)  # wrong: AG301
weights = torch.softmax(scores.masked_fill(~sees, float("-inf")), -1)  # right
out = weights @ value(x)
out[1:].pow(2).mean().backward()
