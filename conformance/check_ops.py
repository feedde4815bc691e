"""Levels L1-L7 for the OpInfos of torch.testing._internal.common_methods_invocations.op_db."""

import dis
import random
import re
import types
import zlib

import numpy as np
import torch
from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import DecorateInfo

from . import exclusions, saved
from .sides import (
    Case,
    Run,
    Side,
    Untranslatable,
    compare,
    compare_graphs,
    freeze,
    names_exact,
    random_like,
    read_graph,
    resolve,
)
from .tally import Tally

LEVELS = {
    "L1": "exists", "L2": "forward", "L3": "first grads", "L4": "second grads", "L5": "graph",
    "L6": "double-backward graph", "L7": "error type", "L7m": "error message", "L8": "saved by nodes",
}  # fmt: skip
GROUPS = ("torch", "Tensor methods", "linalg", "fft", "special", "nn.functional", "other")
DTYPES = (torch.float64, torch.float32, torch.complex128, torch.int64, torch.bool, torch.float8_e4m3fn)
GRAD_SLACK = {"L3": 100, "L4": 1000}  # multiples of the forward tolerance

INFOS = {op.full_name: op for op in op_db}


def names():
    return list(INFOS)


def group(full_name):
    name = INFOS[full_name].name
    for prefix in ("linalg", "fft", "special", "nn.functional"):
        if name.startswith(prefix + "."):
            return prefix
    if "." in name or name.startswith("jiterator") or (name[0] == "_" and name[1] != "_"):
        return "other"
    return (
        "torch"
        if _function(name)
        else "Tensor methods"
        if hasattr(torch.Tensor, name) or hasattr(torch.Tensor, name + "_")
        else "other"
    )


def _function(path):
    """Is this a function of the torch namespace (torch.float is a dtype)?"""
    return callable(resolve(torch, path)) and not isinstance(resolve(torch, path), torch.dtype)


# ---------------------------------------------------------------- finding the function


def locate(op):
    """(dotted paths the op needs, how a side calls it)"""
    fn = op.op
    if isinstance(fn, types.FunctionType) and fn.__module__.startswith("torch.testing."):
        paths = _paths_used(fn.__code__)
        paths += [op.name] if _function(op.name) else []
        return list(dict.fromkeys(paths)), lambda side: side.rebind(fn)
    overload = str(fn).replace("aten.", "ops.aten.", 1) if "Overload" in type(fn).__name__ else ""
    for path in (op.name, f"Tensor.{op.name}", op.aten_name, op.name.removeprefix("torch."), overload):
        if resolve(torch, path) is fn:
            return [path], lambda side: side.get(path)
    raise Untranslatable(f"no dotted name leads to {fn!r}")


def _paths_used(code):
    """The torch.* names and Tensor attributes a wrapper's bytecode reads."""
    paths, chain = [], None
    for i in [*dis.get_instructions(code), None]:
        if i and i.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            chain.append(i.argval)
            continue
        path = ".".join(chain or ()).lstrip(".")
        if len(chain or ()) > 1 and resolve(torch, path):
            paths.append(path)
        chain = None
        if i and i.opname == "LOAD_GLOBAL" and i.argval == "torch":
            chain = [""]
        elif i and i.opname in ("LOAD_FAST", "CALL"):
            chain = ["Tensor"]
    return paths + [p for c in code.co_consts if isinstance(c, types.CodeType) for p in _paths_used(c)]


# ---------------------------------------------------------------- running one call on one side


