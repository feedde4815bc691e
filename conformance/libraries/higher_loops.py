# higher: gradients through an inner loop of training
import higher
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(16, 3), torch.randn(16, 1)
with higher.innerloop_ctx(model, opt) as (fmodel, diffopt):
    for _ in range(3):
        diffopt.step(((fmodel(x) - y) ** 2).mean())
    loss = ((fmodel(x) - y) ** 2).mean()
    grads = torch.autograd.grad(loss, list(fmodel.parameters(time=0)))
print(loss, [g.norm() for g in grads])
