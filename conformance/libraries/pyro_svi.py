# pyro-ppl: stochastic variational inference of a coin's bias
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.optim import Adam

pyro.set_rng_seed(0)
data = torch.tensor([1.0] * 6 + [0.0] * 4)


def model(data):
    f = pyro.sample("latent_fairness", dist.Beta(torch.tensor(10.0), torch.tensor(10.0)))
    with pyro.plate("data", len(data)):
        pyro.sample("obs", dist.Bernoulli(f), obs=data)


def guide(data):
    a = pyro.param("alpha_q", torch.tensor(15.0), constraint=dist.constraints.positive)
    b = pyro.param("beta_q", torch.tensor(15.0), constraint=dist.constraints.positive)
    pyro.sample("latent_fairness", dist.Beta(a, b))


svi = SVI(model, guide, Adam({"lr": 0.005}), loss=Trace_ELBO())
for _ in range(5):
    print(f"{svi.step(data):.4f}")
print(pyro.param("alpha_q"), pyro.param("beta_q"))
