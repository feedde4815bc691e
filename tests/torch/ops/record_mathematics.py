"""Records with real PyTorch what special functions, transforms and matrix functions give, into mathematics.json.

`python -m tests.torch.ops.record_mathematics` from the repository's root; as record_expressions.py does for everything else.
"""

import json
import warnings
from pathlib import Path

from tests.torch.ops.record_expressions import observe

EXPECTED = Path(__file__).with_name("mathematics.json")

CASES = """
torch.special.erfcx(x)
torch.special.ndtr(x)
torch.special.ndtri(x/5+.3)
torch.special.log_ndtr(-x*3)
torch.special.entr(x)
torch.special.i0(x)
torch.special.i0e(x)
torch.special.i1(x*9)
torch.special.i1e(x)
torch.special.xlog1py(x,w)
torch.special.xlog1py(2,w)
torch.special.xlog1py(w*(w>1),-1)
torch.special.xlogy(w*(w>1),2)
torch.special.xlogy(2.5,i)
torch.special.xlogy(w*(w>1),w*(w>1))
torch.special.zeta(2.5,w)
torch.special.zeta(i+1,w)
torch.special.zeta(w,3.)
torch.special.polygamma(2,x)
torch.special.polygamma(1,w)
w.mvlgamma(1)
torch.special.multigammaln(w+2,3)
torch.special.gammainc(w.detach(),w)
torch.special.gammaincc(i*1.,w)
torch.special.logit(x)
torch.special.psi(f)
torch.special.expit(h)
torch.lgamma(k)
torch.erf(i)
torch.special.bessel_j0(x*20)
torch.special.bessel_y1(w*9)
torch.special.modified_bessel_k0(w*3)
torch.special.airy_ai(w*4)
torch.special.spherical_bessel_j0(x)
torch.special.hermite_polynomial_h(x,3)
torch.special.chebyshev_polynomial_u(x/3,j*9)
torch.special.legendre_polynomial_p(0.3,i)
y = w*1; y.polygamma_(2); y
y = w*1; y.erf_(); y
y = w*1; y.xlogy_(w); y
y = w*1; y.igammac_(w.detach()); y
""".strip().splitlines()


def main():
    import torch

    warnings.simplefilter("ignore")
    rows = (f"{json.dumps(code)}: {json.dumps(observe(torch, code))}" for code in CASES)
    EXPECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{len(CASES)} expressions")


if __name__ == "__main__":
    main()
