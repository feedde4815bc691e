# ruff: noqa: B023, F821  (loops call at once; names are given by record_sessions.py)
parametrize = nn.utils.parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


class Skew(nn.Module):
    def forward(self, x):
        return x - x.T

    def right_inverse(self, x):
        return x.triu(1)


class Outer(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, z):
        return z[:, 0].clone(), z[0].clone()


class First(nn.Module):
    def forward(self, x):
        return x[0]


class Number(nn.Module):
    def forward(self, x):
        return 1


class Double(nn.Module):
    def forward(self, x):
        return x.double()


class NoInverse(nn.Module):
    def forward(self, x):
        return x

    def right_inverse(self, x):
        return 3


def fixed(n, m):
    made = nn.Linear(n, m)
    made.weight.data = torch.arange(n * m, dtype=torch.float).reshape(m, n)
    return made


m = fixed(3, 3)
print(parametrize.register_parametrization(m, "weight", Symmetric()))
print(m.weight, list(m.state_dict()), [n for n, _ in m.named_parameters()], m.parametrizations.weight.original.shape)
parametrize.register_parametrization(m, "weight", Skew())
print(m.weight, names(m.weight.grad_fn))
print(parametrize.is_parametrized(m), parametrize.is_parametrized(m, "bias"), parametrize.is_parametrized(nn.ReLU()))
print(type(m).__name__, parametrize.type_before_parametrizations(m).__name__)
attempt(lambda: setattr(m, "weight", torch.eye(3)))
attempt(lambda: pickle.dumps(m))
print(bool((copy.deepcopy(m).weight == m.weight).all()))
with parametrize.cached():
    print(m.weight is m.weight)
print(m.weight is m.weight)
attempt(lambda: parametrize.register_parametrization(m, "nope", Skew()))
for wrong in (First, Number, Double, NoInverse):
    attempt(lambda: parametrize.register_parametrization(nn.Linear(3, 3), "weight", wrong()))
    attempt(lambda: parametrize.register_parametrization(m, "weight", wrong()))
attempt(lambda: parametrize.register_parametrization(fixed(2, 2), "weight", First(), unsafe=True).weight)
n = parametrize.register_parametrization(fixed(3, 3), "weight", Outer())
print(n, list(n.state_dict()), n.weight)
n.weight = torch.ones(3, 3)
print(n.weight, n.parametrizations.weight.original0)
attempt(lambda: parametrize.remove_parametrizations(n, "weight", leave_parametrized=False))
print(parametrize.remove_parametrizations(n, "weight"), [k for k, _ in n.named_parameters()], n.weight)
n = parametrize.register_parametrization(fixed(2, 2), "weight", Symmetric())
parametrize.register_parametrization(n, "bias", nn.Identity())
print(parametrize.remove_parametrizations(n, "weight", leave_parametrized=False), n.weight)
parametrize.remove_parametrizations(n, "bias")
attempt(lambda: parametrize.remove_parametrizations(n, "bias"))
b = parametrize.register_parametrization(nn.BatchNorm1d(2), "running_mean", nn.Identity())
print(list(b.state_dict()), b.running_mean)
n = parametrize.register_parametrization(fixed(2, 2), "weight", Symmetric())
n(torch.ones(1, 2)).sum().backward()
print(n.parametrizations.weight.original.grad)
other = parametrize.transfer_parametrizations_and_params(n, nn.Linear(2, 2))
print(other, bool((other.weight == n.weight).all()))