def run(side, call, case, depth, ref=None):
    """Call (depth 0), differentiate (1), differentiate again (2). With `ref`, real torch's Run, the
    same cotangents are used."""
    r = Run()
    side.reseed()
    args, kwargs, tensors = side.build_call(case)
    inputs = [t for t in tensors if t.requires_grad]
    level = "L2"
    try:
        out = call(*args, **kwargs)
        r.out, r.after = side.read(out), [side.read(t) for t in tensors]
        read_graph(r, "graph", "L5", side.tensors_in(out), tensors)
        processed = side.rebind(case.process)(out) if case.process else out
        r.processed = side.read(processed)
        if not depth or not inputs:
            return r

        level = "L3"
        outs = [t for t in side.tensors_in(processed) if t.requires_grad]
        r.cotangents = ref.cotangents if ref else [random_like(side.read(t), i) for i, t in enumerate(outs)]
        if len(outs) != len(r.cotangents):
            raise AssertionError(f"{len(outs)} outputs require grad, expected {len(r.cotangents)}")
        if not outs:
            return r
        grads = side.torch.autograd.grad(
            outs, inputs, grad_outputs=[side.from_array(c) for c in r.cotangents], retain_graph=True, allow_unused=True
        )
        r.grads = side.read(list(grads))
        if depth == 1:
            return r

        level = "L4"
        ws = [side.from_array(c, requires_grad=True) for c in r.cotangents]
        grads = side.torch.autograd.grad(outs, inputs, grad_outputs=ws, create_graph=True, allow_unused=True)
        r.picked = [i for i, g in enumerate(grads) if g is not None and g.requires_grad]
        if ref and r.picked != ref.picked:
            raise AssertionError(f"first grads that require grad: expected {ref.picked}, got {r.picked}")
        if not r.picked:
            return r
        grads = [grads[i] for i in r.picked]
        read_graph(r, "graph2", "L6", grads, tensors + ws)
        r.weights = ref.weights if ref else [random_like(side.read(g), 100 + i) for i, g in enumerate(grads)]
        r.gradgrads = side.read(
            list(
                side.torch.autograd.grad(
                    grads, inputs + ws, grad_outputs=[side.from_array(w) for w in r.weights], allow_unused=True
                )
            )
        )
    except Exception as e:
        r.errors[level] = f"{type(e).__name__}: {e}"
    return r


# ---------------------------------------------------------------- the reference


