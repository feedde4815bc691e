"""Records with real PyTorch what functions say of positions that a tensor has not, into bounds.json: by the end, beyond it, of no elements.

`python -m tests.torch.ops.record_bounds` from the repository's root.
"""

import itertools
from pathlib import Path

from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("bounds.json")

SHAPES = ((3,), (3, 2), (2, 2, 2), (1, 0, 2), (3, 0))
POSITIONS = ([-1], [-4], [7], [1], [])
CALLS = """
    x.index_select(d,i) x.index_add(d,i,s) x.index_add(d,i,s,alpha=2) x.index_copy(d,i,s) x.index_fill(d,i,9.)
    x.index_reduce(d,i,s,'prod') x.gather(d,g) x.scatter(d,g,5.) x.scatter_add(d,g,s) x.scatter_reduce(d,g,s,'amax')
    torch.take_along_dim(x,g,d) x.movedim(d,0)[i] x.movedim(d,0).index_put((i,),torch.ones(()))
    x.movedim(d,0).index_put((i,),torch.ones(()),True) torch.autograd.grad(x.movedim(d,0)[i].sum(),x)[0]
""".split()


def cases():
    """Every function along every dimension, for every list of positions."""
    found = itertools.product(SHAPES, POSITIONS, CALLS)
    return [f"{shape} {at} {d} {code}" for shape, at, code in found for d in range(len(shape))]


def observe(torch, case):
    """The shape and the elements that a function gives, or its error."""
    head, _, tail = case.partition("] ")
    shape, at = eval(head.replace(") [", "), [") + "]")
    d, code = tail.split(" ", 1)
    d = int(d)
    beside = [len(at) if k == d else n for k, n in enumerate(shape)]
    x = torch.arange(float(torch.Size(shape).numel())).view(shape)
    names = {"torch": torch, "x": x.requires_grad_("grad" in code), "d": d, "s": torch.ones(beside)}
    names["i"] = torch.tensor(at, dtype=torch.long)
    names["g"] = torch.full(beside, at[0] if at else 0)
    try:
        found = eval(code, names)
    except (RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}" if shape[d] else "refused"  # in words of what PyTorch runs inside
    return [list(found.shape), found.flatten().tolist()]


if __name__ == "__main__":
    record(EXPECTED, cases(), observe)
