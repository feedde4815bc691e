#!/usr/bin/env python3
"""Draws calls, right and wrong ones, and compares what both engines make of them.

python -m conformance.calls check             # fails when a call that was answered as by PyTorch is not so now
python -m conformance.calls update            # writes calls.json anew: those that are answered otherwise
python -m conformance.calls report 20000 7    # counts of so many calls with another seed, and all that differ by causes
python -m conformance.calls gradients         # the same of each valid call with each tensor, and all, requiring a gradient
python -m conformance.calls file CALLS        # the same of the calls in a file

With AUTOGRAPH_CALLS=N in the environment, `check` reports on N calls that were not drawn before.
"""

import ast
import collections
import contextlib
import io
import json
import os
import random
import re
import sys
from pathlib import Path

import numpy as np

from autograph_cli.torch._core.arguments.parsing import _listed, _signature
from tests.torch.ops.calls import difference, observe
from tests.torch.ops.mutations import others, valid_calls

KEPT = Path(__file__).with_name("calls.json")
COUNT = 3000
LAYOUTS = "YPLE"
TENSORS = ("T", "torch.tensor")
NO_CALL = re.compile(r"_test_|__c|set_num_|set_default|set_grad|set_flush|manual_seed|_mkldnn|mkldnn_|quantize|fbgemm")
NUMBERS = ("-0.5", "0.0", "2.0", "3", "-1", "0", "1e-3", "float('inf')")
DRAWN = {
    "Scalar": (*NUMBERS, "True", "1j", "T()"),
    "double": (*NUMBERS, "True"),
    "int": ("0", "1", "-1", "2", "3", "True", "torch.tensor(1)"),
    "SymInt": ("0", "1", "-1", "2", "3", "torch.tensor(1)"),
    "bool": ("True", "False", "1"),
    "str": ("'mean'", "'sum'", "'none'", "'nearest'", "'L'"),
    "IntArrayRef": ("(0,)", "(1,)", "(0, 1)", "(-1,)", "()", "(2, 3)", "(1, 1)", "2", "1"),
    "ArrayRef<double>": ("(0.5,)", "(2.0, 2.0)", "2.0"),
    "ScalarType": ("torch.float64", "torch.int64", "torch.complex64", "torch.float16", "torch.bool"),
    "Layout": ("torch.strided",),
    "MemoryFormat": ("torch.contiguous_format", "torch.preserve_format"),
    "Device": ("'cpu'",),
    "PyObject*": ("1", "[1, 2]"),
}
DRAWN["SymIntArrayRef"] = DRAWN["IntArrayRef"]
DRAWN["ScalarList"] = DRAWN["ArrayRef<Scalar>"] = DRAWN["ArrayRef<double>"]
SHAPES = ("2, 3", "3", "3, 3", "2, 2, 3", "", "1, 3", "3, 1", "2, 3, 4", "1, 2, 4, 4", "1, 2, 4, 4, 4", "0", "0, 3")


# ---------------------------------------------------------------- drawing


def tensors_in(call):
    """The nodes of a call's text that make a tensor, but inside of others."""
    found, rest = [], [call]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Call) and ast.unparse(node.func) in TENSORS:
            found.append(node)
        else:
            rest += ast.iter_child_nodes(node)
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def replaced(text, changes):
    """The text with nodes of it replaced by other text."""
    for node, new in sorted(changes, key=lambda c: -c[0].col_offset):
        text = text[: node.col_offset] + new + text[node.end_col_offset :]
    return text


def parsed(text):
    return ast.parse(text, mode="eval").body


def wrapped(draw, text):
    """Some tensors of a call in another dtype, with unusual values, in another layout or requiring a gradient."""
    changes = []
    for node in tensors_in(parsed(text)):
        new = ast.get_source_segment(text, node)
        if draw.random() < 0.25:
            new = (
                f"{new}.to(torch.{draw.choice(('int64', 'bool', 'float16', 'float64', 'uint8', 'bfloat16', 'int32'))})"
            )
        elif draw.random() < 0.2:
            new = f"C({new})"
        if draw.random() < 0.15:
            new = f"S({new})"
        if draw.random() < 0.3:
            new = f"{draw.choice(LAYOUTS)}({new})"
        if draw.random() < 0.5:
            new = f"G({new})"
        changes.append((node, new))
    return replaced(text, changes)


