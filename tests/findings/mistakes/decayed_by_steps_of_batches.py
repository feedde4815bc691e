import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

class LitModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))

    def training_step(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.body(x), y)

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=1e-2)
        return opt, StepLR(opt, step_size=10, gamma=0.1)

def run(model, batches, max_epochs):
    opt, sched = model.configure_optimizers()
    for epoch in range(max_epochs):
        for batch in batches:
            loss = model.training_step(batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()  # wrong: AG807
        sched.step()  # right
        print(epoch, loss.item(), sched.get_last_lr())

torch.manual_seed(3)
X = torch.randn(20, 16, 10)
W = torch.randn(10, 1)
run(LitModel(), [(x, x @ W) for x in X], 5)
