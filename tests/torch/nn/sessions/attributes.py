# ruff: noqa: B023, F821  (loops call at once; names are given by record_sessions.py)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.register_buffer("kept", torch.ones(2))
        self.register_buffer("lost", torch.zeros(1), persistent=False)
        self.p = nn.Parameter(torch.zeros(2))
        self.register_parameter("none", None)
        self.child = None
        self.shared = self.a

    def forward(self, x):
        return self.b(self.a(x))


n = Net()
print(n)
print([k for k, _ in n.named_parameters()], [k for k, _ in n.named_buffers()], [k for k, _ in n.named_children()])
print([k for k, _ in n.named_modules()], [k for k, _ in n.named_modules(remove_duplicate=False)])
print([k for k, _ in n.named_parameters(recurse=False)], [k for k, _ in n.named_parameters("x", remove_duplicate=False)])
attempt(lambda: nn.Module()(1))
attempt(lambda: setattr(n, "a", 3))
attempt(lambda: setattr(n, "p", torch.ones(2)))
attempt(lambda: setattr(n, "kept", 3))
attempt(lambda: n.foo)
attempt(lambda: delattr(n, "foo"))


class Early(nn.Module):
    def __init__(self, value):
        self.x = value


attempt(lambda: Early(nn.Linear(1, 1)))
attempt(lambda: Early(nn.Parameter(torch.ones(1))))
param = nn.Parameter(torch.ones(1))
for name, value in (("a.b", param), ("", param), (3, param), ("training", param), ("q", torch.ones(1)), ("q", param * 2)):
    attempt(lambda: n.register_parameter(name, value))
    attempt(lambda: n.register_buffer(name, value))
del n.q
for name, value in (("a.b", nn.ReLU()), ("", nn.ReLU()), (3, nn.ReLU()), ("training", nn.ReLU()), ("q", 3), ("q", None)):
    attempt(lambda: n.add_module(name, value))
n.p = None
n.kept = None
print(n.p, n.kept, list(n.state_dict()))
n.p, n.kept = nn.Parameter(torch.ones(2)), torch.ones(2)
print(n.get_submodule("b.1"), n.get_parameter("a.bias").shape, n.get_buffer("lost"))
for ask in (lambda: n.get_submodule("b.5"), lambda: n.get_parameter("b.0"), lambda: n.get_buffer("p"), lambda: n.get_submodule("p")):
    attempt(ask)
n.set_submodule("b.0", nn.Tanh())
print(n.b, n.train(False).training, n.b[1].training, n.train().training)
attempt(lambda: n.train(3))
n(torch.ones(1, 2)).sum().backward()
print(n.p.grad, n.a.weight.grad.shape)
n.zero_grad()
print(n.a.weight.grad)
print(n.half().p.dtype, n.double().kept.dtype, n.bfloat16().p.dtype, n.float().p.dtype, n.to(torch.float64).p.dtype)
print(n.to("cpu", torch.float32).p.dtype, n.to(torch.ones(1).double()).lost.dtype, n.type(torch.float32).p.dtype)
attempt(lambda: n.to(torch.int64))
attempt(lambda: nn.Linear(1, 1).to(torch.complex64).weight.dtype)
twin = copy.deepcopy(n)
print(twin.a is twin.shared, twin.a is n.a, bool((twin.a.weight == n.a.weight).all()), isinstance(twin.p, nn.Parameter))
print(any(p.requires_grad for p in n.requires_grad_(False).parameters()), n.apply(lambda m: None) is n, n.eval() is n)
again = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 3), nn.LSTM(3, 4))))
print(again, list(again.state_dict()))
