"""Loops of five turns with transforms of `torch.func`: prints how many steps each has, and the highest order of
the last one.

python transform_steps.py torch
"""

from __future__ import annotations

import json
import sys

from autograph_cli.engines import connect
from autograph_cli.record.recorder import Recorder

HEAD = """
func = torch.func
functional_call, grad, grad_and_value = func.functional_call, func.grad, func.grad_and_value
hessian, vjp, vmap = func.hessian, func.vjp, func.vmap
def loss(w, x):
    return ((x @ w) ** 2).mean()
w, u, x, model = torch.ones(3), torch.ones(3, requires_grad=True), torch.ones(4, 3), torch.nn.Linear(3, 1)
number = torch.tensor(2.0, requires_grad=True)
parameters = dict(model.named_parameters())
for turn in range(5):
"""
LOOPS = {
    "grad": "w = w - 0.1 * grad(loss)(w, x)",
    "grad_and_value": "gradient, value = grad_and_value(loss)(w, x)",
    "with aux": "grad(lambda w: ((w**2).sum(), w * 2), has_aux=True)(w)",
    "without gradients around it": "with torch.no_grad():\n        grad(loss)(w, x)",
    "of each sample": "vmap(grad(loss), in_dims=(None, 0))(w, x.reshape(4, 1, 3))",
    "twice": "grad(grad(lambda v: v**3))(w[0])",
    "an inner loop": "loss(u - 0.1 * grad(loss)(u, x), x).backward()",
    "a variable of the outside": "grad(lambda w: (w * u).sum())(w).sum().backward()",
    "a number of the outside": "grad(lambda w: (number * w**2).sum())(w).sum().backward()",
    "parameters let go": "grad(lambda p: functional_call(model, p, x).sum())({k: v.detach() for k, v in parameters.items()})",
    "parameters held": "grad(lambda p: functional_call(model, p, x).pow(2).mean())(parameters)",
    "a pull that is kept": "vjp(torch.sin, w)[1](w)",
    "second derivatives": "hessian(lambda w: (w**3).sum())(w)",
}


def main(engine: str) -> None:
    if engine == "torch":
        import torch
    else:
        from autograph_cli import torch  # type: ignore[no-redef]
    found = {}
    for name, loop in LOOPS.items():
        recorder = Recorder("all", engine=connect(engine))
        scope = {"torch": torch}
        recorder.start()
        exec(compile(f"{HEAD}    {loop}\n", f"{name}.py", "exec"), scope)
        trace = recorder.finish(scope)
        nodes = [node for node in trace.steps[-1].graph if node.kind == "operation"]
        found[name] = recorder.broken or [trace.total_steps, max(node.order for node in nodes)]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
