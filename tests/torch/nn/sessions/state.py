# ruff: noqa: F821  (names are given by record_sessions.py)
class Extra(nn.Module):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        print("got", state)


n = nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=nn.BatchNorm1d(2)))
state = n.state_dict()
print(list(state), list(n.state_dict(prefix="q.")), dict(state._metadata))
print(n.load_state_dict(state), n.load_state_dict(state) == ([], []))
bad = OrderedDict(state, zzz=torch.ones(1), **{"b.7.w": torch.ones(1), "a.weight": torch.ones(3, 2)})
del bad["a.bias"]


def complaints():
    try:
        n.load_state_dict(bad)
    except RuntimeError as error:
        return str(error)


print(complaints())
bad["a.weight"] = state["a.weight"]
print(n.load_state_dict(bad, strict=False))
attempt(lambda: n.load_state_dict(3))
attempt(lambda: n.load_state_dict({**state, "a.bias": 3}))
attempt(lambda: nn.Linear(1, 1).load_state_dict({"weight": torch.ones(1, 1, 1), "bias": torch.ones(1)}))
n.load_state_dict({k: v.double() for k, v in state.items()}, assign=True)
print(n.a.weight.dtype, isinstance(n.a.weight, nn.Parameter), n.a.weight.requires_grad, n.b.running_mean.dtype)
extra = Extra()
print(dict(extra.state_dict()))
extra.load_state_dict(extra.state_dict())
attempt(lambda: extra.load_state_dict({}))
attempt(lambda: nn.ReLU().load_state_dict({"_extra_state": 1}))
handle = n.register_state_dict_pre_hook(lambda module, prefix, keep: print("before", repr(prefix), keep))
n.state_dict()
handle.remove()
handle = n.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(more=torch.ones(1)))
print(list(n.state_dict())[-1])
handle.remove()
handle = n.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("more", None))
print(n.load_state_dict({**n.state_dict(), "more": 1}))
handle.remove()
handle = n.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
print(n.load_state_dict({}))
