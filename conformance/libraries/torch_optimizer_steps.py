# torch-optimizer: a few steps of several optimizers
import torch
import torch_optimizer as optim

for kind in (optim.DiffGrad, optim.RAdam, optim.Lamb, optim.Yogi, optim.AdaBound):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = kind(model.parameters(), lr=0.01)
    x = torch.randn(8, 4)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    print(kind.__name__, loss.item())
