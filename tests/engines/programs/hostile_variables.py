"""Variables that refuse to be looked at: the recorder asks none of them what it is."""

import torch


class Evil:
    def __eq__(self, o):
        raise RuntimeError("eq")

    def __hash__(self):
        raise RuntimeError("hash")

    def __bool__(self):
        raise RuntimeError("bool")

    def __getattribute__(self, n):
        raise RuntimeError("ga " + n)

    def __iter__(self):
        raise RuntimeError("iter")

    def __len__(self):
        raise RuntimeError("len")

    def __class__(self):
        raise RuntimeError("class")


class Meta(type):
    def __eq__(cls, o):
        raise RuntimeError("eq of a class")

    def __hash__(cls):
        raise RuntimeError("hash of a class")


class OfMeta(metaclass=Meta):
    def __init__(self):
        self.inner = [1.0]


class Key(str, metaclass=Meta):
    pass


def f():
    of_meta, held = OfMeta(), {Key("k"): torch.ones(2), 1: [OfMeta()], "two": {"a": OfMeta()}}  # noqa: F841
    evil, several, named = Evil(), [Evil()], {"a": Evil()}  # noqa: F841
    t = (Evil(), torch.ones(2, requires_grad=True))
    loss = (t[1] * 2).sum()
    loss.backward()
    return t[1].grad


for _ in range(2):
    print(f())
