# ruff: noqa: F821  (names are given by record_sessions.py)
print(nn.Hardswish(inplace=True), nn.Hardsigmoid(True), nn.SiLU(True), nn.Mish(inplace=True), nn.ReLU6(True), nn.RReLU(inplace=True))
a, b = nn.Linear(2, 2), nn.Linear(2, 1)
groups = [{"params": a.parameters(), "lr": 0.5, "mine": "kept"}, {"params": b.parameters()}]
print(torch.optim.SGD(groups, lr=0.1, momentum=0.9))
print(torch.optim.Adagrad(b.parameters()))
attempt(lambda: nn.LazyLinear(3))
print(nn.LazyLinear(3), nn.LazyConv2d(2, 3))


class Own(nn.Module):
    def __repr__(self):
        return nn.modules.module._addindent("Own(\n(a): b\n)", 4)


print(nn.Sequential(Own(), nn.ReLU()))
x = torch.randn(3, 3, requires_grad=True)
print(torch.equal(torch.spmm(x, x), x @ x), names(torch.spmm(x, x).grad_fn))
attempt(lambda: torch.spmm(x, torch.ones(3)))
print(torch.histc(torch.arange(4.0, requires_grad=True), 2))
