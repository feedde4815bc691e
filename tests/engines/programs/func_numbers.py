import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

a, b = torch.tensor([0.3, -0.2, 0.5]), torch.tensor([1.3, 0.8, 1.5])
stacked = torch.stack([a, b]), torch.stack([b, a])
functions = [
    lambda a, b: (a / 2.0 * b).sum(),
    lambda a, b: ((a / 2.0).exp() * b).sum(),
    lambda a, b: (2.0 * a * b * a).sum(),
    lambda a, b: (a.abs() ** 2.5 * b).sum(),
    lambda a, b: (2.0**a * b).sum(),
    lambda a, b: torch.exp(-(torch.linalg.norm(a / 1.5 - b / 1.5) ** 2)),
    lambda a, b: torch.where(a > 0, a, 0.5).mul(b).sum(),
    lambda a, b: (a + 1.0).mul(b).pow(2).sum() / 3,
    lambda a, b: torch.lerp(a, b, 0.3).clamp(-0.1, 0.9).pow(2).sum(),
]
for f in functions:
    print(
        grad(f)(a, b),
        jacfwd(grad(f), argnums=1)(a, b),
        jacrev(grad(f), argnums=1)(a, b),
        hessian(f)(a, b),
        vmap(grad(f))(*stacked),
        vmap(hessian(f))(*stacked),
        grad(lambda a: grad(f)(a, b).sum())(a),  # noqa: B023
        jvp(lambda a: grad(f)(a, b), (a,), (b,)),  # noqa: B023
    )
w = torch.ones(3, requires_grad=True)
grad(lambda v: (3.0 * v * w / 2.0).sin().sum())(a).sum().backward()
print(w.grad)
