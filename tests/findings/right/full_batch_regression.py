import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 200).unsqueeze(1)
y = x**3 + 0.1 * torch.randn(200, 1)
net = torch.nn.Sequential(torch.nn.Linear(1, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)


def closure():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


for _ in range(4):
    optimizer.step(closure)
