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
torch.fft.fft(x)
torch.fft.fft(i)
torch.fft.ifft(z,n=3)
torch.fft.rfft(x,n=5,norm='ortho')
torch.fft.irfft(z,n=3)
torch.fft.hfft(z)
torch.fft.ihfft(w,norm='forward')
torch.fft.fft2(b)
torch.fft.fftn(x,s=(3,2))
torch.fft.rfft2(b,dim=(0,1))
torch.fft.irfftn(z[None]*w[:,None])
torch.fft.hfft2(z[None]*w[:,None])
torch.fft.ihfftn(x)
torch.fft.fftshift(w)
torch.fft.ifftshift(x,1)
torch.fft.fftfreq(5,0.5)
torch.fft.rfftfreq(4)
torch.fft.fft(f).abs()
x.to(torch.complex128).abs()
torch.addmv(w[:2],x,w,beta=2,alpha=3)
torch.addr(x,w[:2],w)
torch.baddbmm(b,b@b.mT,b,beta=0.5)
torch.addbmm(b[0],b@b.mT,b,alpha=2)
torch.vdot(z,z)
torch.inner(x,w)
torch.inner(w,w)
torch.inner(s,x)
torch.kron(w,x)
torch.tensordot(x,b,([1],[1]))
torch.tensordot(x[:1],x[:,:1],([0],[1]))
torch.tensordot(b,b,3)
torch.linalg.cross(x,x.flip(0))
torch.cross(x,w.expand(2,3),dim=1)
torch.linalg.vecdot(z,z)
torch.linalg.vecdot(x,w)
torch.linalg.multi_dot([x,x.T,x,w])
torch.linalg.multi_dot([w,x.T])
torch.linalg.vander(w,N=4)
torch.linalg.diagonal(b)
torch.einsum('i,j->ij',w,w)
torch.einsum('bij,bkj->bik',b,b)
torch.einsum('...ij,j->...i',b,w[:2])
torch.einsum('ij,jk,kl->il',x,x.T,x)
torch.einsum('ii',x.T@x)
torch.einsum(x,[0,1],w,[1])
torch.einsum('ij,i->j',x,w[:2])
torch.einsum('ij,kl->',x,x)
torch.matmul(b,b[:1].mT)
torch.cdist(x,x+1)
torch.cdist(x,w[None],p=1)
torch.cdist(b,b.flip(0),p=3)
torch.cdist(x,x+1,compute_mode='use_mm_for_euclid_dist')
y = x*1; y.addmm_(x[:,:2],x); y
y = b[0]*1; y.addbmm_(b@b.mT,b); y
""".strip().splitlines()


def main():
    import torch

    warnings.simplefilter("ignore")
    rows = (f"{json.dumps(code)}: {json.dumps(observe(torch, code))}" for code in CASES)
    EXPECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{len(CASES)} expressions")


if __name__ == "__main__":
    main()
