"""Records with real PyTorch what operations give on integers beside Python numbers that their dtype cannot hold, into
number_operands.json.

`python -m tests.torch.ops.record_number_operands` from the repository's root.
"""

import json
from pathlib import Path

EXPECTED = Path(__file__).with_name("number_operands.json")

VALUES = {
    "uint8": [0, 1, 2, 100, 254, 255],
    "int8": [-127, -3, 0, 1, 5, 127],
    "int32": [-7, -3, 0, 1, 2, 300],
    "bool": [True, False],
    "float32": [-7.0, -1.5, 0.0, 1.0, 300.0],
}
NUMBERS = "-1 -2 3 200 -129 300 -300 40000 2**31+3 2**40 2**63-1 -2**63+5 1.5 -2.5 1e10 True 1j 2+0j"
EXPRESSIONS = """
x+n n+x x-n n-x x*n n*x x/n n/x x//n x%n x**n n**x x==n x!=n x<n x<=n x>n x>=n n<x x&n x|n x^n
torch.fmod(x,n) torch.div(x,n,rounding_mode="trunc") torch.div(x,n,rounding_mode="floor") torch.rsub(x,n)
torch.add(x,x,alpha=n) torch.sub(x,x,alpha=n) torch.xlogy(x,n) torch.xlogy(n,x) torch.float_power(x,n)
torch.clamp_min(x,n) torch.clamp_max(x,n) torch.clamp(x,n,5) torch.where(x==x,x,n) torch.where(x==x,n,x)
torch.addcmul(x,x,x,value=n) torch.threshold(x,n,n) x.masked_fill(x==x,n) x.index_fill(0,torch.tensor([0]),n)
torch.full_like(x,n) x.fill_(n) x.__setitem__(0,n) x.add_(n) x.sub_(n) x.mul_(n) x.div_(n) x.remainder_(n) x.fmod_(n) x.pow_(n)
x.eq_(n) x.lt_(n) x.floor_divide_(n)
torch.div(x,n,out=torch.empty(0,dtype=torch.int16)) torch.lt(x,n,out=torch.empty(0,dtype=torch.uint8))
torch.remainder(x,n,out=torch.empty(0,dtype=torch.float32))
"""
UNLIKE = {"x-n": "True", "n-x": "True", "torch.rsub(x,n)": "True", "x**n": "True 2**31+3", "x.pow_(n)": "True 2**31+3"}
UNLIKE |= dict.fromkeys(("torch.add(x,x,alpha=n)", "torch.sub(x,x,alpha=n)"), "True")
UNLIKE |= dict.fromkeys(("x.index_fill(0,torch.tensor([0]),n)", "x//n", "x%n", "torch.fmod(x,n)"), "1j 2+0j")
UNLIKE |= dict.fromkeys(("x.remainder_(n)", "x.fmod_(n)", "x.floor_divide_(n)"), "True 1j 2+0j")
UNLIKE |= {"torch.clamp(x,n,5)": "1j 2+0j", "torch.remainder(x,n,out=torch.empty(0,dtype=torch.float32))": "1j 2+0j"}
"""Where errors are known to differ: what PyTorch refuses for booleans, and whose words are said of complex numbers."""


ONLY_HERE = {
    "n**x",
    "torch.clamp_min(x,n)",
    "torch.clamp_max(x,n)",
    "torch.addcmul(x,x,x,value=n)",
    "torch.threshold(x,n,n)",
}
"""What is computed for booleans though PyTorch has no kernel."""


def cases() -> list[str]:
    return [
        f"{kind}: {text}" for text in EXPRESSIONS.split() for kind in VALUES if kind != "bool" or text not in ONLY_HERE
    ]


def numbers(text: str) -> list[str]:
    return [n for n in NUMBERS.split() if n not in UNLIKE.get(text, "").split()]


def observe(torch, case: str) -> list[str]:
    """Return what an expression gives, or the error's first line, for each number in turn."""
    kind, _, text = case.partition(": ")
    found = []
    for number in numbers(text):
        x = torch.tensor(VALUES[kind], dtype=getattr(torch, kind))
        try:
            got = eval(text, {"torch": torch, "x": x, "n": eval(number)})
            got = x if got is None else got
            found.append(f"{got.dtype} {got.tolist()}")
        except (RuntimeError, TypeError, ValueError) as error:
            found.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    return found


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps({case: observe(torch, case) for case in cases()}, indent=0) + "\n")
