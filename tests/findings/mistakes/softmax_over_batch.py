import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
y = torch.zeros(6, dtype=torch.long)  # wrong
loss = torch.nn.functional.cross_entropy(net(torch.randn(6, 4)), y)  # wrong: AG502
y = torch.zeros(6, 1)  # right
loss = torch.nn.functional.binary_cross_entropy_with_logits(net(torch.randn(6, 4)), y)  # right
loss.backward()