def mutated(draw, text):
    """A call with one argument taken away, replaced, given by position or name, or added."""
    call = parsed(text)
    args = [ast.unparse(a) for a in call.args]
    named = {k.arg: ast.unparse(k.value) for k in call.keywords}
    kind = draw.random()
    if kind < 0.2 and named:
        name = draw.choice(list(named))
        args.append(named.pop(name))
    elif kind < 0.3 and (args or named):
        at = draw.randrange(len(args) + len(named))
        args.pop(at) if at < len(args) else named.pop(list(named)[at - len(args)])
    elif kind < 0.45:
        args.append(draw.choice(("1", "0", "None", "True", "T(2, 3)", "-1", "(0, 1)", "1.5")))
    elif args or named:
        at = draw.randrange(len(args) + len(named))
        given = call.args[at] if at < len(args) else call.keywords[at - len(args)].value
        tried = [*others(given)]
        if isinstance(given, ast.Constant) and isinstance(given.value, (int, float)):
            tried += NUMBERS
        if tried:
            if at < len(args):
                args[at] = draw.choice(tried)
            else:
                named[list(named)[at - len(args)]] = draw.choice(tried)
    return f"{ast.unparse(call.func)}({', '.join([*args, *(f'{k}={v}' for k, v in named.items())])})"


def other_form(draw, text, methods):
    """A function's call as a method's, or in place."""
    call = parsed(text)
    name = ast.unparse(call.func)
    if name.startswith(("torch.", "F.")) and call.args and tensors_in(call.args[0]) == [call.args[0]]:
        short = name.rpartition(".")[2]
        rest = ", ".join(
            [*map(ast.unparse, call.args[1:]), *(f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords)]
        )
        own = ast.unparse(call.args[0])
        if f"{short}_" in methods and draw.random() < 0.5:
            return f"{own}.mul(1).{short}_({rest})"
        if short in methods:
            return f"{own}.{short}({rest})"
        if name.startswith("F."):
            return f"{name}_({own}.mul(1){', ' * bool(rest)}{rest})"
    elif (
        isinstance(call.func, ast.Attribute)
        and f"{call.func.attr}_" in methods
        and isinstance(call.func.value, ast.Call)
    ):
        return f"{ast.unparse(call.func.value)}.mul(1).{call.func.attr}_({text[call.func.end_col_offset + 1 :]}"
    return text


def from_signature(draw, lines):
    """A call with arguments of the kinds that a signature asks for."""
    space, line = draw.choice(lines)
    name = line.partition("(")[0]
    shape = draw.choice(SHAPES[:5])
    args, named, by_name = [], [], False
    for parameter in _signature(line).parameters:
        if (parameter.default is not None and draw.random() < 0.6) or parameter.name == "out":
            by_name = True
            continue
        if parameter.none and draw.random() < 0.2:
            given = "None"
        elif parameter.kind == "Tensor":
            given = f"T({shape if draw.random() < 0.7 else draw.choice(SHAPES)})"
        elif parameter.shown == "tuple of Tensors":
            given = f"[{', '.join([f'T({shape})'] * draw.choice((1, 2, 3)))}]"
        elif parameter.kind in DRAWN:
            given = draw.choice(DRAWN[parameter.kind])
        else:
            return None
        if by_name or parameter.keyword_only:
            named.append(f"{parameter.name}={given}")
        else:
            args.append(given)
    if space == "Tensor":
        own = f"T({shape})" + ".mul(1)" * (name.endswith("_") and not name.endswith("__"))
        return f"{own}.{name}({', '.join([*args, *named])})"
    path = f"torch.{name}" if space == "torch" else f"torch.{space}.{name.removeprefix(f'{space}_')}"
    return f"{path}({', '.join([*args, *named])})"