class Plan:
    """What real torch does for one op: the calls, its results, and which levels apply."""

    def __init__(self, full_name, samples):
        self.op = op = INFOS[full_name]
        self.notes = {}
        self.real = Side(torch)
        self.excluded = exclusions.excluded(full_name)
        self.cases, self.errors = [], []
        self.paths, self.call = [], None
        self.tolerance = _tolerance(op)
        if len(self.excluded) == len(LEVELS):
            return
        self.paths, self.call = locate(op)
        self.dtype = next((d for d in DTYPES if d in op.dtypes), None)
        if self.dtype is not None:
            self._samples(samples, zlib.crc32(full_name.encode()))
        if op.error_inputs_func is not None:
            self._error_inputs()

    def note(self, what):
        self.notes[what] = self.notes.get(what, 0) + 1

    def _samples(self, limit, seed):
        op = self.op
        self.autograd = op.supports_autograd and self.dtype in op.supported_backward_dtypes("cpu")
        torch.manual_seed(seed), np.random.seed(seed), random.seed(seed)
        samples = list(op.sample_inputs("cpu", self.dtype, requires_grad=self.autograd))
        if op.name in exclusions.SAMPLES:
            defined, why = exclusions.SAMPLES[op.name]
            self.notes[f"samples left out: {why}"] = sum(not defined(s) for s in samples)
            samples = [s for s in samples if defined(s)]
        if limit and len(samples) > limit:
            samples = [samples[round(i)] for i in np.linspace(0, len(samples) - 1, limit)]
        call = self.call(self.real)
        for s in samples:
            memo, process = {}, s.output_process_fn_grad
            if process.__qualname__.startswith("SampleInput.__init__"):
                process = None
            try:
                case = Case([freeze(s.input, memo), *freeze(list(s.args), memo)], freeze(s.kwargs, memo), process)
                self.real.rebind(process) if process else None
            except Untranslatable as e:
                self.note(f"sample dropped, untranslatable: {e}")
                continue
            before = [self.real.read(t) for t in self.real.build_call(case)[2]]
            ref = run(self.real, call, case, self.autograd + (self.autograd and op.supports_gradgrad))
            if "L2" in ref.errors:
                self.note(f"sample dropped, real torch fails on it: {ref.errors['L2']}")
                continue
            for level, e in ref.errors.items():
                self.note(f"{level} not applicable to a sample, real torch: {e}")
            ref.saved = saved.saved_of(self.real, call, case) if hasattr(ref, "graph") else None
            ref.depth = 2 if hasattr(ref, "graph2") else 1 if hasattr(ref, "graph") else 0
            ref.mutated = [i for i, (a, b) in enumerate(zip(before, ref.after)) if compare(a, b)]
            ref.random = op.name in exclusions.UNINITIALISED or self._differs(call, case, ref, seeds=(1,))
            self.cases.append((case, ref))
        if _seeds_itself(op) or any(ref.random for _, ref in self.cases):  # look harder: some agree by chance
            for case, ref in self.cases:
                ref.random = ref.random or self._differs(call, case, ref, seeds=range(2, 60))
        if n := sum(ref.random for _, ref in self.cases):
            self.notes["samples whose values are random"] = n

    def _differs(self, call, case, ref, seeds):
        try:
            for self.real.seed in seeds:
                if compare(ref.processed, run(self.real, call, case, 0).processed):
                    return True
            return False
        finally:
            self.real.seed = 0

    def _error_inputs(self):
        call = self.call(self.real)
        torch.manual_seed(0)
        for e in self.op.error_inputs("cpu"):
            s, memo = e.sample_input, {}
            try:
                case = Case([freeze(s.input, memo), *freeze(list(s.args), memo)], freeze(s.kwargs, memo))
                raised = _raises(self.real, call, case)
            except Untranslatable as u:
                self.note(f"error input dropped, untranslatable: {u}")
                continue
            if isinstance(raised, e.error_type) and re.search(e.error_regex, str(raised)):
                self.errors.append((case, e.error_type, e.error_regex))
            else:
                self.note(f"error input dropped, real torch gives {type(raised).__name__}: {raised}")

    def applicable(self):
        """{level: number of samples it applies to}; 0 means the level does not apply."""
        plain = [ref for _, ref in self.cases if not ref.random]
        n = {
            "L1": 1,
            "L2": len(self.cases),
            "L3": sum(hasattr(r, "grads") for r in plain),
            "L4": sum(hasattr(r, "gradgrads") for r in plain),
            "L5": sum(hasattr(r, "graph") for _, r in self.cases),
            "L6": sum(hasattr(r, "graph2") for _, r in self.cases),
            "L7": len(self.errors),
            "L7m": len(self.errors),
            "L8": sum(r.saved is not None for _, r in self.cases),
        }
        return {level: 0 if level in self.excluded else n[level] for level in LEVELS}


def _seeds_itself(op):
    """PyTorch's mark for an op that may be random."""
    return isinstance(op.op, types.FunctionType) and "wrapper_set_seed" in op.op.__code__.co_names


def _raises(side, call, case):
    """Return what the call raises, or None. A failure to build the arguments is not the call's."""
    side.reseed()
    args, kwargs, _ = side.build_call(case)
    try:
        call(*args, **kwargs)
    except Exception as e:
        return e
    return None


def _tolerance(op):
    """The (rtol, atol) the OpInfo itself asks for in its dtype on CPU, if any."""
    rtol = atol = 0.0
    for d in op.decorators:
        for t in d.decorators if isinstance(d, DecorateInfo) and d.device_type in (None, "cpu") else [d]:
            asked = (
                t.d.get(next((x for x in DTYPES if x in op.dtypes), None))
                if isinstance(t, (toleranceOverride, precisionOverride))
                else None
            )
            if isinstance(asked, float):
                atol = max(atol, asked)
            elif asked is not None:
                rtol, atol = max(rtol, asked.rtol), max(atol, asked.atol)
    return rtol, atol


# ---------------------------------------------------------------- the verdict


