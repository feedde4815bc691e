"""Records with real PyTorch what functions of complex numbers give all over the plane, into complex_plane.json.

`python -m tests.torch.ops.record_complex_plane` from the repository's root. The points are in all quadrants and on
both sides of
the branch cuts, where zeros have both signs. Values are computed one by one: PyTorch's vectorized code negates zeros
otherwise.
"""

from pathlib import Path

from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("complex_plane.json")

PARTS = (-1.5, -0.5, -0.0, 0.0, 0.5, 1.5)
POINTS = [complex(a, b) for a in PARTS for b in PARTS]
OTHERS = [POINTS[(7 * i + 3) % len(POINTS)] for i in range(len(POINTS))]

EXPRESSIONS = """
z.abs() z.acos() z.acosh() z.angle() z.asin() z.asinh() z.atan() z.atanh() z.conj() z.cos() z.cosh() z.exp() z.exp2()
z.expm1() z.log() z.log10() z.log1p() z.log2() -z z.reciprocal() z.rsqrt() z.sgn() z.sigmoid() z.sin() z.sinc()
z.sinh() z.sqrt() z.square() z.tan() z.tanh() z**2 z**3 z**0.5 z**-1 z**-0.5 z**1.5 z**(1+2j) z**0 2**z 0**z 1j**z
(-1.5)**z z*1j z/(1-2j) 1/z z-1 1-z z+1 (z-1).sqrt() z.real*z.imag z.abs()**3 torch.float_power(z,1.5)
torch.polar(z.real,z.imag) torch.polar(z.abs(),z.imag) torch.complex(z.imag,z.real) F.tanhshrink(z) F.softsign(z)
torch.view_as_real(z) z+y z-y z*y z/y z**y z**y.real z.real**y y.abs()**z torch.logaddexp(z,y) torch.lerp(z,y,0.3)
torch.lerp(z,y,y) torch.addcmul(z,y,z) torch.addcdiv(z,y,z+3) torch.sub(z,y,alpha=2) torch.rsub(z,y)
torch.true_divide(z,y) torch.dist(z,y) torch.where(z.real>0,z,y) torch.outer(z,y)
"""
FUNCTIONS = EXPRESSIONS.split()


def compute(torch, code, z, y):
    """The value of an expression of `z` and `y`."""
    return eval(code, {"torch": torch, "F": torch.nn.functional, "z": z, "y": y})


def leaves(torch, positions=None):
    """The points and the others as leaves, all or at some positions only."""
    positions = range(len(POINTS)) if positions is None else positions
    return [torch.tensor([p[i] for i in positions], dtype=torch.complex128).requires_grad_() for p in (POINTS, OTHERS)]


def numbers(tensor):
    """The elements, complex ones as pairs, in text: zeros keep their sign, and what is not finite its name."""
    flat = tensor.detach().clone().resolve_conj().reshape(-1).tolist()
    pairs = [part for n in flat for part in ((n.real, n.imag) if isinstance(n, complex) else (n,))]
    return " ".join(f"{n:.10g}" for n in pairs)


def observe(torch, code):
    """Values one by one, and the gradients and second gradients of all together."""
    found = {}
    if "outer" not in code and "dist" not in code:
        found["value"] = " ".join(
            numbers(compute(torch, code, *(t[0].detach() for t in leaves(torch, [i])))) for i in range(len(POINTS))
        )
    given = leaves(torch)
    value = compute(torch, code, *given)
    weight = torch.ones_like(value) * ((1 - 2j) if value.is_complex() else 1)
    first = torch.autograd.grad(value, given, weight, create_graph=True, allow_unused=True)
    found["first"] = [None if g is None else numbers(g) for g in first]
    roots = [g for g in first if g is not None and g.requires_grad]
    if roots:
        weights = [torch.ones_like(g) * (1 + 0.5j) for g in roots]
        second = torch.autograd.grad(roots, given, weights, allow_unused=True)
        found["second"] = [None if g is None else numbers(g) for g in second]
    return found


if __name__ == "__main__":
    record(EXPECTED, FUNCTIONS, observe)
