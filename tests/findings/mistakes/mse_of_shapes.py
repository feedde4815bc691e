import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8)
loss = torch.nn.functional.mse_loss(net(x), y)  # wrong: AG501
loss = torch.nn.functional.mse_loss(net(x)[:, 0], y)  # right
loss.backward()