def judge(plan, side, progress=lambda tally: None):
    """Run the plan on the candidate, telling `progress` what is known so far."""
    tally, extra = Tally(plan.applicable()), {"inexact_names": False}
    missing = []
    for path in plan.paths:
        try:
            side.get(path)
        except AttributeError as e:
            missing.append(str(e))
    tally.add("L1", missing[0] if missing else None)
    if missing:
        tally.fail_rest(missing[0])
        return tally, extra
    try:
        call = plan.call(side)
    except Exception as e:
        tally.fail_rest(f"cannot form the call: {type(e).__name__}: {e}")
        return tally, extra

    ran = False
    for case, ref in plan.cases:
        progress(tally)
        try:
            got = run(side, call, case, ref.depth, ref)
        except Exception as e:
            got = Run()
            got.errors["L2"] = f"building the arguments: {type(e).__name__}: {e}"
        ran = ran or hasattr(got, "out")
        for level, reason in verdicts(plan, case, ref, got):
            tally.add(level, reason)
        if ref.saved is not None:
            tally.add("L8", _saved(plan, side, call, case, ref))
        if hasattr(ref, "graph") and hasattr(got, "graph") and not compare_graphs(ref.graph, got.graph):
            extra["inexact_names"] |= not names_exact(ref.graph, got.graph)

    for case, error_type, regex in plan.errors:
        progress(tally)
        kind, message = (
            _judge_error(side, call, case, error_type, regex)
            if ran or not plan.cases
            else ("the op runs on no valid sample",) * 2
        )
        tally.add("L7", kind), tally.add("L7m", message)
    return tally, extra


def verdicts(plan, case, ref, got):
    """(level, None or why it fails) for each level that applies to this sample."""

    def stopped(*levels):
        return next((got.errors[x] for x in ("L2", *levels) if x in got.errors), "nothing requires grad")

    yield "L2", _forward(plan, case, ref, got) if hasattr(got, "out") else stopped()
    for level, what in (("L3", "grads"), ("L4", "gradgrads")):
        if hasattr(ref, what) and not ref.random:
            yield (
                level,
                compare(getattr(ref, what), getattr(got, what), GRAD_SLACK[level], plan.tolerance)
                if hasattr(got, what)
                else stopped("L3", "L4"),
            )
    for level, what in (("L5", "graph"), ("L6", "graph2")):
        if hasattr(ref, what):
            yield (
                level,
                compare_graphs(getattr(ref, what), getattr(got, what))
                if hasattr(got, what)
                else stopped(*(("L5",) if level == "L5" else ("L6", "L3", "L4"))),
            )


def _forward(plan, case, ref, got):
    values = not ref.random
    reason = compare(ref.out, got.out, 1, plan.tolerance, values)
    if reason and case.process and not compare(ref.out, got.out, values=False):  # as far as it is well defined
        reason = (
            compare(ref.processed, got.processed, 1, plan.tolerance, values)
            if hasattr(got, "processed")
            else got.errors.get("L2")
        )
    for i in ref.mutated if not reason else ():
        if bad := compare(ref.after[i], got.after[i], 1, plan.tolerance, values):
            reason = f"argument {i} after the call: {bad}"
    return reason


def _saved(plan, side, call, case, ref):
    try:
        got = saved.saved_of(side, call, case)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    values = not ref.random and case.process is None  # factors are defined only up to something
    return next((" ".join(d) for d in saved.differences(ref.saved, got, 10, plan.tolerance, values)), None)


def _judge_error(side, call, case, want, regex):
    try:
        raised = _raises(side, call, case)
    except Exception as e:
        return (f"building the arguments: {type(e).__name__}: {e}",) * 2
    if raised is None:
        return ("nothing raised",) * 2
    told = f"expected {want.__name__} /{regex}/, got {type(raised).__name__}: {raised}"
    names = {c.__name__ for c in type(raised).__mro__}
    related = want.__name__ in names or (
        issubclass(want, type(raised)) and type(raised) not in (Exception, BaseException)
    )
    if isinstance(raised, NotImplementedError) and not issubclass(want, NotImplementedError):
        related = False  # "I have not built this" is not the error asked for
    return (None if related else told), (None if re.search(regex, str(raised)) else told)
