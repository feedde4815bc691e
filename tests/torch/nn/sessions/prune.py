# ruff: noqa: F821  (names are given by record_sessions.py)
import importlib

prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")

F = nn.functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))


torch.manual_seed(0)
m = Net()
x = torch.randn(2, 1, 4, 4)
print(prune.random_unstructured(m.conv, "weight", amount=0.3) is m.conv, m.conv.weight_mask.flatten(), prune.is_pruned(m))
print(sorted(m.state_dict()), names(m.conv.weight.grad_fn))
prune.l1_unstructured(m.conv, name="bias", amount=3)
print(m.conv.bias, m.conv.bias_mask)
prune.ln_structured(m.conv, name="weight", amount=0.5, n=2, dim=0)
print([(type(h).__name__, h._tensor_name) for h in m.conv._forward_pre_hooks.values()])
print(m.conv.weight_mask.sum((1, 2, 3)), list(m.conv._forward_pre_hooks.values())[-1][-1].n)
prune.random_structured(m.fc, "weight", amount=2, dim=1)
prune.random_structured(m.fc, "weight", amount=1, dim=-1)
print(m.fc.weight_mask)
out = m(x).sum()
print(out)
out.backward()
print(m.conv.weight_orig.grad.abs().sum((1, 2, 3)), m.conv.bias_orig.grad, m.conv.weight.grad)
prune.remove(m.conv, "weight")
print([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], m.conv.weight.flatten()[:9])
attempt(lambda: prune.remove(m.conv, "weight"))
m = Net()
prune.global_unstructured([(m.conv, "weight"), (m.fc, "weight")], pruning_method=prune.L1Unstructured, amount=0.2)
print((m.conv.weight == 0).sum(), (m.fc.weight == 0).sum(), type(list(m.fc._forward_pre_hooks.values())[0]).__name__)
prune.global_unstructured(((m.conv, "weight"), (m.fc, "bias")), prune.RandomUnstructured, amount=5)
print((m.conv.weight == 0).sum(), m.fc.bias)
prune.custom_from_mask(m.fc, "weight", mask=torch.eye(3, 16))
print((m.fc.weight != 0).sum(), prune.is_pruned(nn.Linear(1, 1)))
m.conv.weight_orig.data.fill_(1.0)
m(x)
print(m.conv.weight[0])


attempt(lambda: copy.deepcopy(m))


class EveryOther(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


l = nn.Linear(4, 3)
hook = EveryOther.apply(l, "bias")
print(type(hook).__name__, l.bias_mask, prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 2.0])))
prune.l1_unstructured(l, "weight", amount=2, importance_scores=torch.arange(12.0).view(3, 4))
print(l.weight_mask, prune.identity(nn.Linear(2, 1), "weight").weight_mask)
attempt(lambda: prune.l1_unstructured(l, "bias", amount=5))
attempt(lambda: prune.l1_unstructured(nn.Linear(2, 1), "weight", amount=5))
attempt(lambda: prune.l1_unstructured(l, "bias", amount=1.5))
attempt(lambda: prune.l1_unstructured(l, "bias", amount="a"))
attempt(lambda: prune.l1_unstructured(l, "bias", amount=-1))
attempt(lambda: prune.ln_structured(nn.Linear(2, 1), "bias", amount=1, n=2, dim=0))
attempt(lambda: prune.ln_structured(nn.Linear(2, 1), "weight", amount=1, n=2, dim=3))
attempt(lambda: prune.ln_structured(nn.Linear(2, 1), "weight", amount=4, n=2, dim=1))
attempt(lambda: prune.global_unstructured([(l, "weight")], prune.LnStructured, amount=1, n=1))
attempt(lambda: prune.PruningContainer(prune.Identity).add_pruning_method(3))
attempt(lambda: prune.custom_from_mask(nn.Linear(2, 1), "weight", torch.ones(2)))
attempt(lambda: prune.l1_unstructured(nn.Linear(2, 1), "weight", 1, importance_scores=torch.ones(5)))
bad = nn.Linear(2, 1)
attempt(lambda: prune.l1_unstructured(bad, "weight", amount=5))
print([n for n, _ in bad.named_parameters()], bad(torch.ones(2)).shape)
