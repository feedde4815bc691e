# torchsde: solve a small stochastic differential equation and differentiate through it
import torch
import torchsde

torch.manual_seed(0)


class SDE(torch.nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma(y)


sde = SDE()
noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(2, 3), entropy=0, levy_area_approximation="space-time")
ys = torchsde.sdeint(sde, torch.full((2, 3), 0.1), torch.linspace(0, 1, 5), bm=noise)
ys[-1].sum().backward()
print(ys.shape, sde.mu.weight.grad.norm())
