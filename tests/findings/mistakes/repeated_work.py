import torch

torch.manual_seed(0)
x = torch.randn(500, 32)
net = torch.nn.Linear(32, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
whitened = (x - x.mean(0)) @ torch.linalg.inv(torch.cov(x.T))  # right
for _ in range(6):
    whitened = (x - x.mean(0)) @ torch.linalg.inv(torch.cov(x.T))  # wrong: AG405
    loss = net(whitened).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
