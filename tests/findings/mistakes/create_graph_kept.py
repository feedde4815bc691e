import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    loss.backward(create_graph=True)  # wrong: AG403
    loss.backward()  # right
    optimizer.step()