def drawn(count, seed=0):
    """So many different calls."""
    import torch

    from autograph_cli import torch as ours

    draw, found = random.Random(seed), {}
    valid = [c for c in valid_calls() if not NO_CALL.search(c)]
    methods = frozenset(dir(torch.Tensor))
    lines = [
        (space, line)
        for space, names in _listed().items()
        if space in ("torch", "fft", "linalg", "special", "Tensor")
        for name, each in names.items()
        for line in each
        if "(" in line and not line.startswith("_") and not NO_CALL.search(name)
    ]
    while len(found) < count:
        text = from_signature(draw, lines) if draw.random() < 0.3 else draw.choice(valid)
        if text is None:
            continue
        with contextlib.suppress(SyntaxError, TypeError):  # of parameters called `async`, of calls nobody can write
            if draw.random() < 0.3:
                text = other_form(draw, text, methods)
            if draw.random() < 0.4:
                text = mutated(draw, text)
            text = wrapped(draw, text)
            if all(_has(namespace, parsed(text).func) for namespace in (torch, ours)):
                found[text] = None
    return list(found)


def _has(torch, func):
    """Return whether an engine has the function of a call."""
    if not isinstance(func, ast.Attribute):
        return True
    if isinstance(func.value, ast.Call):
        return hasattr(torch.Tensor, func.attr)
    found = (
        torch.nn.functional
        if ast.unparse(func).startswith("F.")
        else torch.nn
        if ast.unparse(func).startswith("nn.")
        else torch
    )
    for part in ast.unparse(func).split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None


def gradients():
    """Each valid call with each of its tensors requiring a gradient, then all."""
    for text in valid_calls():
        nodes = tensors_in(parsed(text))
        for some in [[n] for n in nodes] + ([nodes] if len(nodes) > 1 else []):
            yield replaced(text, [(n, f"G({ast.get_source_segment(text, n)})") for n in some])


# ---------------------------------------------------------------- the two engines


def compared(calls):
    """{call: what differs} of those that do."""
    import torch
    import torch._dynamo  # Once it was stopped half way while it was imported, whatever needs it fails.

    from autograph_cli import torch as ours

    found = {}
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        for text in calls:
            different = difference(text, observe(torch, text), observe(ours, text))
            if different is not None:
                found[text] = different
    return found


def report(calls):
    found = compared(calls)
    print(f"{len(calls)} calls, {len(calls) - len(found)} are answered alike")
    kinds = collections.Counter(_kind(d) for d in found.values())
    for kind, count in kinds.most_common():
        print(f"  {count:6} {kind}")
    for kind, _ in kinds.most_common():
        print(f"\n=== {kind}")
        for text, d in found.items():
            if _kind(d) == kind:
                print(f"{text}\n    theirs {d[1][:260]!r}\n    ours   {d[2][:260]!r}")


def _kind(d):
    what, theirs, ours = d
    if what == "error":
        error = r"[A-Z]\w*(Error|Exception)\b|too long"
        first, second = (re.match(error, x) for x in (theirs, ours))
        if first and second:
            return "other message" if first[0] == second[0] else "other class of error"
        return "taken, PyTorch refuses" if first else "refused, PyTorch takes"
    return what


def different():
    """The drawn calls that are answered otherwise."""
    return list(compared(drawn(COUNT)))


def check():
    """Print which calls are answered otherwise than by PyTorch and were not; their number."""
    found = set(different())
    lost = sorted(found - set(json.loads(KEPT.read_text())))
    for text in lost:
        print(f"answered otherwise than by PyTorch: {text}")
    print(f"{COUNT - len(found)} of {COUNT} drawn calls are answered as by PyTorch")
    return len(lost)


def main(command="check", *words):
    if command == "report":
        report(drawn(int(words[0]), int(words[1])))
    elif command == "gradients":
        report([*dict.fromkeys(gradients())])
    elif command == "file":
        report(Path(words[0]).read_text().splitlines())
    elif command == "update":
        KEPT.write_text(json.dumps(sorted(different()), indent=0) + "\n")
    elif "AUTOGRAPH_CALLS" in os.environ:
        report(drawn(int(os.environ["AUTOGRAPH_CALLS"]), 1))
    else:
        return int(check() > 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
