"""Runs programs and writes the losses, gradients and graph of each into FOLDER/NAME.RANK.json: `observe.py FOLDER PROGRAM ...`.

It needs `torch` only, so the same file watches PyTorch and the engine.
"""

import json
import os
import runpy
import sys


def graph(root):
    """The nodes that can be reached, each with the positions of those it leads to."""
    found, order = {root: 0}, [root]
    for node in order:
        for following, _ in node.next_functions:
            if following is not None and following not in found:
                found[following] = len(order)
                order.append(following)
    return [[node.name(), [found.get(after) for after, _ in node.next_functions]] for node in order]


def plain(x):
    """Numbers with the digits that float32 has."""
    return [plain(y) for y in x] if isinstance(x, list) else float(f"{x:.7g}") if isinstance(x, float) else x


def observe(program, folder):
    left = runpy.run_path(program, run_name="__main__")
    gradients = {name: p.grad if p.grad is None else p.grad.tolist() for name, p in left["model"].named_parameters()}
    observed = {
        "losses": plain(left["losses"]),
        "gradients": {name: plain(gradient) for name, gradient in gradients.items()},
        "graph": graph(left["loss"].grad_fn),
    }
    name = os.path.basename(program).removesuffix(".py")
    with open(os.path.join(folder, f"{name}.{left['rank']}.json"), "w") as file:
        json.dump(observed, file)


for path in sys.argv[2:]:
    observe(path, sys.argv[1])
