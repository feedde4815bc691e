"""What the recorder reads of a script's objects runs no code of the script: spies see what they see without it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SPIES = """
import sys
import torch

seen = []


class Meta(type):
    def __getattr__(cls, name):
        seen.append(("metaclass", name))
        raise AttributeError(name)


class Spy(metaclass=Meta):
    def __getattr__(self, name):
        seen.append(("attribute", name))
        raise AttributeError(name)

    def __eq__(self, other):
        seen.append("==")
        return self is other

    __hash__ = object.__hash__

    def __len__(self):
        seen.append("len")
        return 0

    def __bool__(self):
        seen.append("bool")
        return True

    def __iter__(self):
        seen.append("iter")
        return iter(())

    def __repr__(self):
        seen.append("repr")
        return "spy"

    def __call__(self, *args):
        seen.append(("called", len(args)))


class Shut:
    @property
    def __dict__(self):
        seen.append("__dict__")
        return {}


class Listed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.spy, self.shut = [spy], shut

    def named_modules(self, *args, **kwargs):
        seen.append("named_modules")
        return super().named_modules(*args, **kwargs)

    def children(self):
        seen.append("children")
        return super().children()

    def forward(self, x, spy=None):
        return (self.weight * x).sum()


class Unmade(torch.nn.Module):
    def __init__(self):
        pass

    def forward(self, x):
        return x * 2


spy, shut = Spy(), Shut()
held = {"spy": [spy], "shut": (shut,)}
x = torch.ones(2, requires_grad=True)
x.note = spy
x.register_hook(spy)
model, unmade = Listed(), Unmade()
model.register_forward_hook(spy)
optimizer = torch.optim.SGD([model.weight], lr=0.1)
try:
    unmade(x)
except AttributeError as error:
    print(error)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(x, spy) + x.sum()
    loss.backward()
    optimizer.step()
print(seen)
"""
ENGINES = ["builtin", *["torch"] * (importlib.util.find_spec("torch") is not None)]
WAYS = {
    "measured": ["run", "-q", "-o", "trace.json", "--steps", "all", "--record", "values,time,memory"],
    "explain": ["explain"],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_objects_of_the_script_are_not_asked(
    autograph: Callable[..., Any], python: Callable[..., Any], tmp_path: Path, engine: str
) -> None:
    (tmp_path / "script.py").write_text(SPIES)
    served = "import sys, autograph_cli.torch as t; sys.modules['torch'] = t\n" if engine == "builtin" else ""
    (tmp_path / "plain.py").write_text(served + SPIES)
    plain = python("plain.py")
    assert plain.returncode == 0, plain.stderr
    assert "has no attribute '_backward_hooks'" in plain.stdout
    for way, words in WAYS.items():
        told = autograph(*words, "--engine", engine, "script.py")
        assert "ended the recording" not in told.stderr, (way, told.stderr)
        printed = told.stdout if words[0] == "run" else told.stderr
        assert plain.stdout in printed, (way, printed)
