"""Levels M1-M6 for the ModuleInfos of torch.testing._internal.common_modules.module_db."""

import random
import zlib

import numpy as np
import torch
from torch.testing._internal.common_modules import module_db

from .sides import Case, Run, Side, Untranslatable, compare, compare_graphs, freeze, random_like, read_graph
from .tally import Tally

LEVELS = {"M1": "exists", "M2": "state_dict", "M3": "forward", "M4": "grads", "M5": "repr", "M6": "graph"}
GROUPS = ("nn modules",)
INFOS = {info.name: info for info in module_db}


def names():
    return list(INFOS)


def group(name):
    return GROUPS[0]


def run(side, plan, case, state=None, ref=None):
    """Construct, load `state`, call, go backward."""
    construct, forward, training = case
    r = Run()
    side.reseed()
    level = "M2"
    try:
        args, kwargs, _ = side.build_call(construct)
        module = side.get(plan.path)(*args, **kwargs)
        module = module.to(side.get(plan.dtype)).train(training)
        if plan.info.is_lazy:
            args, kwargs, _ = side.build_call(forward)
            module(*args, **kwargs)
        r.shapes = {k: (str(v.dtype).rpartition(".")[2], tuple(v.shape)) for k, v in module.state_dict().items()}
        r.state = state if state is not None else {k: freeze(v) for k, v in module.state_dict().items()}
        module.load_state_dict({k: side.build(v) for k, v in r.state.items()})
        r.repr = repr(module)

        level = "M3"
        args, kwargs, tensors = side.build_call(forward)
        out = module(*args, **kwargs)
        r.out, r.after = side.read(out), {k: side.read(v) for k, v in module.state_dict().items()}

        level = "M4"
        wanted = {k: p for k, p in module.named_parameters() if p.requires_grad}
        wanted |= {f"input {i}": t for i, t in enumerate(tensors) if t.requires_grad}
        read_graph(r, "graph", "M6", side.tensors_in(out), list(wanted.values()))
        outs = [t for t in side.tensors_in(out) if t.requires_grad]
        r.cotangents = ref.cotangents if ref else [random_like(side.read(t), i) for i, t in enumerate(outs)]
        if len(outs) != len(r.cotangents):
            raise AssertionError(f"{len(outs)} outputs require grad, expected {len(r.cotangents)}")
        if outs:
            side.torch.autograd.backward(outs, [side.from_array(c) for c in r.cotangents])
            r.grads = {k: side.read(t.grad) for k, t in wanted.items()}
    except Exception as e:
        r.errors[level] = f"{type(e).__name__}: {e}"
    return r


class Plan:
    def __init__(self, name, samples):
        self.info, self.notes, self.real = INFOS[name], {}, Side(torch)
        self.path = name
        self.excluded, self.cases = {}, []
        dtype = next(d for d in (torch.float64, torch.float32) if d in self.info.dtypes)
        self.dtype = str(dtype)[6:]
        for training in (True, False) if self.info.train_and_eval_differ else (True,):
            seed = zlib.crc32(name.encode())
            torch.manual_seed(seed), np.random.seed(seed), random.seed(seed)
            inputs = self.info.module_inputs_func(self.info, "cpu", dtype, True, training)
            if samples and len(inputs) > samples:
                inputs = [inputs[round(i)] for i in np.linspace(0, len(inputs) - 1, samples)]
            for i in inputs:
                self._add(i, training)

    def note(self, what):
        self.notes[what] = self.notes.get(what, 0) + 1

    def _add(self, module_input, training):
        try:
            construct, forward = (
                Case(freeze(list(f.args)), freeze(f.kwargs))
                for f in (module_input.constructor_input, module_input.forward_input)
            )
        except Untranslatable as e:
            return self.note(f"sample dropped, untranslatable: {e}")
        case = construct, forward, training
        ref = run(self.real, self, case)
        if "M2" in ref.errors or "M3" in ref.errors:
            return self.note(f"sample dropped, real torch fails on it: {ref.errors}")
        for level, e in ref.errors.items():
            self.note(f"{level} not applicable to a sample, real torch: {e}")
        ref.random = False
        for self.real.seed in range(1, 6):
            ref.random |= bool(compare(ref.out, run(self.real, self, case, ref.state).out))
        self.real.seed = 0
        if ref.random:
            self.note("sample whose values are random")
        self.cases.append((case, ref))

    def applicable(self):
        n = len(self.cases)
        return {
            "M1": 1,
            "M2": n,
            "M3": n,
            "M4": sum(hasattr(r, "grads") and not r.random for _, r in self.cases),
            "M5": n,
            "M6": sum(hasattr(r, "graph") for _, r in self.cases),
        }


def judge(plan, side, progress=lambda tally: None):
    tally = Tally(plan.applicable())
    try:
        side.get(plan.path)
    except AttributeError as e:
        tally.fail_rest(str(e))
        return tally, {}
    tally.add("M1", None)
    for case, ref in plan.cases:
        progress(tally)
        got = run(side, plan, case, ref.state, ref)
        for level, reason in _verdicts(ref, got):
            tally.add(level, reason)
    return tally, {}


def _verdicts(ref, got):
    def stopped(*levels):
        return next((got.errors[x] for x in levels if x in got.errors), "nothing requires grad")

    if hasattr(got, "shapes"):
        yield "M2", None if list(ref.shapes.items()) == list(got.shapes.items()) else _first_difference(ref, got)
    else:
        yield "M2", stopped("M2")
    yield (
        "M5",
        (None if ref.repr == got.repr else f"expected {ref.repr!r}, got {got.repr!r}")
        if hasattr(got, "repr")
        else stopped("M2"),
    )
    if hasattr(got, "out"):
        bad = compare(ref.out, got.out, values=not ref.random)
        if not bad and (bad := compare(ref.after, got.after, values=not ref.random)):
            bad = f"state after the call: {bad}"
        yield "M3", bad
    else:
        yield "M3", stopped("M2", "M3")
    if hasattr(ref, "grads") and not ref.random:
        yield "M4", compare(ref.grads, got.grads, 100) if hasattr(got, "grads") else stopped("M2", "M3", "M4")
    if hasattr(ref, "graph"):
        yield "M6", compare_graphs(ref.graph, got.graph) if hasattr(got, "graph") else stopped("M2", "M3", "M6")


def _first_difference(ref, got):
    if list(ref.shapes) != list(got.shapes):
        return f"expected keys {list(ref.shapes)}, got {list(got.shapes)}"
    return next(f"{k}: expected {v}, got {got.shapes[k]}" for k, v in ref.shapes.items() if v != got.shapes[k])
