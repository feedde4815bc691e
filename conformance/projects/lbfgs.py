# own: a regression by LBFGS, whose closure runs several times a step, and an evaluation afterwards
import torch

torch.manual_seed(0)
x, y = torch.linspace(-1, 1, 30)[:, None], torch.linspace(-1, 1, 30)[:, None].sin()
model = torch.nn.Sequential(torch.nn.Linear(1, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)


def closure():
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    return loss


for _ in range(3):
    optimizer.step(closure)
model.eval()
print(torch.nn.functional.l1_loss(model(x), y).item())
