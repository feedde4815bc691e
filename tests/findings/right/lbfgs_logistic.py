"""A logistic regression by LBFGS, which calls its closure several times a step."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(60, 3, dtype=torch.float64)
y = (X @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) > 0).double()
w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
b = torch.zeros((), dtype=torch.float64, requires_grad=True)
opt = torch.optim.LBFGS([w, b], lr=1, max_iter=6, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(X @ w + b, y) + 1e-3 * w.square().sum()
    loss.backward()
    return loss


for _ in range(4):
    opt.step(closure)
