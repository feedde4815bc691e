"""Recording a program changes nothing that it prints, raises or returns, whatever it does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = {
    "threads, generators, coroutines": """
        import asyncio, threading, torch
        out = []
        def work(n):
            w = torch.full((3,), float(n), requires_grad=True)
            (w * w).sum().backward()
            out.append((n, w.grad.tolist()))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]
        def products(w):
            x = torch.ones(2)
            while True:
                x = (yield w * x) * x
        w = torch.ones(2, requires_grad=True)
        g = products(w)
        (next(g).sum() + g.send(2.0).sum()).backward()
        g.close()
        async def step(n):
            y = (w * n).sum()
            await asyncio.sleep(0)
            y.backward()
            return n
        async def every():
            return await asyncio.gather(*[step(n) for n in range(3)])
        print(sorted(out), asyncio.run(every()), w.grad, threading.active_count())
    """,
    "errors in hooks and in backward": """
        import sys, torch, traceback
        class Fails(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                raise ValueError("inside")
        w = torch.ones(2, requires_grad=True)
        for _ in range(2):
            try:
                Fails.apply(w).sum().backward()
            except ValueError as error:
                print(error, error.__context__)
                traceback.print_exc()
        try:
            raise ValueError("outer")
        except ValueError:
            y = (w * 2).sum()
            y.backward()
            try:
                y.backward()
            except RuntimeError as error:
                print(repr(error.__context__))
        y = w * 2
        y.register_hook(lambda g: sys.exit(7))
        y.sum().backward()
    """,
    "objects that die": """
        import sys, torch, weakref
        died = []
        class Told:
            def __init__(self, name):
                self.name = name
            def __del__(self):
                print("gone", self.name)
        w = torch.ones(2, requires_grad=True)
        print(weakref.ref((w * 2).exp())(), weakref.ref((w * 2).grad_fn)())
        def step(number):
            held, x = Told(number), torch.ones(2)
            weakref.finalize(x, died.append, number)
            y = (w * x.exp()).sum()
            y.register_hook(lambda g: held and None)
            del x
            print(died)
            y.backward()
            print(sys.getrefcount(y), sys.getrefcount(y.grad_fn))
        for number in range(4):
            step(number)
        print(died, sys.getrefcount(w), sys.getrefcount(w.grad))
    """,
    "containers and objects with code of their own": """
        import torch
        def said(name):
            def tells(self, *args):
                print(name)
                return getattr(super(type(self), self), name)(*args)
            return tells
        own = {name: said(name) for name in ("__iter__", "__len__", "__eq__", "__bool__", "__getattribute__", "__getitem__")}
        numbers, names = type("Numbers", (list,), own)([1]), type("Names", (dict,), {**own, "items": said("items")})(a=1)
        class Loud:
            def __getattr__(self, name):
                print("asked", name)
                raise AttributeError(name)
            @property
            def __class__(self):
                print("class")
                return int
            @property
            def w(self):
                print("w")
        loud = Loud()
        class Hook:
            def __getattr__(self, name):
                print("asked", name)
                raise AttributeError(name)
            def __call__(self, *args):
                print("hook")
        w = torch.ones(2, requires_grad=True)
        (w * 2).register_hook(Hook())
        w.register_hook(Hook())
        layer = torch.nn.Linear(2, 2)
        layer.register_full_backward_hook(Hook())
        layer((w * 2)[None]).sum().backward()
        class Asked(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                print("asked", func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})
        x = Asked([1.0, 2.0]).requires_grad_()
        x.register_hook(lambda grad: None)
        (x * 2).sum().backward()
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            torch.nn.Identity()(w * 2).sum().backward()
            optimizer.step()
        print("end")
    """,
    "warnings, variables, a fork": """
        import os, sys, torch, warnings
        warnings.simplefilter("always")
        w = torch.ones(2, requires_grad=True)
        def told(a, *b, c=1, **d):
            y = (w * a).sum()
            warnings.warn("of the caller", stacklevel=2)
            y.backward(create_graph=True)
            return sorted(locals())
        print(told(2, 3, e=4))
        class Body:
            z = (w * 2).sum()
            z.backward()
        print(sorted(name for name in (*globals(), *vars(Body)) if name[0] != "_"))
        y = (w * 3).sum()
        sys.stdout.flush()
        child = os.fork()
        if not child:
            y.backward()
            os._exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        y.backward()
        print(w.grad)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_under_a_recorder_what_it_does_without(
    name: str, tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    lines = PROGRAMS[name].strip("\n").split("\n")
    (tmp_path / "script.py").write_text("\n".join(line[8:] for line in lines))
    start = "import sys; from autograph_cli.record.run import runner; target = runner.Target.of('script.py')"
    plain = python("-c", f"{start}; sys.exit(runner.run(target).exit_code)")
    recorded = python("-c", f"{start}; sys.exit(runner.record(target)[0].exit_code)")
    assert (recorded.stdout, recorded.stderr, recorded.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    assert plain.returncode == (7 if "exit(7)" in PROGRAMS[name] else 0), plain.stderr
